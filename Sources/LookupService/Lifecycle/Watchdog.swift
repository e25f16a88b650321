// The watchdog: a sign of life to the service manager, at half of its interval, only while the event loops answer and no computing
// thread is stuck (sd_notify(3), WATCHDOG=1). A process that runs but does not answer is ended and started again.

import Dispatch
import Synchronization

/// Gives signs of life as long as a question is answered with yes.
final class Watchdog: Sendable {
    private let queue = DispatchQueue(label: "watchdog")
    private let period: Duration
    private let isAlive: @Sendable (Duration) -> Bool
    private let sign: @Sendable () -> Void
    private let isEnded = Atomic<Bool>(false)

    /// - Parameters:
    ///   - interval: what the manager waits for at most; signs come twice as often.
    ///   - isAlive: whether all is well; gets the time that it may take to find out.
    ///   - sign: gives the sign.
    init(interval: Duration, isAlive: @escaping @Sendable (Duration) -> Bool, sign: @escaping @Sendable () -> Void) {
        period = interval / 2
        self.isAlive = isAlive
        self.sign = sign
    }

    /// Begins, and goes on until `end`.
    func start() { queue.async { [weak self] in self?.turn() } }

    /// Ends; no sign begins after it.
    func end() { isEnded.store(true, ordering: .releasing) }

    private func turn() {
        guard !isEnded.load(ordering: .acquiring) else { return }
        if isAlive(period / 2) { sign() }
        queue.asyncAfter(deadline: .now() + .nanoseconds(period.nanoseconds)) { [weak self] in self?.turn() }
    }
}
