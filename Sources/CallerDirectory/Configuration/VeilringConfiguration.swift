// The configuration of a deployment as values: what `veilring build`, `serve` and `check` are told (design.md,
// Configuration). Reading it is in ConfigurationReader.swift.

/// Where the server listens.
public struct ListenAddress: Sendable, Equatable, Hashable, CustomStringConvertible {
    /// An address or a name; IPv6 without brackets.
    public var host: String
    /// The port; 0 lets the system choose.
    public var port: UInt16

    /// Makes an address.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `host:port` or `[v6]:port`; nil when it is neither.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard digits.utf8.allSatisfy({ NumberText.isDigit($0) }), let port = UInt16(digits) else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        let isPlain = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") }
        guard !host.isEmpty, host.utf8.count <= 255, isPlain else { return nil }
        self.host = String(host)
        self.port = port
    }

    /// True for 127.0.0.0/8, ::1 and localhost: nothing outside the machine reaches it.
    public var isLoopback: Bool {
        if host == "::1" || host.lowercased() == "localhost" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// `host:port`, with brackets around IPv6.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Who may ask.
public enum AuthenticationMode: Sendable, Equatable {
    /// Everyone who reaches the listener: for tests.
    case none
    /// Whoever has a Privacy Pass token.
    case privacyPass
}

/// What rows a use case holds.
public enum UseCaseKind: String, Sendable, Equatable {
    /// Number to name, icon, category and cache time (`CallIdentity`).
    case identity
    /// Number to one byte: 0 or 1.
    case block
    /// Any keyword to any value, as the source has it.
    case keyword
}

/// How a source is written.
public enum SourceFormat: String, Sendable, Equatable {
    /// Comma-separated values with a header line.
    case csv
    /// One JSON object a line.
    case jsonl
    /// The reference's `InputIdentities`, text or binary.
    case identities
    /// The reference's `KeywordDatabase`, text or binary.
    case keywords
}

/// How strictly numbers are taken.
public enum NumberPolicy: String, Sendable, Equatable {
    /// A number written as `+` and digits is kept, with a warning, even if the library calls it impossible or invalid.
    case lenient
    /// Only numbers that the library calls valid are kept.
    case strict
}

/// What to do with an icon that does not fit into a value.
public enum IconPolicy: String, Sendable, Equatable {
    /// Reject the row.
    case refuse
    /// Keep the row without its icon, with a warning.
    case dropIcon = "drop-icon"
}

/// One named database.
public struct UseCaseConfiguration: Sendable, Equatable {
    /// The name that devices ask for.
    public var name: String
    /// What its rows are.
    public var kind: UseCaseKind
    /// Absolute paths of its sources, in order.
    public var sources: [String]
    /// The format of all sources; nil: by suffix and content.
    public var format: SourceFormat?
    /// How strictly numbers are taken.
    public var numbers: NumberPolicy
    /// How the shown name is composed.
    public var nameFormat: NameTemplate
    /// Absolute path of the folder of icons, if there is one.
    public var icons: String?
    /// What happens to icons that do not fit.
    public var iconPolicy: IconPolicy
    /// What the operator fixed of the private lookup's parameters.
    public var pir: PIRSettings
}

/// How long old data stays answerable.
public struct RetentionSettings: Sendable, Equatable {
    static let keys = ["versions", "hours"]
    /// Versions kept at least, the current one included.
    public var versions = 2
    /// Hours for which a version is kept after it ceased to be current (service.md: two days).
    public var hours = 48

    /// The defaults.
    public init() {}
}

/// Everything that the configuration file says, checked.
public struct VeilringConfiguration: Sendable, Equatable {
    /// The file that it was read from.
    public var file: String
    /// Absolute path of the folder for shards, keys and state.
    public var data: String
    /// Two-letter region whose rules national numbers follow; nil when no use case needs it.
    public var region: String?
    /// Where to listen, and how.
    public var listen: [ListenerSettings]
    /// Certificates; empty: no TLS.
    public var tls: [TLSCertificateSettings]
    /// The admin listener.
    public var admin: AdminSettings
    /// The names of the roles; nil: one process plays all of them under any name.
    public var hosts: HostSettings?
    /// How log lines look.
    public var log: LogSettings
    /// Who may ask.
    public var authentication: AuthenticationMode
    /// The operator accepts that everyone who reaches a listener beyond loopback may ask.
    public var allowUnauthenticated: Bool
    /// Users and tokens.
    public var access: AccessSettings
    /// The Oblivious HTTP gateway.
    public var gateway: GatewaySettings
    /// The use cases in the order of the file.
    public var useCases: [UseCaseConfiguration]
    /// How long old data stays answerable.
    public var retention: RetentionSettings
    /// Bounds on what the server takes.
    public var limits: LimitSettings
    /// Lines for the operator: what was accepted and ignored, what is unwise.
    public var notices: [String]
}
