// Signals as a sequence of wishes: SIGTERM and SIGINT end the server, SIGHUP reloads it.

import Glibc

/// Waits for signals on the thread that asks. The signals are blocked everywhere, so that no handler interrupts anything.
public enum SignalWaiter {
    /// What a signal asks for.
    public enum Wish: Sendable, Equatable {
        /// SIGTERM or SIGINT.
        case terminate
        /// SIGHUP.
        case hangUp
    }

    /// Blocks the signals for this thread and all that it will make, and makes writing to a closed pipe an error instead of the
    /// end. Call it first thing in the program.
    public static func block() {
        var signals = set
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// The next wish.
    public static func next() -> Wish {
        var signals = set
        var number: Int32 = 0
        while sigwait(&signals, &number) != 0 {}
        return number == SIGHUP ? .hangUp : .terminate
    }

    private static var set: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, number) }
        return signals
    }
}
