// A reader for JSON5 (spec.json5.org) and, with `dialect: .json`, for strict JSON (RFC 8259). Equal names in one object are
// an error. Recursion is bounded by `JSON5Limits.depth`, memory by `bytes` and `values`.

/// Reads one JSON5 or JSON text.
public struct JSON5Reader: Sendable {
    /// Which grammar is accepted.
    public enum Dialect: Sendable, Equatable {
        /// Comments, trailing commas, unquoted names, single quotes, hexadecimal, signs, infinities.
        case json5
        /// RFC 8259 and nothing else.
        case json
    }

    let bytes: [UInt8]
    let dialect: Dialect
    let limits: JSON5Limits
    var index = 0
    var position: TextPosition
    var depth = 0
    var valueCount = 0

    /// Reads `text` whole. `line` is the number of the text's first line (a JSON Lines reader starts elsewhere than at 1).
    /// - Throws: `JSON5SyntaxError` at the first thing that is wrong.
    public static func read(
        _ text: [UInt8], dialect: Dialect = .json5, limits: JSON5Limits = JSON5Limits(), line: Int = 1
    ) throws(JSON5SyntaxError) -> JSON5Value {
        var reader = JSON5Reader(text, dialect: dialect, limits: limits, line: line)
        return try reader.document()
    }

    init(_ text: [UInt8], dialect: Dialect, limits: JSON5Limits, line: Int) {
        self.bytes = text
        self.dialect = dialect
        self.limits = limits
        self.position = TextPosition(line: line, column: 1)
    }

    // MARK: Structure

    mutating func document() throws(JSON5SyntaxError) -> JSON5Value {
        guard bytes.count <= limits.bytes else {
            throw JSON5SyntaxError(
                position: position, expected: "at most \(limits.bytes) bytes of text", came: "\(bytes.count) bytes")
        }
        try checkEncoding()
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { index = 3 }
        try skipBlanks()
        let root = try value()
        try skipBlanks()
        guard index == bytes.count else { throw unexpected("the end of the text") }
        return root
    }

    private func checkEncoding() throws(JSON5SyntaxError) {
        if String(validating: bytes, as: UTF8.self) != nil { return }
        // Find the line for the message: the first line that does not decode.
        var line = position.line
        for part in bytes.split(separator: 0x0a, omittingEmptySubsequences: false) {
            if String(validating: part, as: UTF8.self) == nil { break }
            line += 1
        }
        throw JSON5SyntaxError(position: TextPosition(line: line, column: 1), expected: "UTF-8 text", came: "other bytes")
    }

    mutating func value() throws(JSON5SyntaxError) -> JSON5Value {
        valueCount += 1
        guard valueCount <= limits.values else { throw unexpected("at most \(limits.values) values") }
        let start = position
        guard let byte = peek() else { throw unexpected("a value") }
        switch byte {
        case UInt8(ascii: "{"): return JSON5Value(.object(try object()), at: start)
        case UInt8(ascii: "["): return JSON5Value(.array(try array()), at: start)
        case UInt8(ascii: "\""): return JSON5Value(.string(try string()), at: start)
        case UInt8(ascii: "'") where dialect == .json5: return JSON5Value(.string(try string()), at: start)
        case UInt8(ascii: "t") where takeWord("true"): return JSON5Value(.bool(true), at: start)
        case UInt8(ascii: "f") where takeWord("false"): return JSON5Value(.bool(false), at: start)
        case UInt8(ascii: "n") where takeWord("null"): return JSON5Value(.null, at: start)
        default: break
        }
        guard let number = try number() else { throw unexpected("a value") }
        return JSON5Value(.number(number), at: start)
    }

    private mutating func enter() throws(JSON5SyntaxError) {
        depth += 1
        guard depth <= limits.depth else { throw unexpected("at most \(limits.depth) levels of nesting") }
    }

    private mutating func array() throws(JSON5SyntaxError) -> [JSON5Value] {
        try enter()
        advance()
        var values: [JSON5Value] = []
        try skipBlanks()
        while peek() != UInt8(ascii: "]") {
            values.append(try value())
            guard try nextIsAnother(before: UInt8(ascii: "]")) else { break }
        }
        advance()
        depth -= 1
        return values
    }

    private mutating func object() throws(JSON5SyntaxError) -> [JSON5Member] {
        try enter()
        advance()
        var members: [JSON5Member] = []
        var names: Set<String> = []
        try skipBlanks()
        while peek() != UInt8(ascii: "}") {
            let namePosition = position
            let name = try self.name()
            guard names.insert(name).inserted else {
                throw JSON5SyntaxError(position: namePosition, expected: "each name once", came: "\"\(name)\" again")
            }
            try skipBlanks()
            guard peek() == UInt8(ascii: ":") else { throw unexpected("\":\" after the name") }
            advance()
            try skipBlanks()
            members.append(JSON5Member(name: name, namePosition: namePosition, value: try value()))
            guard try nextIsAnother(before: UInt8(ascii: "}")) else { break }
        }
        advance()
        depth -= 1
        return members
    }

    /// After an element: true when another follows, false when the closing bracket is next (a trailing comma was skipped).
    private mutating func nextIsAnother(before end: UInt8) throws(JSON5SyntaxError) -> Bool {
        try skipBlanks()
        if peek() == end { return false }
        guard peek() == UInt8(ascii: ",") else { throw unexpected("\",\" or \"\(Character(UnicodeScalar(end)))\"") }
        advance()
        try skipBlanks()
        guard peek() == end else { return true }
        guard dialect == .json5 else { throw unexpected("another element after \",\"") }
        return false
    }

    private mutating func name() throws(JSON5SyntaxError) -> String {
        switch peek() {
        case UInt8(ascii: "\""): return try string()
        case UInt8(ascii: "'") where dialect == .json5: return try string()
        default:
            guard dialect == .json5 else { throw unexpected("a name in double quotes") }
            return try identifier()
        }
    }

    // MARK: Bytes

    func peek(_ ahead: Int = 0) -> UInt8? {
        let at = index + ahead
        return at < bytes.count ? bytes[at] : nil
    }

    /// Steps over one byte and keeps line and column; columns count the bytes that begin a scalar.
    mutating func advance() {
        guard index < bytes.count else { return }
        let byte = bytes[index]
        index += 1
        let isLineEnd = byte == 0x0a || (byte == 0x0d && peek() != 0x0a)
        if isLineEnd {
            position.line += 1
            position.column = 1
        } else if index == bytes.count || bytes[index] & 0xc0 != 0x80 {
            position.column += 1
        }
    }

    mutating func advance(by count: Int) {
        for _ in 0..<count { advance() }
    }

    /// Takes `word` if it stands here and no letter follows.
    mutating func takeWord(_ word: String) -> Bool {
        let wanted = word.utf8
        guard bytes[index...].starts(with: wanted) else { return false }
        if let next = peek(wanted.count), isIdentifierByte(next) { return false }
        advance(by: wanted.count)
        return true
    }

    func isIdentifierByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            return true
        default: return false
        }
    }

    /// The scalar that begins here and its length in bytes; the text is known to be UTF-8.
    func scalar() -> (scalar: Unicode.Scalar, length: Int)? {
        guard let first = peek() else { return nil }
        let length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
        guard index + length <= bytes.count else { return nil }
        var decoder = UTF8()
        var iterator = bytes[index..<(index + length)].makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return nil }
        return (scalar, length)
    }

    func unexpected(_ expected: String) -> JSON5SyntaxError {
        guard let (scalar, _) = scalar() else {
            return JSON5SyntaxError(position: position, expected: expected, came: "the end of the text")
        }
        return JSON5SyntaxError(position: position, expected: expected, came: "\"\(Character(scalar))\"")
    }

    // MARK: Blanks and comments

    mutating func skipBlanks() throws(JSON5SyntaxError) {
        while let byte = peek() {
            switch byte {
            case 0x20, 0x09, 0x0a, 0x0d: advance()
            case 0x0b where dialect == .json5, 0x0c where dialect == .json5: advance()
            case UInt8(ascii: "/") where dialect == .json5: try skipComment()
            case 0x80... where dialect == .json5:
                guard let (scalar, length) = scalar(), scalar == "\u{feff}" || JSON5Reader.isBlank(scalar) else { return }
                advance(by: length)
            default: return
            }
        }
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .spaceSeparator || scalar == "\u{2028}" || scalar == "\u{2029}"
    }

    private mutating func skipComment() throws(JSON5SyntaxError) {
        let start = position
        switch peek(1) {
        case UInt8(ascii: "/"):
            while let byte = peek(), byte != 0x0a, byte != 0x0d, !lineSeparatorIsHere { advance() }
        case UInt8(ascii: "*"):
            advance(by: 2)
            while !(peek() == UInt8(ascii: "*") && peek(1) == UInt8(ascii: "/")) {
                guard index < bytes.count else {
                    throw JSON5SyntaxError(position: start, expected: "a comment closed by \"*/\"", came: "the end of the text")
                }
                advance()
            }
            advance(by: 2)
        default: throw unexpected("a value")
        }
    }

    /// U+2028 or U+2029 begins here: JSON5 counts them as line ends.
    var lineSeparatorIsHere: Bool {
        peek() == 0xe2 && peek(1) == 0x80 && (peek(2) == 0xa8 || peek(2) == 0xa9)
    }
}
