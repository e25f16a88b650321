// http and https URLs as operators and developers give them (RFC 3986 in the subset that service.md 1.2 needs).

/// Why a text is not a URL that can be used. No case carries the text.
public enum HTTPURLError: String, Error, Sendable, Equatable, CaseIterable, CustomStringConvertible {
    /// Not `http://` or `https://`.
    case unsupportedScheme
    /// No host.
    case missingHost
    /// Bytes that cannot be in a host name, or a bad IPv6 literal.
    case invalidHost
    /// Not a number from 1 to 65535.
    case invalidPort
    /// User name or password in front of the host.
    case userInformation
    /// Bytes other than visible ASCII.
    case invalidPath
    /// A `#` part.
    case fragment

    /// What was expected.
    public var description: String {
        switch self {
        case .unsupportedScheme: "a URL must begin with http:// or https://"
        case .missingHost: "the URL has no host"
        case .invalidHost: "the host must be a name, an IPv4 address, or an IPv6 address in brackets"
        case .invalidPort: "the port must be a number from 1 to 65535"
        case .userInformation: "a URL with user name or password is not accepted"
        case .invalidPath: "path and query must be visible ASCII (percent-encode other bytes)"
        case .fragment: "a URL with a fragment (#) is not accepted"
        }
    }
}

/// A parsed http or https URL.
public struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
    /// The scheme.
    public enum Scheme: String, Sendable, Hashable {
        /// Cleartext, port 80.
        case http
        /// TLS, port 443.
        case https

        /// The port of a URL that names none.
        public var defaultPort: Int { self == .http ? 80 : 443 }
    }

    /// The scheme.
    public let scheme: Scheme
    /// The host in lower case, an IPv6 address without brackets.
    public let host: String
    /// The port, 1–65535.
    public let port: Int
    /// The path as written, at least `/`.
    public let path: String
    /// What follows the first `?`; nil without.
    public let query: String?

    /// Parses a URL.
    public init(_ text: String) throws(HTTPURLError) {
        let all = Array(text.utf8)
        let lower = HTTPFields.lowercased(String(text.prefix(8)))
        let scheme: Scheme
        if lower.hasPrefix("http://") {
            scheme = .http
        } else if lower == "https://" {
            scheme = .https
        } else {
            throw .unsupportedScheme
        }
        self.scheme = scheme
        guard all.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .invalidPath }
        if all.contains(UInt8(ascii: "#")) { throw .fragment }
        let after = all[(scheme == .http ? 7 : 8)...]
        let end = after.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? after.endIndex
        let authority = after[..<end]
        if authority.contains(UInt8(ascii: "@")) { throw .userInformation }

        let hostEnd: Int
        if authority.first == UInt8(ascii: "[") {
            guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { throw .invalidHost }
            hostEnd = close + 1
            host = HTTPFields.lowercased(HTTPSyntax.text(authority[(authority.startIndex + 1)..<close]))
        } else {
            hostEnd = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
            host = HTTPFields.lowercased(HTTPSyntax.text(authority[..<hostEnd]))
        }
        if host.isEmpty { throw .missingHost }
        guard HTTPSyntax.isAuthority(authority[..<hostEnd]) else { throw .invalidHost }
        if hostEnd == authority.endIndex {
            port = scheme.defaultPort
        } else {
            guard authority[hostEnd] == UInt8(ascii: ":"),
                let number = HTTPSyntax.decimal(authority[(hostEnd + 1)...], digits: 5), (1...65535).contains(number)
            else { throw .invalidPort }
            port = number
        }
        let rest = after[end...]
        let mark = rest.firstIndex(of: UInt8(ascii: "?"))
        let bare = HTTPSyntax.text(rest[..<(mark ?? rest.endIndex)])
        path = bare.isEmpty ? "/" : bare
        query = mark.map { HTTPSyntax.text(rest[($0 + 1)...]) }
    }

    /// Host with the port if it is not the scheme's own: the value of `Host` and `:authority`.
    public var authority: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == scheme.defaultPort ? name : "\(name):\(port)"
    }

    /// The URL in normal form.
    public var description: String { "\(scheme.rawValue)://\(authority)\(path)" + (query.map { "?" + $0 } ?? "") }
}
