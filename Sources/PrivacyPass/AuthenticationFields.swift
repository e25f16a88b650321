// The grammar of `Authorization` and `WWW-Authenticate` (RFC 9110 11.3, 11.4, 11.6).

/// A scheme with its parameters or its token68.
struct AuthenticationElement: Equatable {
    /// In lower case.
    var scheme: String
    /// Names in lower case, in order; values without quotes and escapes.
    var parameters: [(name: String, value: [UInt8])] = []
    /// What stands in place of parameters.
    var token68: [UInt8]?

    /// The one value of a parameter; nil if it is absent or comes twice.
    func single(_ name: String) -> [UInt8]? {
        let values = parameters.filter { $0.name == name }
        return values.count == 1 ? values.first?.value : nil
    }

    func has(_ name: String) -> Bool { parameters.contains { $0.name == name } }

    static func == (left: Self, right: Self) -> Bool {
        left.scheme == right.scheme && left.token68 == right.token68 && left.parameters.count == right.parameters.count
            && zip(left.parameters, right.parameters).allSatisfy { $0 == $1 }
    }
}

/// Reads a field value from its beginning to its end.
struct AuthenticationFieldReader {
    /// Longest field value that is looked at, in bytes.
    static let longestField = 16 * 1024

    private let text: [UInt8]
    private var position = 0

    /// nil for a field that is too long.
    init?(_ text: String) {
        guard text.utf8.count <= Self.longestField else { return nil }
        self.text = Array(text.utf8)
    }

    private var next: UInt8? { position < text.count ? text[position] : nil }

    private mutating func skipSpace() -> Bool {
        let start = position
        while next == UInt8(ascii: " ") || next == UInt8(ascii: "\t") { position += 1 }
        return position > start
    }

    private mutating func skip(_ character: Character) -> Bool {
        guard let next, next == character.asciiValue else { return false }
        position += 1
        return true
    }

    private mutating func token() -> [UInt8]? {
        let start = position
        while let next, Self.isTokenByte(next) { position += 1 }
        return position > start ? Array(text[start..<position]) : nil
    }

    private mutating func quotedString() -> [UInt8]? {
        guard skip("\"") else { return nil }
        var out: [UInt8] = []
        while var byte = next {
            position += 1
            if byte == UInt8(ascii: "\"") { return out }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = next else { return nil }
                byte = escaped
                position += 1
            }
            guard byte == UInt8(ascii: "\t") || byte >= 0x20 && byte != 0x7F else { return nil }
            out.append(byte)
        }
        return nil
    }

    /// The value of a parameter: a quoted string or, wider than a token, token68 with its padding.
    private mutating func value() -> [UInt8]? {
        if next == UInt8(ascii: "\"") { return quotedString() }
        let start = position
        while let next, Self.isTokenByte(next) || next == UInt8(ascii: "/") { position += 1 }
        guard position > start else { return nil }
        while next == UInt8(ascii: "=") { position += 1 }
        return Array(text[start..<position])
    }

    /// Whether the field, or this element of it, ends here.
    private var isAtEndOfElement: Bool { next == nil || next == UInt8(ascii: ",") }

    /// `token68`, if that is what stands here, up to the end of the element; else nothing is consumed.
    private mutating func token68() -> [UInt8]? {
        let start = position
        while let next, Self.isToken68Byte(next) { position += 1 }
        let hasText = position > start
        while next == UInt8(ascii: "=") { position += 1 }
        let end = position
        _ = skipSpace()
        if hasText, isAtEndOfElement { return Array(text[start..<end]) }
        position = start
        return nil
    }

    /// The elements of a list of challenges; nil if the field breaks the grammar. A field of credentials is a list of one.
    static func elements(of field: String) -> [AuthenticationElement]? {
        guard var reader = AuthenticationFieldReader(field) else { return nil }
        var result: [AuthenticationElement] = []
        _ = reader.skipSpace()
        while reader.next != nil {
            if !reader.skip(",") {
                guard reader.readItem(into: &result) else { return nil }
                _ = reader.skipSpace()
                guard reader.isAtEndOfElement else { return nil }
            }
            _ = reader.skipSpace()
        }
        return result
    }

    /// A scheme with what follows it up to a comma, or one more parameter of the scheme before.
    private mutating func readItem(into result: inout [AuthenticationElement]) -> Bool {
        guard let word = token() else { return false }
        let hasSpace = skipSpace()
        if skip("=") {
            _ = skipSpace()
            guard let value = value(), let last = result.indices.last, result[last].token68 == nil else { return false }
            result[last].parameters.append((Self.lowercased(word), value))
            return true
        }
        result.append(AuthenticationElement(scheme: Self.lowercased(word)))
        if isAtEndOfElement { return true }
        guard hasSpace else { return false }
        if let token68 = token68() {
            result[result.count - 1].token68 = token68
            return true
        }
        guard let name = token() else { return false }
        _ = skipSpace()
        guard skip("=") else { return false }
        _ = skipSpace()
        guard let value = value() else { return false }
        result[result.count - 1].parameters.append((Self.lowercased(name), value))
        return true
    }

    static func lowercased(_ word: some Sequence<UInt8>) -> String {
        String(decoding: word.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static let tokenMarks = Set("!#$%&'*+-.^_`|~".utf8)
    private static let token68Marks = Set("-._~+/".utf8)

    private static func isTokenByte(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || tokenMarks.contains(byte) }
    private static func isToken68Byte(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || token68Marks.contains(byte) }
}
