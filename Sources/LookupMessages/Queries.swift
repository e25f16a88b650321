// What `POST /queries` asks and answers: keyword-pir.md 9.6 to 9.8, service.md 1.7.3 to 1.7.5.

import Protobuf

/// An encrypted query (keyword-pir.md 6).
public struct EncryptedIndices: TextMessage {
    /// The query's ciphertexts.
    public var ciphertexts: [SerializedCiphertext] = []
    /// Number of indices asked for: `H`.
    public var numPirCalls: UInt64 = 0

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(ciphertexts: [SerializedCiphertext] = [], numPirCalls: UInt64 = 0) {
        self.ciphertexts = ciphertexts
        self.numPirCalls = numPirCalls
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.append(to: &ciphertexts)
        case 2: numPirCalls = try reader.uint64()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.repeated(ciphertexts, field: 1)
        writer.uint64(numPirCalls, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "EncryptedIndices",
        [
            FieldSchema(1, "ciphertexts", .message(SerializedCiphertext.schema), repeated: true),
            FieldSchema(2, "num_pir_calls", .uint64),
        ])
}

/// A keyword PIR query.
public struct PIRRequest: TextMessage {
    /// The shard asked.
    public var shardIndex: UInt32 = 0
    /// The query.
    public var query: EncryptedIndices?
    /// The stored key that fits the query.
    public var evaluationKeyMetadata: EvaluationKeyMetadata?
    /// The configuration id under which the query was made.
    public var configurationHash: ArraySlice<UInt8> = []
    /// Would override the index; nobody sets it.
    public var shardId: String?
    /// Overrides the stored key for this request.
    public var evaluationKey: EvaluationKey?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(
        shardIndex: UInt32 = 0, query: EncryptedIndices? = nil, evaluationKeyMetadata: EvaluationKeyMetadata? = nil,
        configurationHash: ArraySlice<UInt8> = [], shardId: String? = nil, evaluationKey: EvaluationKey? = nil
    ) {
        self.shardIndex = shardIndex
        self.query = query
        self.evaluationKeyMetadata = evaluationKeyMetadata
        self.configurationHash = configurationHash
        self.shardId = shardId
        self.evaluationKey = evaluationKey
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: shardIndex = try reader.uint32()
        case 2: try reader.message(into: &query)
        case 3: try reader.message(into: &evaluationKeyMetadata)
        case 4: configurationHash = try reader.bytesValue()
        case 5: shardId = try reader.string()
        case 6: try reader.message(into: &evaluationKey)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.uint32(shardIndex, field: 1)
        writer.message(query, field: 2)
        writer.message(evaluationKeyMetadata, field: 3)
        writer.bytes(configurationHash, field: 4)
        if let shardId { writer.presentString(shardId, field: 5) }
        writer.message(evaluationKey, field: 6)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "PIRRequest",
        [
            FieldSchema(1, "shard_index", .uint32),
            FieldSchema(2, "query", .message(EncryptedIndices.schema)),
            FieldSchema(3, "evaluation_key_metadata", .message(EvaluationKeyMetadata.schema)),
            FieldSchema(4, "configuration_hash", .bytes),
            FieldSchema(5, "shard_id", .string),
            FieldSchema(6, "evaluation_key", .message(EvaluationKey.schema)),
        ])
}

/// A blinded keyword of symmetric PIR.
public struct OPRFRequest: TextMessage {
    /// Compressed P-384 point, 49 bytes.
    public var queryElement: ArraySlice<UInt8> = []
    /// Configuration id whose key must answer; empty for the newest.
    public var configId: ArraySlice<UInt8> = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(queryElement: ArraySlice<UInt8> = [], configId: ArraySlice<UInt8> = []) {
        self.queryElement = queryElement
        self.configId = configId
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: queryElement = try reader.bytesValue()
        case 2: configId = try reader.bytesValue()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.bytes(queryElement, field: 1)
        writer.bytes(configId, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "OPRFRequest",
        [
            FieldSchema(1, "query_element", .bytes),
            FieldSchema(2, "config_id", .bytes),
        ])
}

/// One request of a batch.
public struct Request: TextMessage {
    /// The protocol that a request belongs to.
    public enum Kind: Sendable, Equatable {
        /// Keyword PIR.
        case pir(PIRRequest)
        /// The OPRF of symmetric PIR.
        case oprf(OPRFRequest)
        /// A member of another protocol, by its field number; its content was skipped.
        case unsupported(field: Int)
    }

    /// The use case name.
    public var usecase: String = ""
    /// The oneof; nil if no member is set.
    public var kind: Kind?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(usecase: String = "", kind: Kind? = nil) {
        self.usecase = usecase
        self.kind = kind
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: usecase = try reader.string()
        case 2:
            var value = PIRRequest()
            if case .pir(let earlier) = kind { value = earlier }
            try reader.message(into: &value)
            kind = .pir(value)
        case 4:
            var value = OPRFRequest()
            if case .oprf(let earlier) = kind { value = earlier }
            try reader.message(into: &value)
            kind = .oprf(value)
        case 3, 5:
            _ = try reader.bytesValue()
            kind = .unsupported(field: number)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.string(usecase, field: 1)
        if case .pir(let value) = kind { writer.message(value, field: 2) }
        if case .oprf(let value) = kind { writer.message(value, field: 4) }
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "Request",
        [
            FieldSchema(1, "usecase", .string),
            FieldSchema(2, "pir_request", .message(PIRRequest.schema)),
            FieldSchema(4, "oprf_request", .message(OPRFRequest.schema)),
        ])
}

/// The body of `POST /queries`.
public struct Requests: TextMessage {
    /// The requests.
    public var requests: [Request] = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(requests: [Request] = []) {
        self.requests = requests
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.append(to: &requests)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.repeated(requests, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "Requests",
        [
            FieldSchema(1, "requests", .message(Request.schema), repeated: true)
        ])
}

/// Recent changes, in clear (keyword-pir.md 9.7).
public struct StashOfEntries: TextMessage {
    /// Keyword hashes, ascending.
    public var hashedKeywords: [UInt64] = []
    /// The value of each of them.
    public var values: [ArraySlice<UInt8>] = []
    /// Hashes of removed keywords, ascending.
    public var removedHashedKeywords: [UInt64] = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(hashedKeywords: [UInt64] = [], values: [ArraySlice<UInt8>] = [], removedHashedKeywords: [UInt64] = []) {
        self.hashedKeywords = hashedKeywords
        self.values = values
        self.removedHashedKeywords = removedHashedKeywords
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.append(to: &hashedKeywords)
        case 2: try reader.append(to: &values)
        case 3: try reader.append(to: &removedHashedKeywords)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.packed(hashedKeywords, field: 1)
        writer.repeated(values, field: 2)
        writer.packed(removedHashedKeywords, field: 3)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "StashOfEntries",
        [
            FieldSchema(1, "hashed_keywords", .uint64, repeated: true),
            FieldSchema(2, "values", .bytes, repeated: true),
            FieldSchema(3, "removed_hashed_keywords", .uint64, repeated: true),
        ])
}

/// The answer to a keyword PIR query.
public struct PIRResponse: TextMessage {
    /// The encrypted replies (keyword-pir.md 7.2).
    public var replies: [SerializedCiphertextVec] = []
    /// Recent changes.
    public var stash: StashOfEntries?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(replies: [SerializedCiphertextVec] = [], stash: StashOfEntries? = nil) {
        self.replies = replies
        self.stash = stash
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.append(to: &replies)
        case 2: try reader.message(into: &stash)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.repeated(replies, field: 1)
        writer.message(stash, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "PIRResponse",
        [
            FieldSchema(1, "replies", .message(SerializedCiphertextVec.schema), repeated: true),
            FieldSchema(2, "stash", .message(StashOfEntries.schema)),
        ])
}

/// The answer to a blinded keyword.
public struct OPRFResponse: TextMessage {
    /// Compressed P-384 point, 49 bytes.
    public var evaluatedElement: ArraySlice<UInt8> = []
    /// The proof of equal logarithms, 96 bytes.
    public var proof: ArraySlice<UInt8> = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(evaluatedElement: ArraySlice<UInt8> = [], proof: ArraySlice<UInt8> = []) {
        self.evaluatedElement = evaluatedElement
        self.proof = proof
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: evaluatedElement = try reader.bytesValue()
        case 2: proof = try reader.bytesValue()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.bytes(evaluatedElement, field: 1)
        writer.bytes(proof, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "OPRFResponse",
        [
            FieldSchema(1, "evaluated_element", .bytes),
            FieldSchema(2, "proof", .bytes),
        ])
}

/// One response of a batch.
public struct Response: TextMessage {
    /// The protocol that a response belongs to.
    public enum Kind: Sendable, Equatable {
        /// Keyword PIR.
        case pir(PIRResponse)
        /// The OPRF of symmetric PIR.
        case oprf(OPRFResponse)
        /// A member of another protocol, by its field number; its content was skipped.
        case unsupported(field: Int)
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
            var value = PIRResponse()
            if case .pir(let earlier) = kind { value = earlier }
            try reader.message(into: &value)
            kind = .pir(value)
        case 3:
            var value = OPRFResponse()
            if case .oprf(let earlier) = kind { value = earlier }
            try reader.message(into: &value)
            kind = .oprf(value)
        case 2, 4:
            _ = try reader.bytesValue()
            kind = .unsupported(field: number)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        if case .pir(let value) = kind { writer.message(value, field: 1) }
        if case .oprf(let value) = kind { writer.message(value, field: 3) }
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "Response",
        [
            FieldSchema(1, "pir_response", .message(PIRResponse.schema)),
            FieldSchema(3, "oprf_response", .message(OPRFResponse.schema)),
        ])
}

/// The answer to `POST /queries`.
public struct Responses: TextMessage {
    /// One for each request, in the same order.
    public var responses: [Response] = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(responses: [Response] = []) {
        self.responses = responses
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.append(to: &responses)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.repeated(responses, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "Responses",
        [
            FieldSchema(1, "responses", .message(Response.schema), repeated: true)
        ])
}
