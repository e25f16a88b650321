// Which key does what at a time (service.md 2.4 to 2.8): pure functions of the keys' times, without the keys themselves.

/// Where a key is in its life.
public enum IssuerKeyPhase: String, Sendable, Equatable, CaseIterable {
    /// In the directory, for later.
    case announced
    /// The key of its tier.
    case issuing
    /// Succeeded by another key; still signs for clients with an old directory.
    case issuingForLateClients = "issuing for late clients"
    /// Signs no more; its tokens are accepted.
    case verifying
    /// Does nothing any more.
    case expired
}

/// A key as the schedule sees it.
public struct ScheduledKey<ID: Hashable & Sendable>: Sendable {
    /// The key's id, or whatever stands for it.
    public var id: ID
    /// The last byte of the key's id.
    public var truncatedID: UInt8
    /// For whom the key signs.
    public var tier: String
    /// The key's times.
    public var times: IssuerKeyTimes

    /// A key with its times.
    public init(id: ID, truncatedID: UInt8, tier: String, times: IssuerKeyTimes) {
        self.id = id
        self.truncatedID = truncatedID
        self.tier = tier
        self.times = times
    }

    func mayIssue(at now: Int64, tolerance: Int64) -> Bool {
        times.hasBegun(at: now, tolerance: tolerance) && now.isBefore(times.issueUntil) && now.isBefore(times.verifyUntil)
    }
}

extension ScheduledKey: Equatable {}

/// What a rotation changes.
public struct RotationPlan<ID: Hashable & Sendable>: Sendable, Equatable {
    /// The times of the key to make now.
    public var newKey: IssuerKeyTimes
    /// New times of the keys that it succeeds.
    public var changed: [ID: IssuerKeyTimes]
    /// When the new key's turn begins.
    public var switchTime: Int64
}

/// When the next rotation of a tier is due, in seconds since 1970.
public struct DueRotation: Sendable, Equatable {
    /// When to make and announce the next key.
    public var announceAt: Int64
    /// When its turn begins.
    public var switchTime: Int64
}

/// The keys of an issuer with their times, tiers and rules. Times are seconds since 1970.
public struct KeySchedule<ID: Hashable & Sendable>: Sendable, Equatable {
    /// Most keys that may be in any phase before `expired`: requests tell them apart by one byte.
    public static var liveLimit: Int { 64 }

    /// All keys; of equally new ones the first is preferred.
    public var keys: [ScheduledKey<ID>]
    /// The tier whose keys stand first in the directory, and which newer phones use for every user.
    public var defaultTier: String
    /// Whether users of other tiers may name the default tier's keys.
    public var isDefaultForAll: Bool
    /// How keys follow each other.
    public var rules: RotationRules

    /// A schedule of these keys.
    public init(keys: [ScheduledKey<ID>], defaultTier: String, isDefaultForAll: Bool = true, rules: RotationRules = .init()) {
        self.keys = keys
        self.defaultTier = defaultTier
        self.isDefaultForAll = isDefaultForAll
        self.rules = rules
    }

    /// The key's phase; nil for an unknown one.
    public func phase(of id: ID, at now: Int64) -> IssuerKeyPhase? {
        keys.first { $0.id == id }.map { phase(of: $0, at: now) }
    }

    private func phase(of key: ScheduledKey<ID>, at now: Int64) -> IssuerKeyPhase {
        if !now.isBefore(key.times.verifyUntil) { return .expired }
        if !now.isBefore(key.times.issueUntil) { return .verifying }
        if !key.times.hasBegun(at: now) { return .announced }
        return ownKey(ofTier: key.tier, at: now)?.id == key.id ? .issuing : .issuingForLateClients
    }

    /// Keys by age, the newest first; of equally new ones in their order.
    private func newestFirst(_ keys: [ScheduledKey<ID>]) -> [ScheduledKey<ID>] {
        keys.enumerated().sorted { left, right in
            (left.element.times.start, left.element.times.created, right.offset)
                > (right.element.times.start, right.element.times.created, left.offset)
        }.map(\.element)
    }

    private func ownKey(ofTier tier: String, at now: Int64) -> ScheduledKey<ID>? {
        newestFirst(keys.filter { $0.tier == tier && $0.mayIssue(at: now, tolerance: 0) }).first
    }

    /// The key that a tier's users get now. A tier without any key has the default tier's, if that is for all.
    public func currentKey(forTier tier: String, at now: Int64) -> ScheduledKey<ID>? {
        if let key = ownKey(ofTier: tier, at: now) { return key }
        return isDefaultForAll ? ownKey(ofTier: defaultTier, at: now) : nil
    }

    /// The keys of the directory in its order: those of the default tier, then the others; each newest first.
    public func directory(at now: Int64) -> [ScheduledKey<ID>] {
        let shown = keys.filter { key in
            let phase = phase(of: key, at: now)
            return phase != .expired && phase != .verifying && now.isBefore(key.times.leavesDirectoryAt)
        }
        var groups = [
            newestFirst(shown.filter { $0.tier == defaultTier }), newestFirst(shown.filter { $0.tier != defaultTier }),
        ]
        if rules.order == .usableFirst {
            groups = groups.flatMap { group in
                [group.filter { $0.times.hasBegun(at: now) }, group.filter { !$0.times.hasBegun(at: now) }]
            }
        }
        return groups.flatMap { $0 }
    }

    /// The key with which a request of a tier's user is signed; nil if there is none that the user may name. Clients whose
    /// clocks are ahead may use a key a little before its turn.
    public func issuingKey(forTier tier: String, truncatedID: UInt8, at now: Int64) -> ScheduledKey<ID>? {
        let allowed = keys.filter { key in
            key.truncatedID == truncatedID && key.mayIssue(at: now, tolerance: rules.clockTolerance)
                && (key.tier == tier || isDefaultForAll && key.tier == defaultTier)
        }
        return newestFirst(allowed).first { $0.tier == tier } ?? newestFirst(allowed).first
    }

    /// Whether tokens of the key are accepted; from when it signs, thus a little before its turn.
    public func verifies(_ id: ID, at now: Int64) -> Bool {
        guard let key = keys.first(where: { $0.id == id }) else { return false }
        return key.times.hasBegun(at: now, tolerance: rules.clockTolerance) && now.isBefore(key.times.verifyUntil)
    }

    /// Keys that do nothing any more and may be deleted, with the marks of their spent tokens.
    public func expired(at now: Int64) -> [ID] { keys.filter { phase(of: $0, at: now) == .expired }.map(\.id) }

    /// Whether a new key with this last byte of its id may join: it must differ from that of every live key, and there must be
    /// room.
    public func hasRoom(forTruncatedID truncatedID: UInt8, at now: Int64) -> Bool {
        let live = keys.filter { phase(of: $0, at: now) != .expired }
        return live.count < Self.liveLimit && !live.contains { $0.truncatedID == truncatedID }
    }

    /// What to change now so that a new key's turn begins at a time, or as soon after it as clients' caches allow. A tier without
    /// a key gets one that signs at once.
    public func rotation(ofTier tier: String, switchingAt wanted: Int64? = nil, now: Int64) -> RotationPlan<ID> {
        let open = open(ofTier: tier)
        guard let newest = open.map(\.times.start).max() else {
            return RotationPlan(newKey: IssuerKeyTimes(created: now), changed: [:], switchTime: now)
        }
        let switchTime = max(wanted ?? .min, now.plus(rules.lead), newest.plus(1))
        return RotationPlan(
            newKey: IssuerKeyTimes(created: now, notBefore: switchTime),
            changed: Dictionary(
                open.map { ($0.id, $0.times.succeeded(at: switchTime, rules)) }, uniquingKeysWith: { first, _ in first }),
            switchTime: switchTime)
    }

    /// The tier's keys that nothing succeeds yet.
    private func open(ofTier tier: String) -> [ScheduledKey<ID>] {
        keys.filter { $0.tier == tier && $0.times.issueUntil == nil && $0.times.verifyUntil == nil }
    }

    /// When the tier's next rotation is due: one period after the turn of its newest key, or as soon as possible if that is past.
    public func nextRotation(ofTier tier: String, now: Int64) -> DueRotation {
        guard let newest = open(ofTier: tier).map(\.times.start).max() else {
            return DueRotation(announceAt: now, switchTime: now)
        }
        let switchTime = newest.plus(rules.period)
        let announceAt = max(switchTime.minus(rules.lead), now)
        return DueRotation(announceAt: announceAt, switchTime: max(switchTime, announceAt.plus(rules.lead)))
    }
}
