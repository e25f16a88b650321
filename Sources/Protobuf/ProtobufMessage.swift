// What a Swift type needs in order to be a proto3 message: how it takes one field, and how it writes all of them.

/// A proto3 message. The protocol's loop gives proto3 semantics: any order, last scalar wins, sub-messages merge, unknown
/// fields are skipped.
public protocol ProtobufMessage: Sendable, Equatable {
    /// Limits that hold unless the caller gives others.
    static var defaultLimits: ProtobufLimits { get }
    /// The message with every field at its default.
    init()
    /// Takes the value of field `number` from the reader; leaves it unread if the field is unknown.
    mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError)
    /// Writes the fields in ascending order of the number.
    func encode(to writer: inout ProtobufWriter)
}

extension ProtobufMessage {
    /// The limits for messages from a socket.
    public static var defaultLimits: ProtobufLimits { ProtobufLimits() }

    /// Reads fields to the end of the reader's message, on top of what is set.
    public mutating func merge(from reader: inout ProtobufReader) throws(ProtobufError) {
        while let number = try reader.nextField() { try decodeField(number, from: &reader) }
    }

    /// Reads a message to the end of `reader`.
    public init(reader: inout ProtobufReader) throws(ProtobufError) {
        self.init()
        try merge(from: &reader)
    }

    /// Decodes a message; its bytes fields are slices of `bytes` and keep that storage alive.
    public init(decoding bytes: ArraySlice<UInt8>, limits: ProtobufLimits = Self.defaultLimits) throws(ProtobufError) {
        var reader = ProtobufReader(bytes, limits: limits)
        try self.init(reader: &reader)
    }

    /// Decodes a message; its bytes fields are slices of `bytes` and keep that storage alive.
    public init(decoding bytes: [UInt8], limits: ProtobufLimits = Self.defaultLimits) throws(ProtobufError) {
        try self.init(decoding: bytes[...], limits: limits)
    }

    /// The canonical bytes of the message (bfv.md 11.8).
    public func encoded() -> [UInt8] {
        var writer = ProtobufWriter()
        encode(to: &writer)
        return writer.output
    }
}

/// A proto3 enum. It is open: numbers without a name are kept, so a message can be passed on unchanged.
public protocol ProtobufEnum: RawRepresentable, Sendable, Hashable where RawValue == Int32 {
    /// The value with this number, named or not.
    init(rawValue: Int32)
}

/// What may be the key of a map, with the order in which maps are written.
public protocol ProtobufMapKey: Hashable, Sendable {
    /// The key of an entry that gives none: 0 or "".
    init()
    /// Reads the key from field 1 of an entry.
    init(readingKey reader: inout ProtobufReader) throws(ProtobufError)
    /// Writes the key as field 1 of an entry, default or not.
    func writeKey(to writer: inout ProtobufWriter)
    /// Whether this key is written before the other.
    func precedes(_ other: Self) -> Bool
}

extension UInt64: ProtobufMapKey {
    /// Reads a uint64 key.
    public init(readingKey reader: inout ProtobufReader) throws(ProtobufError) { self = try reader.uint64() }
    /// Writes a uint64 key.
    public func writeKey(to writer: inout ProtobufWriter) { writer.presentUInt64(self, field: 1) }
    /// Ascending by value.
    public func precedes(_ other: UInt64) -> Bool { self < other }
}

extension String: ProtobufMapKey {
    /// Reads a string key.
    public init(readingKey reader: inout ProtobufReader) throws(ProtobufError) { self = try reader.string() }
    /// Writes a string key.
    public func writeKey(to writer: inout ProtobufWriter) { writer.presentString(self, field: 1) }
    /// Ascending by the bytes of the UTF-8 form.
    public func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

/// An entry of a map, as it stands on the wire: a message with key and value.
struct MapEntry<Key: ProtobufMapKey, Value: ProtobufMessage>: ProtobufMessage {
    var key = Key()
    var value = Value()

    init() {}
    init(key: Key, value: Value) { (self.key, self.value) = (key, value) }

    mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: key = try Key(readingKey: &reader)
        case 2: try reader.message(into: &value)
        default: break
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        key.writeKey(to: &writer)
        writer.message(value, field: 2)
    }
}
