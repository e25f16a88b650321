// Requests and responses → HTTP/1.1 bytes (RFC 9112). Everything is checked, so that no value can smuggle a line end.

/// A message that cannot be put on the wire. No case carries a byte of it.
public enum HTTPSerializationError: String, Error, Sendable, Equatable, CustomStringConvertible {
    /// The method is not a token.
    case invalidMethod
    /// The path does not begin with `/`, or path or query hold bytes that are not visible ASCII, or `#`.
    case invalidTarget
    /// The authority is not a host with an optional port.
    case invalidAuthority
    /// A field name is not a token.
    case invalidFieldName
    /// A field value holds a control byte, or a scalar above U+00FF.
    case invalidFieldValue
    /// The status is not in 200–599.
    case invalidStatus

    /// What was expected.
    public var description: String {
        switch self {
        case .invalidMethod: "the method must be a token"
        case .invalidTarget: "the path must begin with a slash; path and query must be visible ASCII without '#'"
        case .invalidAuthority: "the authority must be a host name or address with an optional port"
        case .invalidFieldName: "a field name must be a token"
        case .invalidFieldValue: "a field value must not hold control bytes or scalars above U+00FF"
        case .invalidStatus: "the status must be in 200 to 599"
        }
    }
}

/// Writes messages in the form of HTTP/1.1.
public enum HTTP1Serializer {
    /// The interim answer to `Expect: 100-continue`.
    public static let continueResponse = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Fields that describe the connection or the framing; the serialiser writes them itself.
    static let connectionFields: Set<String> = [
        "connection", "content-length", "transfer-encoding", "keep-alive", "proxy-connection", "upgrade", "te", "trailer",
    ]

    /// The head of a request with `Host` and its framing; the body follows as it is, or as `chunks` when `chunked`.
    /// `contentLength` 0 with GET or HEAD writes no Content-Length.
    public static func requestHead(
        _ head: HTTPRequestHead, contentLength: Int, chunked: Bool = false, closes: Bool = false
    ) throws(HTTPSerializationError) -> [UInt8] {
        guard HTTPSyntax.isToken(head.method.utf8) else { throw .invalidMethod }
        let target = head.query.map { head.path + "?" + $0 } ?? head.path
        guard target.utf8.first == UInt8(ascii: "/"),
            target.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
        else { throw .invalidTarget }
        guard HTTPSyntax.isAuthority(head.authority.utf8) else { throw .invalidAuthority }
        var out = Array("\(head.method) \(target) HTTP/1.1\r\nhost: \(head.authority)\r\n".utf8)
        for field in head.fields where field.name != "host" && !connectionFields.contains(field.name) {
            try append(field, to: &out)
        }
        if chunked {
            out += "transfer-encoding: chunked\r\n".utf8
        } else if contentLength > 0 || (head.method != "GET" && head.method != "HEAD") {
            out += "content-length: \(contentLength)\r\n".utf8
        }
        if closes { out += "connection: close\r\n".utf8 }
        out += "\r\n".utf8
        return out
    }

    /// The head of a response. `contentLength` is that of the body a GET would have; 204 and 304 carry none.
    /// `minorVersion` is the request's: a 1.0 peer that keeps the connection is told so.
    public static func responseHead(
        _ response: HTTPResponse, contentLength: Int, date: String, closes: Bool, minorVersion: Int = 1
    ) throws(HTTPSerializationError) -> [UInt8] {
        guard (200...599).contains(response.status) else { throw .invalidStatus }
        var out: [UInt8] = []
        out.reserveCapacity(256)
        out += "HTTP/1.1 \(response.status) \(HTTPStatus.reason(response.status))\r\ndate: \(date)\r\n".utf8
        for field in response.fields where field.name != "date" && !connectionFields.contains(field.name) {
            try append(field, to: &out)
        }
        if response.status != 204, response.status != 304 { out += "content-length: \(contentLength)\r\n".utf8 }
        if closes {
            out += "connection: close\r\n".utf8
        } else if minorVersion == 0 {
            out += "connection: keep-alive\r\n".utf8
        }
        out += "\r\n".utf8
        return out
    }

    /// A body in chunked coding, in chunks of at most `size` bytes (at least 1), with the last chunk and no trailers.
    public static func chunks(_ body: [UInt8], size: Int = 64 * 1024) -> [UInt8] {
        var out: [UInt8] = []
        var rest = body[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(max(1, size))
            out += String(chunk.count, radix: 16).utf8
            out += "\r\n".utf8
            out += chunk
            out += "\r\n".utf8
            rest = rest.dropFirst(chunk.count)
        }
        out += "0\r\n\r\n".utf8
        return out
    }

    private static func append(_ field: HTTPFields.Field, to out: inout [UInt8]) throws(HTTPSerializationError) {
        guard HTTPSyntax.isToken(field.name.utf8) else { throw .invalidFieldName }
        guard let value = HTTPSyntax.bytes(field.value), value.allSatisfy(HTTPSyntax.isValueByte) else {
            throw .invalidFieldValue
        }
        out += field.name.utf8
        out += ": ".utf8
        out += value
        out += "\r\n".utf8
    }
}
