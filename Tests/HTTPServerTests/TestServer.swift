// A server on 127.0.0.1 with a handler of closures, and a record of its events, for the tests of this folder.

import HTTPClient
import HTTPCore
import HTTPServer
import Synchronization
import Testing

/// A handler of two closures.
struct ClosureHandler: HTTPHandler {
    var admit: @Sendable (HTTPRequestHead) -> HTTPAdmission = { _ in .readBody(limit: 12 * 1024 * 1024) }
    var serve: @Sendable (HTTPRequest, HTTPReply) -> Void = ClosureHandler.echo

    func begin(_ head: HTTPRequestHead) -> HTTPAdmission { admit(head) }
    func handle(_ request: HTTPRequest, reply: HTTPReply) { serve(request, reply) }

    /// Answers with the request's body; method and path in fields.
    static let echo: @Sendable (HTTPRequest, HTTPReply) -> Void = { request, reply in
        reply.send(
            HTTPResponse(
                status: 200, fields: ["x-method": request.method, "x-path": request.path], body: request.body))
    }
}

final class EventLog: Sendable {
    private let list = Mutex<[HTTPServerEvent]>([])

    var events: [HTTPServerEvent] { list.withLock { $0 } }
    func add(_ event: HTTPServerEvent) { list.withLock { $0.append(event) } }

    /// Polls until an event has happened; false after ten seconds.
    func waitFor(_ event: HTTPServerEvent) -> Bool { waitUntil { self.events.contains(event) } }
}

/// Polls a condition for at most ten seconds.
func waitUntil(_ condition: () -> Bool) -> Bool {
    let end = ContinuousClock.Instant.now.advanced(by: .seconds(10))
    while !condition() {
        if ContinuousClock.Instant.now > end { return false }
        RawPeer.pause()
    }
    return true
}

/// A running server; shut down when released.
final class TestServer: Sendable {
    let server: HTTPServer
    let port: UInt16
    let log = EventLog()

    init(
        _ handler: ClosureHandler = ClosureHandler(), limits: HTTPLimits = HTTPLimits(), threads: Int = 2,
        tls: TLSServerContext? = nil, carriesRelay: Bool = false
    ) throws {
        let log = log
        server = HTTPServer(
            configuration: HTTPServerConfiguration(
                listeners: [ListenAddress(host: "127.0.0.1", port: 0, tls: tls != nil, carriesRelay: carriesRelay)],
                tls: tls, limits: limits,
                threads: threads),
            handler: handler, events: { log.add($0) })
        port = try #require(try server.start().first).port
    }

    deinit { server.shutdown(drain: .zero) }

    var url: String { "http://127.0.0.1:\(port)" }

    func client(limits: HTTPLimits = HTTPLimits()) throws -> HTTPClient {
        try HTTPClient(url: try HTTPURL(url), limits: limits)
    }

    func peer() throws -> RawPeer { try RawPeer(port: port) }
}
