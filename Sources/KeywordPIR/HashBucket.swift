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
        guard let count = bytes.first else { throw PIRError.unreadableReply }
        var rest = bytes.dropFirst()
        var slots: [BucketSlot] = []
        for _ in 0..<count {
            guard rest.count >= 10 else { throw PIRError.unreadableReply }
            let start = rest.startIndex
            var hash: UInt64 = 0
            for k in 0..<8 { hash |= UInt64(rest[start + k]) << UInt64(8 * k) }
            let length = Int(rest[start + 8]) | Int(rest[start + 9]) << 8
            guard rest.count >= 10 + length else { throw PIRError.unreadableReply }
            slots.append(BucketSlot(hash: hash, value: rest[(start + 10)..<(start + 10 + length)]))
            rest = rest.dropFirst(10 + length)
        }
        return slots
    }

    /// Appends one slot; the caller writes the count first.
    public static func append(hash: UInt64, value: ArraySlice<UInt8>, to out: inout [UInt8]) {
        for k in 0..<8 { out.append(UInt8(truncatingIfNeeded: hash >> UInt64(8 * k))) }
        out.append(UInt8(truncatingIfNeeded: value.count))
        out.append(UInt8(truncatingIfNeeded: value.count >> 8))
        out += value
    }
}
