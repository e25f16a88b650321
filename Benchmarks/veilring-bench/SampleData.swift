// The rows that are measured: made here, the same every time, and known row by row without keeping them.

/// Keywords that look like phone numbers, and values that look like anything.
struct SampleData: Sendable {
    var rows: Int
    var valueBytes: Int

    /// The keyword of a row; from `rows` on they are absent.
    func keyword(_ row: Int) -> [UInt8] { Array("+8869\(10_000_000 + row)".utf8) }

    /// The value of a row.
    func value(_ row: Int) -> [UInt8] {
        var state = UInt64(row) &* 0x9e37_79b9_7f4a_7c15 | 1
        return (0..<valueBytes).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state >> 11)
        }
    }
}
