// The parts of HTTP/2 that are ours: finding frames, counting floods, collecting heads.

import Testing

@testable import HTTPCore

@Suite struct HTTP2PartsTests {
    private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt8, _ length: Int) -> [UInt8] {
        [UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags, 0, 0, 0, stream]
            + [UInt8](repeating: 0xAA, count: length)
    }

    @Test(arguments: 1...40) func scannerFindsFramesInAnyCut(size: Int) {
        let bytes =
            [UInt8](repeating: 1, count: 24) + Self.frame(4, 0, 0, 0) + Self.frame(1, 5, 1, 30) + Self.frame(0, 1, 1, 300)
            + Self.frame(0x77, 0xFF, 3, 1)
        var scanner = HTTP2FrameScanner(preface: 24)
        var found: [String] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = bytes[start...].prefix(size)
            var position = piece.startIndex
            while let frame = scanner.next(in: piece, from: &position) {
                found.append("\(frame.type) \(frame.flags) \(frame.stream) \(frame.length)")
            }
            #expect(position == piece.endIndex)
        }
        #expect(found == ["4 0 0 0", "1 5 1 30", "0 1 1 300", "119 255 3 1"])
    }

    @Test func resetBucketRefills() {
        var limits = HTTP2Limits()
        limits.resetBurst = 3
        limits.resetRate = 2
        var bucket = HTTP2ResetBucket(limits: limits)
        let start = ContinuousClock.Instant.now
        let outcomes = [0, 0, 0, 0, 500, 500, 10_000, 10_000, 10_000, 10_000].map { (milliseconds: Int) in
            bucket.take(start.advanced(by: .milliseconds(milliseconds)))
        }
        #expect(outcomes == [true, true, true, false, true, false, true, true, true, false])
    }

    @Test func fruitlessFramesAreForgottenAfterTheirTime() {
        var limits = HTTP2Limits()
        limits.fruitlessFrames = 2
        var guardian = HTTP2FloodGuard(limits: limits)
        let ping = HTTP2Frame(type: HTTP2Frame.ping, flags: 0, stream: 0, length: 8)
        let start = ContinuousClock.Instant.now
        let outcomes = [0, 1, 2, 10, 11, 12].map { guardian.allows(ping, now: start.advanced(by: .seconds($0))) }
        #expect(outcomes == [true, true, false, true, true, false])
    }

    @Test func skippedStreams() {
        var opened = HTTP2OpenedStreams()
        for stream in [1, 3, 9, 11] as [Int32] { opened.note(stream) }
        #expect([1, 3, 5, 7, 9, 11, 13].map { opened.hasSkipped($0) } == [false, false, true, true, false, false, false])
    }

    @Test func highestStreamFirst() {
        var opened = HTTP2OpenedStreams()
        opened.note(.max)
        #expect([0, 1, .max - 1, .max].map { opened.hasSkipped($0) } == [true, true, true, false])
    }

    @Test func continuationsAreCountedForEachHead() {
        var limits = HTTP2Limits()
        limits.continuations = 2
        var guardian = HTTP2FloodGuard(limits: limits)
        let outcomes = [1, 9, 9, 1, 9, 9, 9].map { type in
            guardian.allows(HTTP2Frame(type: type, flags: 0, stream: 1, length: 20), now: .now)
        }
        #expect(outcomes == [true, true, true, true, true, true, false])
    }

    /// A padded frame makes up for itself once, in however many pieces its payload comes.
    @Test(arguments: [[40], [16, 24], [1, 1, 13, 1, 24], [15], [7, 8]]) func paddedFrames(pieces: [Int]) {
        var limits = HTTP2Limits()
        limits.fruitlessFrames = 3
        var guardian = HTTP2FloodGuard(limits: limits)
        let start = ContinuousClock.Instant.now
        let padded = HTTP2Frame(type: HTTP2Frame.data, flags: HTTP2Frame.padded, stream: 1, length: 50)
        let ping = HTTP2Frame(type: HTTP2Frame.ping, flags: 0, stream: 0, length: 8)
        var outcomes = [guardian.allows(ping, now: start), guardian.allows(padded, now: start)]
        for piece in pieces { guardian.notePadded(piece) }
        outcomes += (0..<3).map { _ in guardian.allows(ping, now: start) }
        let isWorthwhile = pieces.reduce(0, +) >= 16
        #expect(outcomes == [true, true, true, isWorthwhile, false])
    }

    /// Each pseudo-field once; what is left out is the library's to refuse.
    private func head(_ fields: [(String, String)], endsStream: Bool = true) throws -> (HTTPRequestHead, Bool) {
        var collector = HTTP2HeadCollector()
        for (name, value) in fields {
            let verdict = collector.judge(
                nameLength: name.utf8.count, valueLength: value.utf8.count, list: 1 << 20, count: 100)
            if case .take = verdict { collector.add(name, value) }
        }
        return try collector.request(endsStream: endsStream, source: .inProcess, limits: HTTPLimits())
    }

    private let pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", "h"), (":path", "/a?b?c")]

    @Test func neutralHead() throws {
        let (head, expects) = try head(pseudo + [("x-a", "1"), ("cookie", "a"), ("x-b", "2"), ("cookie", "b")])
        #expect(!expects)
        #expect(head.path == "/a")
        #expect(head.query == "b?c")
        #expect(head.fields == ["x-a": "1", "x-b": "2", "cookie": "a; b"])
        #expect(head.contentLength == 0)
        #expect(try self.head(pseudo, endsStream: false).0.contentLength == nil)
        #expect(try self.head(pseudo + [("content-length", "7")], endsStream: false).0.contentLength == 7)
        #expect(try self.head(pseudo + [("expect", "100-Continue")], endsStream: false).1)
    }

    @Test func headsThatAreRefused() {
        func with(_ name: String, _ value: String) -> [(String, String)] { pseudo.map { $0.0 == name ? (name, value) : $0 } }
        let long = "/" + String(repeating: "a", count: HTTPLimits().requestLine)
        let cases: [([(String, String)], HTTPParseError)] = [
            (with(":method", "CONNECT"), .unsupportedMethod), (with(":method", "TRACE"), .unsupportedMethod),
            (with(":method", ""), .malformedRequestLine), (with(":path", "a"), .malformedTarget),
            (with(":path", "/\u{7F}"), .malformedTarget), (with(":path", "/\u{E9}"), .malformedTarget),
            (with(":path", "/a#"), .malformedTarget), (with(":path", long), .requestLineTooLong),
            (with(":scheme", "file"), .malformedTarget), (with(":authority", "a b"), .malformedHost),
            (with(":authority", "u@h"), .malformedHost), (with(":authority", ""), .malformedHost),
            (pseudo + [("host", "i")], .conflictingAuthority), (pseudo + [("host", "h"), ("host", "h")], .repeatedHost),
            (pseudo + [("content-length", "1"), ("content-length", "1")], .repeatedContentLength),
            (pseudo + [("content-length", "-1")], .malformedContentLength),
            (pseudo + [("expect", "more")], .unsupportedExpectation),
            (pseudo + (0..<101).map { ("a\($0)", "") }, .tooManyFields),
        ]
        for (fields, error) in cases { #expect(throws: error) { try head(fields) } }
        #expect(throws: Never.self) { try head(pseudo + (0..<100).map { ("a\($0)", "") }) }
    }
}
