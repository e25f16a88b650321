// Bytes as hexadecimal digits, for names and fingerprints. Never for secrets: those are not printed.

extension Sequence where Element == UInt8 {
    /// Lower-case hexadecimal digits, two for each byte.
    public var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
