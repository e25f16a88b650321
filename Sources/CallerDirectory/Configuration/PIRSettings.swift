// The `pir` object of a use case: the fields of the reference tool's processing configuration (keyword-pir.md 11.3, 3.2,
// 1.3, 12) and two of ours. What is nil is chosen by the builder.

/// What an operator fixed of a use case's private-lookup parameters.
public struct PIRSettings: Sendable, Equatable {
    /// How the number of shards is found.
    public enum Sharding: Sendable, Equatable {
        /// That many.
        case shardCount(Int)
        /// As many as leave at least so many rows on average in each.
        case entryCountPerShard(Int)
    }

    /// How a keyword finds its shard (keyword-pir.md 1.2).
    public enum ShardingFunction: Sendable, Equatable {
        /// Hash modulo shard count.
        case sha256
        /// Hash modulo the other use case's shard count, modulo the own.
        case doubleMod(otherShardCount: Int)
    }

    /// How many buckets a table has (keyword-pir.md 3.3).
    public enum BucketCount: Sendable, Equatable {
        /// Sized by load, grown by a factor when full; nil: 1.1 and 0.9.
        case allowExpansion(expansionFactor: Double?, targetLoadFactor: Double?)
        /// So many in all tables together; a full table is an error.
        case fixedSize(bucketCount: Int)
    }

    /// How evaluation keys are made small (keyword-pir.md 6.4).
    public enum KeyCompression: String, Sendable, Equatable {
        /// Every key for the fastest expansion.
        case noCompression
        /// In between.
        case hybridCompression
        /// Fewest keys.
        case maxCompression
    }

    /// Name of a predefined parameter set (bfv.md 1.1).
    public var rlweParameters: String?
    /// How the number of shards is found.
    public var sharding: Sharding?
    /// Upper bound of the shard count.
    public var maxShardCount: Int?
    /// The shard count must be a power of two (with `entryCountPerShard`: it is rounded down to one).
    public var requirePowerOfTwoShardCount: Bool?
    /// How a keyword finds its shard.
    public var shardingFunction: ShardingFunction?
    /// Hash functions, 1…8.
    public var hashFunctionCount: Int?
    /// Evictions before a table grows, 1…10 000.
    public var maxEvictionCount: Int?
    /// Bytes of a bucket, 11 at least.
    public var maxSerializedBucketSize: Int?
    /// Slots of a bucket, 1…255.
    public var slotCount: Int?
    /// How many buckets a table has.
    public var bucketCount: BucketCount?
    /// How evaluation keys are made small.
    public var keyCompression: KeyCompression?
    /// Entries are as large as a bucket may be rather than as the largest one is.
    public var useMaxSerializedBucketSize: Bool?
    /// Real queries per shard after a build.
    public var trialsPerShard: Int?
    /// 1 or 2.
    public var dimensionCount: Int?
    /// Dimensions by the reference's rule, which may differ by more than one if true (keyword-pir.md 4.2); nil: by cost.
    public var unevenDimensions: Bool?

    /// Nothing fixed.
    public init() {}

    /// Predefined sets, and whether a reply survives a ciphertext product, which two dimensions need
    /// (keyword-pir.md 14.5: measured; the others leave no noise budget, or too little to rely on).
    static let parameterSets: [(name: String, survivesProduct: Bool)] = [
        ("n_4096_logq_27_28_28_logt_4", true), ("n_4096_logq_27_28_28_logt_5", true), ("n_4096_logq_27_28_28_logt_6", true),
        ("n_4096_logq_27_28_28_logt_13", false), ("n_4096_logq_27_28_28_logt_16", false),
        ("n_4096_logq_27_28_28_logt_17", false),
        ("n_4096_logq_16_33_33_logt_4", true), ("n_8192_logq_3x55_logt_24", true), ("n_8192_logq_3x55_logt_29", false),
        ("n_8192_logq_3x55_logt_30", false), ("n_8192_logq_3x55_logt_42", false), ("n_8192_logq_28_60_60_logt_20", false),
        ("n_8192_logq_29_60_60_logt_15", true), ("n_8192_logq_40_60_60_logt_26", false),
    ]
    /// The test sets: no security at all.
    static let insecureParameterSets = [
        "insecure_n_8_logq_5x18_logt_5", "insecure_n_16_logq_60_logt_15", "insecure_n_512_logq_4x60_logt_20",
    ]
}
