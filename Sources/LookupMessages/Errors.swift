// The message `Error` of the schema (keyword-pir.md 9.8), and the empty messages that oneofs choose among.

import Protobuf

/// The schema's `Error`: why a request was not answered.
public struct ErrorMessage: TextMessage {
    /// The reason.
    public enum Kind: Sendable, Equatable {
        /// The configuration id is gone; the current configuration may be enclosed.
        case configVersionNotFound(configResponse: ConfigResponse?)
        /// The server does not hold the key.
        case evaluationKeyNotFound
        /// The request makes no sense.
        case invalidRequest
        /// The server failed.
        case internalError
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
            var value = ConfigVersionNotFound()
            if case .configVersionNotFound(let response) = kind { value.configResponse = response }
            try reader.message(into: &value)
            kind = .configVersionNotFound(configResponse: value.configResponse)
        case 2:
            var value = Empty()
            try reader.message(into: &value)
            kind = .evaluationKeyNotFound
        case 3:
            var value = Empty()
            try reader.message(into: &value)
            kind = .invalidRequest
        case 4:
            var value = Empty()
            try reader.message(into: &value)
            kind = .internalError
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        if case .configVersionNotFound(let response) = kind {
            writer.message(ConfigVersionNotFound(configResponse: response), field: 1)
        }
        if case .evaluationKeyNotFound = kind { writer.message(Empty(), field: 2) }
        if case .invalidRequest = kind { writer.message(Empty(), field: 3) }
        if case .internalError = kind { writer.message(Empty(), field: 4) }
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "ErrorMessage",
        [
            FieldSchema(1, "config_version_not_found", .message(ConfigVersionNotFound.schema)),
            FieldSchema(2, "evaluation_key_not_found", .message(Empty.schema)),
            FieldSchema(3, "invalid_request", .message(Empty.schema)),
            FieldSchema(4, "internal_error", .message(Empty.schema)),
        ])
}
