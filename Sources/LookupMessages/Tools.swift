// Files of the database tools: keyword-pir.md 11.1, 11.4.

import Protobuf

/// How many Galois elements the evaluation key saves.
public struct KeyCompressionStrategy: ProtobufEnum {
    /// The number on the wire.
    public var rawValue: Int32

    /// The value with this number, named or not.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// None.
    public static let unspecified = KeyCompressionStrategy(rawValue: 0)

    /// Maximal compression.
    public static let maximum = KeyCompressionStrategy(rawValue: 1)

    /// Hybrid compression.
    public static let hybrid = KeyCompressionStrategy(rawValue: 2)

    static let schema = EnumSchema([
        (0, "KEY_COMPRESSION_STRATEGY_UNSPECIFIED"),
        (1, "KEY_COMPRESSION_STRATEGY_MAXIMUM_COMPRESSION"),
        (2, "KEY_COMPRESSION_STRATEGY_HYBRID_COMPRESSION"),
    ])
}

/// One row of a database.
public struct KeywordDatabaseRow: TextMessage {
    /// The keyword.
    public var keyword: ArraySlice<UInt8> = []
    /// The value.
    public var value: ArraySlice<UInt8> = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(keyword: ArraySlice<UInt8> = [], value: ArraySlice<UInt8> = []) {
        self.keyword = keyword
        self.value = value
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: keyword = try reader.bytesValue()
        case 2: value = try reader.bytesValue()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.bytes(keyword, field: 1)
        writer.bytes(value, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "KeywordDatabaseRow",
        [
            FieldSchema(1, "keyword", .bytes),
            FieldSchema(2, "value", .bytes),
        ])
}

/// A whole database in memory; `KeywordDatabaseRows` reads a large one row by row.
public struct KeywordDatabase: TextMessage {
    /// The rows.
    public var rows: [KeywordDatabaseRow] = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(rows: [KeywordDatabaseRow] = []) {
        self.rows = rows
    }

    /// A file of the operator: as many rows as it has.
    public static var defaultLimits: ProtobufLimits { .file }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.append(to: &rows)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.repeated(rows, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "KeywordDatabase",
        [
            FieldSchema(1, "rows", .message(KeywordDatabaseRow.schema), repeated: true)
        ])
}

/// The parameters of one processed shard.
public struct PirParameters: TextMessage {
    /// The encryption parameters.
    public var encryptionParameters: EncryptionParameters?
    /// `B`.
    public var numEntries: UInt64 = 0
    /// `E`.
    public var entrySize: UInt64 = 0
    /// `[d_0, d_1]`.
    public var dimensions: [UInt64] = []
    /// The keyword layer.
    public var keywordPirParams: KeywordPirParameters?
    /// MulPIR.
    public var algorithm: PirAlgorithm = PirAlgorithm(rawValue: 0)
    /// `H`.
    public var batchSize: UInt64 = 0
    /// This shard's own.
    public var evaluationKeyConfig: EvaluationKeyConfig?
    /// Always 0 in what the reference writes.
    public var keyCompressionStrategy: KeyCompressionStrategy = KeyCompressionStrategy(rawValue: 0)
    /// False for keyword databases.
    public var encodingEntrySize: Bool = false

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(
        encryptionParameters: EncryptionParameters? = nil, numEntries: UInt64 = 0, entrySize: UInt64 = 0,
        dimensions: [UInt64] = [], keywordPirParams: KeywordPirParameters? = nil,
        algorithm: PirAlgorithm = PirAlgorithm(rawValue: 0), batchSize: UInt64 = 0,
        evaluationKeyConfig: EvaluationKeyConfig? = nil,
        keyCompressionStrategy: KeyCompressionStrategy = KeyCompressionStrategy(rawValue: 0), encodingEntrySize: Bool = false
    ) {
        self.encryptionParameters = encryptionParameters
        self.numEntries = numEntries
        self.entrySize = entrySize
        self.dimensions = dimensions
        self.keywordPirParams = keywordPirParams
        self.algorithm = algorithm
        self.batchSize = batchSize
        self.evaluationKeyConfig = evaluationKeyConfig
        self.keyCompressionStrategy = keyCompressionStrategy
        self.encodingEntrySize = encodingEntrySize
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.message(into: &encryptionParameters)
        case 2: numEntries = try reader.uint64()
        case 3: entrySize = try reader.uint64()
        case 4: try reader.append(to: &dimensions)
        case 5: try reader.message(into: &keywordPirParams)
        case 6: algorithm = try reader.enumeration()
        case 7: batchSize = try reader.uint64()
        case 8: try reader.message(into: &evaluationKeyConfig)
        case 9: keyCompressionStrategy = try reader.enumeration()
        case 13: encodingEntrySize = try reader.bool()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.message(encryptionParameters, field: 1)
        writer.uint64(numEntries, field: 2)
        writer.uint64(entrySize, field: 3)
        writer.packed(dimensions, field: 4)
        writer.message(keywordPirParams, field: 5)
        writer.enumeration(algorithm, field: 6)
        writer.uint64(batchSize, field: 7)
        writer.message(evaluationKeyConfig, field: 8)
        writer.enumeration(keyCompressionStrategy, field: 9)
        writer.bool(encodingEntrySize, field: 13)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "PirParameters",
        [
            FieldSchema(1, "encryption_parameters", .message(EncryptionParameters.schema)),
            FieldSchema(2, "num_entries", .uint64),
            FieldSchema(3, "entry_size", .uint64),
            FieldSchema(4, "dimensions", .uint64, repeated: true),
            FieldSchema(5, "keyword_pir_params", .message(KeywordPirParameters.schema)),
            FieldSchema(6, "algorithm", .enumeration(PirAlgorithm.schema)),
            FieldSchema(7, "batch_size", .uint64),
            FieldSchema(8, "evaluation_key_config", .message(EvaluationKeyConfig.schema)),
            FieldSchema(9, "key_compression_strategy", .enumeration(KeyCompressionStrategy.schema)),
            FieldSchema(13, "encoding_entry_size", .bool),
        ])
}
