// What a hostile HTTP/2 peer can do for free, and where it ends (service.md 5.4.4), with limits that tests reach quickly.

import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite struct HTTP2FloodTests {
    private static let calm = HTTP2ErrorCode.enhanceYourCalm.rawValue

    /// Sends something so often, and says how the connection ended; nil if it lives.
    private static func end(
        _ limits: HTTP2Limits, times: Int, _ bytes: (Int) -> [UInt8]
    ) throws -> UInt32? {
        var all = HTTPLimits()
        all.http2 = limits
        all.drainTime = .milliseconds(50)
        let server = try TestServer(limits: all)
        var peer = try WirePeer(server)
        defer { peer.close() }
        for index in 0..<times { peer.send(bytes(index)) }
        // Twice, because an acknowledgement overtakes what else the first PING finds waiting.
        var frame: WireFrame?
        for _ in 0..<2 where frame?.type != FrameType.goAway {
            let ping = [UInt8](repeating: 9, count: 8)
            peer.send(Wire.frame(FrameType.ping, ping))
            frame = peer.next { $0.type == FrameType.goAway || ($0.type == FrameType.ping && $0.payload == ping) }
        }
        if frame?.type == FrameType.goAway {
            while peer.next() != nil {}
            #expect(peer.hasEnded)
            #expect(server.log.waitFor(.connectionClosed))
            return frame?.secondWord
        }
        #expect(frame != nil)
        return nil
    }

    @Test func rapidReset() throws {
        var limits = HTTP2Limits()
        limits.resetBurst = 20
        limits.resetRate = 0
        let attack = { (index: Int) in Wire.get(UInt32(index * 2 + 1)) + Wire.reset(UInt32(index * 2 + 1)) }
        #expect(try Self.end(limits, times: 20, attack) == nil)
        #expect(try Self.end(limits, times: 21, attack) == Self.calm)
    }

    /// Resets that a peer provokes from us by breaking rules of the stream.
    @Test func provokedResets() throws {
        var limits = HTTP2Limits()
        limits.resetBurst = 20
        limits.resetRate = 0
        let attack = { (index: Int) in
            Wire.headers(UInt32(index * 2 + 1), Wire.pseudo + [("connection", "close")], flags: Flag.whole)
        }
        #expect(try Self.end(limits, times: 20, attack) == nil)
        #expect(try Self.end(limits, times: 21, attack) == Self.calm)
    }

    @Test func continuations() throws {
        let begin = Wire.headers(1, Wire.pseudo, flags: Flag.endStream)
        let empty = Wire.frame(FrameType.continuation, 0, stream: 1, [])
        let end = Wire.frame(FrameType.continuation, Flag.endHeaders, stream: 1, [])
        func attack(_ count: Int) -> [UInt8] { begin + (1..<count).flatMap { _ in empty } + end }
        #expect(try Self.end(HTTP2Limits(), times: 1) { _ in attack(8) } == nil)
        #expect(try Self.end(HTTP2Limits(), times: 1) { _ in attack(9) } == Self.calm)
    }

    /// Frames that move nothing. The greeting has two of them, and asking for life takes two.
    @Test(arguments: ["PING", "SETTINGS", "PRIORITY", "WINDOW_UPDATE", "empty DATA", "padding", "unknown"])
    func fruitlessFrames(kind: String) throws {
        var limits = HTTP2Limits()
        limits.fruitlessFrames = 50
        let post = Wire.headers(1, Wire.post, flags: Flag.endHeaders)
        let one: [UInt8]
        switch kind {
        case "PING": one = Wire.ping
        case "SETTINGS": one = Wire.emptySettings
        case "PRIORITY": one = Wire.frame(FrameType.priority, 0, stream: 9, [0, 0, 0, 0, 1])
        case "WINDOW_UPDATE": one = Wire.frame(FrameType.windowUpdate, Wire.word(1))
        case "empty DATA": one = Wire.frame(FrameType.data, 0, stream: 1, [])
        case "padding": one = Wire.frame(FrameType.data, Flag.padded, stream: 1, [3, 0, 0, 0])
        default: one = Wire.frame(0x77, [1, 2, 3])
        }
        #expect(try Self.end(limits, times: 46) { $0 == 0 ? post + one : one } == nil)
        #expect(try Self.end(limits, times: 49) { $0 == 0 ? post + one : one } == Self.calm)
    }

    /// WINDOW_UPDATE that confirms what was sent is no flood.
    @Test func confirmationsAreNoFlood() throws {
        var limits = HTTPLimits()
        limits.http2.fruitlessFrames = 30
        let server = try TestServer(limits: limits)
        var driver = try HTTP2Driver(server)
        defer { driver.close() }
        let body = [UInt8](repeating: 7, count: 4 << 20)
        for _ in 0..<3 { #expect(try driver.exchange(.to("/", method: "POST", body: body))?.body == body) }
    }

    /// A window of a byte at a time makes us send a frame for each byte.
    @Test func dribbledWindow() throws {
        var limits = HTTPLimits()
        limits.http2.fruitlessFrames = 50
        limits.drainTime = .milliseconds(50)
        let server = try TestServer(
            ClosureHandler(serve: { $1.send(HTTPResponse(status: 200, body: [UInt8](repeating: 0, count: 1000))) }),
            limits: limits)
        var peer = try WirePeer(server, settings: Wire.setting(4, 0))
        defer { peer.close() }
        peer.send(Wire.get(1))
        #expect(peer.next { $0.type == FrameType.headers } != nil)
        for _ in 0..<60 { peer.send(Wire.frame(FrameType.windowUpdate, 0, stream: 1, Wire.word(1))) }
        #expect(peer.goAwayCode() == Self.calm)
    }

    @Test func acknowledgementsThatNobodyReads() throws {
        var limits = HTTP2Limits()
        limits.outstandingAcknowledgements = 10
        #expect(try Self.end(limits, times: 1) { _ in (0..<200).flatMap { _ in Wire.ping } } == Self.calm)
    }

    @Test func settingsEntries() throws {
        func attack(_ count: Int) -> [UInt8] {
            Wire.frame(FrameType.settings, (0..<count).flatMap { _ in Wire.setting(0xF0, 1) })
        }
        #expect(try Self.end(HTTP2Limits(), times: 1) { _ in attack(32) } == nil)
        #expect(try Self.end(HTTP2Limits(), times: 1) { _ in attack(33) } == Self.calm)
    }

    /// One field of 4000 bytes goes into the table, then a byte each brings it back (RFC 7541 section 7.3).
    private static func bomb(references: Int) -> [UInt8] {
        let value = [UInt8](repeating: 0x61, count: 4000)
        let entry = [0x40, 0x01, 0x78] + Wire.integer(value.count, bits: 7, first: 0) + value
        let block = Wire.block(Wire.pseudo) + entry + [UInt8](repeating: 0xBE, count: references)
        return Wire.frame(FrameType.headers, Flag.whole, stream: 1, block)
    }

    @Test func headersAboveTheListAre431() throws {
        let server = try TestServer()
        for (references, status) in [(6, 200), (8, 431), (60, 431)] {
            var peer = try WirePeer(server)
            peer.send(Self.bomb(references: references))
            let head = peer.next { $0.type == FrameType.headers }
            #expect(head.flatMap { Wire.status($0.payload) } == status)
            peer.close()
        }
    }

    @Test func decodingEndsWhenItIsWorkForNothing() throws {
        #expect(try Self.end(HTTP2Limits(), times: 1) { _ in Self.bomb(references: 200) } == Self.calm)
    }

    /// The size of a list is that of names and values, and 32 for each field (section 6.5.2).
    @Test func headerListToTheByte() throws {
        var limits = HTTPLimits()
        limits.http2.headerList = 1000
        let server = try TestServer(limits: limits)
        let base = Wire.pseudo.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 32 } + 1 + 32
        for (length, status) in [(1000 - base, 200), (1001 - base, 431)] {
            var peer = try WirePeer(server)
            peer.send(Wire.get(1, [("a", String(repeating: "b", count: length))]))
            #expect(peer.next { $0.type == FrameType.headers }.flatMap { Wire.status($0.payload) } == status)
            peer.close()
        }
    }

    @Test func fieldCount() throws {
        let server = try TestServer()
        for (count, status) in [(100, 200), (101, 431)] {
            var peer = try WirePeer(server)
            peer.send(Wire.get(1, (0..<count).map { ("a\($0)", "b") }))
            #expect(peer.next { $0.type == FrameType.headers }.flatMap { Wire.status($0.payload) } == status)
            peer.close()
        }
    }

    /// Work of streams that were reset counts until it has stopped.
    @Test func abandonedWorkIsInFlight() throws {
        var limits = HTTPLimits()
        limits.http2.concurrentStreams = 2
        let kept = Mutex<[HTTPReply]>([])
        let cancelled = Mutex<[HTTPRequest]>([])
        let server = try TestServer(
            ClosureHandler(serve: { request, reply in
                if request.path != "/" { return reply.send(HTTPResponse(status: 200)) }
                kept.withLock { $0.append(reply) }
                cancelled.withLock { $0.append(request) }
            }), limits: limits)
        var peer = try WirePeer(server)
        defer { peer.close() }
        peer.send(Wire.get(1) + Wire.get(3))
        #expect(waitUntil { kept.withLock { $0.count } == 2 })
        peer.send(Wire.reset(1) + Wire.reset(3) + Wire.get(5))
        let refusal = peer.next { $0.type == FrameType.reset }
        #expect(refusal?.stream == 5)
        #expect(refusal?.firstWord == HTTP2ErrorCode.refusedStream.rawValue)
        #expect(server.log.waitFor(.streamRefused(.workInFlight)))
        #expect(cancelled.withLock { $0.allSatisfy(\.isCancelled) })
        kept.withLock { kept in
            for reply in kept { reply.send(HTTPResponse(status: 200)) }
            kept = []
        }
        var stream: UInt32 = 7
        let served = waitUntil {
            peer.send(Wire.headers(stream, Wire.pseudo.dropLast() + [(":path", "/now")], flags: Flag.whole))
            stream += 2
            return peer.next { $0.type == FrameType.headers || $0.type == FrameType.reset }?.type == FrameType.headers
        }
        #expect(served)
    }
}
