// The client's side of the HTTP/1.1 codec (RFC 9112 sections 4 and 6): bytes in any cut → responses.

/// An incremental, strict response parser for one connection.
public struct HTTP1ResponseParser: Sendable {
    /// What `next` found.
    public enum Step: Sendable, Equatable {
        /// More bytes are needed.
        case needMore
        /// An interim answer (1xx); the final one follows.
        case interim(status: Int)
        /// The final answer, and whether the connection can be used again.
        case response(HTTPResponse, keepsAlive: Bool)
    }

    private struct Head: Sendable {
        var status: Int
        var minorVersion: Int
        var fields = HTTPFields()
        var keepsAlive = false
    }

    private enum State: Sendable {
        case start, fields(Head, FieldSectionReader), body(Head, BodyDecoder), failed(HTTPParseError)
    }

    private let limits: HTTPLimits
    private var method = "GET"
    private var queue = ByteQueue()
    private var lines = LineReader()
    private var state = State.start
    private var received = false

    /// A parser; bodies are limited by `limits.clientResponseBody`.
    public init(limits: HTTPLimits = HTTPLimits()) { self.limits = limits }

    /// Tells the method of the request whose answer comes next (an answer to HEAD has no body).
    public mutating func expect(method: String) {
        self.method = method
        received = !queue.isEmpty
    }

    /// Whether any byte came since `expect`.
    public var hasReceivedBytes: Bool { received }

    /// Received bytes that belong to no answer yet.
    public var bufferedBytes: Int { queue.count }

    /// Adds received bytes.
    public mutating func append(_ bytes: ArraySlice<UInt8>) {
        if !bytes.isEmpty { received = true }
        queue.append(bytes)
    }

    /// The next answer, or `needMore`.
    public mutating func next() throws(HTTPParseError) -> Step {
        do {
            return try step()
        } catch {
            state = .failed(error)
            throw error
        }
    }

    /// The connection has ended: the answer, if its body was delimited by that; throws `truncated` otherwise.
    public mutating func end() throws(HTTPParseError) -> HTTPResponse {
        if case .failed(let error) = state { throw error }
        guard case .body(let head, var decoder) = state, decoder.endsWithConnection else { throw .truncated }
        state = .start
        return HTTPResponse(status: head.status, fields: head.fields, body: decoder.takeBody())
    }

    private mutating func step() throws(HTTPParseError) -> Step {
        while true {
            switch state {
            case .failed(let error): throw error
            case .start:
                guard
                    let line = try lines.next(&queue, limit: limits.requestLine, tooLong: .requestLineTooLong)
                else { return .needMore }
                state = .fields(try Self.statusLine(line), FieldSectionReader())
            case .fields(var head, var section):
                guard try section.read(&queue, limits: limits) else {
                    state = .fields(head, section)
                    return .needMore
                }
                head.fields = section.fields
                if head.status == 101 { throw .unexpectedUpgrade }
                if head.status < 200 {
                    state = .start
                    return .interim(status: head.status)
                }
                let framing = try HTTP1Framing.ofResponse(
                    head.fields, status: head.status, method: method, minorVersion: head.minorVersion)
                let keeps = head.minorVersion == 1 || head.fields.list("connection", contains: "keep-alive")
                head.keepsAlive = keeps && !head.fields.list("connection", contains: "close")
                state = .body(head, try BodyDecoder(framing: framing, limit: limits.clientResponseBody, limits: limits))
            case .body(let head, var decoder):
                state = .start
                if try decoder.read(&queue) {
                    let response = HTTPResponse(status: head.status, fields: head.fields, body: decoder.takeBody())
                    return .response(response, keepsAlive: head.keepsAlive)
                }
                state = .body(head, decoder)
                return .needMore
            }
        }
    }

    private static func statusLine(_ line: [UInt8]) throws(HTTPParseError) -> Head {
        guard line.count >= 12, line.starts(with: Array("HTTP/".utf8)), HTTPSyntax.isDigit(line[5]),
            line[6] == UInt8(ascii: "."), HTTPSyntax.isDigit(line[7]), line[8] == HTTPSyntax.space,
            line.count == 12 || line[12] == HTTPSyntax.space, line.allSatisfy(HTTPSyntax.isValueByte),
            let status = HTTPSyntax.decimal(line[9..<12], digits: 3), (100...599).contains(status)
        else { throw .malformedStatusLine }
        guard line[5] == UInt8(ascii: "1"), line[7] <= UInt8(ascii: "1") else { throw .unsupportedVersion }
        return Head(status: status, minorVersion: Int(line[7] - UInt8(ascii: "0")))
    }
}
