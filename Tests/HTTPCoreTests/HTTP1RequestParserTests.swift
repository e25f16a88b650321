// The request parser: what it makes of good requests, and the refusal of each rule of service.md 5.3.

import HTTPCore
import Testing

@Suite struct HTTP1RequestParserTests {
    @Test func originForm() throws {
        let verdict = parse(
            "POST /a/../%2F?x=1?y HTTP/1.1\r\nHost: h:1\r\nX-A:\t one \r\nx-a: two\r\nContent-Length: 3\r\n\r\nabc")
        #expect(verdict.error == nil)
        let head = try #require(verdict.heads.first).head
        #expect(head.method == "POST")
        #expect(head.scheme == "http")
        #expect(head.authority == "h:1")
        #expect(head.path == "/a/../%2F")
        #expect(head.query == "x=1?y")
        #expect(head.fields.values("X-A") == ["one", "two"])
        #expect(head.fields.map(\.name) == ["host", "x-a", "x-a", "content-length"])
        #expect(head.contentLength == 3)
        #expect(verdict.bodies == [Array("abc".utf8)])
        #expect(verdict.isBetweenRequests)
    }

    @Test func absoluteFormReplacesHost() throws {
        let head = try #require(parse("GET HTTPS://real:8?q HTTP/1.1\r\nHost: other\r\n\r\n").heads.first).head
        #expect(head.authority == "real:8")
        #expect(head.scheme == "https")
        #expect(head.path == "/")
        #expect(head.query == "q")
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", true), ("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n", false),
        ("GET / HTTP/1.0\r\n\r\n", false), ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", false),
    ])
    func keepAlive(text: String, keeps: Bool) throws {
        #expect(try #require(parse(text).heads.first).keepsAlive == keeps)
    }

    @Test func pipelinedAndEmptyLines() {
        let verdict = parse(
            "\r\n\r\nGET /1 HTTP/1.1\r\nHost: h\r\n\r\nPOST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"
                + "\r\nPOST /3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n2;e=\"v\"\r\nab\r\nA\r\n0123456789\r\n000\r\nT: v\r\n\r\n"
                + "GET /4 HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(verdict.error == nil)
        #expect(verdict.heads.map(\.head.path) == ["/1", "/2", "/3", "/4"])
        #expect(verdict.bodies == [[], Array("x".utf8), Array("ab0123456789".utf8), []])
        #expect(verdict.heads[2].framing == .chunked)
    }

    @Test func expectation() throws {
        let start = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\n"
        #expect(try #require(parse(start + "Content-Length: 1\r\n\r\n").heads.first).expectsContinue)
        #expect(try !#require(parse(start + "Content-Length: 0\r\n\r\n").heads.first).expectsContinue)
        #expect(try !#require(parse("GET / HTTP/1.0\r\nExpect: x\r\n\r\n").heads.first).expectsContinue)
    }

    @Test func opaqueBytesPassUnchanged() throws {
        let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\nX: ".utf8) + [0xE9, 0xFF] + Array("\r\n\r\n".utf8)
        let value = try #require(parse([bytes[...]]).heads.first?.head.fields["x"])
        #expect(value.unicodeScalars.map(\.value) == [0xE9, 0xFF])
    }

    /// The rest of a request after its first line.
    private static let ok = "Host: h\r\n\r\n"
    /// A POST up to its framing fields.
    private static let post = "POST / HTTP/1.1\r\nHost: h\r\n"
    private static let chunked = post + "Transfer-Encoding: chunked\r\n\r\n"

    static let refusals: [(String, HTTPParseError, Int)] = [
        // Request line.
        ("GET / HTTP/1.1\n" + ok, .bareLineFeed, 400), ("GET /\rx HTTP/1.1\r\n" + ok, .bareCarriageReturn, 400),
        ("GET / HTTP/1.1\r\r\n" + ok, .bareCarriageReturn, 400),
        ("\r\n\r\n\r\nGET / HTTP/1.1\r\n" + ok, .tooManyEmptyLines, 400),
        ("GET  / HTTP/1.1\r\n" + ok, .malformedRequestLine, 400), ("GET / HTTP/1.1 \r\n" + ok, .malformedRequestLine, 400),
        (" GET / HTTP/1.1\r\n" + ok, .malformedRequestLine, 400), ("GET /\r\n" + ok, .malformedRequestLine, 400),
        ("GET\t/ HTTP/1.1\r\n" + ok, .malformedRequestLine, 400), ("G(T / HTTP/1.1\r\n" + ok, .malformedRequestLine, 400),
        ("GET / http/1.1\r\n" + ok, .malformedRequestLine, 400), ("GET / HTTP/1.11\r\n" + ok, .malformedRequestLine, 400),
        ("GET / HTTP/1.2\r\n" + ok, .unsupportedVersion, 505), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .unsupportedVersion, 505),
        ("GET / HTTP/0.9\r\n" + ok, .unsupportedVersion, 505),
        ("CONNECT h:443 HTTP/1.1\r\n" + ok, .unsupportedMethod, 501), ("TRACE / HTTP/1.1\r\n" + ok, .unsupportedMethod, 501),
        ("OPTIONS * HTTP/1.1\r\n" + ok, .unsupportedMethod, 501), ("GET * HTTP/1.1\r\n" + ok, .malformedTarget, 400),
        ("GET h:80 HTTP/1.1\r\n" + ok, .malformedTarget, 400), ("GET /a#b HTTP/1.1\r\n" + ok, .malformedTarget, 400),
        ("GET /\u{e9} HTTP/1.1\r\n" + ok, .malformedTarget, 400), ("GET /\0 HTTP/1.1\r\n" + ok, .malformedTarget, 400),
        ("GET /\u{7f} HTTP/1.1\r\n" + ok, .malformedTarget, 400), ("GET ftp://h/ HTTP/1.1\r\n" + ok, .malformedTarget, 400),
        ("GET http:///x HTTP/1.1\r\n" + ok, .malformedTarget, 400),
        ("GET http://u@h/ HTTP/1.1\r\n" + ok, .malformedTarget, 400),
        // Fields.
        ("GET / HTTP/1.1\r\nHost: h\n\r\n", .bareLineFeed, 400), ("GET / HTTP/1.1\r\nHost: h\r\n\n", .bareLineFeed, 400),
        ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", .malformedFieldName, 400),
        ("GET / HTTP/1.1\r\n: h\r\n\r\n", .malformedFieldName, 400),
        ("GET / HTTP/1.1\r\nHost\r\n\r\n", .malformedFieldName, 400),
        ("GET / HTTP/1.1\r\nH\0st: h\r\n\r\n", .malformedFieldName, 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", .foldedField, 400),
        ("GET / HTTP/1.1\r\n Host: h\r\n\r\n", .foldedField, 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n\tc\r\n\r\n", .foldedField, 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n", .malformedFieldValue, 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: b\u{7f}\r\n\r\n", .malformedFieldValue, 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: b\u{1}\r\n\r\n", .malformedFieldValue, 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: b\rc: d\r\n\r\n", .bareCarriageReturn, 400),
        // Host.
        ("GET / HTTP/1.1\r\n\r\n", .missingHost, 400), ("GET http://h/ HTTP/1.1\r\n\r\n", .missingHost, 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", .repeatedHost, 400),
        ("GET / HTTP/1.0\r\nHost: h\r\nHost: i\r\n\r\n", .repeatedHost, 400),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", .malformedHost, 400), ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", .malformedHost, 400),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .malformedHost, 400),
        ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", .malformedHost, 400),
        ("GET / HTTP/1.1\r\nHost: a:70000\r\n\r\n", .malformedHost, 400),
        ("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", .malformedHost, 400),
        ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", .malformedHost, 400),
        // Length: every smuggling pair.
        (post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", .conflictingLength, 400),
        (post + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", .conflictingLength, 400),
        (post + "Transfer-Encoding: x\r\nContent-Length: 0\r\n\r\n", .conflictingLength, 400),
        (post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", .repeatedContentLength, 400),
        (post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", .repeatedContentLength, 400),
        (post + "Content-Length: 1, 1\r\n\r\n", .malformedContentLength, 400),
        (post + "Content-Length: +1\r\n\r\n", .malformedContentLength, 400),
        (post + "Content-Length: -1\r\n\r\n", .malformedContentLength, 400),
        (post + "Content-Length:\r\n\r\n", .malformedContentLength, 400),
        (post + "Content-Length: 1 1\r\n\r\n", .malformedContentLength, 400),
        (post + "Content-Length: 0x1\r\n\r\n", .malformedContentLength, 400),
        (post + "Content-Length: 0000000000000000001\r\n\r\n", .malformedContentLength, 400),
        (post + "Content-Length: 999999999999999999\r\n\r\n", .bodyTooLarge, 413),
        (post + "Transfer-Encoding: gzip\r\n\r\n", .unsupportedTransferEncoding, 501),
        (post + "Transfer-Encoding: gzip, chunked\r\n\r\n", .unsupportedTransferEncoding, 501),
        (post + "Transfer-Encoding: chunked, chunked\r\n\r\n", .unsupportedTransferEncoding, 501),
        (post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", .unsupportedTransferEncoding, 501),
        (post + "Transfer-Encoding: identity\r\n\r\n", .unsupportedTransferEncoding, 501),
        (post + "Transfer-Encoding:\r\n\r\n", .unsupportedTransferEncoding, 501),
        (post + "Transfer-Encoding: xchunked\r\n\r\n", .unsupportedTransferEncoding, 501),
        (post + "Transfer-Encoding : chunked\r\n\r\n", .malformedFieldName, 400),
        (post + "Transfer-Encoding:\u{b}chunked\r\n\r\n", .malformedFieldValue, 400),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncodingInOldVersion, 400),
        (post + "Expect: 200-ok\r\n\r\n", .unsupportedExpectation, 417),
        // Chunks.
        (chunked + "\r\n", .malformedChunkSize, 400), (chunked + "g\r\n", .malformedChunkSize, 400),
        (chunked + "0x1\r\n", .malformedChunkSize, 400),
        (chunked + "1 \r\n", .malformedChunkSize, 400), (chunked + " 1\r\n", .malformedChunkSize, 400),
        (chunked + "-1\r\n", .malformedChunkSize, 400),
        (chunked + "1\n", .bareLineFeed, 400), (chunked + "1;a\0\r\n", .malformedChunkSize, 400),
        (chunked + "1;a\rb\r\n", .bareCarriageReturn, 400), (chunked + "0000000000000001\r\n", .malformedChunkSize, 400),
        (chunked + "fffffffffffffff\r\n", .bodyTooLarge, 413), (chunked + "1\r\nab", .malformedChunkEnd, 400),
        (chunked + "1\r\na\n0\r\n", .malformedChunkEnd, 400), (chunked + "1\r\na\rb", .malformedChunkEnd, 400),
        (chunked + "0\r\nA : b\r\n\r\n", .malformedFieldName, 400), (chunked + "0\r\nA: b\n\r\n", .bareLineFeed, 400),
    ]

    @Test(arguments: refusals)
    func refused(text: String, error: HTTPParseError, status: Int) {
        #expect(error.status == status)
        let bytes = Array(text.utf8)
        #expect(parse([bytes[...]]).error == error)
        #expect(parse(singly(bytes)).error == error, "byte by byte")
    }

    @Test func errorsAreFinal() {
        var parser = HTTP1RequestParser()
        parser.append(Array("GET\r\n".utf8)[...])
        #expect(throws: HTTPParseError.malformedRequestLine) { try parser.next() }
        parser.append(Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)[...])
        #expect(throws: HTTPParseError.malformedRequestLine) { try parser.next() }
    }
}
