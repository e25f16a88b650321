// A proper HTTP/2 client for tests: one connection over a socket, driven by blocking calls.

import HTTPCore
import Testing

struct HTTP2Driver {
    let session: HTTP2ClientSession
    private var peer: RawPeer
    private(set) var events: [HTTP2ClientEvent] = []
    private(set) var hasEnded = false

    init(_ server: TestServer, limits: HTTPLimits = HTTPLimits(), http2: HTTP2Limits = .relay) throws {
        session = try #require(HTTP2ClientSession(limits: limits, http2: http2))
        peer = try server.peer()
    }

    mutating func close() { peer.close() }

    /// Sends what waits.
    mutating func flush() {
        while case let bytes = session.nextOutput(atMost: 64 * 1024), !bytes.isEmpty { peer.send(bytes) }
        events += session.takeEvents()
    }

    /// Goes on until the condition holds for the events so far; false when the connection ended or ten seconds passed.
    mutating func run(until condition: ([HTTP2ClientEvent]) -> Bool) -> Bool {
        flush()
        while !condition(events) {
            guard let bytes = peer.read() else {
                hasEnded = true
                session.connectionEnded()
                events += session.takeEvents()
                return condition(events)
            }
            session.receive(bytes[...])
            events += session.takeEvents()
            flush()
        }
        return true
    }

    /// Sends one request and waits for its answer.
    mutating func exchange(_ request: HTTPRequest) throws -> HTTPResponse? {
        let stream = try session.send(request)
        return run { $0.contains { $0.stream == stream } } ? response(stream) : nil
    }

    func response(_ stream: Int32) -> HTTPResponse? {
        for case .response(stream, let response) in events { return response }
        return nil
    }

    func failure(_ stream: Int32) -> HTTP2RequestFailure? {
        for case .failed(stream, let failure) in events { return failure }
        return nil
    }
}

extension HTTP2ClientEvent {
    /// The stream that has ended with this event.
    var stream: Int32? {
        switch self {
        case .response(let stream, _), .failed(let stream, _): stream
        case .goAway, .connectionFailed: nil
        }
    }
}

extension HTTPRequest {
    /// A request for tests.
    static func to(_ path: String, method: String = "GET", fields: HTTPFields = [:], body: [UInt8] = []) -> HTTPRequest {
        HTTPRequest(method: method, authority: "h", path: path, fields: fields, body: body)
    }
}
