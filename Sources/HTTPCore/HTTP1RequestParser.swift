// The server's side of the HTTP/1.1 codec (RFC 9112, service.md 5.3): bytes in any cut → heads and bodies, strictly.

/// A parsed request head with what the connection needs to know about it.
public struct HTTP1RequestHead: Sendable, Equatable {
    /// The neutral head.
    public var head: HTTPRequestHead
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    public var minorVersion: Int
    /// How long the body is.
    public var framing: HTTP1Framing
    /// Whether the peer lets the connection live after the answer.
    public var keepsAlive: Bool
    /// Whether the peer waits for `100 Continue` before it sends the body.
    public var expectsContinue: Bool
}

/// An incremental, strict request parser for one connection. Give it bytes with `append`, then call `next` until it needs
/// more. After a head it waits for `readBody`. After an error it gives the same error for ever; close the connection.
public struct HTTP1RequestParser: Sendable {
    /// What `next` found.
    public enum Step: Sendable, Equatable {
        /// More bytes, or a call of `readBody`, are needed.
        case needMore
        /// A head; call `readBody` to go on.
        case head(HTTP1RequestHead)
        /// The complete body that belongs to the head before it. The next request may follow.
        case body([UInt8])
    }

    private enum State: Sendable {
        case start(emptyLines: Int), fields(RequestLine, FieldSectionReader), decision(HTTP1Framing), body(BodyDecoder)
        case failed(HTTPParseError)
    }

    private let limits: HTTPLimits
    private let scheme: String
    private let source: HTTPSource
    private var queue = ByteQueue()
    private var lines = LineReader()
    private var state = State.start(emptyLines: 0)

    /// A parser for a connection of this scheme from this source.
    public init(limits: HTTPLimits = HTTPLimits(), scheme: String = "http", source: HTTPSource = .inProcess) {
        self.limits = limits
        self.scheme = scheme
        self.source = source
    }

    /// Adds received bytes.
    public mutating func append(_ bytes: ArraySlice<UInt8>) { queue.append(bytes) }

    /// Whether no byte of a request has been received since the last one ended.
    public var isBetweenRequests: Bool {
        if case .start(0) = state { queue.isEmpty } else { false }
    }

    /// Body bytes counted so far of the body being read, for progress.
    public var bodyBytes: Int { if case .body(let decoder) = state { decoder.counted } else { 0 } }

    /// Received bytes that were not consumed.
    public var bufferedBytes: Int { queue.count }

    /// Gives buffers back while the connection idles.
    public mutating func releaseBuffers() { queue.releaseIfEmpty() }

    /// Goes on after a head: the body will be collected up to this many bytes (data, and chunk overhead if chunked).
    /// Throws `bodyTooLarge` at once if the announced length is above. No effect in any other state.
    public mutating func readBody(limit: Int) throws(HTTPParseError) {
        guard case .decision(let framing) = state else { return }
        do {
            state = .body(try BodyDecoder(framing: framing, limit: limit, limits: limits))
        } catch {
            state = .failed(error)
            throw error
        }
    }

    /// The next head or body, or `needMore`.
    public mutating func next() throws(HTTPParseError) -> Step {
        do {
            return try step()
        } catch {
            state = .failed(error)
            throw error
        }
    }

    private mutating func step() throws(HTTPParseError) -> Step {
        while true {
            switch state {
            case .failed(let error): throw error
            case .decision: return .needMore
            case .start(let emptyLines):
                guard
                    let line = try lines.next(&queue, limit: limits.requestLine, tooLong: .requestLineTooLong)
                else { return .needMore }
                if line.isEmpty {
                    if emptyLines >= limits.leadingEmptyLines { throw .tooManyEmptyLines }
                    state = .start(emptyLines: emptyLines + 1)
                } else {
                    state = .fields(try RequestLine(line, scheme: scheme), FieldSectionReader())
                }
            case .fields(let line, var section):
                guard try section.read(&queue, limits: limits) else {
                    state = .fields(line, section)
                    return .needMore
                }
                let head = try line.head(fields: section.fields, source: source)
                state = .decision(head.framing)
                return .head(head)
            case .body(var decoder):
                state = .start(emptyLines: 0)  // so that the decoder's array is not shared while it grows
                let done = try decoder.read(&queue)
                if done { return .body(decoder.takeBody()) }
                state = .body(decoder)
                return .needMore
            }
        }
    }
}

/// A parsed request line (RFC 9112 section 3).
struct RequestLine: Sendable {
    private let method: String
    private let scheme: String
    private let authority: String?
    private let path: String
    private let query: String?
    private let minorVersion: Int

    init(_ line: [UInt8], scheme: String) throws(HTTPParseError) {
        let parts = line.split(separator: HTTPSyntax.space, omittingEmptySubsequences: false)
        guard parts.count == 3, HTTPSyntax.isToken(parts[0]), !parts[1].isEmpty else { throw .malformedRequestLine }
        let version = Array(parts[2])
        guard version.count == 8, version.starts(with: Array("HTTP/".utf8)), HTTPSyntax.isDigit(version[5]),
            version[6] == UInt8(ascii: "."), HTTPSyntax.isDigit(version[7])
        else { throw .malformedRequestLine }
        guard version[5] == UInt8(ascii: "1"), version[7] <= UInt8(ascii: "1") else { throw .unsupportedVersion }
        minorVersion = Int(version[7] - UInt8(ascii: "0"))
        method = HTTPSyntax.text(parts[0])
        if method == "CONNECT" || method == "TRACE" { throw .unsupportedMethod }
        let target = parts[1]
        if target.elementsEqual([UInt8(ascii: "*")]) { throw method == "OPTIONS" ? .unsupportedMethod : .malformedTarget }
        guard target.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else { throw .malformedTarget }

        var rest = target
        if target.first == UInt8(ascii: "/") {
            self.scheme = scheme
            authority = nil
        } else {
            let head = HTTPFields.lowercased(HTTPSyntax.text(target.prefix(8)))
            self.scheme = head.hasPrefix("http://") ? "http" : "https"
            guard head.hasPrefix("http://") || head == "https://" else { throw .malformedTarget }
            let after = target.dropFirst(self.scheme.count + 3)
            let end = after.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? after.endIndex
            guard HTTPSyntax.isAuthority(after[..<end]) else { throw .malformedTarget }
            authority = HTTPSyntax.text(after[..<end])
            rest = after[end...]
        }
        let mark = rest.firstIndex(of: UInt8(ascii: "?"))
        let bare = HTTPSyntax.text(rest[..<(mark ?? rest.endIndex)])
        path = bare.isEmpty ? "/" : bare
        query = mark.map { HTTPSyntax.text(rest[($0 + 1)...]) }
    }

    func head(fields: HTTPFields, source: HTTPSource) throws(HTTPParseError) -> HTTP1RequestHead {
        let framing = try HTTP1Framing.ofRequest(fields, minorVersion: minorVersion)
        let hosts = fields.values("host")
        if hosts.count > 1 { throw .repeatedHost }
        if hosts.isEmpty, minorVersion == 1 { throw .missingHost }
        if let host = hosts.first, !HTTPSyntax.isAuthority(host.utf8) { throw .malformedHost }

        let expectations = fields.values("expect")
        let expectsContinue = minorVersion == 1 && !expectations.isEmpty
        if expectsContinue, expectations.contains(where: { HTTPFields.lowercased($0) != "100-continue" }) {
            throw .unsupportedExpectation
        }
        let closes = fields.list("connection", contains: "close")
        let keeps = minorVersion == 1 || fields.list("connection", contains: "keep-alive")
        let length: Int? =
            switch framing {
            case .none: 0
            case .length(let length): length
            case .chunked, .untilEnd: nil
            }
        return HTTP1RequestHead(
            head: HTTPRequestHead(
                method: method, scheme: scheme, authority: authority ?? hosts.first ?? "", path: path, query: query,
                fields: fields, source: source, contentLength: length, version: minorVersion == 0 ? .http10 : .http11),
            minorVersion: minorVersion, framing: framing, keepsAlive: keeps && !closes,
            expectsContinue: expectsContinue && framing != .none)
    }
}
