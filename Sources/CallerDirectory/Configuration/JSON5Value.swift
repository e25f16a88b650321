// JSON and JSON5 values with the place where each stood. Grammar: RFC 8259 and spec.json5.org. Foundation's decoder gives
// no positions and keeps the first of two equal keys silently, hence our own reader (design.md, Configuration).

/// A line and a column of a text, both from 1; columns count Unicode scalars.
public struct TextPosition: Sendable, Equatable {
    /// Line, from 1.
    public var line: Int
    /// Column, from 1.
    public var column: Int

    /// Makes a position.
    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// A number as it was written.
public struct JSON5Number: Sendable, Equatable {
    /// The text of the number, sign included.
    public var text: String
    /// The value; ±infinity and not-a-number only in JSON5 (or when the text is beyond the range of a double).
    public var double: Double
    /// The value if it was written as an integer, decimal without point or exponent or hexadecimal, and fits 64 bits.
    public var integer: Int64?
}

/// A value and where it began.
public struct JSON5Value: Sendable, Equatable {
    /// What the value is.
    public enum Kind: Sendable, Equatable {
        /// `null`.
        case null
        /// `true` or `false`.
        case bool(Bool)
        /// A number.
        case number(JSON5Number)
        /// A string.
        case string(String)
        /// An array.
        case array([JSON5Value])
        /// An object, members in the order of the file.
        case object([JSON5Member])
    }

    /// What the value is.
    public var kind: Kind
    /// Where its first character stood.
    public var position: TextPosition

    /// Makes a value.
    public init(_ kind: Kind, at position: TextPosition) {
        self.kind = kind
        self.position = position
    }

    /// A few words for an error's "got" part.
    public var summary: String {
        switch kind {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .number(let number): return number.text
        case .string(let text): return "\"\(text)\""
        case .array(let values): return "an array of \(values.count)"
        case .object(let members): return "an object of \(members.count)"
        }
    }
}

/// A name and its value in an object.
public struct JSON5Member: Sendable, Equatable {
    /// The name.
    public var name: String
    /// Where the name stood.
    public var namePosition: TextPosition
    /// The value.
    public var value: JSON5Value
}

/// Bounds on what is read; beyond them reading fails.
public struct JSON5Limits: Sendable, Equatable {
    /// Bytes of the text.
    public var bytes = 1 << 20
    /// Arrays and objects inside each other.
    public var depth = 32
    /// Values in all.
    public var values = 200_000

    /// The bounds for a configuration file: 1 MiB, 32 levels, 200 000 values.
    public init() {}
}

/// Why a text is not JSON: where, and what was expected there.
public struct JSON5SyntaxError: Error, Sendable, Equatable {
    /// Where.
    public var position: TextPosition
    /// What should have been there.
    public var expected: String
    /// What was there.
    public var came: String
}
