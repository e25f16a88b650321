// The variable-length integers of QUIC (RFC 9000 16), which Binary HTTP and chunked encapsulation use for lengths.

/// Numbers of 62 bits in 1, 2, 4 or 8 bytes; the two upper bits of the first byte say how many.
enum VariableLengthInteger {
    /// Bytes of the number that begins with this byte.
    static func length(_ first: UInt8) -> Int { 1 << Int(first >> 6) }

    /// The number in these bytes, which must be as many as the first one says. Longer forms than necessary are allowed.
    static func value(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.dropFirst().reduce(UInt64((bytes.first ?? 0) & 0x3F)) { $0 << 8 | UInt64($1) }
    }

    /// Appends a number that is not negative, in its shortest form.
    static func append(_ value: Int, to bytes: inout [UInt8]) {
        let power = value < 1 << 6 ? 0 : value < 1 << 14 ? 1 : value < 1 << 30 ? 2 : 3
        let length = 1 << power
        for i in 0..<length {
            let byte = UInt8(truncatingIfNeeded: value >> (8 * (length - 1 - i)))
            bytes.append(i == 0 ? byte & 0x3F | UInt8(power) << 6 : byte)
        }
    }
}
