// The `limits` object: every bound and time that an operator can set, with bounds and defaults in one table each (service.md 7).
// docs/configuration.md repeats the tables; a test compares them.

/// One whole-numbered limit: its key, what it may be, and where its value lives.
struct LimitField<Root>: Sendable {
    /// Where the value lives.
    enum Place: Sendable {
        /// Always has a value.
        case fixed(WritableKeyPath<Root, Int> & Sendable)
        /// Nil: chosen by the machine.
        case chosen(WritableKeyPath<Root, Int?> & Sendable)
    }

    let name: String
    let range: ClosedRange<Int>
    let place: Place

    init(_ name: String, _ range: ClosedRange<Int>, _ path: WritableKeyPath<Root, Int> & Sendable) {
        self.name = name
        self.range = range
        place = .fixed(path)
    }

    init(_ name: String, _ range: ClosedRange<Int>, chosen path: WritableKeyPath<Root, Int?> & Sendable) {
        self.name = name
        self.range = range
        place = .chosen(path)
    }

    /// The value; nil when the machine chooses it.
    func value(in root: Root) -> Int? {
        switch place {
        case .fixed(let path): root[keyPath: path]
        case .chosen(let path): root[keyPath: path]
        }
    }

    /// Takes the key out of `section` if it is there; what is wrong is reported.
    func read(_ section: SettingsSection, into root: inout Root) {
        guard let value = section.integer(name, in: range) else { return }
        switch place {
        case .fixed(let path): root[keyPath: path] = value
        case .chosen(let path): root[keyPath: path] = value
        }
    }
}

/// Bounds on what the server takes from its clients (service.md 7, keyword-pir.md 13.1).
public struct LimitSettings: Sendable, Equatable {
    /// Bytes of the body of `/key` and `/queries`; a query may carry an evaluation key.
    public var requestBodyBytes = 12 << 20
    /// Bytes of the body of `/config`.
    public var configBodyBytes = 64 << 10
    /// Bytes of an answer.
    public var responseBodyBytes = 16 << 20
    /// Names in one `/config` request.
    public var useCasesPerRequest = 64
    /// Queries in one `/queries` request.
    public var queriesPerRequest = 64
    /// Keys in one `/key` request.
    public var keysPerRequest = 8
    /// Evaluation keys stored for one user.
    public var keysPerUser = 8
    /// Bytes of all stored evaluation keys.
    public var evaluationKeyStoreBytes = 8 << 30
    /// Hours after which an unused evaluation key is dropped.
    public var evaluationKeyIdleHours = 30 * 24
    /// Bytes of decoded evaluation keys kept in memory for the next query.
    public var decodedKeyBytes = 256 << 20
    /// Threads that compute; nil: one per core.
    public var queryThreads: Int?
    /// Steps by which those threads give way to others (nice(1)).
    public var queryNiceness = 5
    /// Queries that wait for a thread, beyond them 503; nil: four for each thread.
    public var queuedQueries: Int?
    /// Milliseconds of predicted waiting beyond which a query is refused at once; nil: `queuedMilliseconds`.
    public var queuedWorkMilliseconds: Int?
    /// Milliseconds in the line after which a query is refused instead of computed.
    public var queuedMilliseconds = 1000
    /// Percent of the line that one client may hold while others wait.
    public var queuedPercentPerClient = 50
    /// Block queries in a row after which another query that waits gets its turn.
    public var blockQueriesInARow = 8
    /// Other requests (uploads, `/config`) that wait for a thread.
    public var queuedUpkeep = 256
    /// Seconds from the last byte of `/queries` to its answer.
    public var queriesSeconds = 5
    /// Seconds from the last byte of `/config` to its answer.
    public var configSeconds = 5
    /// Seconds from the last byte of `/key` to its answer.
    public var keySeconds = 30
    /// Seconds that running requests may take when the server stops.
    public var drainSeconds = 20
    /// Open connections.
    public var connections = 10_000
    /// Open connections of one address, not of loopback and not of `exemptPrefixes`.
    public var connectionsPerAddress = 256
    /// Networks that `connectionsPerAddress` does not count: proxies and balancers; `10.0.0.0/8`, `2001:db8::1`.
    public var exemptPrefixes: [String] = []
    /// Amounts and times of HTTP itself.
    public var http = HTTPLimitSettings()

    /// The defaults.
    public init() {}

    static let fields: [LimitField<LimitSettings>] = [
        LimitField("requestBodyBytes", 1024...(1 << 30), \.requestBodyBytes),
        LimitField("configBodyBytes", 1024...(1 << 30), \.configBodyBytes),
        LimitField("responseBodyBytes", (1 << 16)...(1 << 30), \.responseBodyBytes),
        LimitField("useCasesPerRequest", 1...1000, \.useCasesPerRequest),
        LimitField("queriesPerRequest", 1...1024, \.queriesPerRequest),
        LimitField("keysPerRequest", 1...1024, \.keysPerRequest),
        LimitField("keysPerUser", 1...1024, \.keysPerUser),
        LimitField("evaluationKeyStoreBytes", (1 << 20)...(1 << 50), \.evaluationKeyStoreBytes),
        LimitField("evaluationKeyIdleHours", 1...87_840, \.evaluationKeyIdleHours),
        LimitField("decodedKeyBytes", 0...(1 << 50), \.decodedKeyBytes),
        LimitField("queryThreads", 1...1024, chosen: \.queryThreads),
        LimitField("queryNiceness", 0...19, \.queryNiceness),
        LimitField("queuedQueries", 1...1_000_000, chosen: \.queuedQueries),
        LimitField("queuedWorkMilliseconds", 1...3_600_000, chosen: \.queuedWorkMilliseconds),
        LimitField("queuedMilliseconds", 1...3_600_000, \.queuedMilliseconds),
        LimitField("queuedPercentPerClient", 1...100, \.queuedPercentPerClient),
        LimitField("blockQueriesInARow", 1...1_000_000, \.blockQueriesInARow),
        LimitField("queuedUpkeep", 1...1_000_000, \.queuedUpkeep),
        LimitField("queriesSeconds", 1...3600, \.queriesSeconds),
        LimitField("configSeconds", 1...3600, \.configSeconds),
        LimitField("keySeconds", 1...3600, \.keySeconds),
        LimitField("drainSeconds", 0...3600, \.drainSeconds),
        LimitField("connections", 1...1_000_000, \.connections),
        LimitField("connectionsPerAddress", 1...1_000_000, \.connectionsPerAddress),
    ]
    static let keys = fields.map(\.name) + ["exemptPrefixes", "http"]
}

/// Bounds and times of HTTP/1.1, HTTP/2 and TLS (service.md 5.2 to 5.4 and 7): the object `limits.http`.
public struct HTTPLimitSettings: Sendable, Equatable {
    /// Bytes of a request line.
    public var requestLineBytes = 8 << 10
    /// Bytes of all fields of a request.
    public var headerBytes = 32 << 10
    /// Fields of a request.
    public var headerFields = 100
    /// Seconds from the first byte of a request to the end of its fields.
    public var headerSeconds = 10
    /// Seconds that an HTTP/1.1 connection may be without request.
    public var idleSeconds = 60
    /// Seconds that an HTTP/2 connection may be without stream.
    public var http2IdleSeconds = 300
    /// Seconds for a whole body.
    public var bodySeconds = 60
    /// Seconds in which `progressBytes` of a body must arrive.
    public var bodyProgressSeconds = 10
    /// Seconds in which `progressBytes` of an answer must leave.
    public var writeProgressSeconds = 30
    /// What counts as progress, in bytes.
    public var progressBytes = 8 << 10
    /// Bytes of all request bodies in memory; nil: 512 MiB or a quarter of the memory, whichever is less.
    public var bufferedBodyBytes: Int?
    /// Streams of one HTTP/2 connection at a time.
    public var http2Streams = 128
    /// Bytes that a stream may send ahead of being read.
    public var http2StreamWindowBytes = 256 << 10
    /// Bytes that an HTTP/2 connection may send ahead of being read.
    public var http2ConnectionWindowBytes = 4 << 20
    /// Streams that an HTTP/2 connection may reset in a burst.
    public var http2ResetBurst = 1000
    /// Streams that it may reset each second beyond the burst.
    public var http2ResetsPerSecond = 33
    /// Requests of an HTTP/2 connection, after which it is asked to go.
    public var http2RequestsPerConnection = 100_000
    /// Minutes of an HTTP/2 connection, after which it is asked to go.
    public var http2ConnectionMinutes = 60
    /// Seconds for a TLS handshake.
    public var handshakeSeconds = 10
    /// TLS handshakes at a time; further connections wait.
    public var handshakes = 200

    /// The defaults.
    public init() {}

    static let fields: [LimitField<HTTPLimitSettings>] = [
        LimitField("requestLineBytes", 256...(1 << 16), \.requestLineBytes),
        LimitField("headerBytes", 1024...(1 << 20), \.headerBytes),
        LimitField("headerFields", 10...1000, \.headerFields),
        LimitField("headerSeconds", 1...3600, \.headerSeconds),
        LimitField("idleSeconds", 1...86_400, \.idleSeconds),
        LimitField("http2IdleSeconds", 1...86_400, \.http2IdleSeconds),
        LimitField("bodySeconds", 1...3600, \.bodySeconds),
        LimitField("bodyProgressSeconds", 1...3600, \.bodyProgressSeconds),
        LimitField("writeProgressSeconds", 1...3600, \.writeProgressSeconds),
        LimitField("progressBytes", 1...(1 << 20), \.progressBytes),
        LimitField("bufferedBodyBytes", (1 << 20)...(1 << 50), chosen: \.bufferedBodyBytes),
        LimitField("http2Streams", 1...10_000, \.http2Streams),
        LimitField("http2StreamWindowBytes", 65_535...(1 << 30), \.http2StreamWindowBytes),
        LimitField("http2ConnectionWindowBytes", 65_535...(1 << 30), \.http2ConnectionWindowBytes),
        LimitField("http2ResetBurst", 1...1_000_000, \.http2ResetBurst),
        LimitField("http2ResetsPerSecond", 1...1_000_000, \.http2ResetsPerSecond),
        LimitField("http2RequestsPerConnection", 1...1_000_000_000, \.http2RequestsPerConnection),
        LimitField("http2ConnectionMinutes", 1...10_080, \.http2ConnectionMinutes),
        LimitField("handshakeSeconds", 1...3600, \.handshakeSeconds),
        LimitField("handshakes", 1...100_000, \.handshakes),
    ]
    static let keys = fields.map(\.name)
}

extension ConfigurationReader {
    func readLimits() -> LimitSettings {
        var settings = LimitSettings()
        guard let section = section.section("limits", known: LimitSettings.keys) else { return settings }
        for field in LimitSettings.fields { field.read(section, into: &settings) }
        let expected = "networks such as \"10.0.0.0/8\" or \"2001:db8::/32\", no bit set behind the length"
        for (text, value) in section.strings("exemptPrefixes", expected: expected) ?? [] {
            if NetworkText.isPrefix(text) {
                settings.exemptPrefixes.append(text)
            } else {
                section.report("exemptPrefixes", expected: expected, came: value.summary, at: value)
            }
        }
        if let http = section.section("http", known: HTTPLimitSettings.keys) {
            for field in HTTPLimitSettings.fields { field.read(http, into: &settings.http) }
        }
        return settings
    }
}
