// Every violation gets its answer over a real socket (RFC 9113 sections 3 to 6 and 8), and the list in docs names each.

import Foundation
import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite struct HTTP2ViolationTests {
    /// Answers are kept back for this path, so that its stream stays half-closed.
    private static func server() throws -> TestServer {
        let kept = Mutex<[HTTPReply]>([])
        var limits = HTTPLimits()
        limits.drainTime = .milliseconds(50)  // each test waits for the end of its connection
        return try TestServer(
            ClosureHandler(serve: { request, reply in
                if request.path == "/slow" {
                    kept.withLock { $0.append(reply) }
                } else {
                    ClosureHandler.echo(request, reply)
                }
            }), limits: limits)
    }

    @Test(arguments: Violation.all) func answer(_ violation: Violation) throws {
        let server = try Self.server()
        var peer = try WirePeer(server, greets: violation.greets)
        defer { peer.close() }
        peer.send(violation.bytes + (violation.answer == .served ? Wire.get(999) : []))
        let found = Self.answer(&peer, isServed: violation.answer == .served)
        #expect(found == violation.answer)
        if case .goAway(let code) = found {
            while peer.next() != nil {}
            #expect(peer.hasEnded, "the connection is closed after GOAWAY")
            #expect(server.log.waitFor(.goAwaySent(.fault(code))))
            #expect(server.log.waitFor(.connectionClosed))
        } else {
            peer.send(Wire.ping)
            #expect(peer.next { $0.type == FrameType.ping && $0.flags == Flag.acknowledgement } != nil, "the connection lives")
        }
    }

    private static func answer(_ peer: inout WirePeer, isServed: Bool) -> Violation.Answer? {
        while let frame = peer.next() {
            switch frame.type {
            case FrameType.goAway: return .goAway(HTTP2ErrorCode(rawValue: frame.secondWord) ?? .noError)
            case FrameType.reset where frame.firstWord != 0 && !isServed:
                return .reset(HTTP2ErrorCode(rawValue: frame.firstWord) ?? .noError)
            case FrameType.headers:
                guard let status = Wire.status(frame.payload) else { return nil }
                if !isServed { return .status(status) }
                if frame.stream == 999, status == 200 { return .served }
            default: break
            }
        }
        return nil
    }

    /// Sending more than the window allows is checked apart: the window is large.
    @Test func overrunWindowIsAFlowControlError() throws {
        var limits = HTTPLimits()
        limits.http2.streamWindow = 1000
        let server = try TestServer(limits: limits)
        var peer = try WirePeer(server)
        defer { peer.close() }
        peer.send(Wire.headers(1, Wire.post, flags: Flag.endHeaders))
        peer.send(Wire.frame(FrameType.data, 0, stream: 1, [UInt8](repeating: 0, count: 1001)))
        let frame = peer.next { $0.type == FrameType.reset || $0.type == FrameType.goAway }
        let code = frame?.type == FrameType.reset ? frame?.firstWord : frame?.secondWord
        #expect(code == HTTP2ErrorCode.flowControlError.rawValue)
    }

    @Test func settingsAndPingAreAcknowledged() throws {
        let server = try TestServer()
        var peer = try WirePeer(server)
        defer { peer.close() }
        peer.send(Wire.ping)
        let settings = peer.next()
        #expect(settings?.type == FrameType.settings)
        #expect(settings?.flags == 0, "the server's own SETTINGS come first")
        #expect(peer.next { $0.type == FrameType.settings && $0.flags == Flag.acknowledgement } != nil)
        let pong = peer.next { $0.type == FrameType.ping }
        #expect(pong?.payload == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    /// A preface that goes wrong late is HTTP/1.1 that makes no sense.
    @Test func brokenPrefaceIsHTTP1() throws {
        let server = try TestServer()
        var peer = try server.peer()
        defer { peer.close() }
        var preface = HTTP2Preface.bytes
        preface[20] = UInt8(ascii: "X")
        peer.send(preface)
        #expect(peer.receive().hasPrefix("HTTP/1.1 505 "))
    }

    @Test func docsNameEveryViolation() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/http2-violations.md"), encoding: .utf8)
        let lines = Set(text.split(separator: "\n").map(String.init))
        for violation in Violation.all {
            #expect(lines.contains(violation.line), "docs/http2-violations.md lacks: \(violation.line)")
        }
        #expect(lines.filter { $0.hasPrefix("| ") }.count == Violation.all.count + 1, "and names nothing else")
    }
}

extension Violation {
    /// The line of the document.
    var line: String {
        let text =
            switch answer {
            case .goAway(let code): "GOAWAY \(code)"
            case .reset(let code): "RST_STREAM \(code)"
            case .status(let status): "\(status)"
            case .served: "ignored"
            }
        return "| \(clause) | \(what) | \(text) |"
    }
}
