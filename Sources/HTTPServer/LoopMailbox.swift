// How other threads reach an event loop: a queue and an eventfd that wakes it. And the loop's thread.

import CLinux
import Glibc
import HTTPCore
import Synchronization

enum LoopMessage: Sendable {
    case connection(AcceptedConnection)
    case reply(connection: UInt64, request: UInt64, HTTPReply.Outcome)
    case shutdown(by: ContinuousClock.Instant)
    /// Called by the loop: it turns.
    case ping(@Sendable () -> Void)
}

/// A connection on its way from the accepting loop to its own.
struct AcceptedConnection: Sendable {
    let descriptor: Int32
    let peer: SocketAddress
    /// What the census counted it by.
    let censusKey: UInt64?
    let listener: ListenerTraits
}

final class LoopMailbox: Sendable {
    private struct Content {
        var messages: [LoopMessage] = []
        var isClosed = false
    }

    /// Readable when messages wait.
    let wakeup: Int32
    private let content = Mutex(Content())

    init?() {
        wakeup = clinux_eventfd()
        if wakeup < 0 { return nil }
    }

    deinit { clinux_close(wakeup) }

    /// False if the loop has ended and takes nothing any more.
    @discardableResult func post(_ message: LoopMessage) -> Bool {
        let (taken, first) = content.withLock { content in
            if content.isClosed { return (false, false) }
            content.messages.append(message)
            return (true, content.messages.count == 1)
        }
        if first { clinux_eventfd_signal(wakeup) }
        return taken
    }

    func take() -> [LoopMessage] {
        clinux_eventfd_clear(wakeup)
        return content.withLock { content in
            defer { content.messages = [] }
            return content.messages
        }
    }

    /// Takes the last messages and refuses further ones.
    func close() -> [LoopMessage] {
        content.withLock { content in
            content.isClosed = true
            defer { content.messages = [] }
            return content.messages
        }
    }
}

/// A POSIX thread that runs one closure.
struct LoopThread: Sendable {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let thread: pthread_t

    init?(_ run: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(run))
        let code = pthread_create(
            &thread, nil,
            { raw in
                clinux_block_signals()
                if let raw { Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run() }
                return nil
            }, body.toOpaque())
        guard code == 0 else {
            body.release()
            return nil
        }
        self.thread = thread
    }

    /// Waits for the end; call once, from another thread.
    func join() { pthread_join(thread, nil) }
}
