// What can be wrong with bytes that should be a proto3 message. The texts name fields by number and places by offset, never
// the content, so that a server may log them.

/// The wire types of the protobuf encoding that proto3 messages use.
public enum ProtobufWireType: UInt8, Sendable, Equatable {
    /// Numbers, booleans and enums.
    case varint = 0
    /// Eight bytes, little-endian.
    case fixed64 = 1
    /// Byte strings, strings, sub-messages, packed lists.
    case lengthDelimited = 2
    /// Four bytes, little-endian.
    case fixed32 = 5
}

/// Why bytes could not be read as a message. Offsets count from the first byte of the outermost message.
public enum ProtobufError: Error, Sendable, Equatable {
    /// The bytes end inside a tag, a number or a fixed-size value.
    case truncated(offset: Int, expected: String)
    /// A varint takes more bytes than its use allows: 10 (64 bits), or 5 for a tag or a length.
    case varintTooLong(offset: Int, allowed: Int)
    /// A length reaches beyond the bytes that are left in the enclosing message.
    case lengthBeyondEnd(field: Int, length: UInt64, remaining: Int, offset: Int)
    /// A known field has another wire type than the schema says; `found` is nil where no field was open.
    case wrongWireType(field: Int, expected: ProtobufWireType, found: ProtobufWireType?, offset: Int)
    /// A tag with wire type 6 or 7, which do not exist.
    case invalidWireType(field: Int, found: UInt8, offset: Int)
    /// A tag with wire type 3 or 4: groups do not exist in proto3.
    case group(field: Int, offset: Int)
    /// Field number 0.
    case fieldNumberZero(offset: Int)
    /// A string field that is not valid UTF-8.
    case invalidUTF8(field: Int, offset: Int)
    /// Messages nested deeper than the limit.
    case nestingTooDeep(limit: Int, offset: Int)
    /// More elements in repeated fields than the limit.
    case tooManyElements(limit: Int, offset: Int)
}

extension ProtobufError: CustomStringConvertible {
    /// One line: what was expected, what came, where.
    public var description: String {
        switch self {
        case .truncated(let offset, let expected):
            "message ends at offset \(offset) where \(expected) was expected"
        case .varintTooLong(let offset, let allowed):
            "varint at offset \(offset) does not fit the \(allowed) bytes allowed"
        case .lengthBeyondEnd(let field, let length, let remaining, let offset):
            "field \(field) at offset \(offset) claims \(length) bytes, but \(remaining) are left"
        case .wrongWireType(let field, let expected, let found, let offset):
            "field \(field) before offset \(offset) has wire type \(found.map { "\($0)" } ?? "none"), expected \(expected)"
        case .invalidWireType(let field, let found, let offset):
            "field \(field) at offset \(offset) has wire type \(found), which does not exist"
        case .group(let field, let offset):
            "field \(field) at offset \(offset) is a group, which proto3 does not have"
        case .fieldNumberZero(let offset):
            "field number 0 at offset \(offset)"
        case .invalidUTF8(let field, let offset):
            "string field \(field) at offset \(offset) is not valid UTF-8"
        case .nestingTooDeep(let limit, let offset):
            "message at offset \(offset) is nested deeper than \(limit)"
        case .tooManyElements(let limit, let offset):
            "more than \(limit) repeated elements at offset \(offset)"
        }
    }
}

/// What a decode may cost at most, whatever the bytes say.
public struct ProtobufLimits: Sendable, Equatable {
    /// Deepest nesting of messages; the outermost is 0.
    public var depth: Int
    /// Elements of repeated messages, strings, byte strings and map entries, in the whole message. Numbers do not count:
    /// each costs at least one byte, so they stay in proportion by themselves.
    public var elements: Int

    /// Limits for messages from a socket unless other figures are given.
    public init(depth: Int = 64, elements: Int = 65_536) {
        self.depth = depth
        self.elements = elements
    }

    /// For files of the operator, which are as large as the operator makes them.
    public static let file = ProtobufLimits(elements: .max)
}
