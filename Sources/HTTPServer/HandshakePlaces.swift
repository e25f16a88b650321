// A loop's places for TLS handshakes: how many are under way at once, and who is next (service.md 5.2, 7).

/// Counts handshakes that have begun, and keeps those that wait for a place.
///
/// Only a peer that has sent something needs a place, and one that holds a place without getting further loses it after a
/// moment if others wait: a few hundred silent peers must not keep everyone out. The newest goes first: in a flood those who
/// have waited long have mostly gone.
struct HandshakePlaces {
    /// How long a place is safe while others wait.
    static let safeTime: Duration = .seconds(1)

    private let limit: Int
    private var taken = 0
    private var waiting: [UInt64] = []

    init(limit: Int) { self.limit = max(1, limit) }

    var isAwaited: Bool { !waiting.isEmpty }

    /// Takes a place; false if there is none, and the connection waits now.
    mutating func take(_ id: UInt64) -> Bool {
        guard taken < limit else {
            waiting.append(id)
            return false
        }
        taken += 1
        return true
    }

    /// Gives a place back.
    mutating func leave() { taken -= 1 }

    /// The one that gets a free place next, which is taken for it; nil if there is no place or nobody waits.
    mutating func next() -> UInt64? {
        guard taken < limit, let id = waiting.popLast() else { return nil }
        taken += 1
        return id
    }
}
