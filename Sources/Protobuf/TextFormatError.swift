// What can be wrong with protobuf text. The texts give the place and what was expected, never what stands there: a misplaced
// phone number or name would end in a log.

/// Why text could not be read as a message.
public struct TextFormatError: Error, Sendable, Equatable {
    /// Line, from 1.
    public var line: Int
    /// Column, from 1, counted in bytes of UTF-8.
    public var column: Int
    /// What is wrong there.
    public var reason: Reason

    /// An error at a place.
    public init(line: Int, column: Int, reason: Reason) {
        self.line = line
        self.column = column
        self.reason = reason
    }

    /// What is wrong.
    public enum Reason: Sendable, Equatable {
        /// Something else was expected at this place: `a field name`, `':' or '{'` …
        case expected(String)
        /// A string is not closed on its line.
        case unterminatedString
        /// A backslash is followed by something that is no escape, or by a number out of range.
        case invalidEscape
        /// A string field whose bytes are not valid UTF-8.
        case invalidUTF8(field: String)
        /// The message has no such field; its fields are listed.
        case unknownField(message: String, fields: [String])
        /// A field whose value has another type than the schema says.
        case wrongValue(field: String, expected: String)
        /// A number outside the field's range.
        case outOfRange(field: String, expected: String)
        /// A list for a field that is not repeated.
        case listForSingularField(String)
        /// Messages nested deeper than the limit.
        case nestingTooDeep(limit: Int)
    }
}

extension TextFormatError: CustomStringConvertible {
    /// `line L, column C:` and the reason.
    public var description: String { "line \(line), column \(column): \(reason)" }
}

extension TextFormatError.Reason: CustomStringConvertible {
    /// The reason in one line.
    public var description: String {
        switch self {
        case .expected(let what): "expected \(what)"
        case .unterminatedString: "the string is not closed on its line"
        case .invalidEscape: "unknown escape sequence, or a value out of range in it"
        case .invalidUTF8(let field): "\(field) is not valid UTF-8"
        case .unknownField(let message, let fields): "\(message) has no such field; it has \(fields.joined(separator: ", "))"
        case .wrongValue(let field, let expected): "\(field) must be \(expected)"
        case .outOfRange(let field, let expected): "\(field) is out of range: \(expected) expected"
        case .listForSingularField(let field): "\(field) takes one value, not a list"
        case .nestingTooDeep(let limit): "messages are nested deeper than \(limit)"
        }
    }
}
