// Deadlines of requests: a late answer to a block query is worthless, so the device is told in time (service.md 7).

import Dispatch

/// Answers for requests whose time is over.
struct Deadlines: Sendable {
    private let queue = DispatchQueue(label: "deadlines")

    /// Refuses the call at the instant if it is not answered by then. Does not keep the call alive.
    func expire(_ call: ServiceCall, at instant: ContinuousClock.Instant) {
        let left = max(.zero, instant - .now)
        queue.asyncAfter(deadline: .now() + .nanoseconds(left.nanoseconds)) { [weak call] in
            call?.refuse(.deadlinePassed)
        }
    }
}
