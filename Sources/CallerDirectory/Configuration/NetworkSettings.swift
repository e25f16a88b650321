// Where the server is reached: listeners, certificates, names of the roles, the admin listener; and its log (service.md 1.1,
// 5.1, 5.2). Reading them is in NetworkSettingsReader.swift.

/// An address to listen on, and how.
public struct ListenerSettings: Sendable, Equatable, CustomStringConvertible {
    /// Where.
    public var address: ListenAddress
    /// Whether connections are TLS; else cleartext.
    public var tls: Bool

    /// A listener.
    public init(_ address: ListenAddress, tls: Bool = false) {
        self.address = address
        self.tls = tls
    }

    /// The address.
    public var description: String { address.description }
}

/// A certificate and its private key.
public struct TLSCertificateSettings: Sendable, Equatable {
    /// Host names that it is shown for, in lower case; empty: for every name that no other certificate has.
    public var names: [String]
    /// Absolute path of the certificate chain (PEM).
    public var certificate: String
    /// Absolute path of the private key (PEM).
    public var key: String

    /// A certificate.
    public init(names: [String] = [], certificate: String, key: String) {
        self.names = names
        self.certificate = certificate
        self.key = key
    }
}

/// The admin listener: `/livez`, `/readyz`, `/metrics`, `/version`.
public struct AdminSettings: Sendable, Equatable {
    /// Where it listens when nothing is said.
    public static let standard = ListenAddress(host: "127.0.0.1", port: 9090)
    /// Where it listens; nil: not at all.
    public var address: ListenAddress?
    /// Nothing was said: the address being in use is worth a warning only.
    public var isDefault: Bool

    /// The default.
    public init() {
        address = AdminSettings.standard
        isDefault = true
    }

    /// What the operator said; nil: off.
    public init(address: ListenAddress?) {
        self.address = address
        isDefault = false
    }
}

/// The name of each role, in lower case without port; nil: the role has no name and is not served.
public struct HostSettings: Sendable, Equatable {
    static let keys = ["service", "issuer", "gateway"]
    /// Serves `/config`, `/key` and `/queries`.
    public var service: String?
    /// Issues tokens.
    public var issuer: String?
    /// Opens encapsulated requests.
    public var gateway: String?

    /// Names by role.
    public init(service: String? = nil, issuer: String? = nil, gateway: String? = nil) {
        self.service = service
        self.issuer = issuer
        self.gateway = gateway
    }

    /// All names, each once.
    public var names: [String] {
        var result: [String] = []
        for name in [service, issuer, gateway].compactMap({ $0 }) where !result.contains(name) { result.append(name) }
        return result
    }
}

/// How log lines look, and which are written.
public struct LogSettings: Sendable, Equatable {
    static let keys = ["format", "level"]

    /// The form of a line.
    public enum Format: String, Sendable, Equatable, CaseIterable {
        /// For people.
        case text
        /// One JSON object a line.
        case json
    }

    /// The least important lines that are written.
    public enum Level: String, Sendable, Equatable, CaseIterable {
        /// Everything.
        case debug
        /// Requests and events.
        case info
        /// What an operator should look at some day.
        case warning
        /// What an operator should look at now.
        case error
    }

    /// The form; nil: text on a terminal, JSON otherwise.
    public var format: Format?
    /// The least important lines that are written.
    public var level = Level.info

    /// The defaults.
    public init() {}
}

/// Rules for host names in the configuration (field case F21: everything but a bare name stops working on some phone).
public enum HostName {
    /// The name in lower case, or why it is none, as the "expected" of an error.
    public static func read(_ text: String) -> Result<String, Problem> {
        let name = text.lowercased()
        if let scheme = name.range(ofText: "://") {
            let rest = String(name[scheme.upperBound...].prefix { $0 != "/" && $0 != ":" })
            return .failure(Problem(reason: "a host name without scheme", suggestion: isName(rest) ? rest : nil))
        }
        let stem = String(name.prefix { $0 != "/" && $0 != ":" })
        let suggestion = isName(stem) ? stem : nil
        if name.contains("/") {
            return .failure(
                Problem(reason: "a host name without path or slash (phones take no custom paths)", suggestion: suggestion))
        }
        if name.contains(":") {
            return .failure(
                Problem(reason: "a host name without port (requests are compared without it)", suggestion: suggestion))
        }
        if name.hasSuffix(".") {
            let stem = String(name.dropLast())
            return .failure(Problem(reason: "a host name without dot at its end", suggestion: isName(stem) ? stem : nil))
        }
        if name.hasPrefix("*.") {
            return .failure(Problem(reason: "a whole host name (list the names one by one)", suggestion: nil))
        }
        guard isName(name) else {
            return .failure(
                Problem(
                    reason: "a host name of letters, digits and hyphens between dots (international names as xn--…)",
                    suggestion: nil))
        }
        return .success(name)
    }

    /// Why a text is no host name.
    public struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
        /// What was expected instead.
        public var reason: String
        /// The name that was probably meant.
        public var suggestion: String?
        /// Both.
        public var description: String { reason + (suggestion.map { " (did you mean \"\($0)\"?)" } ?? "") }
    }

    private static func isName(_ name: String) -> Bool {
        guard (1...253).contains(name.utf8.count) else { return false }
        return name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.utf8.allSatisfy { byte in
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || NumberText.isDigit(byte)
                        || byte == UInt8(ascii: "-")
                }
        }
    }
}

extension String {
    fileprivate func range(ofText text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            let rest = self[start...]
            if rest.hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
