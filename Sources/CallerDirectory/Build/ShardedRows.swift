// The rows of a use case by shard, as numbers of rows: hashes once, no copies of values (keyword-pir.md 1.1, 1.2).

import Cryptography
import KeywordPIR

/// Rows with their hashes, grouped by shard.
struct ShardedRows: Sendable {
    let rows: KeywordRows
    let hashes: [UInt64]
    /// Row numbers, shard after shard, ascending within a shard.
    private let order: [UInt32]
    /// Where each shard starts in `order`, and the end.
    private let starts: [Int]

    init(_ rows: KeywordRows, function: ShardingFunction, shardCount: Int, threads: Int) throws {
        guard rows.count < Int(UInt32.max) else { throw DirectoryError(.plan, "more rows than 2^32 − 1") }
        self.rows = rows
        let part = 65_536
        let parts = try ParallelWork.map((rows.count + part - 1) / part, threads: threads) { number in
            var hasher = KeywordHasher()
            return (number * part..<min((number + 1) * part, rows.count)).map { hasher.hash(rows.keyword(at: $0)) }
        }
        let hashes = Array(parts.joined())
        self.hashes = hashes
        let shards = hashes.map { UInt32(function.shard(ofHash: $0, shardCount: shardCount)) }
        var counts = [Int](repeating: 0, count: shardCount + 1)
        for shard in shards { counts[Int(shard) + 1] += 1 }
        for shard in 0..<shardCount { counts[shard + 1] += counts[shard] }
        starts = counts
        var order = [UInt32](repeating: 0, count: rows.count)
        for (row, shard) in shards.enumerated() {
            order[counts[Int(shard)]] = UInt32(row)
            counts[Int(shard)] += 1
        }
        self.order = order
    }

    var shardCount: Int { starts.count - 1 }

    func count(ofShard shard: Int) -> Int { starts[shard + 1] - starts[shard] }

    /// Rows of a shard by hash, so that the order of the source does not matter.
    ///
    /// Throws for a keyword that stands twice and for two keywords with one hash.
    func sortedRows(ofShard shard: Int) throws -> [UInt32] {
        let list = order[starts[shard]..<starts[shard + 1]].sorted { hashes[Int($0)] < hashes[Int($1)] }
        for (a, b) in zip(list, list.dropFirst()) where hashes[Int(a)] == hashes[Int(b)] {
            let same = rows.keyword(at: Int(a)) == rows.keyword(at: Int(b))
            throw DirectoryError(
                .table,
                same
                    ? "a keyword stands twice (rows \(min(a, b) + 1) and \(max(a, b) + 1))"
                    : "rows \(min(a, b) + 1) and \(max(a, b) + 1) have different keywords with the same 64-bit hash, which a "
                        + "phone cannot tell apart: one of them must go")
        }
        return list
    }

    /// Bytes that the rows of a shard take in buckets.
    func bucketBytes(ofShard shard: Int) -> Int {
        order[starts[shard]..<starts[shard + 1]].reduce(0) { $0 + 10 + rows.value(at: Int($1)).count }
    }

    /// Hash over what a shard's file follows from: the plan and the rows.
    func contentHash(_ list: [UInt32], fingerprint: String) -> String {
        var hasher = SHA256()
        hasher.update(Array(fingerprint.utf8))
        var buffer: [UInt8] = []
        for row in list {
            let value = rows.value(at: Int(row))
            buffer.append(littleEndian: hashes[Int(row)], bytes: 8)
            buffer.append(littleEndian: UInt64(value.count), bytes: 4)
            buffer += value
            if buffer.count >= 1 << 16 {
                hasher.update(buffer)
                buffer.removeAll(keepingCapacity: true)
            }
        }
        hasher.update(buffer)
        return hasher.finish().hex
    }

    /// The rows as a table takes them.
    func tableRows(_ list: [UInt32]) -> TableRows {
        var out = TableRows()
        for row in list { out.append(hash: hashes[Int(row)], value: rows.value(at: Int(row))) }
        return out
    }

    /// Whether some row has this hash.
    func holds(hash: UInt64, inShard shard: Int) -> Bool {
        order[starts[shard]..<starts[shard + 1]].contains { hashes[Int($0)] == hash }
    }

    /// `count` rows of a shard, spread over it.
    func sample(ofShard shard: Int, count: Int) -> [Int] {
        let all = starts[shard + 1] - starts[shard]
        guard all > 0 else { return [] }
        return (0..<count).map { Int(order[starts[shard] + $0 * all / max(count, 1) % all]) }
    }
}
