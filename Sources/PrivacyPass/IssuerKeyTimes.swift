// When an issuer's key is announced, used, and forgotten, and the rules from which these times follow (service.md 2.6).

/// The times of a key, in seconds since 1970. What is nil has not been decided, and does not limit.
public struct IssuerKeyTimes: Sendable, Equatable {
    /// When the key was made; from then on it is in the directory.
    public var created: Int64
    /// From when it signs; nil for the first key of an issuer.
    public var notBefore: Int64?
    /// When it leaves the directory.
    public var leavesDirectoryAt: Int64?
    /// When it stops signing.
    public var issueUntil: Int64?
    /// When its tokens stop being accepted.
    public var verifyUntil: Int64?

    /// A key that was made at a time and, if nothing else is said, signs at once and without end.
    public init(
        created: Int64, notBefore: Int64? = nil, leavesDirectoryAt: Int64? = nil, issueUntil: Int64? = nil,
        verifyUntil: Int64? = nil
    ) {
        self.created = created
        self.notBefore = notBefore
        self.leavesDirectoryAt = leavesDirectoryAt
        self.issueUntil = issueUntil
        self.verifyUntil = verifyUntil
    }

    /// When the key's turn begins: decides which of two keys is the newer one.
    public var start: Int64 { notBefore ?? created }

    /// Whether the key's turn has begun, or begins within the tolerance.
    func hasBegun(at now: Int64, tolerance: Int64 = 0) -> Bool { notBefore.map { $0.minus(tolerance) <= now } ?? true }

    /// The times after an operator's emergency removal: nothing is signed, announced or accepted any more.
    public func removed(at now: Int64) -> IssuerKeyTimes {
        var times = self
        times.leavesDirectoryAt = min(leavesDirectoryAt ?? now, now)
        times.issueUntil = min(issueUntil ?? now, now)
        times.verifyUntil = min(verifyUntil ?? now, now)
        return times
    }

    /// The times of a key that another one succeeds at `switchTime`.
    func succeeded(at switchTime: Int64, _ rules: RotationRules) -> IssuerKeyTimes {
        var times = self
        let lastOldDirectory = switchTime.plus(rules.directoryMaxAge)
        let issueUntil = lastOldDirectory.plus(rules.issueMargin)
        times.leavesDirectoryAt = min(lastOldDirectory.plus(rules.directoryMargin), issueUntil)
        times.issueUntil = issueUntil
        times.verifyUntil = issueUntil.plus(rules.tokenLifetime).plus(rules.verifyMargin)
        return times
    }
}

/// How keys follow each other. All in seconds.
public struct RotationRules: Sendable, Equatable {
    /// Where an announced key stands in the directory until its time comes.
    public enum DirectoryOrder: Sendable, Equatable {
        /// First: clients must heed `not-before`, as RFC 9578 asks them to.
        case newestFirst
        /// After the keys in use: also right for clients that take the first key without looking at `not-before`.
        case usableFirst
    }

    /// C: how long clients may keep the directory.
    public var directoryMaxAge: Int64
    /// L: how long clients keep tokens.
    public var tokenLifetime: Int64
    /// From one key's turn to the next one's.
    public var period: Int64
    /// A new key is announced this long before the oldest directory without it has expired.
    public var announceMargin: Int64
    /// The old key stays in the directory this long after the oldest directory with it in use has expired.
    public var directoryMargin: Int64
    /// The old key still signs this long after that.
    public var issueMargin: Int64
    /// Tokens of the old key are accepted this long after the last of them has expired.
    public var verifyMargin: Int64
    /// How much clients' clocks may be ahead.
    public var clockTolerance: Int64
    /// The order of the directory.
    public var order: DirectoryOrder

    /// The rules of service.md 2.6, save for what is given.
    public init(
        directoryMaxAge: Int64 = 86_400, tokenLifetime: Int64 = 7 * 86_400, period: Int64 = 30 * 86_400,
        announceMargin: Int64 = 3_600, directoryMargin: Int64 = 3_600, issueMargin: Int64 = 86_400,
        verifyMargin: Int64 = 86_400, clockTolerance: Int64 = 300, order: DirectoryOrder = .newestFirst
    ) {
        self.directoryMaxAge = max(0, directoryMaxAge)
        self.tokenLifetime = max(0, tokenLifetime)
        self.period = max(1, period)
        self.announceMargin = max(0, announceMargin)
        self.directoryMargin = max(0, directoryMargin)
        self.issueMargin = max(0, issueMargin)
        self.verifyMargin = max(0, verifyMargin)
        self.clockTolerance = max(0, clockTolerance)
        self.order = order
    }

    /// How long before its turn a key is announced.
    public var lead: Int64 { directoryMaxAge.plus(announceMargin) }
}

extension Int64 {
    /// Whether the time is before a limit, if there is one.
    func isBefore(_ limit: Int64?) -> Bool { limit.map { self < $0 } ?? true }

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
