// The table of one shard: every row in one of its candidate buckets (spec keyword-pir.md 3). Deterministic, works on row
// numbers rather than copies, and starts over with all rows when it grows, so that none can be lost on the way.

/// How the table of a shard is laid out (keyword-pir.md 3.2).
public struct TableSettings: Sendable, Equatable {
    /// How many buckets there are, in all tables together.
    public enum BucketCount: Sendable, Equatable {
        /// Starts from the bytes of the rows over the load, grows by the factor until all rows fit.
        case allowExpansion(expansionFactor: Double, targetLoadFactor: Double)
        /// Never grows.
        case fixedSize(Int)
    }

    /// H: tables.
    public var hashFunctionCount = 2
    /// Rows that one insertion may displace before the table grows.
    public var maxEvictionCount = 100
    /// Slots of a bucket.
    public var slotCount = HashBucket.maximumSlots
    /// M: bytes of a bucket.
    public var maxSerializedBucketSize: Int
    /// Number of buckets.
    public var bucketCount = BucketCount.allowExpansion(expansionFactor: 1.1, targetLoadFactor: 0.9)

    /// Defaults but for the size of a bucket.
    public init(maxSerializedBucketSize: Int) { self.maxSerializedBucketSize = maxSerializedBucketSize }

    /// M by the reference's rule (keyword-pir.md 3.2).
    public static func defaultBucketSize(longestValue: Int, bytesPerPlaintext: Int) -> Int {
        let one = 11 + longestValue
        if one < bytesPerPlaintext / 2 { return bytesPerPlaintext / 2 }
        return (one + bytesPerPlaintext - 1) / bytesPerPlaintext * bytesPerPlaintext
    }
}

/// Rows of one shard: hashes and values, in one buffer.
public struct TableRows: Sendable {
    fileprivate(set) var hashes: [UInt64] = []
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    /// No rows.
    public init() {}

    /// Rows so far.
    public var count: Int { hashes.count }

    /// Adds a row by the hash of its keyword.
    public mutating func append(hash: UInt64, value: some Collection<UInt8>) {
        hashes.append(hash)
        bytes.append(contentsOf: value)
        ends.append(bytes.count)
    }

    func value(_ row: Int) -> ArraySlice<UInt8> { bytes[(row == 0 ? 0 : ends[row - 1])..<ends[row]] }
    func valueBytes(_ row: Int) -> Int { ends[row] - (row == 0 ? 0 : ends[row - 1]) }
    var totalValueBytes: Int { bytes.count }
}

/// A filled table.
public struct CuckooTable: ShardTables, Sendable {
    /// B.
    public let bucketsPerTable: Int
    /// How often the table had to grow.
    public let growths: Int
    /// Bytes of the fullest bucket, at least 1.
    public let largestBucketBytes: Int

    private let rows: TableRows
    private let functions: Int
    /// Rows of each bucket, table after table.
    private let buckets: [[Int32]]

    /// Places all rows.
    ///
    /// Throws `PIRError.valueTooLong` for a value that no bucket can hold, `duplicateHash` (with the positions of the two rows)
    /// and `tableTooSmall` if the size is fixed or growing came to its end.
    public init(_ rows: TableRows, settings: TableSettings) throws {
        let limit = min(HashBucket.maximumValueBytes, settings.maxSerializedBucketSize - 11)
        guard rows.count < Int(Int32.max) else { throw PIRError.tableTooSmall(rows: rows.count, buckets: 0) }
        for row in 0..<rows.count where rows.valueBytes(row) > limit {
            throw PIRError.valueTooLong(bytes: rows.valueBytes(row), limit: limit)
        }
        let order = (0..<rows.count).sorted { (rows.hashes[$0], $0) < (rows.hashes[$1], $1) }
        for (a, b) in zip(order, order.dropFirst()) where rows.hashes[a] == rows.hashes[b] {
            throw PIRError.duplicateHash(first: min(a, b), second: max(a, b))
        }
        let tables = settings.hashFunctionCount
        guard (1...8).contains(tables), (1...HashBucket.maximumSlots).contains(settings.slotCount) else {
            throw PIRError.invalid("1 to 8 hash functions and 1 to 255 slots expected")
        }
        var total = try Self.initialBuckets(rows, settings)
        var growths = 0
        while true {
            var filling = Filling(rows: rows, settings: settings, buckets: total / tables)
            if filling.place(order) {
                bucketsPerTable = total / tables
                buckets = filling.buckets
                largestBucketBytes = max(filling.sizes.max() ?? 1, 1)
                break
            }
            guard case .allowExpansion(let factor, _) = settings.bucketCount, total < ShardParameters.maximum else {
                throw PIRError.tableTooSmall(rows: rows.count, buckets: total)
            }
            let next = max(Int((Double(total) * factor).rounded(.up)), total + 1)
            total = (next + tables - 1) / tables * tables
            growths += 1
        }
        self.growths = growths
        self.rows = rows
        functions = tables
    }

    /// Number of buckets of all tables to begin with (keyword-pir.md 3.3).
    private static func initialBuckets(_ rows: TableRows, _ settings: TableSettings) throws -> Int {
        let tables = settings.hashFunctionCount
        var count: Int
        switch settings.bucketCount {
        case .fixedSize(let n):
            count = n
        case .allowExpansion(let factor, let load):
            guard factor > 1, factor.isFinite, load > 0, load < 1 else {
                throw PIRError.invalid("expansion factor must be above 1, target load factor between 0 and 1")
            }
            let bytes = 1 + 10 * rows.count + rows.totalValueBytes
            let size = settings.maxSerializedBucketSize
            count = Int((Double((bytes + size - 1) / size) / load).rounded(.up))
        }
        guard (1...ShardParameters.maximum).contains(count) else {
            throw PIRError.tableTooSmall(rows: rows.count, buckets: count)
        }
        count = (count + tables - 1) / tables * tables
        return count
    }

    /// See `ShardTables`: the serialized bucket.
    public func appendEntry(table: Int, index: Int, to out: inout [UInt8]) {
        let list = buckets[table * bucketsPerTable + index]
        out.append(UInt8(truncatingIfNeeded: list.count))
        for row in list { HashBucket.append(hash: rows.hashes[Int(row)], value: rows.value(Int(row)), to: &out) }
    }

    /// The value of a hash, looked for in the serialized candidate buckets as a client does.
    public func value(ofHash hash: UInt64) throws -> ArraySlice<UInt8>? {
        var hasher = KeywordHasher()
        for (table, index) in hasher.candidates(hash: hash, buckets: bucketsPerTable, functions: functions).enumerated() {
            var bytes: [UInt8] = []
            appendEntry(table: table, index: index, to: &bytes)
            if let slot = try HashBucket.read(bytes[...]).first(where: { $0.hash == hash }) { return slot.value }
        }
        return nil
    }
}

/// One attempt to place all rows in a given number of buckets.
private struct Filling {
    let rows: TableRows
    let settings: TableSettings
    let perTable: Int
    var buckets: [[Int32]]
    var sizes: [Int]
    private var hasher = KeywordHasherBox()
    /// Deterministic choice of what to displace: xorshift64*.
    private var state: UInt64 = 0x9e37_79b9_7f4a_7c15

    init(rows: TableRows, settings: TableSettings, buckets count: Int) {
        self.rows = rows
        self.settings = settings
        perTable = count
        buckets = [[Int32]](repeating: [], count: count * settings.hashFunctionCount)
        sizes = [Int](repeating: 1, count: count * settings.hashFunctionCount)
    }

    private mutating func random(_ bound: Int) -> Int {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return Int((state &* 0x2545_f491_4f6c_dd1d) >> 33) % max(bound, 1)
    }

    private func candidates(_ row: Int) -> [Int] {
        hasher.candidates(rows.hashes[row], perTable, settings.hashFunctionCount)
    }

    private func fits(_ bucket: Int, _ bytes: Int) -> Bool {
        buckets[bucket].count < settings.slotCount && sizes[bucket] + bytes <= settings.maxSerializedBucketSize
    }

    private mutating func put(_ row: Int, _ bucket: Int) {
        buckets[bucket].append(Int32(row))
        sizes[bucket] += 10 + rows.valueBytes(row)
    }

    /// False if some row found no place within its evictions.
    mutating func place(_ order: [Int]) -> Bool {
        for row in order where !insert(row) { return false }
        return true
    }

    private mutating func insert(_ first: Int) -> Bool {
        var pending = [first]
        var evictions = 0
        while let row = pending.popLast() {
            let bytes = 10 + rows.valueBytes(row)
            let places = candidates(row)
            if let free = places.enumerated().map({ $0.offset * perTable + $0.element }).first(where: { fits($0, bytes) }) {
                put(row, free)
                continue
            }
            if settings.hashFunctionCount == 1 { return false }
            let table = random(places.count)
            let bucket = table * perTable + places[table]
            // A long value may need several short ones to go.
            while !fits(bucket, bytes) {
                if buckets[bucket].isEmpty || evictions >= settings.maxEvictionCount { return false }
                let slot = random(buckets[bucket].count)
                let evicted = Int(buckets[bucket].remove(at: slot))
                sizes[bucket] -= 10 + rows.valueBytes(evicted)
                pending.append(evicted)
                evictions += 1
            }
            put(row, bucket)
        }
        return true
    }
}

/// A hasher behind a reference, so that a value type can hold it.
private final class KeywordHasherBox {
    private var hasher = KeywordHasher()
    func candidates(_ hash: UInt64, _ buckets: Int, _ functions: Int) -> [Int] {
        hasher.candidates(hash: hash, buckets: buckets, functions: functions)
    }
}
