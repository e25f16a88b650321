// When a gateway's key is made, listed, and destroyed, and the rules from which these times follow (service.md 3.2, 3.3).

/// The times of a key, in seconds since 1970. What is nil has not been decided, and does not limit.
public struct GatewayKeyTimes: Sendable, Equatable {
    /// When the key was made; from then on requests under it can be opened.
    public var created: Int64
    /// From when it is listed, as the first; nil for the first key of a gateway.
    public var listedFrom: Int64?
    /// When another key takes the first place of the list.
    public var succeededAt: Int64?
    /// When it leaves the list.
    public var leavesListAt: Int64?
    /// When it is destroyed.
    public var opensUntil: Int64?

    /// A key that was made at a time and, if nothing else is said, is listed at once and without end.
    public init(
        created: Int64, listedFrom: Int64? = nil, succeededAt: Int64? = nil, leavesListAt: Int64? = nil,
        opensUntil: Int64? = nil
    ) {
        self.created = created
        self.listedFrom = listedFrom
        self.succeededAt = succeededAt
        self.leavesListAt = leavesListAt
        self.opensUntil = opensUntil
    }

    /// When the key's turn begins: decides which of two keys is the newer one.
    public var start: Int64 { listedFrom ?? created }

    /// The times after an operator's emergency removal: the key is neither listed nor used any more.
    public func removed(at now: Int64) -> GatewayKeyTimes {
        var times = self
        times.succeededAt = min(succeededAt ?? now, now)
        times.leavesListAt = min(leavesListAt ?? now, now)
        times.opensUntil = min(opensUntil ?? now, now)
        return times
    }

    /// The times of a key that another one succeeds at `switchTime`.
    func succeeded(at switchTime: Int64, _ rules: GatewayRotationRules) -> GatewayKeyTimes {
        var times = self
        let leavesListAt = switchTime.plus(rules.listMaxAge)
        times.succeededAt = switchTime
        times.leavesListAt = leavesListAt
        times.opensUntil = leavesListAt.plus(rules.openingMargin)
        return times
    }
}

/// How keys follow each other. All in seconds.
public struct GatewayRotationRules: Sendable, Equatable {
    /// How long clients may keep the list: `max-age`.
    public let listMaxAge: Int64
    /// From one key's turn to the next one's.
    public let period: Int64
    /// A new key is made this long before it is listed, so that every node can open requests under it by then.
    public let lead: Int64
    /// A key opens requests this long after it left the list; never shorter than clients may keep the list.
    public let openingMargin: Int64

    /// The rules of service.md 3.2, save for what is given.
    public init(
        listMaxAge: Int64 = 86_400, period: Int64 = 30 * 86_400, lead: Int64 = 3_600, openingMargin: Int64 = 7 * 86_400
    ) {
        self.listMaxAge = max(0, listMaxAge)
        self.period = max(1, period)
        self.lead = max(0, lead)
        self.openingMargin = max(self.listMaxAge.plus(3_600), openingMargin)
    }
}

extension Int64 {
    /// The sum, or the end of the range: times come from files.
    func plus(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }

    /// The difference, or the end of the range.
    func minus(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }
}
