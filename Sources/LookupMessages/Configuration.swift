// What `POST /config` asks and answers: keyword-pir.md 9.1, service.md 1.7.1.

import Protobuf

/// The body of `POST /config`.
public struct ConfigRequest: TextMessage {
    /// Use case names; none means all.
    public var usecases: [String] = []
    /// Configuration id that the client holds for each use case, empty for none; none at all, or as many as `usecases`.
    public var existingConfigIds: [ArraySlice<UInt8>] = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(usecases: [String] = [], existingConfigIds: [ArraySlice<UInt8>] = []) {
        self.usecases = usecases
        self.existingConfigIds = existingConfigIds
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.append(to: &usecases)
        case 2: try reader.append(to: &existingConfigIds)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.repeated(usecases, field: 1)
        writer.repeated(existingConfigIds, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "ConfigRequest",
        [
            FieldSchema(1, "usecases", .string, repeated: true),
            FieldSchema(2, "existing_config_ids", .bytes, repeated: true),
        ])
}

/// What the server holds of a client's keys.
public struct KeyStatus: TextMessage {
    /// The client's own timestamp of the key that the server holds; 0 for none.
    public var timestamp: UInt64 = 0
    /// What the key must hold.
    public var keyConfig: EvaluationKeyConfig?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(timestamp: UInt64 = 0, keyConfig: EvaluationKeyConfig? = nil) {
        self.timestamp = timestamp
        self.keyConfig = keyConfig
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: timestamp = try reader.uint64()
        case 2: try reader.message(into: &keyConfig)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.uint64(timestamp, field: 1)
        writer.message(keyConfig, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "KeyStatus",
        [
            FieldSchema(1, "timestamp", .uint64),
            FieldSchema(2, "key_config", .message(EvaluationKeyConfig.schema)),
        ])
}

/// The answer to `POST /config`.
public struct ConfigResponse: TextMessage {
    /// Configurations by use case name; written in ascending order of the name.
    public var configs: [String: Config] = [:]
    /// One for each use case.
    public var keyInfo: [KeyStatus] = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(configs: [String: Config] = [:], keyInfo: [KeyStatus] = []) {
        self.configs = configs
        self.keyInfo = keyInfo
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.mapEntry(into: &configs)
        case 2: try reader.append(to: &keyInfo)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.map(configs, field: 1)
        writer.repeated(keyInfo, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "ConfigResponse",
        [
            FieldSchema(1, "configs", .map(key: .string, value: .message(Config.schema)), repeated: true),
            FieldSchema(2, "key_info", .message(KeyStatus.schema), repeated: true),
        ])
}

/// The configuration of one use case.
public struct Config: TextMessage {
    /// The protocol that a configuration belongs to.
    public enum Kind: Sendable, Equatable {
        /// Keyword PIR.
        case pir(PIRConfig)
        /// A member of another protocol, by its field number; its content was skipped.
        case unsupported(field: Int)
    }

    /// The oneof; nil if no member is set.
    public var kind: Kind?
    /// The configuration of keyword PIR, if that is the member set.
    public var pirConfig: PIRConfig? {
        get { if case .pir(let config) = kind { config } else { nil } }
        set { kind = newValue.map { .pir($0) } }
    }
    /// The configuration id (keyword-pir.md 9.4).
    public var configId: ArraySlice<UInt8> = []
    /// The client keeps what it has; all other fields are unset then.
    public var reuseExistingConfig: Bool = false

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(kind: Kind? = nil, configId: ArraySlice<UInt8> = [], reuseExistingConfig: Bool = false) {
        self.kind = kind
        self.configId = configId
        self.reuseExistingConfig = reuseExistingConfig
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1:
            var value = PIRConfig()
            if case .pir(let earlier) = kind { value = earlier }
            try reader.message(into: &value)
            kind = .pir(value)
        case 3: configId = try reader.bytesValue()
        case 4: reuseExistingConfig = try reader.bool()
        case 2, 5:
            _ = try reader.bytesValue()
            kind = .unsupported(field: number)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        if case .pir(let value) = kind { writer.message(value, field: 1) }
        writer.bytes(configId, field: 3)
        writer.bool(reuseExistingConfig, field: 4)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "Config",
        [
            FieldSchema(1, "pir_config", .message(PIRConfig.schema)),
            FieldSchema(3, "config_id", .bytes),
            FieldSchema(4, "reuse_existing_config", .bool),
        ])
}
