// Each limit of the parser at its value and one beyond, whole and byte by byte.

import HTTPCore
import Testing

@Suite struct HTTP1LimitTests {
    private func check(
        _ text: String, _ error: HTTPParseError?, _ limits: HTTPLimits = HTTPLimits(), bodyLimit: Int = 1 << 20,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let bytes = Array(text.utf8)
        #expect(parse([bytes[...]], limits: limits, bodyLimit: bodyLimit).error == error, sourceLocation: sourceLocation)
        #expect(parse(singly(bytes), limits: limits, bodyLimit: bodyLimit).error == error, sourceLocation: sourceLocation)
    }

    @Test(arguments: [(0, nil), (1, HTTPParseError.requestLineTooLong)])
    func requestLine(excess: Int, error: HTTPParseError?) {
        let line = "GET /" + String(repeating: "a", count: 8192 - 14 + excess) + " HTTP/1.1"
        #expect(line.utf8.count == 8192 + excess)
        check(line + "\r\nHost: h\r\n\r\n", error)
        #expect(HTTPParseError.requestLineTooLong.status == 414)
    }

    @Test(arguments: [(0, nil), (1, HTTPParseError.headerSectionTooLarge)])
    func headerSection(excess: Int, error: HTTPParseError?) {
        let first = "Host: h\r\n"
        let second = "A: " + String(repeating: "b", count: 32 * 1024 - first.utf8.count - 5 + excess) + "\r\n"
        #expect((first + second).utf8.count == 32 * 1024 + excess)
        check("GET / HTTP/1.1\r\n" + first + second + "\r\n", error)
        #expect(HTTPParseError.headerSectionTooLarge.status == 431)
    }

    @Test(arguments: [(100, nil), (101, HTTPParseError.tooManyFields)])
    func fieldCount(count: Int, error: HTTPParseError?) {
        check("GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "A: b\r\n", count: count - 1) + "\r\n", error)
        let trailers = String(repeating: "A: b\r\n", count: count)
        check("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + trailers + "\r\n", error)
        #expect(HTTPParseError.tooManyFields.status == 431)
    }

    @Test(arguments: [(256, nil), (257, HTTPParseError.malformedChunkSize)])
    func chunkExtension(count: Int, error: HTTPParseError?) {
        let text = ";" + String(repeating: "e", count: count - 1)
        check("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\(text)\r\na\r\n0\r\n\r\n", error)
    }

    @Test(arguments: [(10, nil), (11, HTTPParseError.bodyTooLarge)])
    func contentLength(count: Int, error: HTTPParseError?) {
        let body = String(repeating: "x", count: count)
        check("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(count)\r\n\r\n" + body, error, bodyLimit: 10)
    }

    /// `5\r\nabcde\r\n0\r\n` counts 13 bytes.
    @Test(arguments: [(13, nil), (12, HTTPParseError.bodyTooLarge)])
    func chunkOverheadCounts(limit: Int, error: HTTPParseError?) {
        let text = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
        check(text, error, bodyLimit: limit)
    }

    @Test func unendedLinesAreRefusedEarly() {
        let endless = String(repeating: "a", count: 40_000)
        check(endless, .requestLineTooLong)
        check("GET / HTTP/1.1\r\nHost: h\r\nA: " + endless, .headerSectionTooLarge)
        check("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;" + endless, .malformedChunkSize)
    }
}
