// Names and types of fields: what the text format needs and the wire does not carry. Reading text goes from fields to wire
// bytes to the message, so that merging and defaults have one home; keyword-pir.md 11.1.

/// The fields of a message, in ascending order of the number.
public struct MessageSchema: Sendable {
    /// The message's name, for errors.
    public let name: String
    /// Its fields.
    public let fields: [FieldSchema]

    /// A message with these fields.
    public init(_ name: String, _ fields: [FieldSchema]) {
        self.name = name
        self.fields = fields
    }
}

/// One field of a message.
public struct FieldSchema: Sendable {
    /// What a field holds.
    public enum Kind: Sendable {
        /// An unsigned number of 32 bits.
        case uint32
        /// An unsigned number of 64 bits.
        case uint64
        /// True or false.
        case bool
        /// Text.
        case string
        /// Any bytes.
        case bytes
        /// A number with names.
        case enumeration(EnumSchema)
        /// A message.
        case message(MessageSchema)

        /// The entries of a map.
        public static func map(key: Kind, value: Kind) -> Kind {
            .message(MessageSchema("map entry", [FieldSchema(1, "key", key), FieldSchema(2, "value", value)]))
        }
    }

    /// The field number.
    public let number: Int
    /// The name in the text format.
    public let name: String
    /// What it holds.
    public let kind: Kind
    /// Whether it may occur more than once.
    public let repeated: Bool

    let nameBytes: [UInt8]

    /// A field.
    public init(_ number: Int, _ name: String, _ kind: Kind, repeated: Bool = false) {
        self.number = number
        self.name = name
        self.kind = kind
        self.repeated = repeated
        nameBytes = Array(name.utf8)
    }
}

/// The names of an enum.
public struct EnumSchema: Sendable {
    /// Numbers with their names.
    public let values: [(number: Int32, name: String)]

    /// An enum with these names.
    public init(_ values: [(Int32, String)]) { self.values = values.map { ($0.0, $0.1) } }
}

extension MessageSchema {
    /// Writes a field of the text as the wire has it; the order of fields is that of the text.
    public func write(_ field: TextField, to writer: inout ProtobufWriter) throws(TextFormatError) {
        guard let schema = fields.first(where: { $0.nameBytes.elementsEqual(field.nameBytes) }) else {
            throw field.error(.unknownField(message: name, fields: fields.map(\.name)))
        }
        guard schema.repeated || !field.isListElement else { throw field.error(.listForSingularField(schema.name)) }
        if case .emptyList = field.value { return }
        switch schema.kind {
        case .uint64:
            writer.presentUInt64(try field.number(of: schema, limit: .max), field: schema.number)
        case .uint32:
            writer.presentUInt64(try field.number(of: schema, limit: UInt64(UInt32.max)), field: schema.number)
        case .bool:
            writer.presentBool(try field.bool(of: schema), field: schema.number)
        case .enumeration(let names):
            writer.presentUInt64(UInt64(bitPattern: Int64(try field.enumeration(of: schema, names))), field: schema.number)
        case .string:
            let value = try field.string(of: schema)
            guard String(validating: value, as: UTF8.self) != nil else { throw field.error(.invalidUTF8(field: schema.name)) }
            writer.presentBytes(value, field: schema.number)
        case .bytes:
            writer.presentBytes(try field.string(of: schema), field: schema.number)
        case .message(let message):
            guard case .message(let inner) = field.value else {
                throw field.error(.wrongValue(field: schema.name, expected: "a message in braces"))
            }
            try writer.delimited(field: schema.number) { (writer) throws(TextFormatError) in
                for field in inner { try message.write(field, to: &writer) }
            }
        }
    }
}

extension TextField {
    fileprivate func error(_ reason: TextFormatError.Reason) -> TextFormatError {
        TextFormatError(line: line, column: column, reason: reason)
    }

    fileprivate func string(of schema: FieldSchema) throws(TextFormatError) -> ArraySlice<UInt8> {
        guard case .string(let value) = value else {
            throw error(.wrongValue(field: schema.name, expected: "a string in quotes"))
        }
        return value
    }

    /// An unsigned number: decimal, `0x…`, or octal with a leading 0.
    fileprivate func number(of schema: FieldSchema, limit: UInt64) throws(TextFormatError) -> UInt64 {
        guard case .word(let word) = value, let parsed = Self.parse(word) else {
            throw error(.wrongValue(field: schema.name, expected: "an unsigned number"))
        }
        guard let number = parsed, number <= limit else {
            throw error(.outOfRange(field: schema.name, expected: "0 to \(limit)"))
        }
        return number
    }

    fileprivate func bool(of schema: FieldSchema) throws(TextFormatError) -> Bool {
        if case .word(let word) = value {
            switch String(decoding: word, as: UTF8.self) {
            case "true", "True", "t", "1": return true
            case "false", "False", "f", "0": return false
            default: break
            }
        }
        throw error(.wrongValue(field: schema.name, expected: "true or false"))
    }

    fileprivate func enumeration(of schema: FieldSchema, _ names: EnumSchema) throws(TextFormatError) -> Int32 {
        let expected = "one of \(names.values.map(\.name).joined(separator: ", ")), or a number"
        guard case .word(let word) = value else { throw error(.wrongValue(field: schema.name, expected: expected)) }
        if let named = names.values.first(where: { $0.name.utf8.elementsEqual(word) }) { return named.number }
        let isNegative = word.first == UInt8(ascii: "-")
        guard let parsed = Self.parse(isNegative ? word.dropFirst() : word) else {
            throw error(.wrongValue(field: schema.name, expected: expected))
        }
        guard let magnitude = parsed, let value = Int64(exactly: magnitude),
            let number = Int32(exactly: isNegative ? -value : value)
        else {
            throw error(.outOfRange(field: schema.name, expected: "a number of 32 bits"))
        }
        return number
    }

    /// The number that the word spells: nil if it spells none, `.some(nil)` if it does not fit 64 bits.
    private static func parse(_ word: ArraySlice<UInt8>) -> UInt64?? {
        var digits = word
        var radix: UInt64 = 10
        if word.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "x")])
            || word.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "X")])
        {
            (digits, radix) = (word.dropFirst(2), 16)
        } else if word.count > 1, word.first == UInt8(ascii: "0") {
            (digits, radix) = (word.dropFirst(), 8)
        }
        guard !digits.isEmpty else { return nil }
        var value: UInt64? = 0
        for byte in digits {
            guard let digit = hexadecimalDigit(byte), digit < radix else { return nil }
            guard let before = value else { continue }
            let (product, overflow) = before.multipliedReportingOverflow(by: radix)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
            value = overflow || carry ? nil : sum
        }
        return .some(value)
    }
}
