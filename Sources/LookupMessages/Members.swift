// Messages that stand only inside a oneof of another: the Swift case carries what they hold.

import Protobuf

/// A message without fields: being there is what it says.
struct Empty: TextMessage {
    mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {}

    func encode(to writer: inout ProtobufWriter) {}

    static let schema = MessageSchema("Empty", [])
}

/// The doubleMod sharding function.
struct DoubleMod: TextMessage {
    var otherShardCount: UInt32 = 0

    init() {}
    init(otherShardCount: UInt32) { self.otherShardCount = otherShardCount }

    mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        if number == 1 { otherShardCount = try reader.uint32() }
    }

    func encode(to writer: inout ProtobufWriter) { writer.uint32(otherShardCount, field: 1) }

    static let schema = MessageSchema("DoubleMod", [FieldSchema(1, "other_shard_count", .uint32)])
}

/// The reason of an `Error` that may enclose the current configuration.
struct ConfigVersionNotFound: TextMessage {
    var configResponse: ConfigResponse?

    init() {}
    init(configResponse: ConfigResponse?) { self.configResponse = configResponse }

    mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        if number == 1 { try reader.message(into: &configResponse) }
    }

    func encode(to writer: inout ProtobufWriter) { writer.message(configResponse, field: 1) }

    static let schema = MessageSchema(
        "ConfigVersionNotFound", [FieldSchema(1, "config_response", .message(ConfigResponse.schema))])
}
