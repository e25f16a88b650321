// A bucket of the keyword table as bytes (spec keyword-pir.md 2).

/// One slot of a bucket.
public struct BucketSlot: Sendable, Equatable {
    /// `h(keyword)`.
    public let hash: UInt64
    /// The value.
    public let value: ArraySlice<UInt8>
}

/// Rows that share a bucket.
public enum HashBucket {
    /// Slots that a bucket can have.
    public static let maximumSlots = 255
    /// Longest value.
    public static let maximumValueBytes = 65535

    /// Bytes of a bucket with these value lengths.
    public static func size(valueBytes: [Int]) -> Int { valueBytes.reduce(1) { $0 + 10 + $1 } }

    /// Reads a bucket; padding behind the last slot is ignored.
    ///
    /// Throws `PIRError.unreadableReply` if a slot does not fit.
    public static func read(_ bytes: ArraySlice<UInt8>) throws -> [BucketSlot] {
        var slots: [BucketSlot] = []
        try walk(bytes) { slots.append(BucketSlot(hash: $0, value: bytes[$1])) }
        return slots
    }

    /// Reads a bucket as `read` does, without making anything: gives the hash of each slot and where its value stands.
    ///
    /// Throws `PIRError.unreadableReply` if a slot does not fit, after those before it, and what `body` throws.
    public static func visit(_ bytes: [UInt8], _ body: (_ hash: UInt64, _ value: Range<Int>) throws -> Void) throws {
        try walk(bytes, body)
    }

    private static func walk<Bytes: RandomAccessCollection<UInt8>>(
        _ bytes: Bytes, _ body: (UInt64, Range<Int>) throws -> Void
    ) throws where Bytes.Index == Int {
        guard let count = bytes.first else { throw PIRError.unreadableReply }
        let end = bytes.endIndex
        var start = bytes.startIndex + 1
        for _ in 0..<count {
            guard end - start >= 10 else { throw PIRError.unreadableReply }
            var hash: UInt64 = 0
            for k in 0..<8 { hash |= UInt64(bytes[start + k]) << UInt64(8 * k) }
            let length = Int(bytes[start + 8]) | Int(bytes[start + 9]) << 8
            guard end - start >= 10 + length else { throw PIRError.unreadableReply }
            try body(hash, (start + 10)..<(start + 10 + length))
            start += 10 + length
        }
    }

    /// Appends one slot; the caller writes the count first.
    public static func append(hash: UInt64, value: ArraySlice<UInt8>, to out: inout [UInt8]) {
        for k in 0..<8 { out.append(UInt8(truncatingIfNeeded: hash >> UInt64(8 * k))) }
        out.append(UInt8(truncatingIfNeeded: value.count))
        out.append(UInt8(truncatingIfNeeded: value.count >> 8))
        out += value
    }
}
