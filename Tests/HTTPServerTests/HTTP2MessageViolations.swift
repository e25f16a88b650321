// Violations of RFC 9113 section 8: requests that are malformed, and how HTTP itself is mapped.

import HTTPCore

extension Violation {
    static let messages: [Violation] = malformed + fields + pseudo

    private static func request(_ fields: [(String, String)]) -> [UInt8] { Wire.headers(1, fields, flags: Flag.whole) }

    private static func with(_ name: String, _ value: String) -> [UInt8] { request(Wire.pseudo + [(name, value)]) }

    private static func bytes(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
        Wire.frame(FrameType.headers, Flag.whole, stream: 1, Wire.block(Wire.pseudo) + Wire.field(name, value))
    }

    private static func without(_ name: String, _ more: [(String, String)] = []) -> [UInt8] {
        request(Wire.pseudo.filter { $0.0 != name } + more)
    }

    private static func replacing(_ name: String, _ value: String) -> [UInt8] {
        request(Wire.pseudo.map { $0.0 == name ? (name, value) : $0 })
    }

    private static func post(_ more: [(String, String)], _ frames: [UInt8]) -> [UInt8] {
        Wire.headers(1, Wire.post + more, flags: Flag.endHeaders) + frames
    }

    private static func data(_ bytes: [UInt8], ends: Bool) -> [UInt8] {
        Wire.frame(FrameType.data, ends ? Flag.endStream : 0, stream: 1, bytes)
    }

    private static let malformed: [Violation] = [
        Violation(
            "8.1", "trailers that do not end the stream", .reset(.protocolError),
            post([], data([1], ends: false) + Wire.headers(1, [("a", "b")], flags: Flag.endHeaders))),
        Violation(
            "8.1", "trailers are taken and dropped", .status(200),
            post([], data([1], ends: false) + Wire.headers(1, [("a", "b")], flags: Flag.whole))),
        Violation(
            "8.1", "pseudo-fields in trailers", .reset(.protocolError),
            post([], data([1], ends: false) + Wire.headers(1, [(":path", "/")], flags: Flag.whole))),
        Violation(
            "8.1.1", "content-length above the sum of DATA", .reset(.protocolError),
            post([("content-length", "2")], data([1], ends: true))),
        Violation(
            "8.1.1", "content-length below the sum of DATA", .reset(.protocolError),
            post([("content-length", "1")], data([1], ends: false) + data([2], ends: true))),
        Violation("8.1.1", "content-length without DATA", .reset(.protocolError), with("content-length", "1")),
        Violation("8.1.1", "content-length that is no number", .reset(.protocolError), with("content-length", "+0")),
        Violation(
            "8.1.1", "content-length twice", .reset(.protocolError),
            post([("content-length", "1"), ("content-length", "1")], data([1], ends: true))),
        Violation("8.1.1", "content-length of 19 digits", .status(400), post([("content-length", "0000000000000000001")], [])),
        Violation("8.5", "CONNECT is not offered", .status(501), connect),
    ]

    private static let connect = request([(":method", "CONNECT"), (":authority", "h:443")])

    private static let fields: [Violation] = [
        Violation("8.2", "an upper-case letter in a name", .reset(.protocolError), with("X-Big", "1")),
        Violation("8.2.1", "a space in a name", .reset(.protocolError), with("a b", "1")),
        Violation("8.2.1", "an empty name", .reset(.protocolError), with("", "1")),
        Violation("8.2.1", "a colon inside a name", .reset(.protocolError), with("a:b", "1")),
        Violation("8.2.1", "a byte above 0x7F in a name", .reset(.protocolError), bytes([0x61, 0xE9], [0x31])),
        Violation("8.2.1", "NUL in a value", .reset(.protocolError), bytes([0x61], [0x62, 0])),
        Violation("8.2.1", "CR in a value", .reset(.protocolError), bytes([0x61], [0x62, 0x0D, 0x63])),
        Violation("8.2.1", "LF in a value", .reset(.protocolError), bytes([0x61], [0x62, 0x0A, 0x63])),
        Violation("8.2.1", "white space before a value", .reset(.protocolError), with("a", " b")),
        Violation("8.2.1", "white space behind a value", .reset(.protocolError), with("a", "b\t")),
        Violation("8.2.1", "a byte above 0x7F in a value is allowed", .status(200), bytes([0x61], [0x62, 0xE9])),
        Violation("8.2.2", "connection", .reset(.protocolError), with("connection", "close")),
        Violation("8.2.2", "keep-alive", .reset(.protocolError), with("keep-alive", "1")),
        Violation("8.2.2", "proxy-connection", .reset(.protocolError), with("proxy-connection", "close")),
        Violation("8.2.2", "transfer-encoding", .reset(.protocolError), with("transfer-encoding", "chunked")),
        Violation("8.2.2", "upgrade", .reset(.protocolError), with("upgrade", "h2c")),
        Violation("8.2.2", "te other than trailers", .reset(.protocolError), with("te", "gzip")),
        Violation("8.2.2", "te: trailers is allowed", .status(200), with("te", "trailers")),
    ]

    private static let pseudo: [Violation] = [
        Violation("8.3", "an unknown pseudo-field", .reset(.protocolError), request(Wire.pseudo + [(":new", "1")])),
        Violation("8.3", "a pseudo-field of responses", .reset(.protocolError), request(Wire.pseudo + [(":status", "200")])),
        Violation(
            "8.3", "a pseudo-field behind a field", .reset(.protocolError),
            request(Wire.pseudo.dropLast() + [("a", "b"), (":path", "/")])),
        Violation("8.3.1", "no :method", .reset(.protocolError), without(":method")),
        Violation("8.3.1", "no :scheme", .reset(.protocolError), without(":scheme")),
        Violation("8.3.1", "no :path", .reset(.protocolError), without(":path")),
        Violation("8.3.1", "an empty :path", .reset(.protocolError), replacing(":path", "")),
        Violation("8.3.1", ":path without slash", .reset(.protocolError), replacing(":path", "a")),
        Violation("8.3.1", "a fragment in :path", .status(400), replacing(":path", "/a#b")),
        Violation("8.3.1", ":path * without OPTIONS", .reset(.protocolError), replacing(":path", "*")),
        Violation(
            "8.3.1", "OPTIONS * is not offered", .status(501),
            request([(":method", "OPTIONS"), (":scheme", "http"), (":authority", "h"), (":path", "*")])),
        Violation("8.3.1", ":method twice", .reset(.protocolError), request([(":method", "GET")] + Wire.pseudo)),
        Violation("8.3.1", ":scheme twice", .reset(.protocolError), request([(":scheme", "http")] + Wire.pseudo)),
        Violation("8.3.1", ":path twice", .reset(.protocolError), request([(":path", "/")] + Wire.pseudo)),
        Violation("8.3.1", ":authority twice", .reset(.protocolError), request([(":authority", "h")] + Wire.pseudo)),
        Violation("8.3.1", "neither :authority nor host", .reset(.protocolError), without(":authority")),
        Violation("8.3.1", "host alone is enough", .status(200), without(":authority", [("host", "h")])),
        Violation("8.3.1", "host as :authority", .status(200), with("host", "H")),
        Violation("8.3.1", "host other than :authority", .status(400), with("host", "other")),
        Violation("8.3.1", "user information in :authority", .status(400), replacing(":authority", "user@h")),
        Violation("8.3.1", "another scheme than http and https", .status(400), replacing(":scheme", "ftp")),
        Violation("8.3.1", "a method that is no token", .reset(.protocolError), replacing(":method", "G T")),
        Violation("8.3.1", "TRACE is not offered", .status(501), replacing(":method", "TRACE")),
        Violation(
            "8.5", "CONNECT with :path", .reset(.protocolError),
            request([(":method", "CONNECT"), (":authority", "h:443"), (":path", "/"), (":scheme", "http")])),
        Violation(
            "8.5", "extended CONNECT, which was not offered", .reset(.protocolError),
            request(Wire.pseudo.map { $0.0 == ":method" ? (":method", "CONNECT") : $0 } + [(":protocol", "websocket")])),
        Violation("RFC 9110 10.1.1", "an expectation other than 100-continue", .status(417), post([("expect", "200-ok")], [])),
    ]
}
