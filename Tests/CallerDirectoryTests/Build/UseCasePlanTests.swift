// What is chosen when the operator says nothing, and that it stays.

import KeywordPIR
import Testing

@testable import CallerDirectory

@Suite struct UseCasePlanTests {
    private func plan(
        _ name: String = "app.identity", _ kind: UseCaseKind = .identity, rows: Int, valueBytes: Int = 40,
        pir: PIRSettings = PIRSettings(), previous: BuildManifest.UseCaseRecord? = nil
    ) throws -> UseCasePlan {
        let useCase = UseCaseConfiguration(
            name: name, kind: kind, sources: [], format: nil, numbers: .lenient, nameFormat: .standard, icons: nil,
            iconPolicy: .refuse, pir: pir)
        return try UseCasePlan(
            useCase, RowStatistics(rows: rows, longestValue: valueBytes, bucketBytes: rows * (10 + valueBytes)),
            previous: previous, allowInsecure: false)
    }

    @Test(arguments: [
        (0, 40, 1), (1, 1, 1), (10_000, 100, 1), (50_000, 1, 1), (50_001, 1, 2), (1_000_000, 1, 32), (100_000_000, 40, 2048),
        (5_000, 3_000, 4), (1_500, 60_000, 1),
    ])
    func shardCounts(rows: Int, valueBytes: Int, expected: Int) throws {
        let found = try plan(rows: rows, valueBytes: valueBytes).shardCount
        #expect(found == expected)
    }

    @Test func shardCountNeverPasses65536() {
        #expect(UseCasePlan.defaultShardCount(RowStatistics(rows: 1 << 40, longestValue: 1, bucketBytes: 11 << 40)) == 65_536)
    }

    @Test func parameterSets() throws {
        let (small, edge, large) = (
            try plan(rows: 10, valueBytes: 16_373), try plan(rows: 10, valueBytes: 16_374),
            try plan(rows: 10, valueBytes: 60_000)
        )
        #expect(small.setName == UseCasePlan.smallSet && edge.setName == UseCasePlan.largeSet)
        #expect(large.setName == UseCasePlan.largeSet && large.dimensionCount == 2)
        #expect(
            UseCasePlan.defaultSet(RowStatistics(rows: 1, longestValue: 20_000), kept: UseCasePlan.smallSet)
                == UseCasePlan.smallSet)
        #expect(
            UseCasePlan.defaultSet(RowStatistics(rows: 1, longestValue: 9_000), kept: UseCasePlan.largeSet)
                == UseCasePlan.largeSet)
        #expect(
            UseCasePlan.defaultSet(RowStatistics(rows: 1, longestValue: 8_000), kept: UseCasePlan.largeSet)
                == UseCasePlan.smallSet)
        var unfit = PIRSettings()
        unfit.rlweParameters = "n_4096_logq_27_28_28_logt_13"
        let one = try plan(rows: 10, pir: unfit)
        #expect(one.dimensionCount == 1 && one.notes.count == 1)
    }

    @Test func keptShardCountsHaveSlack() throws {
        let settings = PIRSettings()
        func count(_ rows: Int, kept: Int?) throws -> Int {
            try UseCasePlan.shardCount(settings, RowStatistics(rows: rows, longestValue: 1, bucketBytes: rows * 11), kept: kept)
        }
        let counts = [
            try count(50_001, kept: 1), try count(75_000, kept: 1), try count(75_001, kept: 1), try count(50_000, kept: 4),
            try count(50_000, kept: 8), try count(10, kept: 3),
        ]
        #expect(counts == [1, 1, 2, 4, 1, 1])
    }

    @Test func partnersShareTheirShardCount() throws {
        var given = PIRSettings()
        given.sharding = .shardCount(5)
        var plans = [
            try plan("a.identity", .identity, rows: 200_000), try plan("a.block", .block, rows: 10, valueBytes: 1),
            try plan("b.identity", .identity, rows: 10), try plan("b.block", .block, rows: 10, pir: given),
            try plan("c.block", .block, rows: 10), try plan("keywords", .keyword, rows: 200_000),
        ]
        UseCasePlan.alignPartners(&plans)
        #expect(plans.map(\.shardCount) == [4, 4, 5, 5, 1, 4])
    }

    @Test func entryCountPerShardIsFollowedLiterally() throws {
        var settings = PIRSettings()
        settings.sharding = .entryCountPerShard(300)
        func count(_ rows: Int) throws -> Int { try UseCasePlan.shardCount(settings, RowStatistics(rows: rows), kept: 7) }
        #expect(try count(299) == 1)
        #expect(try count(3_599) == 11)
        settings.maxShardCount = 9
        #expect(try count(3_599) == 9)
        settings.requirePowerOfTwoShardCount = true
        #expect(try count(3_599) == 8)
    }

    @Test func headRoomFillsTheGridOfPlaintexts() throws {
        let small = try plan(rows: 10_000, valueBytes: 60)
        let buckets = try small.bucketsWithHeadRoom(needed: 760)
        #expect(buckets >= 874 && buckets % 2 == 0)
        let shape = try small.shape(buckets: buckets / 2, entrySize: small.table.maxSerializedBucketSize)
        #expect(shape.dimensions.reduce(1, *) * shape.entriesPerPlaintext(small.set) == buckets / 2)
    }

    @Test func bucketsFollowTheCostUnlessTheOperatorFixedSomething() throws {
        // Two rows of 3,000 bytes take three plaintexts; the reference's rule puts one into two.
        let chosen = try plan(rows: 1_500, valueBytes: 3_000)
        #expect(chosen.table.maxSerializedBucketSize == 6144 && chosen.table.maxEvictionCount == BucketChoice.evictions)
        var pir = PIRSettings()
        pir.bucketCount = .fixedSize(bucketCount: 5_000)
        var table = try plan(rows: 1_500, valueBytes: 3_000, pir: pir).table
        #expect(table.maxSerializedBucketSize == 4096 && table.maxEvictionCount == 100)
        #expect(table.bucketCount == .fixedSize(5_000))
        pir.bucketCount = .allowExpansion(expansionFactor: nil, targetLoadFactor: nil)
        table = try plan(rows: 1_500, valueBytes: 3_000, pir: pir).table
        #expect(table.maxSerializedBucketSize == 4096 && table.maxEvictionCount == 100)
        #expect(table.bucketCount == .allowExpansion(expansionFactor: 1.1, targetLoadFactor: 0.9))
        pir = PIRSettings()
        pir.maxSerializedBucketSize = 5_000
        pir.maxEvictionCount = 7
        table = try plan(rows: 1_500, valueBytes: 3_000, pir: pir).table
        #expect(table.maxSerializedBucketSize == 5_000 && table.maxEvictionCount == 7)
    }

    @Test func publishedBucketSizesAreKept() throws {
        let fresh = try plan(rows: 1_500, valueBytes: 3_000)
        func record(_ size: Int) throws -> BuildManifest.UseCaseRecord {
            BuildManifest.UseCaseRecord(
                name: "app.identity", kind: "identity", rows: 1_500, set: BuildManifest.SetRecord(fresh.set),
                hashFunctionCount: 2, otherShardCount: nil, keyCompression: "noCompression", configurationID: "",
                leastNoiseBudget: nil,
                sizing: BuildManifest.SizingRecord(
                    shardCount: 1, buckets: 4_000, bucketSize: size, parameterSet: UseCasePlan.smallSet),
                shapes: [], shards: [])
        }
        func size(before: Int) throws -> Int {
            try plan(rows: 1_500, valueBytes: 3_000, previous: try record(before)).table.maxSerializedBucketSize
        }
        #expect(try size(before: 4096) == 4096)
        // Unless the longest row does not fit any more, or far more is taken than needed.
        #expect(try size(before: 3_010) == 6144)
        #expect(try size(before: 40_960) == 6144)
    }

    @Test func dimensionsFollowTheCostUnlessTheOperatorAsksForTheRule() throws {
        var (uneven, even) = (PIRSettings(), PIRSettings())
        (uneven.unevenDimensions, even.unevenDimensions) = (true, false)
        // 300 plaintexts of two buckets.
        func dimensions(_ pir: PIRSettings) throws -> [Int] {
            try plan(rows: 10_000, pir: pir).shape(buckets: 600, entrySize: 1024).dimensions
        }
        #expect(try dimensions(uneven) == [50, 6])
        #expect(try dimensions(even) == [18, 17])
        let chosen = try dimensions(PIRSettings())
        #expect(chosen != [50, 6] && chosen != [18, 17] && chosen.reduce(1, *) >= 300)
        let fingerprints = try [PIRSettings(), uneven, even].map { try plan(rows: 10_000, pir: $0).fingerprint }
        #expect(Set(fingerprints).count == 3)
    }

    @Test func publishedDimensionsAreKeptWhileTheTableKeepsItsSize() throws {
        let fresh = try plan(rows: 10_000)
        let published = try ShardParameters(
            entryCount: 600, entrySize: 1024, dimensions: [60, 5], hashFunctionCount: 2, set: fresh.set)
        var before = BuildManifest.UseCaseRecord(
            name: "app.identity", kind: "identity", rows: 10_000, set: BuildManifest.SetRecord(fresh.set),
            hashFunctionCount: 2, otherShardCount: nil, keyCompression: "noCompression", configurationID: "",
            leastNoiseBudget: nil,
            sizing: BuildManifest.SizingRecord(
                shardCount: 1, buckets: 1200, bucketSize: 1024, parameterSet: UseCasePlan.smallSet),
            shapes: [BuildManifest.ShapeRecord(published)], shards: [])
        let again = try plan(rows: 10_000, previous: before)
        #expect(try again.shape(buckets: 600, entrySize: 1024).dimensions == [60, 5])
        let chosen = try fresh.shape(buckets: 600, entrySize: 1023).dimensions
        #expect(try again.shape(buckets: 600, entrySize: 1023).dimensions == chosen)
        // What the operator says counts for more, and what else is published anew anyhow gets the best choice.
        var pir = PIRSettings()
        pir.unevenDimensions = true
        #expect(try plan(rows: 10_000, pir: pir, previous: before).shape(buckets: 600, entrySize: 1024).dimensions == [50, 6])
        before.keyCompression = "maxCompression"
        #expect(try plan(rows: 10_000, previous: before).shape(buckets: 600, entrySize: 1024).dimensions != [60, 5])
        before.keyCompression = "noCompression"
        before.hashFunctionCount = 3
        #expect(try plan(rows: 10_000, previous: before).shape(buckets: 600, entrySize: 1024).dimensions != [60, 5])
    }
}
