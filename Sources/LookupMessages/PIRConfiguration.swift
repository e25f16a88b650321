// The configuration of keyword PIR, whose canonical bytes are the configuration id's input: keyword-pir.md 9.1, 9.4.

import Protobuf

/// The PIR algorithm.
public struct PirAlgorithm: ProtobufEnum {
    /// The number on the wire.
    public var rawValue: Int32

    /// The value with this number, named or not.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// ACLS PIR, which nobody serves.
    public static let aclsPir = PirAlgorithm(rawValue: 0)

    /// MulPIR.
    public static let mulPir = PirAlgorithm(rawValue: 1)

    static let schema = EnumSchema([
        (0, "PIR_ALGORITHM_ACLS_PIR"),
        (1, "PIR_ALGORITHM_MUL_PIR"),
    ])
}

/// The suite of symmetric PIR.
public struct SymmetricPirConfigType: ProtobufEnum {
    /// The number on the wire.
    public var rawValue: Int32

    /// The value with this number, named or not.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// None, an error.
    public static let unspecified = SymmetricPirConfigType(rawValue: 0)

    /// The suite of keyword-pir.md 10.2.
    public static let oprfP384AesGcm192 = SymmetricPirConfigType(rawValue: 1)

    static let schema = EnumSchema([
        (0, "SYMMETRIC_PIR_CONFIG_TYPE_UNSPECIFIED"),
        (1, "SYMMETRIC_PIR_CONFIG_TYPE_OPRF_P384_AES_GCM_192_NONCE_96_TAG_128"),
    ])
}

/// The parameters of one shard.
public struct PIRShardConfig: TextMessage {
    /// `B`, the number of buckets.
    public var numEntries: UInt64 = 0
    /// `E`, the bytes of a bucket.
    public var entrySize: UInt64 = 0
    /// `[d_0, d_1]`.
    public var dimensions: [UInt64] = []
    /// Set, to the empty string, in what the reference writes.
    public var shardId: String?
    /// Not used by this protocol.
    public var compressVectorizedPirResponse: Bool?
    /// Not used by this protocol.
    public var vectorizedPirInternalBatchingSize: UInt64?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(
        numEntries: UInt64 = 0, entrySize: UInt64 = 0, dimensions: [UInt64] = [], shardId: String? = nil,
        compressVectorizedPirResponse: Bool? = nil, vectorizedPirInternalBatchingSize: UInt64? = nil
    ) {
        self.numEntries = numEntries
        self.entrySize = entrySize
        self.dimensions = dimensions
        self.shardId = shardId
        self.compressVectorizedPirResponse = compressVectorizedPirResponse
        self.vectorizedPirInternalBatchingSize = vectorizedPirInternalBatchingSize
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: numEntries = try reader.uint64()
        case 2: entrySize = try reader.uint64()
        case 3: try reader.append(to: &dimensions)
        case 4: shardId = try reader.string()
        case 5: compressVectorizedPirResponse = try reader.bool()
        case 6: vectorizedPirInternalBatchingSize = try reader.uint64()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.uint64(numEntries, field: 1)
        writer.uint64(entrySize, field: 2)
        writer.packed(dimensions, field: 3)
        if let shardId { writer.presentString(shardId, field: 4) }
        if let compressVectorizedPirResponse { writer.presentBool(compressVectorizedPirResponse, field: 5) }
        if let vectorizedPirInternalBatchingSize { writer.presentUInt64(vectorizedPirInternalBatchingSize, field: 6) }
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "PIRShardConfig",
        [
            FieldSchema(1, "num_entries", .uint64),
            FieldSchema(2, "entry_size", .uint64),
            FieldSchema(3, "dimensions", .uint64, repeated: true),
            FieldSchema(4, "shard_id", .string),
            FieldSchema(5, "compress_vectorized_pir_response", .bool),
            FieldSchema(6, "vectorized_pir_internal_batching_size", .uint64),
        ])
}

/// Shards that are all alike.
public struct PIRFixedShardConfig: TextMessage {
    /// The parameters of each.
    public var shardConfig: PIRShardConfig?
    /// Their number.
    public var shardCount: UInt32 = 0

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(shardConfig: PIRShardConfig? = nil, shardCount: UInt32 = 0) {
        self.shardConfig = shardConfig
        self.shardCount = shardCount
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.message(into: &shardConfig)
        case 2: shardCount = try reader.uint32()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.message(shardConfig, field: 1)
        writer.uint32(shardCount, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "PIRFixedShardConfig",
        [
            FieldSchema(1, "shard_config", .message(PIRShardConfig.schema)),
            FieldSchema(2, "shard_count", .uint32),
        ])
}

/// The compact list of shards (iOS 18.2 on). A oneof with one member so far.
public struct PIRShardConfigs: TextMessage {
    /// Equal shards.
    public var repeatedShardConfig: PIRFixedShardConfig?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(repeatedShardConfig: PIRFixedShardConfig? = nil) {
        self.repeatedShardConfig = repeatedShardConfig
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.message(into: &repeatedShardConfig)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.message(repeatedShardConfig, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "PIRShardConfigs",
        [
            FieldSchema(1, "repeated_shard_config", .message(PIRFixedShardConfig.schema))
        ])
}

/// What a client needs for symmetric PIR (keyword-pir.md 10.3).
public struct SymmetricPirClientConfig: TextMessage {
    /// Compressed P-384 point, 49 bytes.
    public var serverPublicKey: ArraySlice<UInt8> = []
    /// The suite.
    public var configType: SymmetricPirConfigType = SymmetricPirConfigType(rawValue: 0)

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(
        serverPublicKey: ArraySlice<UInt8> = [], configType: SymmetricPirConfigType = SymmetricPirConfigType(rawValue: 0)
    ) {
        self.serverPublicKey = serverPublicKey
        self.configType = configType
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: serverPublicKey = try reader.bytesValue()
        case 2: configType = try reader.enumeration()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.bytes(serverPublicKey, field: 1)
        writer.enumeration(configType, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SymmetricPirClientConfig",
        [
            FieldSchema(1, "server_public_key", .bytes),
            FieldSchema(2, "config_type", .enumeration(SymmetricPirConfigType.schema)),
        ])
}

/// How a keyword finds its shard (keyword-pir.md 1.2).
public struct PIRShardingFunction: TextMessage {
    /// The sharding function.
    public enum Kind: Sendable, Equatable {
        /// By the keyword's hash.
        case sha256
        /// By two remainders.
        case doubleMod(otherShardCount: UInt32)
    }

    /// The oneof; nil if no member is set.
    public var kind: Kind?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(kind: Kind? = nil) {
        self.kind = kind
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1:
            var value = Empty()
            try reader.message(into: &value)
            kind = .sha256
        case 2:
            var value = DoubleMod()
            if case .doubleMod(let count) = kind { value.otherShardCount = count }
            try reader.message(into: &value)
            kind = .doubleMod(otherShardCount: value.otherShardCount)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        if case .sha256 = kind { writer.message(Empty(), field: 1) }
        if case .doubleMod(let count) = kind { writer.message(DoubleMod(otherShardCount: count), field: 2) }
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "PIRShardingFunction",
        [
            FieldSchema(1, "sha256", .message(Empty.schema)),
            FieldSchema(2, "double_mod", .message(DoubleMod.schema)),
        ])
}

/// The parameters of the keyword layer.
public struct KeywordPirParameters: TextMessage {
    /// `H`.
    public var numHashFunctions: UInt64 = 0
    /// Set if the database is symmetric.
    public var symmetricPirClientConfig: SymmetricPirClientConfig?
    /// The sharding function.
    public var shardingFunction: PIRShardingFunction?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(
        numHashFunctions: UInt64 = 0, symmetricPirClientConfig: SymmetricPirClientConfig? = nil,
        shardingFunction: PIRShardingFunction? = nil
    ) {
        self.numHashFunctions = numHashFunctions
        self.symmetricPirClientConfig = symmetricPirClientConfig
        self.shardingFunction = shardingFunction
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: numHashFunctions = try reader.uint64()
        case 3: try reader.message(into: &symmetricPirClientConfig)
        case 4: try reader.message(into: &shardingFunction)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.uint64(numHashFunctions, field: 1)
        writer.message(symmetricPirClientConfig, field: 3)
        writer.message(shardingFunction, field: 4)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "KeywordPirParameters",
        [
            FieldSchema(1, "num_hash_functions", .uint64),
            FieldSchema(3, "symmetric_pir_client_config", .message(SymmetricPirClientConfig.schema)),
            FieldSchema(4, "sharding_function", .message(PIRShardingFunction.schema)),
        ])
}

/// The configuration of a keyword PIR database.
public struct PIRConfig: TextMessage {
    /// The encryption parameters.
    public var encryptionParameters: EncryptionParameters?
    /// One for each shard; empty if `pirShardConfigs` is set.
    public var shardConfigs: [PIRShardConfig] = []
    /// The keyword layer.
    public var keywordPirParams: KeywordPirParameters?
    /// MulPIR.
    public var algorithm: PirAlgorithm = PirAlgorithm(rawValue: 0)
    /// `H`: the largest number of indices in one query.
    public var batchSize: UInt64 = 0
    /// SHA-256 of the evaluation key configuration.
    public var evaluationKeyConfigHash: ArraySlice<UInt8> = []
    /// The compact list of shards.
    public var pirShardConfigs: PIRShardConfigs?
    /// Not set for keyword databases.
    public var encodingEntrySize: Bool?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(
        encryptionParameters: EncryptionParameters? = nil, shardConfigs: [PIRShardConfig] = [],
        keywordPirParams: KeywordPirParameters? = nil, algorithm: PirAlgorithm = PirAlgorithm(rawValue: 0),
        batchSize: UInt64 = 0, evaluationKeyConfigHash: ArraySlice<UInt8> = [], pirShardConfigs: PIRShardConfigs? = nil,
        encodingEntrySize: Bool? = nil
    ) {
        self.encryptionParameters = encryptionParameters
        self.shardConfigs = shardConfigs
        self.keywordPirParams = keywordPirParams
        self.algorithm = algorithm
        self.batchSize = batchSize
        self.evaluationKeyConfigHash = evaluationKeyConfigHash
        self.pirShardConfigs = pirShardConfigs
        self.encodingEntrySize = encodingEntrySize
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.message(into: &encryptionParameters)
        case 2: try reader.append(to: &shardConfigs)
        case 3: try reader.message(into: &keywordPirParams)
        case 4: algorithm = try reader.enumeration()
        case 5: batchSize = try reader.uint64()
        case 6: evaluationKeyConfigHash = try reader.bytesValue()
        case 10: try reader.message(into: &pirShardConfigs)
        case 11: encodingEntrySize = try reader.bool()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.message(encryptionParameters, field: 1)
        writer.repeated(shardConfigs, field: 2)
        writer.message(keywordPirParams, field: 3)
        writer.enumeration(algorithm, field: 4)
        writer.uint64(batchSize, field: 5)
        writer.bytes(evaluationKeyConfigHash, field: 6)
        writer.message(pirShardConfigs, field: 10)
        if let encodingEntrySize { writer.presentBool(encodingEntrySize, field: 11) }
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "PIRConfig",
        [
            FieldSchema(1, "encryption_parameters", .message(EncryptionParameters.schema)),
            FieldSchema(2, "shard_configs", .message(PIRShardConfig.schema), repeated: true),
            FieldSchema(3, "keyword_pir_params", .message(KeywordPirParameters.schema)),
            FieldSchema(4, "algorithm", .enumeration(PirAlgorithm.schema)),
            FieldSchema(5, "batch_size", .uint64),
            FieldSchema(6, "evaluation_key_config_hash", .bytes),
            FieldSchema(10, "pir_shard_configs", .message(PIRShardConfigs.schema)),
            FieldSchema(11, "encoding_entry_size", .bool),
        ])
}
