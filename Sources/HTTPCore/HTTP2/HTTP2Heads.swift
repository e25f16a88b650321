// Heads in the form of HTTP/2 (RFC 9113 section 8.3) ↔ the neutral ones of HTTPMessage.swift, as strict as HTTP/1.1 is.

/// A field as it goes to the library.
struct HTTP2Field {
    let name: String
    let value: [UInt8]

    init(_ name: String, _ value: [UInt8]) {
        self.name = name
        self.value = value
    }

    init(_ name: String, text: String) { self.init(name, Array(text.utf8)) }
}

/// A header section while it is collected. The library has checked the syntax of fields, that pseudo-fields come first, once
/// and complete, and that no field speaks of the connection.
struct HTTP2HeadCollector {
    private(set) var fields = HTTPFields()
    private var method = ""
    private var scheme = ""
    private var authority: String?
    private var target = ""
    private(set) var status = 0
    private var cookie = ""
    private var size = 0
    private var count = 0
    /// The limit that is exceeded.
    private(set) var excess: HTTPParseError?

    /// What each field costs beside its bytes (RFC 9113 section 6.5.2).
    private static let overhead = 32
    /// Decoding more than this many times the limit is work for nothing.
    private static let patience = 16

    mutating func judge(nameLength: Int, valueLength: Int, list: Int, count limit: Int) -> HTTP2FieldVerdict {
        size += nameLength + valueLength + Self.overhead
        count += 1
        if size > list * Self.patience { return .stop }
        if size > list {
            excess = excess ?? .headerSectionTooLarge
        } else if count > limit {
            excess = excess ?? .tooManyFields
        }
        return excess == nil ? .take : .skip
    }

    /// Pseudo-fields do not count as fields, only as bytes.
    mutating func add(_ name: String, _ value: String) {
        switch name {
        case ":method": method = value
        case ":scheme": scheme = value
        case ":authority": authority = value
        case ":path": target = value
        case ":status": status = HTTPSyntax.decimal(value.utf8, digits: 3) ?? 0
        case "cookie": cookie += cookie.isEmpty ? value : "; " + value  // RFC 9113 section 8.2.3
        default:
            fields.append(name, value)
            return
        }
        if name.utf8.first == UInt8(ascii: ":") { count -= 1 }
    }

    /// The fields with the cookie in one piece.
    private var allFields: HTTPFields {
        var all = fields
        if !cookie.isEmpty { all.append("cookie", cookie) }
        return all
    }

    /// The head of a request, and whether its sender waits for `100 Continue`.
    func request(
        endsStream: Bool, source: HTTPSource, limits: HTTPLimits
    ) throws(HTTPParseError) -> (head: HTTPRequestHead, expectsContinue: Bool) {
        if let excess { throw excess }
        guard HTTPSyntax.isToken(method.utf8) else { throw .malformedRequestLine }
        if method == "CONNECT" || method == "TRACE" { throw .unsupportedMethod }
        if target == "*" { throw method == "OPTIONS" ? .unsupportedMethod : .malformedTarget }
        if target.utf8.count > limits.requestLine { throw .requestLineTooLong }
        guard target.utf8.first == UInt8(ascii: "/"),
            target.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
        else { throw .malformedTarget }
        let scheme = HTTPFields.lowercased(scheme)
        guard scheme == "http" || scheme == "https" else { throw .malformedTarget }

        let hosts = fields.values("host")
        if hosts.count > 1 { throw .repeatedHost }
        guard let name = authority ?? hosts.first else { throw .missingHost }
        guard HTTPSyntax.isAuthority(name.utf8) else { throw .malformedHost }
        if let host = hosts.first, HTTPFields.lowercased(host) != HTTPFields.lowercased(name) { throw .conflictingAuthority }

        let lengths = fields.values("content-length")
        if lengths.count > 1 { throw .repeatedContentLength }
        var length: Int? = endsStream ? 0 : nil
        if let text = lengths.first {
            guard let number = HTTPSyntax.decimal(text.utf8, digits: 18) else { throw .malformedContentLength }
            length = number
        }
        let expectations = fields.values("expect")
        if expectations.contains(where: { HTTPFields.lowercased($0) != "100-continue" }) { throw .unsupportedExpectation }

        let mark = target.firstIndex(of: "?")
        let head = HTTPRequestHead(
            method: method, scheme: scheme, authority: name, path: String(target[..<(mark ?? target.endIndex)]),
            query: mark.map { String(target[target.index(after: $0)...]) }, fields: allFields, source: source,
            contentLength: length, version: .http2)
        return (head, !expectations.isEmpty && !endsStream)
    }

    /// The head of a response.
    func response() throws(HTTPParseError) -> HTTPResponse {
        if let excess { throw excess }
        guard (100...599).contains(status) else { throw .malformedStatusLine }
        if status == 101 { throw .unexpectedUpgrade }
        return HTTPResponse(status: status, fields: allFields)
    }
}

/// Neutral heads → fields. Everything is checked, so that no value can break the frame it goes into.
enum HTTP2Serializer {
    /// The fields of a request. `content-length` is written unless there is no body and none is expected.
    static func request(_ head: HTTPRequestHead, contentLength: Int) throws(HTTPSerializationError) -> [HTTP2Field] {
        guard HTTPSyntax.isToken(head.method.utf8) else { throw .invalidMethod }
        let target = head.query.map { head.path + "?" + $0 } ?? head.path
        guard target.utf8.first == UInt8(ascii: "/"),
            target.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
        else { throw .invalidTarget }
        guard HTTPSyntax.isAuthority(head.authority.utf8) else { throw .invalidAuthority }
        var list = [
            HTTP2Field(":method", text: head.method), HTTP2Field(":scheme", text: head.scheme),
            HTTP2Field(":authority", text: head.authority), HTTP2Field(":path", text: target),
        ]
        for field in head.fields where field.name != "host" { try append(field, to: &list) }
        if contentLength > 0 || (head.method != "GET" && head.method != "HEAD") {
            list.append(HTTP2Field("content-length", text: "\(contentLength)"))
        }
        return list
    }

    /// The fields of a response; `content-length` as HTTP/1.1 has it.
    static func response(_ response: HTTPResponse, date: String) throws(HTTPSerializationError) -> [HTTP2Field] {
        guard (200...599).contains(response.status) else { throw .invalidStatus }
        var list = [HTTP2Field(":status", text: "\(response.status)"), HTTP2Field("date", text: date)]
        list.reserveCapacity(response.fields.count + 3)
        for field in response.fields where field.name != "date" { try append(field, to: &list) }
        if response.status != 204, response.status != 304 {
            list.append(HTTP2Field("content-length", text: "\(response.body.count)"))
        }
        return list
    }

    private static func append(_ field: HTTPFields.Field, to list: inout [HTTP2Field]) throws(HTTPSerializationError) {
        if HTTP1Serializer.connectionFields.contains(field.name) { return }
        guard HTTPSyntax.isToken(field.name.utf8) else { throw .invalidFieldName }
        guard let value = HTTPSyntax.bytes(field.value), value.allSatisfy(HTTPSyntax.isValueByte) else {
            throw .invalidFieldValue
        }
        list.append(HTTP2Field(field.name, Array(HTTPSyntax.trimmed(value[...]))))
    }
}
