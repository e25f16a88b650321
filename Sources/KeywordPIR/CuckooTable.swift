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

    /// Rows made elsewhere.
    ///
    /// - `hashes`: one for each row. `values`: all values, one behind the other. `ends`: where each ends.
    ///
    /// Throws `PIRError.invalid` if they do not fit one another.
    public init(hashes: [UInt64], values: [UInt8], ends: [Int]) throws {
        var end = 0
        var isAscending = true
        for next in ends {
            isAscending = isAscending && next >= end
            end = next
        }
        guard ends.count == hashes.count, isAscending, end == values.count else {
            throw PIRError.invalid("hashes, values and ends of rows do not fit one another")
        }
        self.hashes = hashes
        bytes = values
        self.ends = ends
    }

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

    /// Appends the slot of a row (keyword-pir.md 2.1).
    fileprivate func appendSlot(_ row: Int, to out: inout [UInt8]) {
        let hash = hashes[row]
        let range = (row == 0 ? 0 : ends[row - 1])..<ends[row]
        for k in 0..<8 { out.append(UInt8(truncatingIfNeeded: hash >> UInt64(8 * k))) }
        out.append(UInt8(truncatingIfNeeded: range.count))
        out.append(UInt8(truncatingIfNeeded: range.count >> 8))
        // Most values are shorter than what it costs to make a slice and to let it go.
        if range.count > 32 {
            out += bytes[range]
        } else {
            for place in range { out.append(bytes[place]) }
        }
    }

    /// Row numbers, ascending by hash.
    fileprivate func ascending() throws -> [Int] {
        // Who builds shards has sorted already.
        if hashes.indices.dropFirst().allSatisfy({ hashes[$0 - 1] < hashes[$0] }) { return Array(hashes.indices) }
        let order = hashes.indices.sorted { (hashes[$0], $0) < (hashes[$1], $1) }
        for (a, b) in zip(order, order.dropFirst()) where hashes[a] == hashes[b] {
            throw PIRError.duplicateHash(first: min(a, b), second: max(a, b))
        }
        return order
    }
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
    private let buckets: BucketLists

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
        let order = try rows.ascending()
        let tables = settings.hashFunctionCount
        guard (1...8).contains(tables), (1...HashBucket.maximumSlots).contains(settings.slotCount) else {
            throw PIRError.invalid("1 to 8 hash functions and 1 to 255 slots expected")
        }
        var total = try Self.initialBuckets(rows, settings)
        var growths = 0
        var filling = Filling(rows: rows, settings: settings)
        while true {
            if filling.place(order, perTable: total / tables) {
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
        let bucket = table * bucketsPerTable + index
        let count = buckets.count(bucket)
        out.append(UInt8(truncatingIfNeeded: count))
        for slot in 0..<count { rows.appendSlot(buckets.row(bucket, slot), to: &out) }
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

/// Row numbers of all buckets in one array: a bucket has as much room as it can ever need.
private struct BucketLists: Sendable {
    private var counts: [UInt8] = []
    private var rows: [Int32] = []
    private let room: Int

    /// `room`: rows of a bucket at most, 1 to 255.
    init(room: Int) { self.room = room }

    /// Empties, and makes `buckets` buckets.
    mutating func reset(_ buckets: Int) {
        counts = [UInt8](repeating: 0, count: buckets)
        if rows.count < buckets * room { rows = [Int32](repeating: 0, count: buckets * room) }
    }

    func count(_ bucket: Int) -> Int { Int(counts[bucket]) }

    func hasRoom(_ bucket: Int) -> Bool { Int(counts[bucket]) < room }

    func row(_ bucket: Int, _ slot: Int) -> Int { Int(rows[bucket * room + slot]) }

    /// Behind the last row of a bucket that has room.
    mutating func append(_ row: Int, to bucket: Int) {
        rows[bucket * room + Int(counts[bucket])] = Int32(truncatingIfNeeded: row)
        counts[bucket] += 1
    }

    /// Takes one row out; those behind it move up.
    mutating func remove(_ slot: Int, of bucket: Int) -> Int {
        let start = bucket * room
        let row = rows[start + slot]
        counts[bucket] -= 1
        for place in slot..<Int(counts[bucket]) { rows[start + place] = rows[start + place + 1] }
        return Int(row)
    }
}

/// Attempts to place all rows in a given number of buckets.
private struct Filling {
    let rows: TableRows
    let settings: TableSettings
    let functions: Int
    private(set) var perTable = 1
    private(set) var buckets: BucketLists
    private(set) var sizes: [Int] = []
    private var pending: [Int] = []
    private let hasher = KeywordHasherBox()
    /// The first two hashes of each row that its candidates follow from, 0 where they were not needed yet: they are the same
    /// for every number of buckets, and a row that is displaced needs them again.
    private var words: [UInt64]
    /// Deterministic choice of what to displace: xorshift64*.
    private var state: UInt64 = 0

    init(rows: TableRows, settings: TableSettings) {
        self.rows = rows
        self.settings = settings
        functions = settings.hashFunctionCount
        let shortest = (0..<rows.count).reduce(HashBucket.maximumValueBytes) { min($0, rows.valueBytes($1)) }
        let fitting = max(settings.maxSerializedBucketSize - 1, 10) / (10 + shortest)
        buckets = BucketLists(room: max(1, min(settings.slotCount, fitting, rows.count)))
        words = [UInt64](repeating: 0, count: 2 * rows.count)
    }

    private mutating func random(_ bound: Int) -> Int {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return Int((state &* 0x2545_f491_4f6c_dd1d) >> 33) % max(bound, 1)
    }

    private mutating func word(_ row: Int, _ counter: Int) -> UInt64 {
        let place = 2 * row + counter
        if words[place] == 0 { words[place] = hasher.word(rows.hashes[row], UInt8(truncatingIfNeeded: counter)) }
        return words[place]
    }

    /// The bucket of table `function` where a row may stand, counted over all tables.
    private mutating func candidate(_ row: Int, _ function: Int) -> Int {
        let modulus = UInt64(perTable)
        let first = Int(word(row, 0) % modulus)
        if function == 0 { return first }
        if function == 1 {
            let second = Int(word(row, 1) % modulus)
            if second != first { return perTable + second }
        }
        return function * perTable + hasher.candidate(function, rows.hashes[row], perTable)
    }

    private func fits(_ bucket: Int, _ bytes: Int) -> Bool {
        buckets.hasRoom(bucket) && sizes[bucket] + bytes <= settings.maxSerializedBucketSize
    }

    private mutating func put(_ row: Int, _ bucket: Int) {
        buckets.append(row, to: bucket)
        sizes[bucket] += 10 + rows.valueBytes(row)
    }

    /// False if some row found no place within its evictions.
    mutating func place(_ order: [Int], perTable: Int) -> Bool {
        self.perTable = max(perTable, 1)
        state = 0x9e37_79b9_7f4a_7c15
        buckets.reset(self.perTable * functions)
        sizes = [Int](repeating: 1, count: self.perTable * functions)
        for row in order where !insert(row) { return false }
        return true
    }

    /// A candidate with room for so many bytes, that of the first table which has one.
    private mutating func free(_ row: Int, _ bytes: Int) -> Int? {
        for function in 0..<functions {
            let bucket = candidate(row, function)
            if fits(bucket, bytes) { return bucket }
        }
        return nil
    }

    private mutating func insert(_ first: Int) -> Bool {
        pending.removeAll(keepingCapacity: true)
        pending.append(first)
        var evictions = 0
        while let row = pending.popLast() {
            let bytes = 10 + rows.valueBytes(row)
            if let free = free(row, bytes) {
                put(row, free)
                continue
            }
            if functions == 1 { return false }
            let bucket = candidate(row, random(functions))
            // A long value may need several short ones to go.
            while !fits(bucket, bytes) {
                let count = buckets.count(bucket)
                if count == 0 || evictions >= settings.maxEvictionCount { return false }
                let evicted = buckets.remove(random(count), of: bucket)
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
    func word(_ hash: UInt64, _ counter: UInt8) -> UInt64 { hasher.word(hash, counter) }
    func candidate(_ function: Int, _ hash: UInt64, _ buckets: Int) -> Int {
        hasher.candidate(function, hash: hash, buckets: buckets)
    }
}
