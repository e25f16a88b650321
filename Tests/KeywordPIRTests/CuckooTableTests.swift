// The table never loses a row, whatever the sizes, and says so when it cannot hold them.

import Testing

@testable import KeywordPIR

@Suite struct CuckooTableTests {
    private func rows(_ lengths: [Int]) -> ([UInt64], TableRows) {
        var hasher = KeywordHasher()
        var rows = TableRows()
        var hashes: [UInt64] = []
        for (i, length) in lengths.enumerated() {
            let hash = hasher.hash(Array("+1408555\(i)".utf8))
            hashes.append(hash)
            rows.append(hash: hash, value: [UInt8](repeating: UInt8(i & 0xff), count: length))
        }
        return (hashes, rows)
    }

    private func checkAll(_ lengths: [Int], _ settings: TableSettings) throws -> CuckooTable {
        let (hashes, rows) = rows(lengths)
        let table = try CuckooTable(rows, settings: settings)
        for (i, hash) in hashes.enumerated() {
            let value = try table.value(ofHash: hash)
            #expect(value.map { Array($0) } == [UInt8](repeating: UInt8(i & 0xff), count: lengths[i]))
        }
        #expect(table.largestBucketBytes <= settings.maxSerializedBucketSize)
        return table
    }

    @Test func keepsTheRowsThatTheReferenceLoses() throws {
        let lengths = [Int](repeating: 40, count: 5000) + [Int](repeating: 900, count: 10)
        _ = try checkAll(lengths, TableSettings(maxSerializedBucketSize: 1024))
    }

    @Test(arguments: [1, 2, 3]) func worksForEveryNumberOfTables(functions: Int) throws {
        var settings = TableSettings(maxSerializedBucketSize: 1024)
        settings.hashFunctionCount = functions
        _ = try checkAll((0..<700).map { $0 % 60 }, settings)
    }

    @Test func takesShortAndLongestValues() throws {
        let settings = TableSettings(
            maxSerializedBucketSize: TableSettings.defaultBucketSize(longestValue: 65535, bytesPerPlaintext: 2048))
        _ = try checkAll([0, 65535, 1, 65535, 0, 3], settings)
    }

    @Test func respectsSlots() throws {
        var settings = TableSettings(maxSerializedBucketSize: 1024)
        settings.slotCount = 4
        let table = try checkAll([Int](repeating: 1, count: 500), settings)
        var most: UInt8 = 0
        for t in 0..<2 {
            for b in 0..<table.bucketsPerTable {
                var out: [UInt8] = []
                table.appendEntry(table: t, index: b, to: &out)
                most = max(most, out[0])
            }
        }
        #expect(most <= 4)
    }

    @Test func refusesWhatDoesNotFit() throws {
        var settings = TableSettings(maxSerializedBucketSize: 64)
        #expect(throws: PIRError.valueTooLong(bytes: 60, limit: 53)) {
            try CuckooTable(rows([60]).1, settings: settings)
        }
        settings.bucketCount = .fixedSize(4)
        #expect(throws: PIRError.tableTooSmall(rows: 100, buckets: 4)) {
            try CuckooTable(rows([Int](repeating: 8, count: 100)).1, settings: settings)
        }
        var twice = TableRows()
        twice.append(hash: 7, value: [1])
        twice.append(hash: 8, value: [1])
        twice.append(hash: 7, value: [2])
        #expect(throws: PIRError.duplicateHash(first: 0, second: 2)) {
            try CuckooTable(twice, settings: TableSettings(maxSerializedBucketSize: 64))
        }
    }

    @Test(arguments: [1, 2, 3, 4], [0, 40]) func rowsMadeElsewhereGiveTheSameTable(functions: Int, growth: Int) throws {
        // In any order of the rows, with growing and displacing.
        let lengths = (0..<900).map { $0 * 7 % (growth + 3) }
        let (hashes, rows) = rows(lengths)
        var settings = TableSettings(maxSerializedBucketSize: 256)
        settings.hashFunctionCount = functions
        settings.bucketCount = .allowExpansion(expansionFactor: 1.05, targetLoadFactor: 0.95)
        let expected = try CuckooTable(rows, settings: settings)
        let order = hashes.indices.sorted { hashes[$0] < hashes[$1] }
        var values: [UInt8] = []
        var ends: [Int] = []
        for row in order {
            values += [UInt8](repeating: UInt8(row & 0xff), count: lengths[row])
            ends.append(values.count)
        }
        let table = try CuckooTable(
            try TableRows(hashes: order.map { hashes[$0] }, values: values, ends: ends), settings: settings)
        #expect(table.bucketsPerTable == expected.bucketsPerTable)
        #expect(table.largestBucketBytes == expected.largestBucketBytes)
        for t in 0..<functions {
            for b in 0..<table.bucketsPerTable {
                var (one, other): ([UInt8], [UInt8]) = ([], [])
                table.appendEntry(table: t, index: b, to: &one)
                expected.appendEntry(table: t, index: b, to: &other)
                #expect(one == other)
            }
        }
    }

    @Test func refusesRowsThatDoNotFitOneAnother() throws {
        func made(_ hashes: [UInt64], _ values: [UInt8], _ ends: [Int]) throws {
            _ = try TableRows(hashes: hashes, values: values, ends: ends)
        }
        try made([1, 2], [3, 4, 5], [1, 3])
        try made([], [], [])
        let bad: [([UInt64], [Int])] = [
            ([1], [1, 3]), ([1, 2], [1, 2]), ([1, 2, 3], [2, 1, 3]), ([1, 2], [-1, 3]), ([1], [4]), ([], []),
        ]
        for (hashes, ends) in bad {
            #expect(throws: PIRError.invalid("hashes, values and ends of rows do not fit one another")) {
                try made(hashes, [3, 4, 5], ends)
            }
        }
    }

    @Test func oneCandidateIsThatOfTheList() {
        var hasher = KeywordHasher()
        for hash in (0..<200).map({ UInt64($0) &* 0x9e37_79b9_7f4a_7c15 }) {
            for buckets in [1, 2, 3, 350] {
                let all = hasher.candidates(hash: hash, buckets: buckets, functions: 4)
                #expect((0..<4).map { hasher.candidate($0, hash: hash, buckets: buckets) } == all)
            }
        }
    }

    @Test func emptyTableHasOneBucket() throws {
        let table = try CuckooTable(TableRows(), settings: TableSettings(maxSerializedBucketSize: 1024))
        #expect(table.bucketsPerTable == 1)
        #expect(table.largestBucketBytes == 1)
        #expect(try table.value(ofHash: 1) == nil)
    }

    @Test func knownCandidates() {
        var hasher = KeywordHasher()
        let hash = hasher.hash(Array("+14085551212".utf8))
        #expect(hash == 16_707_252_085_496_585_543)
        #expect(hasher.candidates(hash: hash, buckets: 380, functions: 2) == [171, 78])
        #expect(hasher.candidates(hash: hash, buckets: 8, functions: 3) == [7, 2, 3])
        #expect(hasher.candidates(hash: hash, buckets: 2, functions: 3) == [1, 0, 1])
        #expect(hasher.candidates(hash: hash, buckets: 1, functions: 2) == [0, 0])
        #expect(ShardingFunction.doubleMod(otherShardCount: 57).shard(ofHash: hash, shardCount: 10) == 2)
    }
}
