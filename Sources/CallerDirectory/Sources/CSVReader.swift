// Comma-separated values as RFC 4180 has them, read in pieces: quoted fields with commas, quotes and line ends in them,
// LF or CRLF, a byte order mark before the first line. Memory is bounded by the longest record.

/// One record, or what is wrong with it.
package struct CSVRecord: Sendable {
    /// Line on which it begins, from 1.
    package var line: Int
    /// The bytes of all fields, unquoted.
    package var bytes: [UInt8] = []
    /// Where each field ends in `bytes`.
    package var ends: [Int] = []
    /// What should have been there, and what was, when the record is malformed.
    package var problem: (expected: String, came: String)?

    /// A field's bytes; empty when there is no such field.
    package func field(_ index: Int) -> ArraySlice<UInt8> {
        guard index < ends.count else { return [] }
        return bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
    }

    /// A line with nothing on it.
    var isBlank: Bool { ends.count <= 1 && bytes.isEmpty && problem == nil }
}

/// Reads records from pieces of bytes.
package struct CSVReader {
    /// Longest record, in bytes.
    static let recordBytesAtMost = 1 << 20
    /// Most fields of a record.
    package static let fieldsAtMost = 1024

    private enum State {
        case fieldStart
        case unquoted
        case quoted
        case quoteInQuoted
        /// The record is malformed: skip to the end of the line.
        case skipping
    }

    private let source: () throws(FileReadError) -> [UInt8]
    private var chunk: [UInt8] = []
    private var index = 0
    private var line = 1
    private var atStart = true

    /// `source` gives the next piece each time, an empty one at the end.
    package init(source: @escaping () throws(FileReadError) -> [UInt8]) { self.source = source }

    private mutating func peek() throws(FileReadError) -> UInt8? {
        while index == chunk.count {
            chunk = try source()
            index = 0
            if chunk.isEmpty { return nil }
            if atStart {
                atStart = false
                while chunk.count < 3 {
                    let more = try source()
                    if more.isEmpty { break }
                    chunk += more
                }
                if chunk.starts(with: [0xef, 0xbb, 0xbf]) { index = 3 }
            }
        }
        return chunk[index]
    }

    /// The next record, nil at the end. Blank lines come as blank records.
    package mutating func next() throws(FileReadError) -> CSVRecord? {
        guard try peek() != nil else { return nil }
        var record = CSVRecord(line: line)
        var state = State.fieldStart
        while var byte = try peek() {
            if takeRun(&state, &record) {
                guard let next = try peek() else { break }
                byte = next
            }
            index += 1
            let isLineEnd = byte == 0x0a || byte == 0x0d
            if byte == 0x0d, try peek() == 0x0a {
                index += 1
                if state == .quoted { record.bytes.append(0x0d) }
            }
            if isLineEnd {
                line += 1
                if state != .quoted {
                    if state != .skipping { record.ends.append(record.bytes.count) }
                    return record
                }
            }
            state = step(isLineEnd ? 0x0a : byte, state, &record)
        }
        if state == .quoted {
            record.problem = ("a closing quote", "the end of the file")
        } else if state != .skipping {
            record.ends.append(record.bytes.count)
        }
        return record
    }

    /// Takes ordinary bytes of a field up to the next mark or the end of the piece at once; false if there are none.
    private mutating func takeRun(_ state: inout State, _ record: inout CSVRecord) -> Bool {
        guard state == .unquoted || state == .quoted || state == .fieldStart else { return false }
        var end = index
        while end < chunk.count, !CSVReader.isMark(chunk[end]) { end += 1 }
        guard end > index, end - index <= CSVReader.recordBytesAtMost - record.bytes.count else { return false }
        record.bytes.append(contentsOf: chunk[index..<end])
        index = end
        if state == .fieldStart { state = .unquoted }
        return true
    }

    private static func isMark(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"") || byte == 0x0a || byte == 0x0d
    }

    private func step(_ byte: UInt8, _ state: State, _ record: inout CSVRecord) -> State {
        let quote = UInt8(ascii: "\"")
        let comma = UInt8(ascii: ",")
        switch state {
        case .skipping: return .skipping
        case .quoted where byte == quote: return .quoteInQuoted
        case .quoteInQuoted where byte == quote:
            record.bytes.append(quote)
            return .quoted
        case .fieldStart where byte == quote: return .quoted
        case .quoteInQuoted where byte != comma:
            record.problem = ("a comma or the line's end behind a closing quote", "more text")
            return .skipping
        case .unquoted where byte == quote:
            record.problem = ("quotes around a whole field, and doubled inside", "a quote inside a field without quotes")
            return .skipping
        case .fieldStart, .unquoted, .quoteInQuoted:
            if byte == comma {
                record.ends.append(record.bytes.count)
                guard record.ends.count < CSVReader.fieldsAtMost else {
                    record.problem = ("at most \(CSVReader.fieldsAtMost) fields", "more")
                    return .skipping
                }
                return .fieldStart
            }
        case .quoted: break
        }
        guard record.bytes.count < CSVReader.recordBytesAtMost else {
            record.problem = (
                "a row of at most \(CSVReader.recordBytesAtMost) bytes", state == .quoted ? "a quote never closed" : "more"
            )
            record.bytes = []
            return .skipping
        }
        record.bytes.append(byte)
        return state == .fieldStart ? .unquoted : state
    }
}

/// Reads callers from CSV: the first line names the columns, `number` among them.
package struct CSVCallerReader {
    let file: String
    private var reader: CSVReader
    private var columns: [Int?] = []
    private var width = 0

    /// Reads the header.
    /// - Throws: `SourceError` when a column is unknown, repeated, or `number` is missing.
    package init(file: String, source: @escaping () throws(FileReadError) -> [UInt8]) throws {
        self.file = file
        reader = CSVReader(source: source)
        var header: CSVRecord?
        repeat { header = try reader.next() } while header?.isBlank == true
        try readHeader(header ?? CSVRecord(line: 1))
    }

    private mutating func readHeader(_ header: CSVRecord) throws(SourceError) {
        let position = SourcePosition(file: file, line: header.line)
        if let (expected, came) = header.problem {
            throw SourceError([SourceFinding(position: position, expected: expected, came: came)])
        }
        // What is no UTF-8 here is most often a spreadsheet's "Unicode text".
        guard (0..<header.ends.count).allSatisfy({ CellValues.trimmedText(header.field($0)) != nil }) else {
            let came = "other bytes (save the file as \"CSV UTF-8\")"
            throw SourceError([SourceFinding(position: position, expected: "UTF-8 text", came: came)])
        }
        var findings: [SourceFinding] = []
        columns = [Int?](repeating: nil, count: CellValues.columns.count)
        width = header.ends.count
        for index in 0..<header.ends.count {
            let name = (CellValues.trimmedText(header.field(index)) ?? "\u{fffd}").lowercased()
            if let column = CellValues.columns.firstIndex(of: name) {
                if columns[column] != nil {
                    findings.append(SourceFinding(position: position, expected: "each column once", came: "\"\(name)\" again"))
                }
                columns[column] = index
            } else {
                var expected = NearestName.expectation(for: name, among: CellValues.columns, kind: "column")
                if header.ends.count == 1, name.contains(";") || name.contains("\t") {
                    expected = "columns separated by commas"
                }
                findings.append(SourceFinding(position: position, expected: expected, came: SourceFinding.quoted(name)))
            }
        }
        if columns[0] == nil {
            findings.append(SourceFinding(position: position, expected: "a column \"number\"", came: "none"))
        }
        if !findings.isEmpty { throw SourceError(findings) }
    }

    /// The next caller or what is wrong with its row; nil at the end.
    package mutating func next() throws -> Result<RawCaller, SourceFinding>? {
        var next = try reader.next()
        while next?.isBlank == true { next = try reader.next() }
        guard let record = next else { return nil }
        return row(record)
    }

    private func row(_ record: CSVRecord) -> Result<RawCaller, SourceFinding> {
        func wrong(_ expected: String, _ came: String) -> Result<RawCaller, SourceFinding> {
            .failure(SourceFinding(position: SourcePosition(file: file, line: record.line), expected: expected, came: came))
        }
        if let (expected, came) = record.problem { return wrong(expected, came) }
        guard record.ends.count == width else { return wrong("\(width) fields as in the header", "\(record.ends.count)") }
        var texts: [String] = []
        for column in columns {
            guard let index = column else {
                texts.append("")
                continue
            }
            let field = record.field(index)
            guard field.count <= CallerTable.textBytesAtMost else {
                return wrong(CellValues.textExpected, "\(field.count) bytes")
            }
            guard let text = CellValues.trimmedText(field) else { return wrong("UTF-8 text", "other bytes") }
            texts.append(text)
        }
        var caller = RawCaller(line: record.line)
        caller.number = Array(texts[0].utf8)
        (caller.name, caller.company, caller.title, caller.icon) = (texts[1], texts[2], texts[3], texts[7])
        guard let category = CellValues.category(texts[4]) else {
            return wrong(CellValues.categoryExpected, SourceFinding.quoted(texts[4]))
        }
        guard let block = CellValues.block(texts[5]) else {
            return wrong(CellValues.blockExpected, SourceFinding.quoted(texts[5]))
        }
        guard let minutes = CellValues.cacheMinutes(texts[6]) else {
            return wrong(CellValues.cacheExpected, SourceFinding.quoted(texts[6]))
        }
        (caller.category, caller.block, caller.cacheMinutes) = (category, block, minutes)
        return .success(caller)
    }
}
