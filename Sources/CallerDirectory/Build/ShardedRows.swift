// The rows of a use case by shard, as numbers of rows: hashes once, no copies of values (keyword-pir.md 1.1, 1.2).

import Cryptography
import KeywordPIR

/// Rows of one shard, ascending by hash.
struct SortedRows: Sendable {
    /// Their numbers.
    let rows: [UInt32]
    /// Their hashes.
    let hashes: [UInt64]
    /// Their values, one behind the other.
    let values: [UInt8]
    /// Where each value ends in `values`.
    let ends: [Int]

    /// Where a hash stands.
    func place(of hash: UInt64) -> Int? {
        var (low, high) = (0, hashes.count)
        while low < high {
            let middle = (low + high) / 2
            if hashes[middle] < hash { low = middle + 1 } else { high = middle }
        }
        return low < hashes.count && hashes[low] == hash ? low : nil
    }
}

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
        // Room for all at once: growing by doubling would hold the hashes three times.
        var hashes: [UInt64] = []
        hashes.reserveCapacity(rows.count)
        for part in parts { hashes += part }
        self.hashes = hashes
        var counts = [Int](repeating: 0, count: shardCount + 1)
        for hash in hashes { counts[function.shard(ofHash: hash, shardCount: shardCount) + 1] += 1 }
        for shard in 0..<shardCount { counts[shard + 1] += counts[shard] }
        starts = counts
        var order = [UInt32](repeating: 0, count: rows.count)
        for (row, hash) in hashes.enumerated() {
            let shard = function.shard(ofHash: hash, shardCount: shardCount)
            order[counts[shard]] = UInt32(row)
            counts[shard] += 1
        }
        self.order = order
    }

    var shardCount: Int { starts.count - 1 }

    func count(ofShard shard: Int) -> Int { starts[shard + 1] - starts[shard] }

    /// Rows of a shard by hash, so that the order of the source does not matter.
    ///
    /// Throws for a keyword that stands twice and for two keywords with one hash.
    func sortedRows(ofShard shard: Int) throws -> SortedRows {
        // Hashes beside the numbers, so that comparing two rows does not look for them all over the memory.
        var pairs: [(hash: UInt64, row: UInt32)] = []
        pairs.reserveCapacity(count(ofShard: shard))
        for place in starts[shard]..<starts[shard + 1] { pairs.append((hashes[Int(order[place])], order[place])) }
        pairs.sort { $0.hash < $1.hash }
        // Values are fetched once: they too lie all over the memory.
        var values: [UInt8] = []
        var ends: [Int] = []
        values.reserveCapacity(pairs.count)
        ends.reserveCapacity(pairs.count)
        for pair in pairs {
            rows.appendValue(at: Int(pair.row), to: &values)
            ends.append(values.count)
        }
        let list = SortedRows(rows: pairs.map(\.row), hashes: pairs.map(\.hash), values: values, ends: ends)
        for place in list.hashes.indices.dropFirst() where list.hashes[place - 1] == list.hashes[place] {
            let (a, b) = (list.rows[place - 1], list.rows[place])
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
        order[starts[shard]..<starts[shard + 1]].reduce(0) { $0 + 10 + rows.valueBytes(at: Int($1)) }
    }

    /// Hash over what a shard's file follows from: the plan and the rows.
    func contentHash(_ list: SortedRows, fingerprint: String) -> String {
        var hasher = SHA256()
        hasher.update(Array(fingerprint.utf8))
        var buffer: [UInt8] = []
        buffer.reserveCapacity(1 << 17)
        var start = 0
        for (hash, end) in zip(list.hashes, list.ends) {
            buffer.append(littleEndian: hash, bytes: 8)
            buffer.append(littleEndian: UInt64(end - start), bytes: 4)
            if end - start > 32 {
                buffer += list.values[start..<end]
            } else {
                for place in start..<end { buffer.append(list.values[place]) }
            }
            start = end
            if buffer.count >= 1 << 16 {
                hasher.update(buffer)
                buffer.removeAll(keepingCapacity: true)
            }
        }
        hasher.update(buffer)
        return hasher.finish().hexadecimal
    }

    /// The rows as a table takes them.
    func tableRows(_ list: SortedRows) throws -> TableRows {
        try TableRows(hashes: list.hashes, values: list.values, ends: list.ends)
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
