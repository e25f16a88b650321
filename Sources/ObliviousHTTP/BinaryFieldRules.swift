// What fields and control data may look like (RFC 9292 3.6, RFC 9113 8.2, RFC 9110 5; service.md 3.6): one set of rules for
// what is read and for what is written.

/// Fields that one message may have once.
private struct OnceOnly: OptionSet {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// No field for other names.
    init(name: String) {
        switch name {
        case "authorization": self.init(rawValue: 1)
        case "host": self.init(rawValue: 2)
        case "content-length": self.init(rawValue: 4)
        case "user-identifier": self.init(rawValue: 8)
        default: self.init()
        }
    }
}

/// Goes through the fields of one message.
struct BinaryFieldRules: Sendable {
    enum Section: Sendable {
        case informational, header, trailer
    }

    private let limits: BinaryHTTPLimits
    private var count = 0
    private var size = 0
    private var seen: OnceOnly = []
    private var contentLength: (value: UInt64, offset: Int)?

    init(_ limits: BinaryHTTPLimits) { self.limits = limits }

    /// The field if it is allowed after those before it. `offset` is where its line begins.
    mutating func admit(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>, in section: Section, at offset: Int)
        throws(BinaryHTTPError) -> BinaryField
    {
        BinaryField(try check(name: name, value: value, in: section, at: offset), String(byteText: value))
    }

    /// The name in lower case of a field that is allowed after those before it.
    @discardableResult
    mutating func check(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>, in section: Section, at offset: Int)
        throws(BinaryHTTPError) -> String
    {
        func fail(_ reason: BinaryHTTPError.Reason) -> BinaryHTTPError { BinaryHTTPError(reason: reason, offset: offset) }
        count += 1
        guard count <= limits.fieldCount else { throw fail(.tooManyFields) }
        // Neither is longer than the message.
        size += name.count + value.count
        guard size <= limits.fieldBytes else { throw fail(.fieldsTooLarge) }
        guard let first = name.first else { throw fail(.emptyFieldName) }
        guard first != UInt8(ascii: ":") else { throw fail(.pseudoField) }
        guard name.allSatisfy(isTokenByte) else { throw fail(.badFieldName) }
        var name = name
        if name.contains(where: isUpperCase) {
            guard !limits.isStrict else { throw fail(.upperCaseFieldName) }
            name = name.map { isUpperCase($0) ? $0 | 0x20 : $0 }[...]
        }
        guard value.allSatisfy(isValueByte), !isBlank(value.first), !isBlank(value.last) else { throw fail(.badFieldValue) }
        let text = String(byteText: name)
        switch text {
        case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade": throw fail(.connectionField)
        case "te":
            guard section != .trailer else { throw fail(.fieldInTrailers) }
            guard String(byteText: value).lowercased() == "trailers" else { throw fail(.connectionField) }
        default:
            let field = OnceOnly(name: text)
            guard !field.isEmpty else { break }
            guard section != .trailer else { throw fail(.fieldInTrailers) }
            guard seen.isDisjoint(with: field) else { throw fail(.repeatedField) }
            seen.formUnion(field)
            if text == "content-length" {
                guard section == .header, let length = Self.number(value) else { throw fail(.badContentLength) }
                contentLength = (length, offset)
            }
        }
        return text
    }

    /// Forgets which fields were seen: an informational response is over.
    mutating func beginNextResponse() { seen = [] }

    /// Whether `content-length` was among the fields.
    var hasContentLength: Bool { contentLength != nil }

    /// Compares with `content-length`. An answer without content may name the length that it would have had (to HEAD, for
    /// example).
    func check(contentLength length: Int, isResponse: Bool) throws(BinaryHTTPError) {
        guard let contentLength, contentLength.value != UInt64(length), !isResponse || length > 0 else { return }
        throw BinaryHTTPError(reason: .badContentLength, offset: contentLength.offset)
    }

    /// Decimal digits; at most 18 of them.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard (1...18).contains(digits.count), digits.allSatisfy(isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + UInt64($1 & 0x0F) }
    }
}

/// The parts of control data, each with its rule.
enum ControlPart: Sendable, CaseIterable {
    case method, scheme, authority, path

    func limit(_ limits: BinaryHTTPLimits) -> Int {
        switch self {
        case .method: limits.method
        case .scheme: limits.scheme
        case .authority: limits.authority
        case .path: limits.path
        }
    }

    var tooLong: BinaryHTTPError.Reason {
        switch self {
        case .method: .methodTooLong
        case .scheme: .schemeTooLong
        case .authority: .authorityTooLong
        case .path: .pathTooLong
        }
    }

    /// What is wrong with the bytes; nil if nothing is.
    func flaw(_ bytes: ArraySlice<UInt8>) -> BinaryHTTPError.Reason? {
        switch self {
        case .method: !bytes.isEmpty && bytes.allSatisfy(isTokenByte) ? nil : .badMethod
        case .scheme: bytes.first.map(isLetter) == true && bytes.allSatisfy(isSchemeByte) ? nil : .badScheme
        case .authority: bytes.allSatisfy(isAuthorityByte) ? nil : .badAuthority
        case .path:
            bytes.first == UInt8(ascii: "/") && bytes.allSatisfy { isVisible($0) && $0 != UInt8(ascii: "#") } ? nil : .badPath
        }
    }
}

func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
func isUpperCase(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }
func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }
func isBlank(_ byte: UInt8?) -> Bool { byte == 0x20 || byte == 0x09 }
func isValueByte(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

/// RFC 9110 5.6.2.
func isTokenByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || tokenMarks.contains(byte)
}

/// RFC 3986 3.1.
private func isSchemeByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
}

/// Visible, and none of those that would end the authority or begin another part of a URI (RFC 3986 3.2).
private func isAuthorityByte(_ byte: UInt8) -> Bool { isVisible(byte) && !endingMarks.contains(byte) }

private let tokenMarks = Array("!#$%&'*+-.^_`|~".utf8)
private let endingMarks = Array("@/?#\\\"<>^`{|}".utf8)
