// How much of their time event loops open encapsulated requests themselves. To hand a small request to another thread takes as
// long as to open it; but what anyone can send, and cannot be opened, must not keep a loop from its connections (service.md 8.4).

import Synchronization

/// Lets one request at a time be opened where it arrived, for a quarter of the time at most.
final class OpeningShare: Sendable {
    /// Longer ones take longer than the way to another thread.
    static let longestBody = 64 << 10
    /// Times as long as a turn took, none is begun after it.
    private static let pause = 3

    /// A request that is being opened.
    struct Turn: ~Copyable {
        fileprivate let began: ContinuousClock.Instant
    }

    /// When the next one may be opened; nil while one is.
    private let next = Mutex<ContinuousClock.Instant?>(.now)

    /// A turn, to be given back with `end`; nil if there is none now.
    func begin(at now: ContinuousClock.Instant = .now) -> Turn? {
        next.withLock { next in
            guard let time = next, time <= now else { return nil }
            next = nil
            return Turn(began: now)
        }
    }

    /// What the event loop does for the request is done.
    func end(_ turn: consuming Turn, at now: ContinuousClock.Instant = .now) {
        let pause = turn.began.duration(to: now) * Self.pause
        next.withLock { $0 = now.advanced(by: pause) }
    }
}
