// Secret and evaluation keys, and their upload: bfv.md 12.2, keyword-pir.md 9.2.

import Protobuf

/// A secret key, for files of tests and tools only.
public struct SerializedSecretKey: TextMessage {
    /// One polynomial behind its count (bfv.md 11.3).
    public var polys: ArraySlice<UInt8> = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(polys: ArraySlice<UInt8> = []) {
        self.polys = polys
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: polys = try reader.bytesValue()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.bytes(polys, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SerializedSecretKey",
        [
            FieldSchema(1, "polys", .bytes)
        ])
}

/// A key-switching key.
public struct SerializedKeySwitchKey: TextMessage {
    /// `K_0 … K_(L−1)` (bfv.md 6.1).
    public var keySwitchKey: SerializedCiphertextVec?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(keySwitchKey: SerializedCiphertextVec? = nil) {
        self.keySwitchKey = keySwitchKey
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.message(into: &keySwitchKey)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.message(keySwitchKey, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SerializedKeySwitchKey",
        [
            FieldSchema(1, "key_switch_key", .message(SerializedCiphertextVec.schema))
        ])
}

/// The Galois keys by element. Where an element occurs twice, the last entry wins.
public struct SerializedGaloisKey: TextMessage {
    /// Galois element to key-switching key; written in ascending order.
    public var keySwitchKeys: [UInt64: SerializedKeySwitchKey] = [:]

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(keySwitchKeys: [UInt64: SerializedKeySwitchKey] = [:]) {
        self.keySwitchKeys = keySwitchKeys
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.mapEntry(into: &keySwitchKeys)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.map(keySwitchKeys, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SerializedGaloisKey",
        [
            FieldSchema(
                1, "key_switch_keys", .map(key: .uint64, value: .message(SerializedKeySwitchKey.schema)), repeated: true)
        ])
}

/// A relinearization key.
public struct SerializedRelinKey: TextMessage {
    /// The key-switching key.
    public var relinKey: SerializedKeySwitchKey?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(relinKey: SerializedKeySwitchKey? = nil) {
        self.relinKey = relinKey
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.message(into: &relinKey)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.message(relinKey, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SerializedRelinKey",
        [
            FieldSchema(1, "relin_key", .message(SerializedKeySwitchKey.schema))
        ])
}

/// What the server needs to compute on a client's ciphertexts.
public struct SerializedEvaluationKey: TextMessage {
    /// The Galois part.
    public var galoisKey: SerializedGaloisKey?
    /// The relinearization part.
    public var relinKey: SerializedRelinKey?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(galoisKey: SerializedGaloisKey? = nil, relinKey: SerializedRelinKey? = nil) {
        self.galoisKey = galoisKey
        self.relinKey = relinKey
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.message(into: &galoisKey)
        case 2: try reader.message(into: &relinKey)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.message(galoisKey, field: 1)
        writer.message(relinKey, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SerializedEvaluationKey",
        [
            FieldSchema(1, "galois_key", .message(SerializedGaloisKey.schema)),
            FieldSchema(2, "relin_key", .message(SerializedRelinKey.schema)),
        ])
}

/// Which evaluation key: the configuration it belongs to, and when its secret key was made.
public struct EvaluationKeyMetadata: TextMessage {
    /// Seconds since 1970 at which the client made the secret key.
    public var timestamp: UInt64 = 0
    /// The `evaluation_key_config_hash` of the configuration, 32 bytes.
    public var identifier: ArraySlice<UInt8> = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(timestamp: UInt64 = 0, identifier: ArraySlice<UInt8> = []) {
        self.timestamp = timestamp
        self.identifier = identifier
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: timestamp = try reader.uint64()
        case 2: identifier = try reader.bytesValue()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.uint64(timestamp, field: 1)
        writer.bytes(identifier, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "EvaluationKeyMetadata",
        [
            FieldSchema(1, "timestamp", .uint64),
            FieldSchema(2, "identifier", .bytes),
        ])
}

/// An evaluation key with its metadata. Both must be present in an upload.
public struct EvaluationKey: TextMessage {
    /// Which key this is.
    public var metadata: EvaluationKeyMetadata?
    /// The key.
    public var evaluationKey: SerializedEvaluationKey?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(metadata: EvaluationKeyMetadata? = nil, evaluationKey: SerializedEvaluationKey? = nil) {
        self.metadata = metadata
        self.evaluationKey = evaluationKey
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.message(into: &metadata)
        case 2: try reader.message(into: &evaluationKey)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.message(metadata, field: 1)
        writer.message(evaluationKey, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "EvaluationKey",
        [
            FieldSchema(1, "metadata", .message(EvaluationKeyMetadata.schema)),
            FieldSchema(2, "evaluation_key", .message(SerializedEvaluationKey.schema)),
        ])
}

/// The body of `POST /key`.
public struct EvaluationKeys: TextMessage {
    /// The keys uploaded.
    public var keys: [EvaluationKey] = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(keys: [EvaluationKey] = []) {
        self.keys = keys
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.append(to: &keys)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.repeated(keys, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "EvaluationKeys",
        [
            FieldSchema(1, "keys", .message(EvaluationKey.schema), repeated: true)
        ])
}
