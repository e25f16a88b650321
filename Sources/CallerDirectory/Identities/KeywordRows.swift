// Rows of a use case, ready for the table builder: keyword and value bytes in one buffer, so that a million rows cost
// their bytes and little more (keyword-pir.md 2.1, 11.1).

/// One row: a keyword and its value.
public struct KeywordRow: Sendable, Equatable {
    /// The keyword; for numbers the UTF-8 text of the E.164 number with `+`.
    public var keyword: [UInt8]
    /// The value, at most 65535 bytes.
    public var value: [UInt8]

    /// Makes a row.
    public init(keyword: [UInt8], value: [UInt8]) {
        self.keyword = keyword
        self.value = value
    }
}

/// Many rows in one buffer.
public struct KeywordRows: Sendable, RandomAccessCollection {
    /// Longest value (keyword-pir.md 2.1: the length has 16 bits).
    public static let valueBytesAtMost = 65_535
    /// Longest keyword, in bytes (ours).
    public static let keywordBytesAtMost = 65_535

    private var bytes: [UInt8] = []
    /// Where each row ends in `bytes`.
    private var ends: [Int] = []
    private var keywordLengths: [UInt16] = []

    /// No rows.
    public init() {}

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of rows.
    public var endIndex: Int { ends.count }
    /// Bytes of all keywords and values.
    public var byteCount: Int { bytes.count }

    /// Makes room for `rows` rows of `bytes` bytes in all.
    public mutating func reserveCapacity(rows: Int, bytes count: Int) {
        bytes.reserveCapacity(count)
        ends.reserveCapacity(rows)
        keywordLengths.reserveCapacity(rows)
    }

    /// Adds a row; false, and nothing is added, when keyword or value is longer than 65535 bytes.
    @discardableResult
    public mutating func append(keyword: some Collection<UInt8>, value: some Collection<UInt8>) -> Bool {
        guard let length = UInt16(exactly: keyword.count), value.count <= KeywordRows.valueBytesAtMost else { return false }
        bytes.append(contentsOf: keyword)
        bytes.append(contentsOf: value)
        keywordLengths.append(length)
        ends.append(bytes.count)
        return true
    }

    /// The keyword of a row, without copying.
    public func keyword(at index: Int) -> ArraySlice<UInt8> {
        let start = index == 0 ? 0 : ends[index - 1]
        return bytes[start..<(start + Int(keywordLengths[index]))]
    }

    /// The value of a row, without copying.
    public func value(at index: Int) -> ArraySlice<UInt8> {
        let start = index == 0 ? 0 : ends[index - 1]
        return bytes[(start + Int(keywordLengths[index]))..<ends[index]]
    }

    /// Bytes of a row's value.
    public func valueBytes(at index: Int) -> Int {
        ends[index] - (index == 0 ? 0 : ends[index - 1]) - Int(keywordLengths[index])
    }

    /// Appends the value of a row.
    func appendValue(at index: Int, to out: inout [UInt8]) {
        let range = valueRange(index)
        // A slice holds on to the buffer, whose one counter the threads of a build would fight for: short values go by hand.
        if range.count > 32 {
            out += bytes[range]
        } else {
            for place in range { out.append(bytes[place]) }
        }
    }

    /// Whether a row has the value that stands in `other` at `place`.
    func isValue(at index: Int, equalTo other: [UInt8], _ place: Range<Int>) -> Bool {
        let range = valueRange(index)
        guard range.count == place.count, place.lowerBound >= 0, place.upperBound <= other.count else { return false }
        for k in 0..<range.count where bytes[range.lowerBound + k] != other[place.lowerBound + k] { return false }
        return true
    }

    private func valueRange(_ index: Int) -> Range<Int> {
        ((index == 0 ? 0 : ends[index - 1]) + Int(keywordLengths[index]))..<ends[index]
    }

    /// A row as two arrays.
    public subscript(index: Int) -> KeywordRow {
        KeywordRow(keyword: Array(keyword(at: index)), value: Array(value(at: index)))
    }
}
