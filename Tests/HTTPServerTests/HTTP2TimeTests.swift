// Times of HTTP/2 connections and streams with shortened limits (service.md 7), and how connections end (5.4.5).

import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite struct HTTP2TimeTests {
    private static func big(_ count: Int) -> ClosureHandler {
        ClosureHandler(serve: { $1.send(HTTPResponse(status: 200, body: [UInt8](repeating: 0, count: count))) })
    }

    @Test func silentPeerGetsSettingsTimeout() throws {
        var limits = HTTPLimits()
        limits.headerTime = .milliseconds(200)
        let server = try TestServer(limits: limits)
        var peer = try WirePeer(server, greets: false)
        defer { peer.close() }
        peer.send(HTTP2Preface.bytes)
        #expect(peer.goAwayCode() == HTTP2ErrorCode.settingsTimeout.rawValue)
        #expect(peer.hasEnded)
        #expect(server.log.waitFor(.goAwaySent(.settingsTimeout)))
    }

    @Test func slowHeadEndsTheConnection() throws {
        var limits = HTTPLimits()
        limits.headerTime = .milliseconds(200)
        let server = try TestServer(limits: limits)
        var peer = try WirePeer(server)
        defer { peer.close() }
        peer.send(Wire.headers(1, Wire.pseudo, flags: Flag.endStream))
        #expect(peer.goAwayCode() == HTTP2ErrorCode.enhanceYourCalm.rawValue)
        #expect(server.log.waitFor(.goAwaySent(.headerTimeout)))
        #expect(server.log.waitFor(.connectionClosed))
    }

    @Test func idleConnectionGetsGoAway() throws {
        var limits = HTTPLimits()
        limits.http2.idleTime = .milliseconds(300)
        let server = try TestServer(limits: limits)
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        #expect(try driver.exchange(.to("/"))?.status == 200)
        #expect(driver.run { $0.contains(.goAway(.noError)) })
        #expect(server.log.waitFor(.goAwaySent(.idle)))
        #expect(!driver.session.acceptsRequests)
        driver.close()
        #expect(server.log.waitFor(.connectionClosed))
    }

    /// A stalled body ends its own stream only.
    @Test func stalledBodyIs408() throws {
        var limits = HTTPLimits()
        limits.bodyProgressTime = .milliseconds(200)
        let server = try TestServer(limits: limits)
        var peer = try WirePeer(server)
        defer { peer.close() }
        peer.send(Wire.headers(1, Wire.post, flags: Flag.endHeaders) + Wire.frame(FrameType.data, 0, stream: 1, [1]))
        #expect(peer.next { $0.type == FrameType.headers }.flatMap { Wire.status($0.payload) } == 408)
        #expect(peer.next { $0.type == FrameType.reset }?.stream == 1)
        #expect(server.log.events.contains(.refused(.bodyTimeout)))
        peer.send(Wire.get(3))
        #expect(peer.next { $0.type == FrameType.headers }?.stream == 3)
    }

    @Test func endlessBodyIs408() throws {
        var limits = HTTPLimits()
        limits.bodyProgressTime = .milliseconds(100)
        limits.bodyTime = .milliseconds(400)
        limits.progressBytes = 0
        let server = try TestServer(limits: limits)
        var peer = try WirePeer(server)
        defer { peer.close() }
        peer.send(Wire.headers(1, Wire.post, flags: Flag.endHeaders))
        let cutOff = waitUntil {
            peer.send(Wire.frame(FrameType.data, 0, stream: 1, [1]))
            return server.log.events.contains(.refused(.bodyTimeout))
        }
        #expect(cutOff)
    }

    @Test func silentHandlerIs503() throws {
        var limits = HTTPLimits()
        limits.handlerTime = .milliseconds(200)
        let kept = Mutex<(HTTPRequest, HTTPReply)?>(nil)
        let server = try TestServer(
            ClosureHandler(serve: { request, reply in
                if request.path == "/" { return reply.send(HTTPResponse(status: 200)) }
                kept.withLock { $0 = (request, reply) }
            }), limits: limits)
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        #expect(try driver.exchange(.to("/silent"))?.status == 503)
        kept.withLock { kept in
            #expect(kept?.0.isCancelled == true)
            kept?.1.send(HTTPResponse(status: 200))  // too late, and harmless
        }
        #expect(try driver.exchange(.to("/"))?.status == 200)
    }

    /// A window of zero holds one stream back; the others go on.
    @Test func streamThatIsHeldBackIsCancelled() throws {
        var limits = HTTPLimits()
        limits.writeProgressTime = .milliseconds(300)
        let server = try TestServer(Self.big(1000), limits: limits)
        var peer = try WirePeer(server, settings: Wire.setting(4, 0))
        defer { peer.close() }
        peer.send(Wire.get(1))
        let reset = peer.next { $0.type == FrameType.reset }
        #expect(reset?.stream == 1)
        #expect(reset?.firstWord == HTTP2ErrorCode.cancel.rawValue)
        #expect(server.log.events.contains(.refused(.writeTimeout)))
        peer.send(Wire.ping)
        #expect(peer.next { $0.type == FrameType.ping } != nil)
    }

    /// A peer that gives no window for the connection holds everything back.
    @Test func connectionThatIsHeldBackIsClosed() throws {
        var limits = HTTPLimits()
        limits.http2.writeProgressTime = .milliseconds(400)
        let server = try TestServer(Self.big(1 << 20), limits: limits)
        var peer = try WirePeer(server, settings: Wire.setting(4, 1 << 24))
        defer { peer.close() }
        peer.send(Wire.get(1))
        #expect(server.log.waitFor(.refused(.writeTimeout)))
        #expect(server.log.waitFor(.connectionClosed))
    }

    @Test func reluctantReaderIsClosed() throws {
        var limits = HTTPLimits()
        limits.http2.writeProgressTime = .milliseconds(400)
        let server = try TestServer(Self.big(16 << 20), limits: limits)
        var peer = try WirePeer(server, settings: Wire.setting(4, 1 << 30))
        defer { peer.close() }
        peer.send(Wire.frame(FrameType.windowUpdate, Wire.word(1 << 30)) + Wire.get(1) + Wire.get(3))
        #expect(server.log.waitFor(.refused(.writeTimeout)))
        #expect(server.log.waitFor(.connectionClosed))
    }

    @Test func resetCancelsTheRequest() throws {
        let kept = Mutex<(HTTPRequest, HTTPReply)?>(nil)
        let server = try TestServer(ClosureHandler(serve: { request, reply in kept.withLock { $0 = (request, reply) } }))
        var peer = try WirePeer(server)
        defer { peer.close() }
        peer.send(Wire.get(1))
        #expect(waitUntil { kept.withLock { $0 != nil } })
        #expect(kept.withLock { $0?.0.isCancelled } == false)
        peer.send(Wire.reset(1))
        #expect(waitUntil { kept.withLock { $0?.0.isCancelled } == true })
        #expect(server.log.waitFor(.refused(.peerGone)))
        kept.withLock { kept in
            kept?.1.send(HTTPResponse(status: 200))
            kept = nil
        }
    }

    @Test func vanishedPeerCancelsAllRequests() throws {
        let kept = Mutex<[(HTTPRequest, HTTPReply)]>([])
        let server = try TestServer(ClosureHandler(serve: { request, reply in kept.withLock { $0.append((request, reply)) } }))
        var peer = try WirePeer(server)
        peer.send(Wire.get(1) + Wire.get(3) + Wire.get(5))
        #expect(waitUntil { kept.withLock { $0.count } == 3 })
        peer.close()
        #expect(waitUntil { kept.withLock { $0.allSatisfy { $0.0.isCancelled } } })
        #expect(server.log.waitFor(.connectionClosed))
    }

    /// After so many requests a connection ends gracefully: all are answered, and further ones may be sent elsewhere.
    @Test func ageInRequests() throws {
        var limits = HTTPLimits()
        limits.http2.requestsPerConnection = 3
        let server = try TestServer(limits: limits)
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        for _ in 0..<3 { #expect(try driver.exchange(.to("/"))?.status == 200) }
        #expect(driver.run { $0.contains(.goAway(.noError)) })
        #expect(server.log.waitFor(.goAwaySent(.requests)))
        #expect(throws: HTTP2SendError.notAccepted) { try driver.session.send(.to("/")) }
        _ = driver.run { _ in false }
        #expect(driver.hasEnded)
    }

    @Test func ageInTime() throws {
        var limits = HTTPLimits()
        limits.http2.connectionAge = .milliseconds(300)
        let server = try TestServer(limits: limits)
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        #expect(try driver.exchange(.to("/"))?.status == 200)
        #expect(driver.run { $0.contains(.goAway(.noError)) })
        #expect(server.log.waitFor(.goAwaySent(.age)))
    }

    /// GOAWAY twice: the first names the highest stream, so that a request under way is still served; the second, after the
    /// PING, the last one served. The running request is finished.
    @Test func gracefulStop() throws {
        let kept = Mutex<HTTPReply?>(nil)
        let server = try TestServer(
            ClosureHandler(serve: { request, reply in
                if request.path == "/" { return kept.withLock { $0 = reply } }
                reply.send(HTTPResponse(status: 200))
            }))
        var peer = try WirePeer(server)
        defer { peer.close() }
        peer.send(Wire.get(1))
        #expect(waitUntil { kept.withLock { $0 != nil } })
        let stopper = TestThread { server.server.shutdown(drain: .seconds(10)) }
        let notice = peer.next { $0.type == FrameType.goAway }
        #expect(notice?.firstWord == 0x7FFF_FFFF)
        #expect(notice?.secondWord == 0)
        let ping = try #require(peer.next { $0.type == FrameType.ping })
        // A request that was under way when the notice came.
        peer.send(Wire.headers(3, Wire.pseudo.dropLast() + [(":path", "/late")], flags: Flag.whole))
        peer.send(Wire.frame(FrameType.ping, Flag.acknowledgement, stream: 0, ping.payload))
        let last = peer.next { $0.type == FrameType.goAway }
        #expect(last?.firstWord == 3)
        #expect(last?.secondWord == 0)
        kept.withLock { $0 }?.send(HTTPResponse(status: 200))
        #expect(peer.next { $0.type == FrameType.headers && $0.stream == 1 } != nil)
        while peer.next() != nil {}
        stopper.join()
        #expect(server.log.events.contains(.goAwaySent(.shutdown)))
        #expect(server.log.events.count { if case .requestCompleted = $0 { true } else { false } } == 2)
    }
}
