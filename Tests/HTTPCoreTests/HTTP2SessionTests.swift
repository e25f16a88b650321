// The two sides of HTTP/2 against each other in memory: bodies, windows, many streams, cuts, and the ends of connections.

import HTTPCore
import Testing

@Suite struct HTTP2SessionTests {
    private static func bytes(_ count: Int, _ seed: Int = 1) -> [UInt8] {
        let pattern = (0..<997).map { UInt8(truncatingIfNeeded: $0 &* seed ^ $0 >> 8) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += pattern.prefix(count - bytes.count) }
        return bytes
    }

    @Test func largeBodiesBothWays() throws {
        var pair = try HTTP2Pair()
        let body = Self.bytes(5 << 20)
        let stream = try pair.request("/up", body: body)
        try pair.run()
        #expect(pair.response(stream)?.body.elementsEqual(body) == true)
        #expect(pair.response(stream)?.fields["x-a"] == "b")
        #expect(pair.closed[stream] == .noError)
        #expect(pair.heads[stream]?.contentLength == body.count)
        #expect(pair.client.openStreams == 0)
        // A frame is not cut, and there is nothing beyond it.
        #expect(pair.largestOutput < 64 * 1024 + 16_384 + 9)
    }

    /// The outcome does not depend on how bytes arrive.
    @Test(arguments: [1, 2, 3, 7, 9, 10, 100]) func anyCut(size: Int) throws {
        var pair = try HTTP2Pair()
        pair.cut = size
        let streams = try [0, 1, 20_000, 3].map { try pair.request("/p?q", body: Self.bytes($0)) }
        try pair.run()
        #expect(streams.map { pair.response($0)?.body.count } == [0, 1, 20_000, 3])
        #expect(streams.allSatisfy { pair.heads[$0]?.query == "q" })
    }

    /// More requests than streams are allowed: the rest waits and is answered.
    @Test func manyStreams() throws {
        var limits = HTTP2Limits()
        limits.concurrentStreams = 10
        var pair = try HTTP2Pair(server: limits)
        try pair.run()
        let streams = try (0..<500).map { try pair.request("/\($0)", body: Self.bytes($0, 3)) }
        try pair.run()
        for (index, stream) in streams.enumerated() {
            #expect(pair.response(stream)?.body == Self.bytes(index, 3))
            #expect(pair.heads[stream]?.path == "/\(index)")
        }
    }

    /// Without credit a stream stops at its window, and all streams together at the connection's.
    @Test func windowsBoundWhatArrives() throws {
        var limits = HTTP2Limits()
        limits.streamWindow = 100_000
        limits.connectionWindow = 250_000
        var pair = try HTTP2Pair(server: limits)
        pair.consumes = false
        try pair.run()
        let first = try pair.request("/1", body: Self.bytes(1 << 20))
        try pair.run()
        #expect(pair.bodies[first]?.count == 100_000)
        let second = try pair.request("/2", body: Self.bytes(1 << 20))
        let third = try pair.request("/3", body: Self.bytes(1 << 20))
        try pair.run()
        #expect(pair.bodies[second]?.count == 100_000)
        #expect(pair.bodies[third]?.count == 50_000)
        // Credit lets exactly as much more come, of the streams and of the connection. (Less than half of a window is kept
        // back by the library.)
        pair.server.consume(stream: first, 100_000)
        pair.server.consume(stream: second, 100_000)
        try pair.run()
        let all = [first, second, third].reduce(0) { $0 + (pair.bodies[$1]?.count ?? 0) }
        #expect(all == 450_000)
    }

    /// Credit for streams that have ended still counts for the connection.
    @Test func resetStreamsDoNotLeakTheWindow() throws {
        var limits = HTTP2Limits()
        limits.streamWindow = 100_000
        limits.connectionWindow = 100_000
        var pair = try HTTP2Pair(server: limits)
        try pair.run()
        for _ in 0..<10 {
            let stream = try pair.request("/", body: Self.bytes(90_000))
            let part = pair.client.nextOutput(atMost: 40_000)
            pair.server.receive(part[...], now: .now)
            pair.client.cancel(stream: stream)
            try pair.run()
        }
        let last = try pair.request("/", body: Self.bytes(300_000))
        try pair.run()
        #expect(pair.response(last)?.body.count == 300_000)
    }

    @Test func earlyAnswerEndsTheUpload() throws {
        var pair = try HTTP2Pair()
        pair.echoes = false
        let stream = try pair.request("/", body: Self.bytes(1 << 20))
        let part = pair.client.nextOutput(atMost: 20_000)
        pair.server.receive(part[...], now: .now)
        try pair.server.respond(stream: stream, HTTPResponse(status: 401), method: "POST", date: "now")
        try pair.run()
        #expect(pair.response(stream)?.status == 401)
        // The client has its answer and gives the upload up.
        #expect(pair.closed[stream] == .cancel)
        #expect((pair.bodies[stream]?.count ?? 0) < 1 << 20)
        #expect(pair.client.openStreams == 0)
    }

    @Test func secondAnswerHasNoEffect() throws {
        var pair = try HTTP2Pair()
        let stream = try pair.request("/", body: [1])
        try pair.run()
        try pair.server.respond(stream: stream, HTTPResponse(status: 500), method: "GET", date: "now")
        try pair.run()
        #expect(pair.response(stream)?.status == 200)
        #expect(pair.clientEvents.count == 1)
    }

    @Test func responseBodyLimitToTheByte() throws {
        var limits = HTTPLimits()
        limits.clientResponseBody = 1000
        var pair = try HTTP2Pair(client: limits)
        let fits = try pair.request("/", body: Self.bytes(1000))
        let tooMuch = try pair.request("/", body: Self.bytes(1001))
        try pair.run()
        #expect(pair.response(fits)?.body.count == 1000)
        #expect(pair.failure(tooMuch) == .invalidResponse(.bodyTooLarge))
    }

    @Test func responseHeadLimit() throws {
        var limits = HTTP2Limits.relay
        limits.headerList = 100
        var pair = try HTTP2Pair(clientHTTP2: limits)
        let stream = try pair.request("/")
        try pair.run()
        #expect(pair.failure(stream) == .invalidResponse(.headerSectionTooLarge))
    }

    @Test func refusedRequestMayBeSentAgain() throws {
        var pair = try HTTP2Pair()
        pair.echoes = false
        let stream = try pair.request("/")
        try pair.run()
        pair.server.reset(stream: stream, .refusedStream)
        try pair.run()
        #expect(pair.failure(stream) == .notProcessed)
        #expect(pair.failure(stream)?.isRetryable == true)
        let other = try pair.request("/")
        try pair.run()
        pair.server.reset(stream: other, .internalError)
        try pair.run()
        #expect(pair.failure(other) == .reset(.internalError))
        #expect(pair.failure(other)?.isRetryable == false)
    }

    /// What lies above the last stream of a GOAWAY was not seen; what lies below is finished.
    @Test func goAwayTellsWhatMayBeSentAgain() throws {
        var pair = try HTTP2Pair()
        pair.echoes = false
        let seen = try pair.request("/")
        try pair.run()
        pair.server.beginShutdown()
        try pair.run()
        #expect(pair.clientEvents == [.goAway(.noError)])
        #expect(!pair.client.acceptsRequests)
        #expect(throws: HTTP2SendError.notAccepted) { try pair.request("/") }
        try pair.server.respond(stream: seen, HTTPResponse(status: 200), method: "GET", date: "now")
        pair.server.finishShutdown()
        try pair.run()
        #expect(pair.response(seen)?.status == 200)
        #expect(pair.server.isFinished)

        var other = try HTTP2Pair()
        other.echoes = false
        let first = try other.request("/")
        try other.run()
        other.server.finishShutdown()
        let late = try other.request("/")  // leaves before the GOAWAY arrives
        try other.run()
        #expect(other.failure(late) == .notProcessed)
        #expect(other.failure(first) == nil)
        try other.server.respond(stream: first, HTTPResponse(status: 204), method: "GET", date: "now")
        try other.run()
        #expect(other.response(first)?.status == 204)
    }

    @Test func lostConnectionFailsWhatIsOpen() throws {
        var pair = try HTTP2Pair()
        pair.echoes = false
        let stream = try pair.request("/")
        try pair.run()
        pair.client.connectionEnded()
        #expect(pair.client.takeEvents() == [.failed(stream: stream, .connectionEnded)])
        #expect(pair.client.openStreams == 0)
        #expect(pair.client.isFinished)
        #expect(throws: HTTP2SendError.notAccepted) { try pair.request("/") }
    }

    @Test func garbageFailsTheClient() throws {
        let pair = try HTTP2Pair()
        let stream = try pair.request("/")
        _ = pair.client.nextOutput(atMost: 1 << 16)
        pair.client.receive(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)[...])
        // The library says GOAWAY when its output is taken.
        let words = pair.client.nextOutput(atMost: 1 << 16)
        #expect(!words.isEmpty)
        pair.client.connectionEnded()
        #expect(pair.client.takeEvents().contains(.failed(stream: stream, .connectionEnded)))
    }

    /// Requests leave before GOAWAY does: byte by byte the server would take it for the end.
    @Test(arguments: [Int.max, 1]) func closeOfAClientEndsBothSides(cut: Int) throws {
        var pair = try HTTP2Pair()
        pair.cut = cut
        let stream = try pair.request("/")
        pair.client.close()
        try pair.run()
        #expect(pair.response(stream)?.status == 200)
        #expect(pair.client.isFinished)
        #expect(pair.server.isFinished)
    }

    @Test func invalidRequestsAreNotSent() throws {
        let pair = try HTTP2Pair()
        for (request, error) in [
            (HTTPRequest(method: "G T", authority: "h", path: "/"), HTTPSerializationError.invalidMethod),
            (HTTPRequest(method: "GET", authority: "h", path: "a"), .invalidTarget),
            (HTTPRequest(method: "GET", authority: "", path: "/"), .invalidAuthority),
            (HTTPRequest(method: "GET", authority: "h", path: "/", fields: ["a b": "c"]), .invalidFieldName),
            (HTTPRequest(method: "GET", authority: "h", path: "/", fields: ["a": "b\r\nc: d"]), .invalidFieldValue),
        ] {
            #expect(throws: HTTP2SendError.invalidRequest(error)) { try pair.client.send(request) }
        }
    }

    /// An answer that waits for a window is not lost, and its output stays bounded.
    @Test func heldBackAnswer() throws {
        var limits = HTTP2Limits.relay
        limits.streamWindow = 1000
        var pair = try HTTP2Pair(clientHTTP2: limits)
        pair.echoes = false
        let stream = try pair.request("/")
        try pair.run()
        let body = Self.bytes(2 << 20)
        try pair.server.respond(stream: stream, HTTPResponse(status: 200, body: body), method: "GET", date: "now")
        let first = pair.server.nextOutput(atMost: 1 << 20, now: .now)
        #expect(first.count < 1200)
        #expect(pair.server.isHeldBack(stream: stream))
        #expect(pair.server.sent(stream: stream) == 1000)
        pair.client.receive(first[...])
        try pair.run()
        #expect(pair.response(stream)?.body.elementsEqual(body) == true)
    }
}
