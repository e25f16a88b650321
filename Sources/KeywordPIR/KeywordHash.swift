// From a keyword to its hash, its shard and its candidate buckets (spec keyword-pir.md 1).

import Cryptography

/// What a lookup, a database or its parameters can do wrong. Texts name rules and sizes, never keywords or values.
public enum PIRError: Error, Sendable, Equatable {
    /// A rule of keyword-pir.md is broken; the text says which.
    case invalid(String)
    /// A value is longer than a bucket can hold (keyword-pir.md 2.1, 3.2).
    case valueTooLong(bytes: Int, limit: Int)
    /// The rows do not fit a table whose size is fixed, or more growing did not help.
    case tableTooSmall(rows: Int, buckets: Int)
    /// Two rows of a shard have the same 64-bit hash.
    case duplicateHash(first: Int, second: Int)
    /// A reply does not hold buckets: wrong key, wrong parameters or no noise budget left.
    case unreadableReply
}

/// Hashes of keywords. Holds a hasher, so make one per thread and use it again.
public struct KeywordHasher: ~Copyable {
    private var hasher = SHA256()

    /// Ready to hash.
    public init() {}

    /// `h(keyword)`: the first eight digest bytes as a little-endian number (keyword-pir.md 1.1).
    public mutating func hash(_ keyword: some Collection<UInt8>) -> UInt64 {
        keyword.withContiguousStorageIfAvailable { hasher.firstWord(UnsafeRawBufferPointer($0)) }
            ?? Array(keyword).withUnsafeBytes { hasher.firstWord($0) }
    }

    /// Bucket `index(hash, counter, B)` before the remainder (keyword-pir.md 1.4).
    mutating func word(_ hash: UInt64, _ counter: UInt8) -> UInt64 {
        withUnsafeTemporaryAllocation(byteCount: 9, alignment: 8) { buffer in
            buffer.storeBytes(of: hash.bigEndian, as: UInt64.self)
            buffer.storeBytes(of: counter, toByteOffset: 8, as: UInt8.self)
            return hasher.firstWord(UnsafeRawBufferPointer(buffer))
        }
    }

    /// Candidate bucket of each table: `functions` indices below `buckets` (keyword-pir.md 1.4).
    public mutating func candidates(hash: UInt64, buckets: Int, functions: Int) -> [Int] {
        var list: [Int] = []
        list.reserveCapacity(functions)
        let modulus = UInt64(max(buckets, 1))
        var counter: UInt8 = 0
        var index = Int(word(hash, 0) % modulus)
        for _ in 0..<functions {
            // Every function restarts at counter 0 and skips what is taken, so the walk can go on where it stopped.
            while list.contains(index), counter < 10 {
                counter += 1
                index = Int(word(hash, counter) % modulus)
            }
            list.append(index)
        }
        return list
    }

    /// One of the `candidates`, that of table `function`, without making the list of all where one or two hashes do.
    public mutating func candidate(_ function: Int, hash: UInt64, buckets: Int) -> Int {
        let modulus = UInt64(max(buckets, 1))
        if function == 0 { return Int(word(hash, 0) % modulus) }
        if function == 1 {
            let (first, second) = (word(hash, 0) % modulus, word(hash, 1) % modulus)
            if first != second { return Int(second) }
        }
        let all = candidates(hash: hash, buckets: buckets, functions: function + 1)
        return all[function]
    }
}

/// How a keyword finds its shard (keyword-pir.md 1.2).
public enum ShardingFunction: Sendable, Equatable {
    /// `h mod S`.
    case sha256
    /// `(h mod O) mod S`, where O is the shard count of another use case.
    case doubleMod(otherShardCount: Int)

    /// The shard of a hash.
    public func shard(ofHash hash: UInt64, shardCount: Int) -> Int {
        let shards = UInt64(max(shardCount, 1))
        switch self {
        case .sha256: return Int(hash % shards)
        case .doubleMod(let other): return Int((hash % UInt64(max(other, 1))) % shards)
        }
    }
}
