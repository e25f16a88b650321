// Which key of the gateway does what at a time (service.md 3.2): pure functions of the keys' times, without the keys
// themselves.

/// Where a key is in its life.
public enum GatewayKeyPhase: String, Sendable, Equatable, CaseIterable {
    /// Opens requests, and is not listed yet.
    case announced
    /// Listed first.
    case current
    /// Listed behind the current key.
    case overlap
    /// Not listed any more; opens requests of clients with an old list.
    case openingOnly = "opening only"
    /// To be destroyed.
    case expired
}

/// A key as the schedule sees it.
public struct ScheduledGatewayKey: Sendable, Equatable {
    /// The key's id.
    public var id: UInt8
    /// The key's times.
    public var times: GatewayKeyTimes

    /// A key with its times.
    public init(id: UInt8, times: GatewayKeyTimes) {
        self.id = id
        self.times = times
    }
}

/// What a rotation changes.
public struct GatewayRotationPlan: Sendable, Equatable {
    /// The times of the key to make now.
    public var newKey: GatewayKeyTimes
    /// New times of the keys that it succeeds, by their ids.
    public var changed: [UInt8: GatewayKeyTimes]
    /// When the new key's turn begins.
    public var switchTime: Int64
}

/// When the next rotation is due, in seconds since 1970.
public struct DueGatewayRotation: Sendable, Equatable {
    /// When to make the next key.
    public var createAt: Int64
    /// When its turn begins.
    public var switchTime: Int64
}

/// The keys of a gateway with their times and rules. Times are seconds since 1970.
public struct GatewayKeySchedule: Sendable, Equatable {
    /// Most keys that may be in any phase before `expired`.
    public static let liveLimit = 16

    /// All keys, expired ones too: their ids are not given away while there are others. Of equally new ones the first is
    /// preferred.
    public var keys: [ScheduledGatewayKey]
    /// How keys follow each other.
    public var rules: GatewayRotationRules

    /// A schedule of these keys.
    public init(keys: [ScheduledGatewayKey], rules: GatewayRotationRules = GatewayRotationRules()) {
        self.keys = keys
        self.rules = rules
    }

    /// The phase of the key with an id; of a live one rather than of an expired one. Nil for an unknown id.
    public func phase(of id: UInt8, at now: Int64) -> GatewayKeyPhase? {
        let phases = keys.filter { $0.id == id }.map { phase(of: $0, at: now) }
        return phases.first { $0 != .expired } ?? phases.first
    }

    private func phase(of key: ScheduledGatewayKey, at now: Int64) -> GatewayKeyPhase {
        if now >= key.times.opensUntil ?? .max { return .expired }
        if now < key.times.listedFrom ?? .min { return .announced }
        let listed = listedKeys(at: now)
        return listed.first == key ? .current : listed.contains(key) ? .overlap : .openingOnly
    }

    /// Keys by age, the newest first; of equally new ones in their order.
    private func newestFirst(_ keys: [ScheduledGatewayKey]) -> [ScheduledGatewayKey] {
        keys.enumerated().sorted { left, right in
            (left.element.times.start, left.element.times.created, right.offset)
                > (right.element.times.start, right.element.times.created, left.offset)
        }.map(\.element)
    }

    /// The keys that clients should know of, in the order of the list: the current one first. Never empty while there is a key
    /// that has been listed and opens requests: a list without keys would stop every client.
    public func listed(at now: Int64) -> [UInt8] { listedKeys(at: now).map(\.id) }

    private func listedKeys(at now: Int64) -> [ScheduledGatewayKey] {
        let able = keys.filter { now < $0.times.opensUntil ?? .max && $0.times.listedFrom ?? .min <= now }
        let listed = newestFirst(able.filter { now < $0.times.leavesListAt ?? .max })
        return listed.isEmpty ? Array(newestFirst(able).prefix(1)) : listed
    }

    private func current(at now: Int64) -> ScheduledGatewayKey? { listedKeys(at: now).first }

    /// The id of the key that clients should use now.
    public func currentKey(at now: Int64) -> UInt8? { current(at: now)?.id }

    /// The keys with which requests are opened, ascending: all that have not expired.
    public func opening(at now: Int64) -> [UInt8] { keys.filter { now < $0.times.opensUntil ?? .max }.map(\.id).sorted() }

    /// Keys that do nothing any more and are to be destroyed.
    public func expired(at now: Int64) -> [UInt8] { keys.filter { now >= $0.times.opensUntil ?? .max }.map(\.id) }

    /// An id for a new key, at random among those that no key has; if expired keys have all the others, the one of these that
    /// expired first. Nil if there are too many live keys.
    public func newID(at now: Int64, using generator: inout some RandomNumberGenerator) -> UInt8? {
        let live = Set(opening(at: now))
        guard live.count < Self.liveLimit else { return nil }
        let known = Set(keys.map(\.id))
        if let id = (UInt8.min...UInt8.max).filter({ !known.contains($0) }).randomElement(using: &generator) { return id }
        return keys.filter { !live.contains($0.id) }.min { ($0.times.opensUntil ?? .max) < ($1.times.opensUntil ?? .max) }?.id
    }

    /// What to change now so that a new key's turn begins at a time, or as soon after it as the nodes need. Without a key that
    /// can be used the new one is listed at once.
    public func rotation(switchingAt wanted: Int64? = nil, now: Int64) -> GatewayRotationPlan {
        let open = open(at: now)
        guard let newest = open.map(\.times.start).max() else {
            return GatewayRotationPlan(newKey: GatewayKeyTimes(created: now), changed: [:], switchTime: now)
        }
        let switchTime = max(wanted ?? .min, now.plus(rules.lead), newest.plus(1))
        return GatewayRotationPlan(
            newKey: GatewayKeyTimes(created: now, listedFrom: switchTime),
            changed: Dictionary(
                open.map { ($0.id, $0.times.succeeded(at: switchTime, rules)) }, uniquingKeysWith: { first, _ in first }),
            switchTime: switchTime)
    }

    /// The keys that nothing succeeds yet.
    private func open(at now: Int64) -> [ScheduledGatewayKey] {
        keys.filter { $0.times.succeededAt == nil && $0.times.leavesListAt == nil && now < $0.times.opensUntil ?? .max }
    }

    /// When the next rotation is due: one period after the turn of the newest key, or as soon as possible if that is past.
    public func nextRotation(now: Int64) -> DueGatewayRotation {
        guard let newest = open(at: now).map(\.times.start).max() else {
            return DueGatewayRotation(createAt: now, switchTime: now)
        }
        let switchTime = newest.plus(rules.period)
        let createAt = max(switchTime.minus(rules.lead), now)
        return DueGatewayRotation(createAt: createAt, switchTime: max(switchTime, createAt.plus(rules.lead)))
    }
}
