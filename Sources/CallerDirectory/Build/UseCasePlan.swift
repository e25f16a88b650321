// What a use case's shards will be like: what the operator fixed is followed literally, the rest is chosen here
// (keyword-pir.md 1.3, 3.2, 3.3, 4.2, 11.3, 14.5). The rules of our choice:
//
// - parameter set: n_4096_logq_27_28_28_logt_5; n_8192_logq_3x55_logt_24 if the longest value would take more than eight
//   plaintexts of the former (16 KiB), where its larger plaintexts make responses smaller;
// - shards: the least power of two that leaves at most 50,000 rows and at most 4 MiB of rows in one, so that a query takes
//   tens of milliseconds, but at least 1,000 rows (the privacy of a query is the number of rows in its shard), at most
//   65,536 shards; the two use cases of an app get the same number, the larger of the two;
// - buckets: the size that a phone is estimated to get its answer with first (KeywordPIR/BucketChoice.swift); the reference's
//   rule where the operator fixed the number of buckets;
// - tables: one size for all shards, found from the fullest shard, with 15 % of head-room, kept for the next build;
// - dimensions: the split that a query is estimated to be fastest with (KeywordPIR/CostModel.swift); with `unevenDimensions`
//   the reference's rule, for identifiers equal to its own;
// - all are kept from the version before as long as they still fit, so that devices keep their configuration.

import BFV
import KeywordPIR

/// Numbers of a use case's rows that a plan depends on.
struct RowStatistics: Sendable, Equatable {
    var rows = 0
    var longestValue = 0
    /// Bytes of all rows in buckets.
    var bucketBytes = 0

    init(rows: Int = 0, longestValue: Int = 0, bucketBytes: Int = 0) {
        self.rows = rows
        self.longestValue = longestValue
        self.bucketBytes = bucketBytes
    }

    init(_ list: KeywordRows) {
        rows = list.count
        for index in list.indices {
            let bytes = list.valueBytes(at: index)
            longestValue = Swift.max(longestValue, bytes)
            bucketBytes += 10 + bytes
        }
    }

    /// Of one shard of so many.
    func ofShard(of count: Int) -> RowSizes {
        let shards = Swift.max(count, 1)
        return RowSizes(
            count: (rows + shards - 1) / shards, valueBytes: Swift.max(bucketBytes - 10 * rows, 0) / shards,
            longestValue: longestValue)
    }
}

/// How one use case is built.
struct UseCasePlan: Sendable {
    static let smallSet = "n_4096_logq_27_28_28_logt_5"
    static let largeSet = "n_8192_logq_3x55_logt_24"
    static let plaintextsOfLargestValue = 8
    static let rowsPerShard = 50_000
    static let bytesPerShard = 4 << 20
    static let leastRowsPerShard = 1_000
    static let shardsAtMost = 65_536
    /// Head-room of tables that we size.
    static let headRoom = 1.15

    let name: String
    let kind: UseCaseKind
    let set: ParameterSet
    let setName: String
    var shardCount: Int
    let function: ShardingFunction
    let compression: KeyCompression
    let dimensionCount: Int
    let rule: DimensionRule
    /// Dimensions that the version before has for tables of a size, if they were left to us.
    let keptDimensions: [TableSize: [Int]]
    /// M, H, slots, evictions and the number of buckets if the operator fixed it.
    var table: TableSettings
    /// The operator left the number of buckets to us.
    let sizesTables: Bool
    /// Bytes of rows for each byte of buckets that a table is tried with first, where we size it.
    let firstLoad: Double
    let usesMaximumBucketSize: Bool
    let trialsPerShard: Int?
    /// Buckets of all tables from the version before, if they may be tried.
    var keptBuckets: Int?
    var notes: [String] = []
    /// The operator left the number of shards to us.
    let choosesShardCount: Bool

    /// - `previous`: the same use case in the current version.
    init(
        _ useCase: UseCaseConfiguration, _ statistics: RowStatistics, previous: BuildManifest.UseCaseRecord?,
        allowInsecure: Bool
    ) throws {
        let pir = useCase.pir
        name = useCase.name
        kind = useCase.kind
        let kept = previous?.sizing
        setName = pir.rlweParameters ?? UseCasePlan.defaultSet(statistics, kept: kept?.parameterSet)
        do {
            set = try ParameterSet.named(setName, allowInsecure: allowInsecure)
        } catch {
            throw DirectoryError(.plan, "use case \(useCase.name): \(setName) is no parameter set that can be used")
        }
        let hashFunctions = pir.hashFunctionCount ?? 2
        rule = pir.unevenDimensions.map { $0 ? .uneven : .even } ?? .cost
        if let given = pir.dimensionCount {
            dimensionCount = given
        } else if let reason = set.refusalForTwoDimensions {
            dimensionCount = 1
            notes.append("one dimension, since \(setName) cannot serve two: \(reason)")
        } else {
            dimensionCount = 2
        }
        switch pir.shardingFunction {
        case .doubleMod(let other)?: function = .doubleMod(otherShardCount: other)
        case .sha256?, nil: function = .sha256
        }
        compression = pir.keyCompression.flatMap { KeyCompression(rawValue: $0.rawValue) } ?? .noCompression
        usesMaximumBucketSize = pir.useMaxSerializedBucketSize ?? false
        // Figures of the cost model may have been fitted anew since then, which is no reason for another configuration.
        keptDimensions =
            rule == .cost && previous?.set == BuildManifest.SetRecord(set) && previous?.hashFunctionCount == hashFunctions
                && previous?.keyCompression == compression.rawValue
            ? TableSize.dimensions(of: previous?.shapes ?? [], count: dimensionCount) : [:]
        trialsPerShard = pir.trialsPerShard
        choosesShardCount = pir.sharding == nil
        shardCount = try UseCasePlan.shardCount(pir, statistics, kept: kept?.shardCount)

        let sizesTables = pir.bucketCount == nil
        let choice = try UseCasePlan.bucketChoice(
            useCase, statistics.ofShard(of: shardCount), model: CostModel(set),
            kept: kept?.parameterSet == setName ? kept : nil,
            dimensionCount: dimensionCount, compression: compression, rule: rule)
        firstLoad = choice.load
        let bucketSize = choice.bucketSize
        table = TableSettings(maxSerializedBucketSize: bucketSize)
        table.hashFunctionCount = hashFunctions
        table.slotCount = pir.slotCount ?? table.slotCount
        table.maxEvictionCount = pir.maxEvictionCount ?? (sizesTables ? BucketChoice.evictions : table.maxEvictionCount)
        switch pir.bucketCount {
        case .fixedSize(let count)?: table.bucketCount = .fixedSize(count)
        case .allowExpansion(let factor, let load)?:
            table.bucketCount = .allowExpansion(expansionFactor: factor ?? 1.1, targetLoadFactor: load ?? 0.9)
        case nil: table.bucketCount = choice.settings.bucketCount
        }
        self.sizesTables = sizesTables
        if sizesTables, let previous, kept?.parameterSet == setName, kept?.bucketSize == bucketSize,
            previous.hashFunctionCount == hashFunctions
        {
            keptBuckets = kept?.buckets
        }
    }

    /// The size of buckets: the operator's, else that of the version before as long as it does, else the one of least cost.
    ///
    /// - `kept`: sizing of the version before, if it had the same parameter set.
    private static func bucketChoice(
        _ useCase: UseCaseConfiguration, _ rows: RowSizes, model: CostModel, kept: BuildManifest.SizingRecord?,
        dimensionCount: Int, compression: KeyCompression, rule: DimensionRule
    ) throws -> BucketChoice {
        let pir = useCase.pir
        let (functions, slots) = (pir.hashFunctionCount ?? 2, pir.slotCount ?? HashBucket.maximumSlots)
        func choice(size: Int) -> BucketChoice {
            model.bucketChoice(
                size: size, rows, hashFunctions: functions, slotCount: slots, dimensionCount: dimensionCount,
                compression: compression, rule: rule)
        }
        if let size = pir.maxSerializedBucketSize {
            guard size >= rows.longestValue + 11 else {
                throw DirectoryError(
                    .plan,
                    "use case \(useCase.name): maxSerializedBucketSize is \(size), but the longest value needs "
                        + "\(rows.longestValue + 11)")
            }
            return choice(size: size)
        }
        let usual = TableSettings.defaultBucketSize(
            longestValue: rows.longestValue, bytesPerPlaintext: model.set.bytesPerPlaintext)
        // A number of buckets was meant for the size that the reference's rule gives.
        if pir.bucketCount != nil { return choice(size: usual) }
        let best = model.bucketChoice(
            rows, hashFunctions: functions, slotCount: slots, dimensionCount: dimensionCount, compression: compression,
            rule: rule)
        if let before = kept?.bucketSize, before >= rows.longestValue + 11, before <= 2 * max(usual, best.bucketSize),
            before <= ShardParameters.maximum
        {
            return choice(size: before)
        }
        return best
    }

    /// The parameter set of our choice.
    static func defaultSet(_ statistics: RowStatistics, kept: String?) -> String {
        // 2048 bytes in a plaintext of the small set.
        let limit = plaintextsOfLargestValue * 2048
        let longest = statistics.longestValue + 11
        // A set is kept until the other one would clearly be better.
        if kept == smallSet, longest <= 2 * limit { return smallSet }
        if kept == largeSet, longest > limit / 2 { return largeSet }
        return longest > limit ? largeSet : smallSet
    }

    /// The number of shards before partners are looked at.
    static func shardCount(_ pir: PIRSettings, _ statistics: RowStatistics, kept: Int?) throws -> Int {
        switch pir.sharding {
        case .shardCount(let count)?: return count
        case .entryCountPerShard(let entries)?:
            var count = max(1, statistics.rows / max(entries, 1))
            count = min(count, pir.maxShardCount ?? count)
            guard count <= 1 << 20 else {
                throw DirectoryError(.plan, "entryCountPerShard \(entries) asks for \(count) shards, at most \(1 << 20) can be")
            }
            if pir.requirePowerOfTwoShardCount == true { count = 1 << (Int.bitWidth - 1 - count.leadingZeroBitCount) }
            return count
        case nil:
            let fresh = defaultShardCount(statistics)
            guard let kept, kept > 0, kept & (kept - 1) == 0, kept <= shardsAtMost else { return fresh }
            // Kept until shards are half as full again as they should be, or a quarter as full.
            let isTooFull =
                statistics.rows > rowsPerShard * kept * 3 / 2 || statistics.bucketBytes > bytesPerShard * kept * 3 / 2
            return isTooFull && kept < fresh || kept > 4 * fresh ? fresh : kept
        }
    }

    /// The rule at the head of this file.
    static func defaultShardCount(_ statistics: RowStatistics) -> Int {
        var count = 1
        while statistics.rows > rowsPerShard * count || statistics.bucketBytes > bytesPerShard * count,
            count < shardsAtMost, statistics.rows >= leastRowsPerShard * 2 * count
        {
            count *= 2
        }
        return count
    }

    /// Gives the identity and the block use case of an app the same number of shards where the operator leaves it to us.
    static func alignPartners(_ plans: inout [UseCasePlan]) {
        for i in plans.indices where plans[i].kind == .identity {
            guard let app = plans[i].appName,
                let k = plans.firstIndex(where: { $0.kind == .block && $0.appName == app })
            else { continue }
            switch (plans[i].choosesShardCount, plans[k].choosesShardCount) {
            case (true, true):
                let count = max(plans[i].shardCount, plans[k].shardCount)
                plans[i].shardCount = count
                plans[k].shardCount = count
            case (true, false): plans[i].shardCount = plans[k].shardCount
            case (false, true): plans[k].shardCount = plans[i].shardCount
            case (false, false): break
            }
        }
    }

    /// The name before its last dot.
    private var appName: Substring? { name.lastIndex(of: ".").map { name[..<$0] } }

    /// E by keyword-pir.md 3.5.
    private func entrySize(_ table: CuckooTable) -> Int {
        if case .fixedSize = self.table.bucketCount { return self.table.maxSerializedBucketSize }
        return usesMaximumBucketSize ? self.table.maxSerializedBucketSize : table.largestBucketBytes
    }

    /// The shape of a shard with this table.
    func shape(of table: CuckooTable) throws -> ShardParameters {
        try shape(buckets: table.bucketsPerTable, entrySize: entrySize(table))
    }

    /// The shape of a shard with so many buckets in each table.
    func shape(buckets: Int, entrySize: Int) throws -> ShardParameters {
        let perPlaintext = max(set.bytesPerPlaintext / entrySize, 1)
        let chunks = (entrySize + set.bytesPerPlaintext - 1) / set.bytesPerPlaintext
        let dimensions =
            keptDimensions[TableSize(buckets: buckets, entrySize: entrySize)]
            ?? CostModel(set).dimensions(
                plaintexts: (buckets + perPlaintext - 1) / perPlaintext, hashFunctions: table.hashFunctionCount,
                chunks: chunks, dimensionCount: dimensionCount, compression: compression, rule: rule)
        return try ShardParameters(
            entryCount: buckets, entrySize: entrySize, dimensions: dimensions,
            hashFunctionCount: table.hashFunctionCount, set: set)
    }

    /// Buckets of all tables with head-room, from what the fullest shard needs: the rest of the grid of plaintexts is filled,
    /// since a query costs the same.
    func bucketsWithHeadRoom(needed: Int) throws -> Int {
        let functions = table.hashFunctionCount
        let wanted = Int((Double(needed) * UseCasePlan.headRoom).rounded(.up))
        let perTable = max((wanted + functions - 1) / functions, 1)
        guard perTable <= ShardParameters.maximum else { return perTable * functions }
        let size = table.maxSerializedBucketSize
        let plain = try shape(buckets: perTable, entrySize: size)
        let filled = plain.dimensions.reduce(1, *) * plain.entriesPerPlaintext(set)
        if filled <= ShardParameters.maximum, let full = try? shape(buckets: filled, entrySize: size),
            full.dimensions == plain.dimensions
        {
            return filled * functions
        }
        return perTable * functions
    }

    /// Everything, beside the rows, that the bytes of a shard file follow from.
    var fingerprint: String {
        "shard 1;\(set.degree);\(set.plaintextModulus);\(set.coefficientModuli);\(set.level);\(table);\(dimensionCount);"
            + "\(rule);\(usesMaximumBucketSize)"
    }
}

/// What the number of plaintexts of a table follows from.
struct TableSize: Hashable, Sendable {
    var buckets: Int
    var entrySize: Int

    /// Dimensions of those shapes that have so many.
    static func dimensions(of shapes: [BuildManifest.ShapeRecord], count: Int) -> [TableSize: [Int]] {
        let fitting = shapes.filter { $0.dimensions.count == count }
        return Dictionary(
            fitting.map { (TableSize(buckets: $0.entryCount, entrySize: $0.entrySize), $0.dimensions) },
            uniquingKeysWith: { first, _ in first })
    }
}
