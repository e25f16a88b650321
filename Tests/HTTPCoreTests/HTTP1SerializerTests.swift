// Serialisation, alone and against the parsers.

import HTTPCore
import Testing

@Suite struct HTTP1SerializerTests {
    @Test func requestRoundTrip() throws {
        let head = HTTPRequestHead(
            method: "POST", authority: "h:1", path: "/p", query: "q", fields: ["X-B": "\u{e9} y", "Connection": "x", "A": "1"],
            contentLength: 3)
        let bytes = try HTTP1Serializer.requestHead(head, contentLength: 3) + Array("abc".utf8)
        let parsed = try #require(parse([bytes[...]]).heads.first)
        #expect(parsed.head.path == "/p")
        #expect(parsed.head.query == "q")
        #expect(parsed.head.authority == "h:1")
        #expect(parsed.head.fields == ["host": "h:1", "x-b": "\u{e9} y", "a": "1", "content-length": "3"])
    }

    @Test func responseHead() throws {
        let response = HTTPResponse(
            status: 404, fields: ["Content-Type": "a/b", "content-length": "99", "transfer-encoding": "x", "date": "y"])
        let bytes = try HTTP1Serializer.responseHead(response, contentLength: 3, date: "D", closes: true)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "HTTP/1.1 404 Not Found\r\ndate: D\r\ncontent-type: a/b\r\ncontent-length: 3\r\nconnection: close\r\n\r\n")
        let empty = try HTTP1Serializer.responseHead(HTTPResponse(status: 204), contentLength: 0, date: "D", closes: false)
        #expect(String(decoding: empty, as: UTF8.self) == "HTTP/1.1 204 No Content\r\ndate: D\r\n\r\n")
    }

    @Test(
        arguments: [
            (["a": "b\r\nc: d"], .invalidFieldValue),
            (["a": "\0"], .invalidFieldValue), (["a": "\u{100}"], .invalidFieldValue), (["a b": "c"], .invalidFieldName),
            (["": "c"], .invalidFieldName), (["a\r\n": "c"], .invalidFieldName),
        ] as [(HTTPFields, HTTPSerializationError)])
    func splittingIsRefused(fields: HTTPFields, error: HTTPSerializationError) {
        #expect(throws: error) {
            try HTTP1Serializer.responseHead(
                HTTPResponse(status: 200, fields: fields), contentLength: 0, date: "D", closes: false)
        }
        #expect(throws: error) {
            try HTTP1Serializer.requestHead(
                HTTPRequestHead(method: "GET", authority: "h", path: "/", fields: fields), contentLength: 0)
        }
    }

    @Test(arguments: [
        ("GET", "h", "x", HTTPSerializationError.invalidTarget), ("GET", "h", "/ x", .invalidTarget),
        ("GET", "h", "/\r\n", .invalidTarget),
        ("GET", "h", "/#", .invalidTarget), ("GET", "", "/", .invalidAuthority), ("GET", "a b", "/", .invalidAuthority),
        ("G T", "h", "/", .invalidMethod), ("", "h", "/", .invalidMethod),
    ])
    func badRequests(method: String, authority: String, path: String, error: HTTPSerializationError) {
        #expect(throws: error) {
            try HTTP1Serializer.requestHead(
                HTTPRequestHead(method: method, authority: authority, path: path), contentLength: 0)
        }
    }

    @Test(arguments: [99, 100, 199, 600, -1])
    func badStatus(status: Int) {
        #expect(throws: HTTPSerializationError.invalidStatus) {
            try HTTP1Serializer.responseHead(HTTPResponse(status: status), contentLength: 0, date: "D", closes: false)
        }
    }

    @Test(arguments: [0, 1, 9, 10, 11, 100])
    func chunksParseBack(count: Int) throws {
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let head = HTTPRequestHead(method: "POST", authority: "h", path: "/")
        let bytes =
            try HTTP1Serializer.requestHead(head, contentLength: 0, chunked: true) + HTTP1Serializer.chunks(body, size: 10)
        #expect(parse([bytes[...]]).bodies == [body])
    }

    @Test(
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] as [(Int64, String)])
    func date(time: Int64, text: String) {
        #expect(HTTPDate.text(unixTime: time) == text)
        #expect(HTTPDate.unixTime(text) == time)
    }

    @Test(arguments: [
        "", "Sun, 06 Nov 1994 08:49:37", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Jun 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:3x GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "S, 1 Jan -2147483648 1:1:1 GMT",
    ])
    func noDate(text: String) { #expect(HTTPDate.unixTime(text) == nil) }
}
