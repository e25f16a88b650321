// What the server keeps of a device: its evaluation keys. The records, the limits and the face that both drivers share.
// Specified in service.md 1.10 (upload), 1.10.1 (which key answers a query) and 7 (limits).

/// One evaluation key as a device uploaded it.
public struct EvaluationKeyRecord: Sendable, Equatable {
    /// The value of the `User-Identifier` field: opaque, 1 to 128 bytes of visible ASCII (0x21 to 0x7E). Treat it as a secret.
    public var userIdentifier: String
    /// SHA-256 of the serialised evaluation key configuration that the key was made for: 32 bytes.
    public var configurationHash: [UInt8]
    /// The device's own timestamp of its secret key, kept and returned unchanged. Never the time of arrival.
    public var timestamp: UInt64
    /// The serialised key, at least 1 byte and at most `EvaluationKeyLimits.maxKeyBytes`.
    public var key: [UInt8]

    /// Makes a record; `EvaluationKeyStore.store` checks the fields.
    public init(userIdentifier: String, configurationHash: [UInt8], timestamp: UInt64, key: [UInt8]) {
        self.userIdentifier = userIdentifier
        self.configurationHash = configurationHash
        self.timestamp = timestamp
        self.key = key
    }
}

/// The stored key that answers a query, and whether it is the one that the query named.
public struct EvaluationKeyMatch: Sendable, Equatable {
    /// The stored key.
    public var record: EvaluationKeyRecord
    /// False when the query named a timestamp that is not stored and the newest key stands in for it (service.md 1.10.1).
    public var matchedTimestamp: Bool

    /// Pairs a key with the way in which it was found.
    public init(record: EvaluationKeyRecord, matchedTimestamp: Bool) {
        self.record = record
        self.matchedTimestamp = matchedTimestamp
    }
}

/// How much a store holds.
public struct EvaluationKeyStatistics: Sendable, Equatable {
    /// The number of keys.
    public var count: Int
    /// The sum of the lengths of the serialised keys, in bytes.
    public var bytes: Int

    /// Makes a pair of count and bytes.
    public init(count: Int, bytes: Int) {
        self.count = count
        self.bytes = bytes
    }
}

/// The bounds of a store (service.md 7).
public struct EvaluationKeyLimits: Sendable, Equatable {
    /// The length that no configuration can exceed for one key: 64 MiB. A damaged file cannot make a reader allocate more.
    public static let largestKeyBytes = 64 << 20

    /// Keys that one user identifier may hold over all configurations; beyond it the least recently used go.
    public var maxKeysPerIdentifier: Int
    /// Bytes of serialised keys in the whole store; beyond it the least recently used go.
    public var maxTotalBytes: Int
    /// Seconds after its last use at which a key may go: `evict` removes a key that is idle for longer.
    public var maxIdleSeconds: Int64
    /// Bytes of one serialised key; a longer one is refused.
    public var maxKeyBytes: Int

    /// Bounds with the defaults of service.md 7: 8 keys, 4 GiB, 30 days; one key may be as long as the largest upload, 12 MiB.
    public init(
        maxKeysPerIdentifier: Int = 8, maxTotalBytes: Int = 4 << 30, maxIdleSeconds: Int64 = 30 * 86_400,
        maxKeyBytes: Int = 12 << 20
    ) {
        self.maxKeysPerIdentifier = maxKeysPerIdentifier
        self.maxTotalBytes = maxTotalBytes
        self.maxIdleSeconds = maxIdleSeconds
        self.maxKeyBytes = maxKeyBytes
    }

    /// Refuses bounds under which no store can work; the drivers call it when they open.
    ///
    /// - Throws: `StateStoreError.invalidLimits`.
    func check() throws(StateStoreError) {
        guard maxKeysPerIdentifier >= 1 else {
            throw .invalidLimits("at least 1 key per identifier is needed, \(maxKeysPerIdentifier) given")
        }
        guard maxIdleSeconds >= 0 else {
            throw .invalidLimits("the idle time must not be negative, \(maxIdleSeconds) s given")
        }
        guard maxKeyBytes >= 1, maxKeyBytes <= Self.largestKeyBytes else {
            throw .invalidLimits("bytes per key must be 1 to \(Self.largestKeyBytes), \(maxKeyBytes) given")
        }
        guard maxTotalBytes >= maxKeyBytes else {
            throw .invalidLimits("the total of \(maxTotalBytes) bytes does not hold one key of \(maxKeyBytes) bytes")
        }
    }

    /// Checks a whole upload before anything of it is written, so that what is acknowledged also fits.
    func check(_ records: [EvaluationKeyRecord]) throws(StateStoreError) {
        var total = 0
        var perUser: [String: Int] = [:]
        for record in records {
            try Self.check(userIdentifier: record.userIdentifier, configurationHash: record.configurationHash)
            guard !record.key.isEmpty else { throw .invalidRecord("the key is empty") }
            guard record.key.count <= maxKeyBytes else {
                throw .tooLarge(bytes: record.key.count, limit: maxKeyBytes)
            }
            total += record.key.count
            guard total <= maxTotalBytes else { throw .tooLarge(bytes: total, limit: maxTotalBytes) }
            perUser[record.userIdentifier, default: 0] += 1
        }
        if let most = perUser.values.max(), most > maxKeysPerIdentifier {
            throw .tooManyKeys(count: most, limit: maxKeysPerIdentifier)
        }
    }

    /// Checks the two fields under which keys are found. The texts of the errors never repeat the fields.
    static func check(userIdentifier: String, configurationHash: [UInt8]) throws(StateStoreError) {
        let length = userIdentifier.utf8.count
        guard length >= 1, length <= 128 else {
            throw .invalidRecord("a user identifier has 1 to 128 bytes, this one has \(length)")
        }
        guard userIdentifier.utf8.allSatisfy({ $0 >= 0x21 && $0 <= 0x7E }) else {
            throw .invalidRecord("a user identifier is visible ASCII, this one holds another byte")
        }
        guard configurationHash.count == 32 else {
            throw .invalidRecord("a configuration hash has 32 bytes, this one has \(configurationHash.count)")
        }
    }
}

/// The evaluation keys of all devices. Every call may block its thread (a driver may wait for a disk) and may come from any
/// thread. Times (`now`) are seconds since 1970 by the server's clock; a clock that steps back evicts nothing too early.
///
/// For one user and configuration the store keeps two keys at most: the one with the newest timestamp, and one other. An upload
/// that is older than the newest takes the place of the other, whatever that one's timestamp: what was acknowledged last can be
/// used. An upload with a stored timestamp replaces that key.
public protocol EvaluationKeyStore: Sendable {
    /// Stores all records of one upload, or none. On return they are as durable as the driver can make them; limits are applied
    /// at once, so other keys of the same user, or the least recently used keys of anyone, may have gone for them.
    ///
    /// - Throws: `StateStoreError`: `invalidRecord`, `tooLarge`, `tooManyKeys` when the records break a limit by themselves;
    ///   `closed`; and what the driver meets (`diskFull`, `readOnly`, `busy`, `corrupt`, `database`).
    func store(_ records: [EvaluationKeyRecord], at now: Int64) throws(StateStoreError)

    /// The newest timestamp stored for the pair, nil when there is no key. Does not count as use.
    ///
    /// - Throws: `StateStoreError`, as `store`.
    func newestTimestamp(userIdentifier: String, configurationHash: [UInt8]) throws(StateStoreError) -> UInt64?

    /// The key that answers a query (service.md 1.10.1): the one with this timestamp; for timestamp 0, or when none matches, the
    /// newest; nil when the pair has no key. Counts as use of the key returned, without a durable write.
    ///
    /// - Throws: `StateStoreError`, as `store`.
    func key(
        userIdentifier: String, configurationHash: [UInt8], timestamp: UInt64, at now: Int64
    ) throws(StateStoreError) -> EvaluationKeyMatch?

    /// Applies all limits, and makes the times of last use durable. Meant for a timer (every few minutes).
    ///
    /// - Returns: how many keys went.
    /// - Throws: `StateStoreError`, as `store`.
    @discardableResult
    func evict(at now: Int64) throws(StateStoreError) -> Int

    /// How much is stored now.
    ///
    /// - Throws: `StateStoreError`, as `store`.
    func statistics() throws(StateStoreError) -> EvaluationKeyStatistics

    /// Makes everything durable and lets go of the files. Every later call throws `StateStoreError.closed`, but `close` itself
    /// may be called again.
    ///
    /// - Throws: `StateStoreError` when the times of last use could not be written; the store is closed nevertheless.
    func close() throws(StateStoreError)
}
