// HTTP/2 over real sockets with a proper client: many requests at once, admission, limits, times, and the end (service.md 5.4, 7).

import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite struct HTTP2ServerTests {
    @Test func requestAndAnswer() throws {
        let server = try TestServer()
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        let answer = try driver.exchange(.to("/p", method: "POST", body: [1, 2, 3]))
        #expect(answer?.status == 200)
        #expect(answer?.body == [1, 2, 3])
        #expect(answer?.fields["x-path"] == "/p")
        #expect(answer?.fields["content-length"] == "3")
        #expect(answer?.fields["date"] != nil)
        let completed = waitUntil {
            server.log.events.contains {
                if case .requestCompleted(200, 3, 3, _, .http2) = $0 { true } else { false }
            }
        }
        #expect(completed)
    }

    @Test func handlersSeeTheNeutralHead() throws {
        let seen = Mutex<HTTPRequestHead?>(nil)
        let server = try TestServer(
            ClosureHandler(admit: { head in
                seen.withLock { $0 = head }
                return .respond(HTTPResponse(status: 204))
            }))
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        let request = HTTPRequest(
            method: "GET", scheme: "https", authority: "h.example:8", path: "/a%20b", query: "c=d?e",
            fields: ["x-one": "1", "X-Two": "\u{E9}"])
        #expect(try driver.exchange(request)?.status == 204)
        let head = try #require(seen.withLock { $0 })
        #expect(head.method == "GET")
        #expect(head.scheme == "https")
        #expect(head.authority == "h.example:8")
        #expect(head.path == "/a%20b")
        #expect(head.query == "c=d?e")
        #expect(head.fields == ["x-one": "1", "x-two": "\u{E9}"])
        #expect(head.contentLength == 0)
        #expect(head.version == .http2)
    }

    @Test func cookiesArePutTogether() throws {
        let server = try TestServer(
            ClosureHandler(admit: { .respond(HTTPResponse(status: 200, fields: ["x-cookie": $0.fields["cookie"] ?? ""])) }))
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        var request = HTTPRequest.to("/")
        request.fields.append("cookie", "a=1")
        request.fields.append("cookie", "b=2")
        #expect(try driver.exchange(request)?.fields["x-cookie"] == "a=1; b=2")
    }

    /// A later request overtakes one whose handler takes its time.
    @Test func requestsDoNotWaitForEachOther() throws {
        let kept = Mutex<HTTPReply?>(nil)
        let server = try TestServer(
            ClosureHandler(serve: { request, reply in
                if request.path == "/slow" { return kept.withLock { $0 = reply } }
                reply.send(HTTPResponse(status: 200))
            }))
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        let slow = try driver.session.send(.to("/slow"))
        #expect(try driver.exchange(.to("/fast"))?.status == 200)
        #expect(driver.response(slow) == nil)
        kept.withLock { $0 }?.send(HTTPResponse(status: 201))
        #expect(driver.run { $0.contains { $0.stream == slow } })
        #expect(driver.response(slow)?.status == 201)
    }

    @Test func largeBodiesBothWaysOnManyStreams() throws {
        let server = try TestServer()
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        let bodies = (0..<8).map { index in [UInt8](repeating: UInt8(index), count: 2_000_000 + index) }
        let streams = try bodies.map { try driver.session.send(.to("/up", method: "POST", body: $0)) }
        #expect(driver.run { $0.count { $0.stream != nil } == 8 })
        for (stream, body) in zip(streams, bodies) { #expect(driver.response(stream)?.body == body) }
    }

    @Test func headHasNoBody() throws {
        let server = try TestServer(
            ClosureHandler(serve: { $1.send(HTTPResponse(status: 200, body: [1, 2, 3])) }))
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        let answer = try driver.exchange(.to("/", method: "HEAD"))
        #expect(answer?.body == [])
        #expect(answer?.fields["content-length"] == "3")
        #expect(try driver.exchange(.to("/"))?.body == [1, 2, 3])
    }

    /// Refused uploads must neither leak the connection's window nor stop the connection.
    @Test func refusedUploadsDoNotLeakTheWindow() throws {
        var limits = HTTPLimits()
        limits.http2.streamWindow = 100_000
        limits.http2.connectionWindow = 100_000
        let server = try TestServer(
            ClosureHandler(admit: { $0.path == "/no" ? .respond(HTTPResponse(status: 401)) : .readBody(limit: 1 << 20) }),
            limits: limits)
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        let body = [UInt8](repeating: 1, count: 300_000)
        for _ in 0..<10 { #expect(try driver.exchange(.to("/no", method: "POST", body: body))?.status == 401) }
        #expect(try driver.exchange(.to("/yes", method: "POST", body: body))?.body == body)
        #expect(server.log.events.count { $0 == .connectionAccepted } == 1)
    }

    @Test func bodyLimits() throws {
        let server = try TestServer(ClosureHandler(admit: { _ in .readBody(limit: 1000) }))
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        let fits = [UInt8](repeating: 1, count: 1000)
        #expect(try driver.exchange(.to("/", method: "POST", body: fits))?.body == fits)
        #expect(try driver.exchange(.to("/", method: "POST", body: fits + [1]))?.status == 413)
        // The same without content-length.
        var peer = try WirePeer(server)
        defer { peer.close() }
        peer.send(Wire.headers(1, Wire.post, flags: Flag.endHeaders) + Wire.frame(FrameType.data, 0, stream: 1, fits + [1]))
        #expect(peer.next { $0.type == FrameType.headers }.flatMap { Wire.status($0.payload) } == 413)
        let reset = peer.next { $0.type == FrameType.reset }
        #expect(reset?.firstWord == 0, "an early answer is followed by NO_ERROR")
    }

    @Test func bodyBudgetIs503() throws {
        var limits = HTTPLimits()
        limits.bufferedBodies = 100_000
        let server = try TestServer(limits: limits)
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        #expect(try driver.exchange(.to("/", method: "POST", body: [UInt8](repeating: 1, count: 200_000)))?.status == 503)
        #expect(server.log.waitFor(.refused(.bodyBudget)))
        #expect(try driver.exchange(.to("/", method: "POST", body: [1]))?.status == 200, "what was held is given back")
    }

    @Test func expectContinue() throws {
        let server = try TestServer()
        var peer = try WirePeer(server)
        defer { peer.close() }
        peer.send(Wire.headers(1, Wire.post + [("expect", "100-continue")], flags: Flag.endHeaders))
        #expect(peer.next { $0.type == FrameType.headers }.flatMap { Wire.status($0.payload) } == 100)
        peer.send(Wire.frame(FrameType.data, Flag.endStream, stream: 1, [1, 2]))
        #expect(peer.next { $0.type == FrameType.data }?.payload == [1, 2])
    }

    @Test func unwritableAnswerIs500() throws {
        let server = try TestServer(ClosureHandler(serve: { $1.send(HTTPResponse(status: 200, fields: ["a": "b\nc"])) }))
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        #expect(try driver.exchange(.to("/"))?.status == 500)
        #expect(server.log.events.contains(.refused(.responseInvalid(.invalidFieldValue))))
    }

    @Test func droppedReplyIs500() throws {
        let server = try TestServer(ClosureHandler(serve: { _, _ in }))
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        #expect(try driver.exchange(.to("/"))?.status == 500)
    }

    @Test func connectionFieldsOfAnAnswerAreDropped() throws {
        let server = try TestServer(
            ClosureHandler(serve: { $1.send(HTTPResponse(status: 200, fields: ["connection": "close", "x-a": "b"])) }))
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        let answer = try driver.exchange(.to("/"))
        #expect(answer?.fields["x-a"] == "b")
        #expect(answer?.fields["connection"] == nil)
    }

    /// The preface may come in pieces; what only begins like it is HTTP/1.1.
    @Test func firstBytesDecide() throws {
        let server = try TestServer()
        var peer = try server.peer()
        let greeting = HTTP2Preface.bytes + Wire.emptySettings
        for byte in greeting { peer.send([byte]) }
        peer.send(Wire.get(1))
        #expect(peer.read()?.prefix(4) == [0, 0, 36, FrameType.settings], "six settings")
        peer.close()
        var other = try server.peer()
        other.send("P")
        other.send("RI")
        other.send("NT / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(other.receive(until: "\r\n\r\n").contains("x-method: PRINT"))
        other.close()
    }

    /// The settings of service.md 5.4.2, byte by byte, on both kinds of listener.
    @Test(arguments: [false, true]) func settings(carriesRelay: Bool) throws {
        let server = try TestServer(carriesRelay: carriesRelay)
        var peer = try WirePeer(server)
        defer { peer.close() }
        let frame = try #require(peer.next { $0.type == FrameType.settings })
        let wanted: [(UInt8, UInt32)] = [
            (3, carriesRelay ? 1000 : 128), (4, carriesRelay ? 1 << 20 : 256 << 10), (5, 64 << 10), (6, 32 << 10), (1, 4096),
            (9, 1),
        ]
        #expect(frame.payload == wanted.flatMap { Wire.setting($0.0, $0.1) })
        let update = peer.next { $0.type == FrameType.windowUpdate }
        #expect(update?.stream == 0)
        #expect(update?.firstWord == UInt32(carriesRelay ? 16 << 20 : 4 << 20) - 65_535)
    }
}
