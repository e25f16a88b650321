// The protobuf text format, reading: keyword-pir.md 11.1. A pull parser that gives one top-level field at a time, so that a
// database of any size is read with the memory of one row.

/// One field as it stands in the text, its value not yet held against a schema.
public struct TextField: Sendable, Equatable {
    /// The field's name, in UTF-8.
    public var nameBytes: ArraySlice<UInt8>
    /// The value. The elements of a list are fields of their own with equal names.
    public var value: TextValue
    /// Line of the value in the list, or of the name; from 1.
    public var line: Int
    /// Column there, from 1, counted in bytes.
    public var column: Int
    /// Whether the value stood in a list.
    public var isListElement: Bool

    /// The field's name.
    public var name: String { String(decoding: nameBytes, as: UTF8.self) }
}

/// A value in the text.
public enum TextValue: Sendable, Equatable {
    /// A number, boolean or enum name, as written.
    case word(ArraySlice<UInt8>)
    /// A string, unescaped and concatenated.
    case string(ArraySlice<UInt8>)
    /// A message.
    case message([TextField])
    /// `[]`.
    case emptyList
}

/// Reads the top-level fields of a text one after the other.
public struct TextFormatReader: Sendable {
    /// Deepest nesting of messages.
    public static let depthLimit = 64

    private let bytes: ArraySlice<UInt8>
    private var position: Int
    private var line = 1
    private var lineStart: Int
    /// The list at top level that is being read: its elements are delivered one by one.
    private var openList: (name: ArraySlice<UInt8>, isFirst: Bool)?

    /// A reader of `text`, in UTF-8. A byte order mark at the start is passed over.
    public init(_ text: ArraySlice<UInt8>) {
        bytes = text
        position = text.startIndex
        lineStart = text.startIndex
        if text.starts(with: [0xEF, 0xBB, 0xBF]) {
            position += 3
            lineStart += 3
        }
    }

    /// The next field at top level, or nil at the end of the text.
    public mutating func nextField() throws(TextFormatError) -> TextField? {
        while true {
            if let list = openList {
                if let element = try listElement(name: list.name, isFirst: list.isFirst, depth: 0) {
                    openList = (list.name, false)
                    return element
                }
                openList = nil
            }
            skipSpace(separatorsToo: true)
            guard position < bytes.endIndex else { return nil }
            let (fieldLine, fieldColumn) = (line, column)
            let name = try fieldName()
            if try listFollows() {
                openList = (name, true)
                skipSpace()
                guard peek() == UInt8(ascii: "]") else { continue }
                advance()
                openList = nil
                return TextField(nameBytes: name, value: .emptyList, line: fieldLine, column: fieldColumn, isListElement: true)
            }
            let value = try self.value(depth: 0)
            return TextField(nameBytes: name, value: value, line: fieldLine, column: fieldColumn, isListElement: false)
        }
    }

    // MARK: Fields and values

    private mutating func messageBody(closing: UInt8, depth: Int) throws(TextFormatError) -> [TextField] {
        guard depth < Self.depthLimit else { throw error(.nestingTooDeep(limit: Self.depthLimit)) }
        var fields: [TextField] = []
        // A row of a database has two fields: one allocation for each of millions of rows.
        fields.reserveCapacity(2)
        while true {
            skipSpace(separatorsToo: true)
            if peek() == closing {
                advance()
                return fields
            }
            guard position < bytes.endIndex else {
                throw error(.expected(closing == UInt8(ascii: "}") ? "a field name or '}'" : "a field name or '>'"))
            }
            let (fieldLine, fieldColumn) = (line, column)
            let name = try fieldName()
            if try listFollows() {
                let count = fields.count
                var isFirst = true
                while let element = try listElement(name: name, isFirst: isFirst, depth: depth + 1) {
                    fields.append(element)
                    isFirst = false
                }
                guard fields.count == count else { continue }
                fields.append(
                    TextField(nameBytes: name, value: .emptyList, line: fieldLine, column: fieldColumn, isListElement: true))
            } else {
                let value = try self.value(depth: depth + 1)
                fields.append(
                    TextField(nameBytes: name, value: value, line: fieldLine, column: fieldColumn, isListElement: false))
            }
        }
    }

    /// The next element of a list whose `[` was read; nil after its `]`.
    private mutating func listElement(
        name: ArraySlice<UInt8>, isFirst: Bool, depth: Int
    ) throws(TextFormatError) -> TextField? {
        skipSpace()
        if peek() == UInt8(ascii: "]") {
            advance()
            return nil
        }
        if !isFirst {
            guard peek() == UInt8(ascii: ",") else { throw error(.expected("',' or ']'")) }
            advance()
            skipSpace()
        }
        let (elementLine, elementColumn) = (line, column)
        let value = try self.value(depth: depth)
        return TextField(nameBytes: name, value: value, line: elementLine, column: elementColumn, isListElement: true)
    }

    private mutating func fieldName() throws(TextFormatError) -> ArraySlice<UInt8> {
        guard let first = peek(), isWord(first), !isDigit(first), first != UInt8(ascii: "-"), first != UInt8(ascii: "+") else {
            throw error(.expected("a field name"))
        }
        return word()
    }

    /// Reads what stands between a name and its value; true if a list begins.
    private mutating func listFollows() throws(TextFormatError) -> Bool {
        skipSpace()
        let colon = peek() == UInt8(ascii: ":")
        if colon {
            advance()
            skipSpace()
        }
        switch peek() {
        case UInt8(ascii: "["):
            advance()
            return true
        case UInt8(ascii: "{"), UInt8(ascii: "<"): return false
        default:
            guard colon else { throw error(.expected("':' or '{'")) }
            return false
        }
    }

    private mutating func value(depth: Int) throws(TextFormatError) -> TextValue {
        guard let first = peek() else { throw error(.expected("a value")) }
        switch first {
        case UInt8(ascii: "{"), UInt8(ascii: "<"):
            advance()
            return .message(
                try messageBody(closing: first == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: ">"), depth: depth))
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            return .string(try strings())
        default:
            guard isWord(first) else { throw error(.expected("a value")) }
            return .word(word())
        }
    }

    // MARK: Tokens

    private mutating func word() -> ArraySlice<UInt8> {
        let start = position
        while position < bytes.endIndex, isWord(bytes[position]) { position += 1 }
        return bytes[start..<position]
    }

    /// One or more adjacent literals, unescaped. A single one without escapes is a slice of the text.
    private mutating func strings() throws(TextFormatError) -> ArraySlice<UInt8> {
        var value = try string()
        skipSpace()
        while let next = peek(), next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") {
            value.append(contentsOf: try string())
            skipSpace()
        }
        return value
    }

    private mutating func string() throws(TextFormatError) -> ArraySlice<UInt8> {
        let (openingLine, openingColumn) = (line, column)
        let quote = bytes[position]
        advance()
        let start = position
        var unescaped: [UInt8]?
        var runStart = position
        while position < bytes.endIndex {
            let byte = bytes[position]
            if byte == quote {
                let run = bytes[runStart..<position]
                advance()
                guard var value = unescaped else { return bytes[start..<position - 1] }
                unescaped = nil
                value.append(contentsOf: run)
                return value[...]
            }
            guard byte != UInt8(ascii: "\n") else { break }
            guard byte == UInt8(ascii: "\\") else {
                position += 1
                continue
            }
            var target = unescaped ?? []
            unescaped = nil
            target.append(contentsOf: bytes[runStart..<position])
            try unescape(into: &target)
            unescaped = target
            runStart = position
        }
        throw TextFormatError(line: openingLine, column: openingColumn, reason: .unterminatedString)
    }

    /// Reads an escape, the backslash included.
    private mutating func unescape(into target: inout [UInt8]) throws(TextFormatError) {
        let start = position
        advance()
        guard let letter = peek() else { throw error(.invalidEscape, at: start) }
        advance()
        switch letter {
        case UInt8(ascii: "n"): target.append(10)
        case UInt8(ascii: "t"): target.append(9)
        case UInt8(ascii: "r"): target.append(13)
        case UInt8(ascii: "a"): target.append(7)
        case UInt8(ascii: "b"): target.append(8)
        case UInt8(ascii: "f"): target.append(12)
        case UInt8(ascii: "v"): target.append(11)
        case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "?"): target.append(letter)
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            position -= 1
            guard let value = digits(radix: 8, count: 1...3), value < 256 else { throw error(.invalidEscape, at: start) }
            target.append(UInt8(truncatingIfNeeded: value))
        case UInt8(ascii: "x"), UInt8(ascii: "X"):
            guard let value = digits(radix: 16, count: 1...2) else { throw error(.invalidEscape, at: start) }
            target.append(UInt8(truncatingIfNeeded: value))
        case UInt8(ascii: "u"): target.append(contentsOf: try unicode(digits: 4, from: start))
        case UInt8(ascii: "U"): target.append(contentsOf: try unicode(digits: 8, from: start))
        default: throw error(.invalidEscape, at: start)
        }
    }

    /// A code point of so many hexadecimal digits, in UTF-8; two surrogates in a row make one.
    private mutating func unicode(digits count: Int, from start: Int) throws(TextFormatError) -> [UInt8] {
        guard var value = digits(radix: 16, count: count...count) else { throw error(.invalidEscape, at: start) }
        if count == 4, (0xD800..<0xDC00).contains(value),
            bytes[position...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")])
        {
            position += 2
            guard let low = digits(radix: 16, count: 4...4), (0xDC00..<0xE000).contains(low) else {
                throw error(.invalidEscape, at: start)
            }
            value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(value) else { throw error(.invalidEscape, at: start) }
        return Array(String(Character(scalar)).utf8)
    }

    /// As many digits as there are, up to the upper bound; nil if fewer than the lower.
    private mutating func digits(radix: UInt32, count: ClosedRange<Int>) -> UInt32? {
        var value: UInt32 = 0
        var read = 0
        while read < count.upperBound, let byte = peek(), let digit = hexadecimalDigit(byte), digit < radix {
            value = value * radix + digit
            read += 1
            advance()
        }
        return count.contains(read) ? value : nil
    }

    // MARK: Characters

    private var column: Int { position - lineStart + 1 }

    private func peek() -> UInt8? { position < bytes.endIndex ? bytes[position] : nil }

    private mutating func advance() { position += 1 }

    private mutating func skipSpace(separatorsToo: Bool = false) {
        while position < bytes.endIndex {
            switch bytes[position] {
            case UInt8(ascii: "\n"):
                position += 1
                line += 1
                lineStart = position
            case 9, 11, 12, 13, 32: position += 1
            case UInt8(ascii: "#"):
                while position < bytes.endIndex, bytes[position] != UInt8(ascii: "\n") { position += 1 }
            case UInt8(ascii: ","), UInt8(ascii: ";"):
                guard separatorsToo else { return }
                position += 1
            default: return
            }
        }
    }

    private func error(_ reason: TextFormatError.Reason, at place: Int? = nil) -> TextFormatError {
        TextFormatError(line: line, column: (place ?? position) - lineStart + 1, reason: reason)
    }
}

/// Letters, digits, and what numbers may hold.
private func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "+"), UInt8(ascii: "-"):
        true
    default: false
    }
}

private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

/// The value of a hexadecimal digit.
func hexadecimalDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
}
