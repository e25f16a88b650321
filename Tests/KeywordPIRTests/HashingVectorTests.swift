// Hashes, shards, candidates and buckets against the reference's vectors and the appendix (keyword-pir.md 1, 2, A.1 – A.3).

import Cryptography
import TestVectors
import Testing

@testable import KeywordPIR

private struct HashingVectors: Decodable {
    struct Keyword: Decodable {
        struct DoubleMod: Decodable {
            let shardCount: Int
            let otherShardCount: Int
            let shardIndex: Int
        }
        struct Indices: Decodable {
            let bucketCount: Int
            let hashFunctionCount: Int
            let indices: [Int]
        }
        let keyword: String
        let keywordHash: UInt64
        let shardIndexSha256: [String: Int]
        let shardIndexDoubleMod: [DoubleMod]
        let hashIndices: [Indices]
    }
    struct Bucket: Decodable {
        struct Slot: Decodable {
            let keyword: String
            let value: String
        }
        let slots: [Slot]
        let serialized: String
    }
    let keywords: [Keyword]
    let buckets: [Bucket]
}

@Suite struct HashingVectorTests {
    @Test(.enabled(if: VectorFiles.find("pir/hashing.json") != nil, "pir/hashing.json is not here"))
    func hashesEqualTheVectors() throws {
        let file: HashingVectors = try VectorFiles.json("pir/hashing.json")
        #expect(!file.keywords.isEmpty && !file.buckets.isEmpty)
        var hasher = KeywordHasher()
        for vector in file.keywords {
            let hash = hasher.hash(bytes(hex: vector.keyword))
            #expect(hash == vector.keywordHash, "\(vector.keyword)")
            for (count, shard) in vector.shardIndexSha256 {
                #expect(ShardingFunction.sha256.shard(ofHash: hash, shardCount: try #require(Int(count))) == shard)
            }
            for d in vector.shardIndexDoubleMod {
                let function = ShardingFunction.doubleMod(otherShardCount: d.otherShardCount)
                #expect(function.shard(ofHash: hash, shardCount: d.shardCount) == d.shardIndex)
            }
            for h in vector.hashIndices {
                let got = hasher.candidates(hash: hash, buckets: h.bucketCount, functions: h.hashFunctionCount)
                #expect(got == h.indices, "\(vector.keyword), \(h.bucketCount) buckets, \(h.hashFunctionCount) functions")
            }
        }
        for bucket in file.buckets {
            var out: [UInt8] = [UInt8(bucket.slots.count)]
            for slot in bucket.slots {
                HashBucket.append(hash: hasher.hash(bytes(hex: slot.keyword)), value: bytes(hex: slot.value)[...], to: &out)
            }
            #expect(hex(out) == bucket.serialized)
            #expect(HashBucket.size(valueBytes: bucket.slots.map { $0.value.count / 2 }) == out.count)
            let read = try HashBucket.read((out + [0, 0, 0])[...])
            #expect(read.map { hex($0.value) } == bucket.slots.map(\.value))
            #expect(read.map(\.hash) == bucket.slots.map { hasher.hash(bytes(hex: $0.keyword)) })
        }
    }

    @Test func hashesOfTheAppendix() {
        let rows: [(String, UInt64, [Int])] = [
            ("", 1_449_310_910_991_872_227, [1, 8, 6]), ("+123", 9_308_179_474_402_911_259, [1, 10, 5]),
            ("+14085551212", 16_707_252_085_496_585_543, [2, 14, 2]), ("example.com", 11_941_769_327_824_763_299, [1, 40, 9]),
        ]
        var hasher = KeywordHasher()
        for (keyword, expected, shards) in rows {
            let hash = hasher.hash(Array(keyword.utf8))
            #expect(hash == expected, "\(keyword)")
            let three = ShardingFunction.sha256.shard(ofHash: hash, shardCount: 3)
            let many = ShardingFunction.sha256.shard(ofHash: hash, shardCount: 41)
            let double = ShardingFunction.doubleMod(otherShardCount: 57).shard(ofHash: hash, shardCount: 10)
            #expect([three, many, double] == shards, "\(keyword)")
        }
        func shards(_ keyword: [UInt8], _ counts: [Int], _ function: ShardingFunction) -> [Int] {
            counts.map { function.shard(ofHash: hasher.hash(keyword), shardCount: $0) }
        }
        let other = ShardingFunction.doubleMod(otherShardCount: 2000)
        #expect(shards([0, 0, 0, 0], [41, 1001], .sha256) == [2, 635])
        #expect(shards([0, 0, 0, 0], [41, 1001], other) == [32, 319])
        #expect(shards([1, 2, 3], [1001], .sha256) == [903])
        #expect(shards([1, 2, 3], [1001], other) == [922])
        #expect(shards([3, 2, 1], [1001], .sha256) == [842])
        #expect(shards([3, 2, 1], [1001], other) == [328])
    }

    @Test func candidatesOfTheAppendix() {
        let rows: [(String, [Int], [Int], [Int])] = [
            ("", [135, 353], [7, 5, 3], [1, 0, 0]), ("+123", [346, 23], [2, 7, 0], [0, 1, 0]),
            ("+14085551212", [171, 78], [7, 2, 3], [1, 0, 1]), ("example.com", [245, 218], [5, 2, 3], [1, 0, 0]),
        ]
        var hasher = KeywordHasher()
        for (keyword, large, eight, two) in rows {
            let hash = hasher.hash(Array(keyword.utf8))
            #expect(hasher.candidates(hash: hash, buckets: 380, functions: 2) == large, "\(keyword)")
            #expect(hasher.candidates(hash: hash, buckets: 8, functions: 3) == eight, "\(keyword)")
            #expect(hasher.candidates(hash: hash, buckets: 2, functions: 3) == two, "\(keyword)")
            #expect(hasher.candidates(hash: hash, buckets: 1, functions: 2) == [0, 0], "\(keyword)")
        }
        let first = hasher.hash([0, 1, 2, 3])
        #expect(hasher.candidates(hash: first, buckets: 8, functions: 3) == [7, 3, 0])
        let second = hasher.hash([3, 2, 1, 0])
        #expect(hasher.candidates(hash: second, buckets: 2048, functions: 5) == [1989, 1767, 1260, 242, 1122])
    }

    /// The rule as keyword-pir.md 1.4 words it, function by function, against the single walk of the implementation.
    @Test func candidatesFollowTheRule() {
        var hasher = KeywordHasher()
        func index(_ hash: UInt64, _ counter: UInt8, _ buckets: Int) -> Int {
            let input = (0..<8).map { UInt8(truncatingIfNeeded: hash >> UInt64(56 - 8 * $0)) } + [counter]
            let word = SHA256.hash(input).prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return Int(word % UInt64(buckets))
        }
        for n in 0..<200 {
            let hash = hasher.hash(Array("\(n)".utf8))
            for (buckets, functions) in [(1, 8), (2, 2), (3, 8), (5, 4), (8, 8), (11, 3), (1000, 8)] {
                var list: [Int] = []
                for _ in 0..<functions {
                    var counter: UInt8 = 0
                    while list.contains(index(hash, counter, buckets)), counter < 10 { counter += 1 }
                    list.append(index(hash, counter, buckets))
                }
                #expect(
                    hasher.candidates(hash: hash, buckets: buckets, functions: functions) == list,
                    "\(n), \(buckets) buckets, \(functions) functions")
            }
        }
    }

    /// Every prefix of a bucket is refused until all its slots are there.
    @Test func bucketsThatAreCutAreRefused() throws {
        let slots: [(UInt64, [UInt8])] = [(7, [1, 2, 3]), (.max, []), (9, [UInt8](repeating: 5, count: 300))]
        var out: [UInt8] = [3]
        for (hash, value) in slots { HashBucket.append(hash: hash, value: value[...], to: &out) }
        for cut in 0..<out.count {
            #expect(throws: PIRError.unreadableReply, "\(cut) bytes") { try HashBucket.read(out[..<cut]) }
        }
        #expect(try HashBucket.read(out[...]).map { Array($0.value) } == slots.map(\.1))
        #expect(try HashBucket.read([0]).isEmpty)
        #expect(try HashBucket.read([UInt8](repeating: 0, count: 100)[...]).isEmpty)
        #expect(throws: PIRError.unreadableReply) { try HashBucket.read([255] + [UInt8](repeating: 0, count: 2549)) }
        #expect(try HashBucket.read([255] + [UInt8](repeating: 0, count: 2550)).count == 255)
        // Visiting sees the same, and the same cuts.
        var seen: [(UInt64, [UInt8])] = []
        try HashBucket.visit(out + [9, 9]) { seen.append(($0, Array((out + [9, 9])[$1]))) }
        #expect(seen.map(\.0) == slots.map(\.0) && seen.map(\.1) == slots.map(\.1))
        for cut in 0..<out.count {
            #expect(throws: PIRError.unreadableReply) { try HashBucket.visit(Array(out[..<cut])) { _, _ in } }
        }
        // Slices that do not start at 0.
        let padded = [1, 2] + out
        #expect(try HashBucket.read(padded[2...]).count == 3)
    }
}
