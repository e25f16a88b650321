// HTTP messages as Binary HTTP carries them (RFC 9292 3; service.md 3.6). Text stands for bytes, one scalar up to U+00FF for
// each, so that obs-text passes through unchanged.

/// A header or trailer field.
public struct BinaryField: Sendable, Hashable {
    /// The name, in lower case.
    public var name: String
    /// The value without surrounding white space.
    public var value: String

    /// A field.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A request.
public struct BinaryRequest: Sendable, Equatable {
    /// The method.
    public var method: String
    /// The scheme: `https`.
    public var scheme: String
    /// Host and port; may be empty, and the `host` field decides then.
    public var authority: String
    /// The path with the query, from the slash on.
    public var path: String
    /// Header fields in their order.
    public var fields: [BinaryField]
    /// The content.
    public var content: ArraySlice<UInt8>
    /// Trailer fields in their order.
    public var trailers: [BinaryField]

    /// A request of these parts.
    public init(
        method: String, scheme: String = "https", authority: String, path: String, fields: [BinaryField] = [],
        content: ArraySlice<UInt8> = [], trailers: [BinaryField] = []
    ) {
        self.method = method
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.fields = fields
        self.content = content
        self.trailers = trailers
    }
}

/// A response.
public struct BinaryResponse: Sendable, Equatable {
    /// A response before the final one.
    public struct Informational: Sendable, Equatable {
        /// The status, 100 to 199.
        public var status: Int
        /// Header fields in their order.
        public var fields: [BinaryField]

        /// An informational response.
        public init(status: Int, fields: [BinaryField] = []) {
            self.status = status
            self.fields = fields
        }
    }

    /// The final status, 200 to 599.
    public var status: Int
    /// Header fields in their order.
    public var fields: [BinaryField]
    /// The content.
    public var content: ArraySlice<UInt8>
    /// Trailer fields in their order.
    public var trailers: [BinaryField]
    /// Responses before this one.
    public var informational: [Informational]

    /// A response of these parts.
    public init(
        status: Int, fields: [BinaryField] = [], content: ArraySlice<UInt8> = [], trailers: [BinaryField] = [],
        informational: [Informational] = []
    ) {
        self.status = status
        self.fields = fields
        self.content = content
        self.trailers = trailers
        self.informational = informational
    }
}

/// How much a decoder takes. Lengths are in bytes.
public struct BinaryHTTPLimits: Sendable, Equatable {
    /// Field lines in all sections of a message.
    public var fieldCount = 100
    /// Names and values in all sections of a message.
    public var fieldBytes = 32 * 1024
    /// The method.
    public var method = 16
    /// The scheme.
    public var scheme = 8
    /// The authority.
    public var authority = 255
    /// The path with the query.
    public var path = 2 * 1024
    /// Responses before the final one.
    public var informational = 16
    /// The content.
    public var content = Int.max
    /// Whether upper case in field names is an error rather than made lower.
    public var isStrict = false

    /// The limits of service.md 3.6.
    public init() {}
}

/// What is wrong with a Binary HTTP message, and where. Texts hold no part of the message.
public struct BinaryHTTPError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What was expected.
    public enum Reason: String, Sendable, CaseIterable {
        /// The message ends inside something.
        case truncated = "the message ends too early"
        /// A length goes beyond what is left of the message or the section.
        case lengthBeyondEnd = "a length goes beyond the end"
        /// The framing indicator is above 3.
        case unknownFraming = "expected a framing indicator from 0 to 3"
        /// A response, where a request is wanted.
        case notARequest = "expected a request"
        /// A request, where a response is wanted.
        case notAResponse = "expected a response"
        /// No status.
        case badStatus = "expected a status from 100 to 599"
        /// Too many responses before the final one.
        case tooManyInformational = "too many informational responses"
        /// The method is longer than allowed.
        case methodTooLong = "the method is too long"
        /// The scheme is longer than allowed.
        case schemeTooLong = "the scheme is too long"
        /// The authority is longer than allowed.
        case authorityTooLong = "the authority is too long"
        /// The path is longer than allowed.
        case pathTooLong = "the path is too long"
        /// The method is no token.
        case badMethod = "expected a token as the method"
        /// The scheme is none.
        case badScheme = "expected a scheme of letters, digits, +, - and ."
        /// The authority has user information, or other bytes than those of a host and a port.
        case badAuthority = "expected a host and a port without user information"
        /// The path is no path.
        case badPath = "expected a path of visible characters that begins with a slash"
        /// A field without a name.
        case emptyFieldName = "expected a field name"
        /// A field name is no token.
        case badFieldName = "expected a token as a field name"
        /// A field name in upper case, where that is not allowed.
        case upperCaseFieldName = "expected a field name in lower case"
        /// A field whose name begins with a colon.
        case pseudoField = "control data among the fields"
        /// A value with a control character, or with white space around it.
        case badFieldValue = "expected a field value without control characters and surrounding white space"
        /// A field that belongs to a connection.
        case connectionField = "a field that belongs to one connection"
        /// A field twice that may be there once.
        case repeatedField = "a field that may be there once only is repeated"
        /// A field that frames, routes or authenticates a message, behind its content.
        case fieldInTrailers = "a field that does not belong into trailers"
        /// The field `content-length` is no number, or another than the content's length.
        case badContentLength = "content-length differs from the length of the content"
        /// Too many field lines.
        case tooManyFields = "too many fields"
        /// Too many bytes of fields.
        case fieldsTooLarge = "the fields are too large"
        /// Too much content.
        case contentTooLarge = "the content is too large"
        /// Other bytes than zero after the message.
        case badPadding = "expected padding of zeros after the end"
        /// A text that is to be encoded holds scalars above U+00FF.
        case notBytes = "text with characters that stand for no byte"
    }

    /// What is wrong.
    public let reason: Reason
    /// Where, in bytes from the message's start.
    public let offset: Int

    /// The reason and the place in words.
    public var description: String { "byte \(offset): \(reason.rawValue)" }
}

extension String {
    /// The text whose scalars are the bytes.
    init(byteText bytes: ArraySlice<UInt8>) {
        if bytes.allSatisfy({ $0 < 0x80 }) {
            self.init(decoding: bytes, as: UTF8.self)
        } else {
            var scalars = UnicodeScalarView()
            scalars.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
            self.init(scalars)
        }
    }

    /// The bytes for which the scalars stand; nil if one stands for none.
    var textBytes: [UInt8]? {
        if utf8.allSatisfy({ $0 < 0x80 }) { return Array(utf8) }
        var bytes: [UInt8] = []
        for scalar in unicodeScalars {
            guard let byte = UInt8(exactly: scalar.value) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }
}
