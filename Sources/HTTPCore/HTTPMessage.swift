// The protocol-neutral request and response values (service.md 5.5): HTTP/1.1, HTTP/2 and the gateway make the same ones.

import Synchronization

/// Where a request came from.
public enum HTTPSource: Sendable, Equatable {
    /// Over a connection from this address. Never log it together with anything else (service.md 8.1).
    case direct(SocketAddress)
    /// Out of an encapsulated request; the sender is unknown.
    case gateway
    /// Made inside the process (demo, tests, client).
    case inProcess
}

/// The version of HTTP that a message came by. For logs and metrics only: handlers treat all alike.
public enum HTTPVersion: String, Sendable, Equatable, CaseIterable {
    /// HTTP/1.0.
    case http10 = "1.0"
    /// HTTP/1.1.
    case http11 = "1.1"
    /// HTTP/2.
    case http2 = "2"
}

/// A flag that says that nobody waits for the answer any more. It is set once and never cleared.
public final class HTTPCancellation: Sendable {
    private let flag = Atomic<Bool>(false)

    /// Not cancelled.
    public init() {}

    /// Whether the peer has gone.
    public var isCancelled: Bool { flag.load(ordering: .acquiring) }

    /// Sets the flag.
    public func cancel() { flag.store(true, ordering: .releasing) }
}

/// The part of a request before its body.
public struct HTTPRequestHead: Sendable, Equatable {
    /// The method, case kept: `GET`, `POST`…
    public var method: String
    /// `http` or `https`, lower case.
    public var scheme: String
    /// Host with optional port as sent (`:authority` or Host); empty if an HTTP/1.0 request named none.
    public var authority: String
    /// The path, byte for byte as sent, beginning with `/`.
    public var path: String
    /// What follows the first `?`, without it; nil without `?`.
    public var query: String?
    /// The fields.
    public var fields: HTTPFields
    /// Where it came from.
    public var source: HTTPSource
    /// The announced body length in bytes; 0 without body, nil if unknown (chunked).
    public var contentLength: Int?
    /// The version of HTTP that it came by.
    public var version: HTTPVersion

    /// A head; by default of a request made in the process without body.
    public init(
        method: String, scheme: String = "http", authority: String = "", path: String, query: String? = nil,
        fields: HTTPFields = [:], source: HTTPSource = .inProcess, contentLength: Int? = 0, version: HTTPVersion = .http11
    ) {
        self.method = method
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.query = query
        self.fields = fields
        self.source = source
        self.contentLength = contentLength
        self.version = version
    }
}

/// A complete request.
public struct HTTPRequest: Sendable {
    /// The method, case kept: `GET`, `POST`…
    public var method: String
    /// `http` or `https`, lower case.
    public var scheme: String
    /// Host with optional port.
    public var authority: String
    /// The path, byte for byte, beginning with `/`.
    public var path: String
    /// What follows the first `?`, without it; nil without `?`.
    public var query: String?
    /// The fields.
    public var fields: HTTPFields
    /// The body; empty without one.
    public var body: [UInt8]
    /// Where it came from.
    public var source: HTTPSource
    /// The version of HTTP that it came by.
    public var version: HTTPVersion
    /// When its last byte arrived.
    public var receivedAt: ContinuousClock.Instant
    /// When the answer is worthless.
    public var deadline: ContinuousClock.Instant
    /// Set when the peer has gone.
    public var cancellation: HTTPCancellation

    /// Whether the peer has gone; ask before each expensive step. On HTTP/1.1 a peer that only ended its sending side looks
    /// the same; an answer that is given nevertheless still reaches it.
    public var isCancelled: Bool { cancellation.isCancelled }

    /// A request made in the process.
    public init(
        method: String, scheme: String = "http", authority: String = "", path: String, query: String? = nil,
        fields: HTTPFields = [:], body: [UInt8] = [], source: HTTPSource = .inProcess,
        version: HTTPVersion = .http11, receivedAt: ContinuousClock.Instant = .now, deadline: ContinuousClock.Instant? = nil,
        cancellation: HTTPCancellation = HTTPCancellation()
    ) {
        self.method = method
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
        self.source = source
        self.version = version
        self.receivedAt = receivedAt
        self.deadline = deadline ?? receivedAt.advanced(by: .seconds(30))
        self.cancellation = cancellation
    }

    /// A head and its body.
    public init(
        head: HTTPRequestHead, body: [UInt8], receivedAt: ContinuousClock.Instant = .now,
        deadline: ContinuousClock.Instant? = nil, cancellation: HTTPCancellation = HTTPCancellation()
    ) {
        self.init(
            method: head.method, scheme: head.scheme, authority: head.authority, path: head.path, query: head.query,
            fields: head.fields, body: body, source: head.source, version: head.version, receivedAt: receivedAt,
            deadline: deadline, cancellation: cancellation)
    }

    /// The request without its body.
    public var head: HTTPRequestHead {
        HTTPRequestHead(
            method: method, scheme: scheme, authority: authority, path: path, query: query, fields: fields, source: source,
            contentLength: body.count, version: version)
    }
}

/// A complete response. The server adds `date`, `content-length` and `connection`.
public struct HTTPResponse: Sendable, Equatable {
    /// The status, 200–599.
    public var status: Int
    /// The fields.
    public var fields: HTTPFields
    /// The body; not sent for HEAD, 204 and 304.
    public var body: [UInt8]

    /// A response.
    public init(status: Int, fields: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
