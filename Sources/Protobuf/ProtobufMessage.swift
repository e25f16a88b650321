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

/// An entry of a map with uint64 keys, as it stands on the wire.
struct UInt64KeyEntry<Value: ProtobufMessage>: ProtobufMessage {
    var key: UInt64 = 0
    var value = Value()

    init() {}
    init(key: UInt64, value: Value) { (self.key, self.value) = (key, value) }

    mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: key = try reader.uint64()
        case 2: try reader.message(into: &value)
        default: break
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.presentUInt64(key, field: 1)
        writer.message(value, field: 2)
    }
}

/// An entry of a map with string keys, as it stands on the wire.
struct StringKeyEntry<Value: ProtobufMessage>: ProtobufMessage {
    var key = ""
    var value = Value()

    init() {}
    init(key: String, value: Value) { (self.key, self.value) = (key, value) }

    mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: key = try reader.string()
        case 2: try reader.message(into: &value)
        default: break
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.presentString(key, field: 1)
        writer.message(value, field: 2)
    }
}
