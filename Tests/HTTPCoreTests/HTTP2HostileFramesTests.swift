// What the fuzzer found in the two sessions of HTTP/2, each by its bytes.

import HTTPCore
import Testing

@Suite struct HTTP2HostileFramesTests {
    private static func word(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }

    private static func frame(_ type: UInt8, _ flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        Array(word(UInt32(payload.count))[1...]) + [type, flags] + word(stream) + payload
    }

    private static let settings = frame(4) + frame(4, 1)
    /// GET / of the authority `h`, from the static table.
    private static let get: [UInt8] = [0x82, 0x86, 0x84, 0x01, 1, 0x68]

    private static func server(_ http2: HTTP2Limits = HTTP2Limits()) throws -> HTTP2ServerSession {
        try #require(HTTP2ServerSession(limits: HTTPLimits(), http2: http2, source: .inProcess, now: .now))
    }

    /// Types of the frames of an output.
    private static func types(_ output: [UInt8]) -> [UInt8] {
        var types: [UInt8] = []
        var rest = output[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            types.append(head[3])
            rest = rest.dropFirst(9 + head[..<3].reduce(0) { $0 << 8 | Int($1) })
        }
        return types
    }

    private static func names(_ events: [HTTP2ServerEvent]) -> [String] {
        events.map { event in
            switch event {
            case .head(let stream, _, _, _): "head \(stream)"
            case .failed(let code): "failed \(code)"
            case .refused: "refused"
            default: "other"
            }
        }
    }

    /// It has no stream above it, and its distance to "none yet" does not fit its type.
    @Test func highestStreamFirst() throws {
        let session = try Self.server()
        let highest = UInt32(Int32.max)
        session.receive((HTTP2Preface.bytes + Self.settings + Self.frame(1, 5, stream: highest, Self.get))[...], now: .now)
        #expect(Self.names(session.takeEvents()) == ["head \(highest)"])
    }

    /// The head of a CONTINUATION frame may come in any pieces; a head's own frames are counted.
    @Test(arguments: [1, 2, 5, 100]) func continuationsInPieces(size: Int) throws {
        func bytes(_ count: Int) -> [UInt8] {
            HTTP2Preface.bytes + Self.settings + Self.frame(1, 1, stream: 1, Self.get)
                + (1..<count).flatMap { _ in Self.frame(9, 0, stream: 1) } + Self.frame(9, 4, stream: 1)
        }
        for (count, outcome) in [(8, "head 1"), (9, "failed ENHANCE_YOUR_CALM")] {
            let session = try Self.server()
            let all = bytes(count)
            for start in stride(from: 0, to: all.count, by: size) {
                session.receive(all[start...].prefix(size), now: .now)
            }
            #expect(Self.names(session.takeEvents()) == [outcome])
        }
    }

    /// Padded frames that carry something are no flood, whether or not many come at once.
    @Test(arguments: [10, 40, 4000]) func paddedFramesInPieces(size: Int) throws {
        var limits = HTTP2Limits()
        limits.fruitlessFrames = 10
        let session = try Self.server(limits)
        let padded = Self.frame(0, 8, stream: 1, [1] + [UInt8](repeating: 7, count: 31))
        let all =
            HTTP2Preface.bytes + Self.settings + Self.frame(1, 4, stream: 1, [0x83] + Self.get[1...])
            + (0..<50).flatMap { _ in padded }
        for start in stride(from: 0, to: all.count, by: size) {
            session.receive(all[start...].prefix(size), now: .now)
        }
        #expect(!Self.names(session.takeEvents()).contains { $0.hasPrefix("failed") })
        #expect(!session.isFinished)
    }

    /// Nothing may come before SETTINGS (RFC 9113 section 3.4), not even the end.
    @Test func lastWordsBeforeTheFirst() throws {
        let session = try Self.server()
        let priority = Self.frame(2, 0, stream: 0, [0, 0, 0, 1, 9])
        session.receive((HTTP2Preface.bytes + Self.settings + priority)[...], now: .now)
        #expect(Self.types(session.nextOutput(atMost: 1 << 16, now: .now)) == [4, 7])
        #expect(session.isFinished)
    }

    /// The owner of a connection that failed has let go of its streams: no head comes behind it, even in the same piece.
    @Test func nothingBehindAFailure() throws {
        let session = try Self.server()
        let overflow =
            Self.frame(1, 4, stream: 1, [0x83] + Self.get[1...]) + Self.frame(8, stream: 1, Self.word(1))
            + Self.frame(4, 0, [0, 4] + Self.word(0x7FFF_FFFF))
        session.receive(
            (HTTP2Preface.bytes + Self.settings + overflow + Self.frame(1, 5, stream: 3, Self.get))[...], now: .now)
        #expect(Self.names(session.takeEvents()) == ["head 1", "failed FLOW_CONTROL_ERROR"])
    }

    /// What comes behind the library's own last words has no second ones.
    @Test func oneGoAway() throws {
        var limits = HTTP2Limits()
        limits.fruitlessFrames = 10
        let pings = (0..<20).flatMap { _ in Self.frame(6, 0, [UInt8](repeating: 0, count: 8)) }
        let fault = Self.frame(1, 5, stream: 1, [0xFF, 0x80, 0x01])

        let server = try Self.server(limits)
        server.receive((HTTP2Preface.bytes + Self.settings + fault)[...], now: .now)
        #expect(Self.types(server.nextOutput(atMost: 1 << 16, now: .now)).last == 7)
        server.receive(pings[...], now: .now)
        #expect(server.nextOutput(atMost: 1 << 16, now: .now).isEmpty)
        #expect(Self.names(server.takeEvents()) == ["failed COMPRESSION_ERROR"])

        let client = try #require(HTTP2ClientSession(http2: limits))
        let stream = try client.send(HTTPRequest(method: "GET", authority: "h", path: "/"))
        _ = client.nextOutput(atMost: 1 << 16)
        client.receive((Self.settings + fault)[...])
        #expect(Self.types(client.nextOutput(atMost: 1 << 16)).last == 7)
        client.receive(pings[...])
        #expect(client.nextOutput(atMost: 1 << 16).isEmpty)
        client.connectionEnded()
        #expect(client.takeEvents() == [.failed(stream: stream, .connectionEnded)])
    }

    /// A stream that is one too many, before the peer knows how many there may be, is refused, and that is said.
    @Test func oneStreamTooMany() throws {
        var limits = HTTP2Limits()
        limits.concurrentStreams = 2
        let session = try Self.server(limits)
        let heads = [1, 3, 5].flatMap { Self.frame(1, 5, stream: $0, Self.get) }
        session.receive((HTTP2Preface.bytes + Self.frame(4) + heads)[...], now: .now)
        #expect(Self.types(session.nextOutput(atMost: 1 << 16, now: .now)).contains(3))
        #expect(Self.names(session.takeEvents()) == ["head 1", "head 3", "refused"])
    }

    /// A client takes what came before the flood in the same piece.
    @Test func answerBeforeAFlood() throws {
        var limits = HTTP2Limits()
        limits.fruitlessFrames = 10
        let pings = (0..<20).flatMap { _ in Self.frame(6, 0, [UInt8](repeating: 0, count: 8)) }
        let client = try #require(HTTP2ClientSession(http2: limits))
        let stream = try client.send(HTTPRequest(method: "GET", authority: "h", path: "/"))
        _ = client.nextOutput(atMost: 1 << 16)
        client.receive((Self.settings + Self.frame(1, 5, stream: 1, [0x89]) + pings)[...])
        let answer = HTTPResponse(status: 204)
        #expect(client.takeEvents() == [.response(stream: stream, answer), .connectionFailed(.enhanceYourCalm)])
    }
}
