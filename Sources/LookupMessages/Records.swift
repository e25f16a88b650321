// Databases and identities one by one, binary or text: keyword-pir.md 11.1, 11.2.

import Protobuf

/// The rows of a `KeywordDatabase`, one by one.
public typealias KeywordDatabaseRows = RecordStream<KeywordDatabaseRow>

extension KeywordDatabaseRow: RecordMessage {
    /// `rows`.
    public static var recordField: String { "rows" }
    /// `KeywordDatabase`.
    public static var recordFile: String { "KeywordDatabase" }
}

/// The callers of an `InputIdentities`, one by one and with repeated numbers.
public typealias InputIdentityRecords = RecordStream<InputIdentityEntry>

/// One caller of an `InputIdentities`: an entry of its map.
public struct InputIdentityEntry: RecordMessage {
    /// The phone number, E.164 with `+`.
    public var number = ""
    /// The caller.
    public var identity = InputCallIdentity()

    /// Every field at its default.
    public init() {}

    /// A caller.
    public init(number: String, identity: InputCallIdentity) {
        self.number = number
        self.identity = identity
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: self.number = try reader.string()
        case 2: try reader.message(into: &identity)
        default: break
        }
    }

    /// Writes key and value, default or not.
    public func encode(to writer: inout ProtobufWriter) {
        writer.presentString(number, field: 1)
        writer.message(identity, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "map entry", [FieldSchema(1, "key", .string), FieldSchema(2, "value", .message(InputCallIdentity.schema))])
    /// `identities`.
    public static var recordField: String { "identities" }
    /// `InputIdentities`.
    public static var recordFile: String { "InputIdentities" }
}
