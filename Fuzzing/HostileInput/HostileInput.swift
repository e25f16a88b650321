// Readers of hostile bytes, each with what must hold whatever the bytes are. The fuzzer and the replay test run the same code.

/// What one reader did with one input.
public struct InputVerdict: Sendable, Equatable {
    /// How the input was judged, in words of a small set: `head`, `error missingHost`, … A corpus is good if it reaches them all.
    public var outcomes: Set<String> = []
    /// Rules that were broken; empty if everything held.
    public var violations: [String] = []

    /// Notes a violation unless the rule held.
    mutating func require(_ holds: Bool, _ rule: @autoclosure () -> String) {
        if !holds { violations.append(rule()) }
    }
}

/// A reader that is fuzzed.
public enum HostileInput: String, CaseIterable, Sendable {
    /// Requests of HTTP/1.1, in any cut.
    case http1Request = "http1-request"
    /// Answers of HTTP/1.1, in any cut.
    case http1Response = "http1-response"
    /// What a client of HTTP/2 sends, in any cut.
    case http2Request = "http2-request"
    /// What a server of HTTP/2 sends, in any cut.
    case http2Response = "http2-response"
    /// Bytes that should be a proto3 message.
    case protobufWire = "protobuf-wire"
    /// Text that should be a protobuf message.
    case protobufText = "protobuf-text"
    /// Messages of the protocol.
    case lookupMessages = "lookup-messages"
    /// Ciphertexts, keys and queries.
    case encryptedQuery = "encrypted-query"
    /// Configurations that a server publishes, as a device reads them.
    case publishedConfiguration = "published-configuration"
    /// JSON5, JSON, and the configuration file.
    case json5
    /// Files of callers, CSV and JSON Lines.
    case callerFile = "caller-file"
    /// Messages of Binary HTTP.
    case binaryHTTP = "binary-http"
    /// What a gateway gets from a relay, and lists of key configurations.
    case encapsulatedRequest = "encapsulated-request"
    /// Chunked requests that a client has put together as it likes.
    case chunkedRequest = "chunked-request"

    /// Well-formed inputs, to begin with where there is no corpus; none where text is easily found from a dictionary.
    public var examples: [[UInt8]] {
        switch self {
        case .http1Request, .http1Response, .json5, .callerFile: []
        case .http2Request: HTTP2Examples.server
        case .http2Response: HTTP2Examples.client
        case .publishedConfiguration: EncryptedQueryInput.configurations
        case .protobufWire: SchemaExamples.wire
        case .protobufText: SchemaExamples.text
        case .lookupMessages: SchemaExamples.lookupMessages
        case .encryptedQuery: EncryptedQueryInput.examples
        case .binaryHTTP: BinaryHTTPInput.examples
        case .encapsulatedRequest: EncapsulatedRequestInput.examples
        case .chunkedRequest: ChunkedRequestInput.examples
        }
    }

    /// Runs the reader on an input whose first bytes steer it (`SteeredInput`).
    public func judge(_ input: ArraySlice<UInt8>) -> InputVerdict {
        let input = SteeredInput(input)
        return switch self {
        case .http1Request: HTTP1RequestInput.judge(input)
        case .http1Response: HTTP1ResponseInput.judge(input)
        case .http2Request: HTTP2RequestInput.judge(input)
        case .http2Response: HTTP2ResponseInput.judge(input)
        case .protobufWire: ProtobufWireInput.judge(input)
        case .protobufText: ProtobufTextInput.judge(input)
        case .lookupMessages: LookupMessagesInput.judge(input)
        case .encryptedQuery: EncryptedQueryInput.judge(input)
        case .publishedConfiguration: PublishedConfigurationInput.judge(input)
        case .json5: JSON5Input.judge(input)
        case .callerFile: CallerFileInput.judge(input)
        case .binaryHTTP: BinaryHTTPInput.judge(input)
        case .encapsulatedRequest: EncapsulatedRequestInput.judge(input)
        case .chunkedRequest: ChunkedRequestInput.judge(input)
        }
    }
}

/// An input of the fuzzer: a count of steering bytes (modulo 8), these bytes, and the message that the reader gets.
struct SteeredInput: Sendable {
    let steering: [UInt8]
    let message: ArraySlice<UInt8>

    init(steering: [UInt8], message: ArraySlice<UInt8>) {
        self.steering = steering
        self.message = message
    }

    init(_ input: ArraySlice<UInt8>) {
        let count = Int((input.first ?? 0) & 7)
        let rest = input.dropFirst()
        steering = Array(rest.prefix(count))
        message = rest.dropFirst(count)
    }

    /// The steering byte at a place, 0 where there is none.
    func steer(_ place: Int) -> Int { place < steering.count ? Int(steering[place]) : 0 }

    /// The message cut into pieces of 1 to 256 bytes, whose lengths the steering bytes from `first` on say in turn.
    func pieces(from first: Int) -> [ArraySlice<UInt8>] {
        let lengths = steering.dropFirst(first).map { Int($0) + 1 }
        guard !lengths.isEmpty else { return [message] }
        var pieces: [ArraySlice<UInt8>] = []
        var rest = message
        while !rest.isEmpty {
            let piece = rest.prefix(lengths[pieces.count % lengths.count])
            pieces.append(piece)
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }

    /// Each byte a piece of its own.
    var single: [ArraySlice<UInt8>] { message.indices.map { message[$0...$0] } }

    /// The same message at another place of another array: no reader may count from 0.
    var moved: ArraySlice<UInt8> { ([0x0A, 0x0D, 0xFF] + message).dropFirst(3) }
}
