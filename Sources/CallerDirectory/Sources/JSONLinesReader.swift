// JSON Lines: one JSON object (RFC 8259) a line, with the names of the CSV columns; read in pieces, memory bounded by the
// longest line (field cases F14, F43).

/// Lines of a file, from pieces of bytes.
struct LineReader {
    /// Longest line, in bytes.
    static let lineBytesAtMost = 1 << 20

    private let source: () throws(FileReadError) -> [UInt8]
    private var chunk: [UInt8] = []
    private var index = 0
    private var isAtEnd = false
    /// Number of the line that `next` gave last.
    private(set) var line = 0

    /// `source` gives the next piece each time, an empty one at the end.
    init(source: @escaping () throws(FileReadError) -> [UInt8]) { self.source = source }

    /// The next line without its end, nil after the last. `isCut`: it was longer than the bound, the rest was skipped.
    mutating func next() throws(FileReadError) -> (bytes: [UInt8], isCut: Bool)? {
        var result: [UInt8] = []
        var isCut = false
        var isBegun = false
        while true {
            if index == chunk.count {
                chunk = isAtEnd ? [] : try source()
                index = 0
                if chunk.isEmpty {
                    isAtEnd = true
                    break
                }
            }
            isBegun = true
            let end = chunk[index...].firstIndex(of: 0x0a)
            let part = chunk[index..<(end ?? chunk.count)]
            let room = LineReader.lineBytesAtMost - result.count
            if part.count > room { isCut = true }
            result.append(contentsOf: part.prefix(room))
            index = end.map { $0 + 1 } ?? chunk.count
            if end != nil { break }
        }
        guard isBegun else { return nil }
        line += 1
        if result.last == 0x0d { result.removeLast() }
        return (result, isCut)
    }
}

/// Reads callers from JSON Lines.
package struct JSONLinesReader {
    let file: String
    private var reader: LineReader
    private static let limits: JSON5Limits = {
        var limits = JSON5Limits()
        limits.depth = 4
        limits.values = 64
        return limits
    }()

    /// Reads `file` from pieces.
    package init(file: String, source: @escaping () throws(FileReadError) -> [UInt8]) {
        self.file = file
        reader = LineReader(source: source)
    }

    /// The next caller or what is wrong with its line; nil at the end.
    package mutating func next() throws -> Result<RawCaller, SourceFinding>? {
        while let (bytes, isCut) = try reader.next() {
            if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) && !isCut { continue }
            if isCut {
                let position = SourcePosition(file: file, line: reader.line)
                return .failure(
                    SourceFinding(
                        position: position, expected: "a line of at most \(LineReader.lineBytesAtMost) bytes", came: "more"))
            }
            return row(bytes)
        }
        return nil
    }

    private func row(_ bytes: [UInt8]) -> Result<RawCaller, SourceFinding> {
        do {
            let value = try JSON5Reader.read(bytes, dialect: .json, limits: JSONLinesReader.limits, line: reader.line)
            return .success(try caller(value))
        } catch let error as JSON5SyntaxError {
            return .failure(finding(error.position, error.expected, error.came))
        } catch let finding as SourceFinding {
            return .failure(finding)
        } catch {
            return .failure(finding(TextPosition(line: reader.line, column: 1), "a JSON object", "\(error)"))
        }
    }

    private func finding(_ position: TextPosition, _ expected: String, _ came: String) -> SourceFinding {
        SourceFinding(
            position: SourcePosition(file: file, line: position.line, column: position.column), expected: expected, came: came)
    }

    private func caller(_ value: JSON5Value) throws(SourceFinding) -> RawCaller {
        guard case .object(let members) = value.kind else {
            throw finding(value.position, "an object such as {\"number\": \"+886912345678\"}", value.summary)
        }
        var caller = RawCaller(line: value.position.line, column: value.position.column)
        var hasNumber = false
        for member in members {
            let value = member.value
            guard CellValues.columns.contains(member.name) else {
                let expected = NearestName.expectation(for: member.name, among: CellValues.columns, kind: "name")
                throw finding(member.namePosition, expected, "\"\(member.name)\"")
            }
            switch member.name {
            case "number":
                hasNumber = true
                caller.column = value.position.column
                try number(value, into: &caller)
            case "name": caller.name = try text(value, member.name)
            case "company": caller.company = try text(value, member.name)
            case "title": caller.title = try text(value, member.name)
            case "icon": caller.icon = try text(value, member.name)
            case "category":
                guard let category = CellValues.category(try text(value, member.name)) else {
                    throw finding(value.position, CellValues.categoryExpected, value.summary)
                }
                caller.category = category
            case "block": caller.block = try block(value)
            default: caller.cacheMinutes = try cacheMinutes(value)
            }
        }
        guard hasNumber else { throw finding(value.position, "\"number\"", "an object without it") }
        return caller
    }

    private func number(_ value: JSON5Value, into caller: inout RawCaller) throws(SourceFinding) {
        switch value.kind {
        case .string(let text): caller.number = Array(text.utf8)
        case .number(let number):
            caller.number = Array(number.text.utf8)
            let isWhole = number.text.utf8.allSatisfy { NumberText.isDigit($0) }
            if !isWhole { caller.numberIssue = NumberText.isShortened(caller.number) ? .exponent : .notAWholeNumber }
        default: throw finding(value.position, "number as a text", value.summary)
        }
    }

    private func text(_ value: JSON5Value, _ name: String) throws(SourceFinding) -> String {
        switch value.kind {
        case .null: return ""
        case .string(let text) where text.utf8.count <= CallerTable.textBytesAtMost: return text
        default: throw finding(value.position, "\(name): \(CellValues.textExpected)", value.summary)
        }
    }

    private func block(_ value: JSON5Value) throws(SourceFinding) -> Bool {
        switch value.kind {
        case .null: return false
        case .bool(let flag): return flag
        case .number(let number) where number.integer == 0 || number.integer == 1: return number.integer == 1
        case .string(let text):
            if let flag = CellValues.block(text) { return flag }
        default: break
        }
        throw finding(value.position, CellValues.blockExpected, value.summary)
    }

    private func cacheMinutes(_ value: JSON5Value) throws(SourceFinding) -> UInt32 {
        switch value.kind {
        case .null: return 0
        case .number(let number):
            if let integer = number.integer, let minutes = UInt32(exactly: integer) { return minutes }
        default: break
        }
        throw finding(value.position, CellValues.cacheExpected + " as a number", value.summary)
    }
}
