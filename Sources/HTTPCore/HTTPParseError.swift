// What can be wrong with a message on the wire, and the status each fault is answered with (service.md 5.3).
// No case carries bytes of the message: these errors may be logged and counted.

/// A fault of an HTTP message. `status` is the answer a server gives before it closes the connection.
public enum HTTPParseError: String, Error, Sendable, Equatable, CaseIterable, CustomStringConvertible {
    /// A line ended by LF without CR.
    case bareLineFeed
    /// A CR inside a line.
    case bareCarriageReturn
    /// More empty lines before the request line than allowed.
    case tooManyEmptyLines
    /// The request line is not `method SP target SP version`.
    case malformedRequestLine
    /// The request line is longer than `HTTPLimits.requestLine`.
    case requestLineTooLong
    /// The target is neither origin-form nor absolute-form or has forbidden bytes.
    case malformedTarget
    /// A version other than 1.0 and 1.1.
    case unsupportedVersion
    /// CONNECT, TRACE or `OPTIONS *`.
    case unsupportedMethod
    /// A field line without a token before the colon, or with white space before it.
    case malformedFieldName
    /// A control byte in a field value.
    case malformedFieldValue
    /// A line that continues the one before (obs-fold).
    case foldedField
    /// The section is longer than `HTTPLimits.headerSection`.
    case headerSectionTooLarge
    /// More fields than `HTTPLimits.fieldCount`.
    case tooManyFields
    /// No `Host` in a 1.1 request.
    case missingHost
    /// More than one `Host`.
    case repeatedHost
    /// `Host` is not a host with an optional port.
    case malformedHost
    /// `Host` and `:authority` of an HTTP/2 request differ.
    case conflictingAuthority
    /// More than one `Content-Length`, equal or not.
    case repeatedContentLength
    /// `Content-Length` is not 1 to 18 digits.
    case malformedContentLength
    /// `Transfer-Encoding` beside `Content-Length`.
    case conflictingLength
    /// `Transfer-Encoding` in a 1.0 message.
    case transferEncodingInOldVersion
    /// A `Transfer-Encoding` other than exactly `chunked`.
    case unsupportedTransferEncoding
    /// An expectation other than `100-continue`.
    case unsupportedExpectation
    /// The chunk size line is not hex digits and an optional extension within the limits.
    case malformedChunkSize
    /// No line end after the data of a chunk.
    case malformedChunkEnd
    /// The body with its chunk overhead is larger than the limit of the route.
    case bodyTooLarge
    /// The status line of a response is not `HTTP/1.x SP three digits`.
    case malformedStatusLine
    /// A `101` answer, which was not asked for.
    case unexpectedUpgrade
    /// The connection ended inside a message.
    case truncated

    /// The status of the answer.
    public var status: Int {
        switch self {
        case .requestLineTooLong: 414
        case .unsupportedVersion: 505
        case .unsupportedMethod, .unsupportedTransferEncoding: 501
        case .headerSectionTooLarge, .tooManyFields: 431
        case .unsupportedExpectation: 417
        case .bodyTooLarge: 413
        default: 400
        }
    }

    /// What was expected, without any byte of the message.
    public var description: String {
        switch self {
        case .bareLineFeed: "a line must end with CR LF; a bare LF came"
        case .bareCarriageReturn: "CR must be followed by LF"
        case .tooManyEmptyLines: "too many empty lines before the request line"
        case .malformedRequestLine: "the request line must be: method, one space, target, one space, HTTP/1.1 or HTTP/1.0"
        case .requestLineTooLong: "the first line is longer than the limit"
        case .malformedTarget: "the target must be a path or an absolute http(s) URL without fragment, of visible ASCII"
        case .unsupportedVersion: "only HTTP/1.1 and HTTP/1.0 are spoken here"
        case .unsupportedMethod: "CONNECT, TRACE and OPTIONS * are not offered"
        case .malformedFieldName: "a field must begin with a token directly followed by a colon"
        case .malformedFieldValue: "a field value must not hold control bytes other than tab"
        case .foldedField: "folded field lines are not accepted"
        case .headerSectionTooLarge: "the header section is larger than the limit"
        case .tooManyFields: "there are more fields than the limit"
        case .missingHost: "an HTTP/1.1 request needs a Host field"
        case .repeatedHost: "there must be exactly one Host field"
        case .malformedHost: "Host must be a host name or address with an optional port"
        case .conflictingAuthority: "Host and :authority must name the same"
        case .repeatedContentLength: "there must be at most one Content-Length field"
        case .malformedContentLength: "Content-Length must be 1 to 18 digits"
        case .conflictingLength: "Transfer-Encoding and Content-Length must not come together"
        case .transferEncodingInOldVersion: "Transfer-Encoding is not part of HTTP/1.0"
        case .unsupportedTransferEncoding: "the only transfer coding accepted is chunked"
        case .unsupportedExpectation: "the only expectation accepted is 100-continue"
        case .malformedChunkSize: "a chunk must begin with 1 to 15 hex digits, a short extension at most, and CR LF"
        case .malformedChunkEnd: "the data of a chunk must be followed by CR LF"
        case .bodyTooLarge: "the body is larger than the limit"
        case .malformedStatusLine: "the status line must be: HTTP/1.1 or HTTP/1.0, one space, three digits, reason"
        case .unexpectedUpgrade: "a change of protocol was not asked for"
        case .truncated: "the connection ended inside a message"
        }
    }
}
