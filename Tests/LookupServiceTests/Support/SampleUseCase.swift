// Small use cases for tests: rows in memory, insecure parameters, every row in the bucket of its first hash function.

import BFV
import KeywordPIR
import LookupService
import Synchronization

/// Tables without cuckoo insertion: rows that share a bucket make it longer.
struct SampleTables: ShardTables {
    var buckets: [[UInt8]]

    func appendEntry(table: Int, index: Int, to out: inout [UInt8]) {
        if table == 0, buckets.indices.contains(index) { out += buckets[index] }
    }
}

/// A use case made of rows.
struct SampleUseCase {
    var loaded: ServedUseCase
    /// Switches a shard off and on.
    var inService: ServiceSwitch

    static let set = "insecure_n_512_logq_4x60_logt_20"

    /// Builds shards and parameters.
    static func make(
        _ name: String, kind: ServedUseCase.Kind = .keyword, rows: [String: [UInt8]], shards shardCount: Int = 2,
        hashFunctions: Int = 2, buckets: Int = 16, entrySize: Int? = nil, dimensionCount: Int = 2,
        sharding: ShardingFunction = .sha256, compression: KeyCompression = .noCompression
    ) throws -> SampleUseCase {
        let set = try ParameterSet.named(Self.set, allowInsecure: true)
        var hasher = KeywordHasher()
        var slots = Array(repeating: Array(repeating: [(UInt64, [UInt8])](), count: buckets), count: shardCount)
        for (keyword, value) in rows {
            let hash = hasher.hash(Array(keyword.utf8))
            let shard = sharding.shard(ofHash: hash, shardCount: shardCount)
            let bucket = hasher.candidates(hash: hash, buckets: buckets, functions: hashFunctions)[0]
            slots[shard][bucket].append((hash, value))
        }
        let tables = slots.map { shard in
            SampleTables(
                buckets: shard.map { rows in
                    var bytes: [UInt8] = [UInt8(rows.count)]
                    for (hash, value) in rows { HashBucket.append(hash: hash, value: value[...], to: &bytes) }
                    return bytes
                })
        }
        let longest = tables.flatMap(\.buckets).map(\.count).max() ?? 1
        let size = max(entrySize ?? 64, longest)
        let perPlaintext = max(set.bytesPerPlaintext / size, 1)
        let plaintexts = (buckets + perPlaintext - 1) / perPlaintext
        let shape = try ShardParameters(
            entryCount: buckets, entrySize: size,
            dimensions: dimensions(
                plaintexts: plaintexts, hashFunctions: hashFunctions, dimensionCount: dimensionCount, uneven: true),
            hashFunctionCount: hashFunctions, set: set)
        let encoder = try ShardEncoder(set: set)
        let contents = try tables.map { try encoder.encodeInMemory($0, shape: shape) }
        let parameters = try UseCaseParameters(
            set: set, shards: Array(repeating: shape, count: shardCount), hashFunctionCount: hashFunctions,
            shardingFunction: sharding, keyCompression: compression)
        let inService = ServiceSwitch()
        let loaded = ServedUseCase(
            name: name, kind: kind, engine: try PIREngine(parameters: parameters),
            shards: contents.enumerated().map { index, contents in
                ShardSlot { inService.isOff(index) ? nil : contents }
            })
        return SampleUseCase(loaded: loaded, inService: inService)
    }
}

/// Which shards are out of service.
final class ServiceSwitch: Sendable {
    private let off = Mutex<Set<Int>>([])

    func isOff(_ shard: Int) -> Bool { off.withLock { $0.contains(shard) } }
    func turnOff(_ shards: Set<Int>) { off.withLock { $0 = shards } }
}
