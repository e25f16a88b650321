// A client session and a server session joined in memory, for the tests of this folder.

import HTTPCore
import Testing

struct HTTP2Pair {
    let client: HTTP2ClientSession
    let server: HTTP2ServerSession
    private(set) var clientEvents: [HTTP2ClientEvent] = []
    private(set) var heads: [Int32: HTTPRequestHead] = [:]
    private(set) var bodies: [Int32: [UInt8]] = [:]
    private(set) var complete: Set<Int32> = []
    private(set) var closed: [Int32: HTTP2ErrorCode] = [:]
    private(set) var unacceptable: [Int32: HTTPParseError] = [:]
    /// The most that one call of `nextOutput` gave.
    private(set) var largestOutput = 0
    /// Whether received body bytes are credited.
    var consumes = true
    /// Whether complete requests are answered with their own body.
    var echoes = true
    /// Bytes are handed over in pieces of this size.
    var cut = Int.max

    init(
        client: HTTPLimits = HTTPLimits(), clientHTTP2: HTTP2Limits = .relay, server: HTTP2Limits = HTTP2Limits()
    ) throws {
        self.client = try #require(HTTP2ClientSession(limits: client, http2: clientHTTP2))
        self.server = try #require(
            HTTP2ServerSession(limits: HTTPLimits(), http2: server, source: .inProcess, now: .now))
    }

    /// Hands bytes over until neither side has anything to say.
    mutating func run() throws {
        var isQuiet = false
        while !isQuiet {
            isQuiet = true
            let up = client.nextOutput(atMost: 64 * 1024)
            for piece in pieces(up) {
                server.receive(piece, now: .now)
                try takeServerEvents()
            }
            let down = server.nextOutput(atMost: 64 * 1024, now: .now)
            try takeServerEvents()
            largestOutput = max(largestOutput, down.count)
            for piece in pieces(down) { client.receive(piece) }
            clientEvents += client.takeEvents()
            if !up.isEmpty || !down.isEmpty { isQuiet = false }
        }
    }

    func pieces(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: min(cut, max(1, bytes.count))).map { bytes[$0...].prefix(cut) }
    }

    private mutating func takeServerEvents() throws {
        for event in server.takeEvents() {
            switch event {
            case .head(let stream, let head, let hasBody, _):
                heads[stream] = head
                bodies[stream] = []
                if !hasBody { try answer(stream) }
            case .unacceptable(let stream, let error): unacceptable[stream] = error
            case .body(let stream, let bytes):
                bodies[stream, default: []] += bytes
                if consumes { server.consume(stream: stream, bytes.count) }
            case .endOfBody(let stream): try answer(stream)
            case .closed(let stream, let code): closed[stream] = code
            case .answered, .refused, .pong, .failed: break
            }
        }
    }

    private mutating func answer(_ stream: Int32) throws {
        complete.insert(stream)
        guard echoes else { return }
        try server.respond(
            stream: stream, HTTPResponse(status: 200, fields: ["x-a": "b"], body: bodies[stream] ?? []),
            method: heads[stream]?.method ?? "", date: "now")
    }

    func response(_ stream: Int32) -> HTTPResponse? {
        for case .response(stream, let response) in clientEvents { return response }
        return nil
    }

    func failure(_ stream: Int32) -> HTTP2RequestFailure? {
        for case .failed(stream, let failure) in clientEvents { return failure }
        return nil
    }

    func request(_ path: String, body: [UInt8] = []) throws -> Int32 {
        try client.send(HTTPRequest(method: body.isEmpty ? "GET" : "POST", authority: "h", path: path, body: body))
    }
}
