// The closed list of what is logged, each kind with its level, its fields and its sentence. Only values of closed lists, paths
// and names of the configuration, counts, durations and power-of-two sizes appear (service.md 8.1).

import HTTPCore

/// How important a record is.
public enum LogLevel: String, Sendable, Comparable, CaseIterable {
    /// For who develops.
    case debug
    /// What goes on.
    case info
    /// What an operator wants to find again: start, reload, stop.
    case notice
    /// Something is wrong, and the service goes on.
    case warning
    /// Requests fail, and it is our fault.
    case error

    /// By importance.
    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .notice: 2
        case .warning: 3
        case .error: 4
        }
    }
}

/// A value of a record.
public enum LogValue: Sendable, Equatable {
    /// Text of a closed list, a name or path of the configuration, or an error's text.
    case text(String)
    /// Several of them.
    case texts([String])
    /// A count, a status, whole milliseconds, bytes.
    case integer(Int)
}

/// An answered request, without anything that tells whose it was.
public struct RequestSummary: Sendable, Equatable {
    /// The method if it is a registered one, else `OTHER`.
    public var method: String
    /// The route's name, `unknown` for a path that is none.
    public var route: String
    /// The status of the answer.
    public var status: Int
    /// From the last byte of the request to the answer.
    public var duration: Duration
    /// Bytes of the body, in the log as a power of two.
    public var received: Int
    /// Bytes of the answer's body, in the log as a power of two.
    public var sent: Int
    /// The version of HTTP.
    public var version: HTTPVersion
    /// Whether it came out of an encapsulated request.
    public var isThroughGateway: Bool
}

/// What is logged.
public enum LogEvent: Sendable, Equatable {
    /// A request was answered.
    case request(RequestSummary)
    /// The server answers queries.
    case ready(addresses: [String], version: String)
    /// The admin listener answers.
    case adminListening(addresses: [String])
    /// There is no admin listener, because of `reason`.
    case noAdminListener(reason: String)
    /// Something about the configuration that is accepted, but should be known.
    case configurationNotice(String)
    /// A new version is in force.
    case reloaded(version: String)
    /// The version in force stays, because of `reason`.
    case notReloaded(version: String, reason: String)
    /// Certificates are in force; the first of them expires at that time.
    case certificatesLoaded(count: Int, expires: String)
    /// The certificates in force stay, because of `reason`, which names files of the configuration.
    case certificatesNotLoaded(reason: String)
    /// The server was told to stop.
    case stopping
    /// The front refused a request or connection by itself; `reason` is of its closed list.
    case refusedByFront(reason: String)
    /// The store could not do what it was asked; its errors hold paths, codes and numbers.
    case storeFailed(reason: String)
    /// Evaluation keys were let go because they were too old or too many.
    case keysEvicted(count: Int)
    /// `serving.json` could not be written.
    case servingNotRecorded(reason: String)
    /// A version in the data folder cannot be used.
    case versionUnusable(reason: String)
    /// A shard's payload is damaged; `place` says where.
    case shardOutOfService(shard: Int, useCase: String, version: String, place: String)
    /// A query was refused because its shard is out of service.
    case queryForShardOutOfService(shard: Int, useCase: String)
    /// A checked query could not be computed: this is about our own data.
    case computationFailed(useCase: String, reason: String)
    /// An issuer key has come into force; its id's beginning is public.
    case issuerKeyInForce(key: String)
    /// An issuer key gave a wrong signature, and is not used any more.
    case issuerKeyFaulty(key: String)
    /// The file of users was read again.
    case usersLoaded
    /// Upkeep of keys, users or counters failed; errors hold paths, places and codes.
    case tokenUpkeepFailed(reason: String)
    /// Records like one that was written were left out.
    case leftOut(count: Int, kind: String, seconds: Int)

    /// The name of the kind.
    public var kind: String {
        switch self {
        case .request: "request"
        case .ready: "ready"
        case .adminListening: "admin_listening"
        case .noAdminListener: "no_admin_listener"
        case .configurationNotice: "configuration_notice"
        case .reloaded: "reloaded"
        case .notReloaded: "not_reloaded"
        case .certificatesLoaded: "certificates_loaded"
        case .certificatesNotLoaded: "certificates_not_loaded"
        case .stopping: "stopping"
        case .refusedByFront: "refused_by_front"
        case .storeFailed: "store_failed"
        case .keysEvicted: "keys_evicted"
        case .servingNotRecorded: "serving_not_recorded"
        case .versionUnusable: "version_unusable"
        case .shardOutOfService: "shard_out_of_service"
        case .queryForShardOutOfService: "query_for_shard_out_of_service"
        case .computationFailed: "computation_failed"
        case .issuerKeyInForce: "issuer_key_in_force"
        case .issuerKeyFaulty: "issuer_key_faulty"
        case .usersLoaded: "users_loaded"
        case .tokenUpkeepFailed: "token_upkeep_failed"
        case .leftOut: "left_out"
        }
    }

    /// How important it is.
    public var level: LogLevel {
        switch self {
        case .request(let request): request.status >= 500 ? .warning : .info
        case .refusedByFront, .keysEvicted: .info
        case .ready, .adminListening, .reloaded, .certificatesLoaded, .stopping, .leftOut, .issuerKeyInForce, .usersLoaded:
            .notice
        case .noAdminListener, .configurationNotice, .servingNotRecorded, .queryForShardOutOfService: .warning
        case .notReloaded, .certificatesNotLoaded, .storeFailed, .versionUnusable, .shardOutOfService, .computationFailed,
            .issuerKeyFaulty, .tokenUpkeepFailed:
            .error
        }
    }

    /// Its values by name.
    public var fields: [(name: String, value: LogValue)] {
        switch self {
        case .request(let request):
            [
                ("method", .text(request.method)), ("route", .text(request.route)), ("status", .integer(request.status)),
                ("milliseconds", .integer(LogText.milliseconds(request.duration))),
                ("received_at_most", .integer(LogText.bound(request.received))),
                ("sent_at_most", .integer(LogText.bound(request.sent))), ("protocol", .text(request.version.labelText)),
                ("via", .text(request.isThroughGateway ? "gateway" : "direct")),
            ]
        case .ready(let addresses, let version): [("addresses", .texts(addresses)), ("version", .text(version))]
        case .adminListening(let addresses): [("addresses", .texts(addresses))]
        case .certificatesLoaded(let count, let expires): [("count", .integer(count)), ("expires", .text(expires))]
        case .certificatesNotLoaded(let reason): [("reason", .text(reason))]
        case .noAdminListener(let reason), .configurationNotice(let reason), .refusedByFront(let reason),
            .storeFailed(let reason), .servingNotRecorded(let reason), .versionUnusable(let reason),
            .tokenUpkeepFailed(let reason):
            [("reason", .text(reason))]
        case .reloaded(let version): [("version", .text(version))]
        case .notReloaded(let version, let reason): [("version", .text(version)), ("reason", .text(reason))]
        case .stopping, .usersLoaded: []
        case .issuerKeyInForce(let key), .issuerKeyFaulty(let key): [("key", .text(key))]
        case .keysEvicted(let count): [("count", .integer(count))]
        case .shardOutOfService(let shard, let useCase, let version, let place):
            [
                ("shard", .integer(shard)), ("use_case", .text(useCase)), ("version", .text(version)),
                ("place", .text(place)),
            ]
        case .queryForShardOutOfService(let shard, let useCase):
            [("shard", .integer(shard)), ("use_case", .text(useCase))]
        case .computationFailed(let useCase, let reason): [("use_case", .text(useCase)), ("reason", .text(reason))]
        case .leftOut(let count, let kind, let seconds):
            [("count", .integer(count)), ("of", .text(kind)), ("seconds", .integer(seconds))]
        }
    }

    /// Its sentence.
    public var message: String {
        switch self {
        case .request(let request):
            "\(request.method) \(request.route) \(request.status) \(LogText.milliseconds(request.duration))ms "
                + "in\(LogText.bucket(request.received)) out\(LogText.bucket(request.sent)) \(request.version.labelText) "
                + (request.isThroughGateway ? "gateway" : "direct")
        case .ready(let addresses, let version):
            "ready: listening on \(addresses.joined(separator: ", ")), version \(version)"
        case .adminListening(let addresses): "admin: listening on \(addresses.joined(separator: ", "))"
        case .noAdminListener(let reason): "no admin listener: \(reason)"
        case .configurationNotice(let text): text
        case .reloaded(let version): "reloaded: version \(version)"
        case .notReloaded(let version, let reason): "not reloaded, version \(version) stays: \(reason)"
        case .certificatesLoaded(let count, let expires): "certificates in force: \(count), the first expires \(expires)"
        case .certificatesNotLoaded(let reason): "certificates not loaded, those in force stay: \(reason)"
        case .stopping: "stopping"
        case .refusedByFront(let reason): "refused: \(reason)"
        case .storeFailed(let reason): "store: \(reason)"
        case .keysEvicted(let count): "evaluation keys let go: \(count)"
        case .servingNotRecorded(let reason): "the served version could not be recorded: \(reason)"
        case .versionUnusable(let reason): reason
        case .shardOutOfService(let shard, let useCase, let version, let place):
            "shard \(shard) of \(useCase), version \(version), \(place); out of service until it is rebuilt"
        case .queryForShardOutOfService(let shard, let useCase):
            "a query met shard \(shard) of \(useCase), which is out of service"
        case .computationFailed(let useCase, let reason): "a query of \(useCase) could not be computed: \(reason)"
        case .issuerKeyInForce(let key): "issuer key in force: \(key)"
        case .issuerKeyFaulty(let key): "issuer key \(key) gave a wrong signature and is not used any more"
        case .usersLoaded: "users loaded"
        case .tokenUpkeepFailed(let reason): "issuer: \(reason)"
        case .leftOut(let count, let kind, let seconds):
            "left out \(count) lines like the last ones about \(kind), within \(seconds) s"
        }
    }

    /// Scripts wait for it, whatever the level.
    var isAlwaysWritten: Bool {
        if case .ready = self { true } else { false }
    }

    /// What records must have in common to count as repeated; nil for those that are all written.
    var repetition: Repetition? {
        switch self {
        // A successful request stands for itself.
        case .request(let request):
            request.status < 400 ? nil : Repetition(kind: kind, detail: request.route + " \(request.status)")
        case .refusedByFront(let reason): Repetition(kind: kind, detail: reason)
        case .queryForShardOutOfService(let shard, let useCase): Repetition(kind: kind, detail: "\(useCase) \(shard)")
        case .computationFailed(let useCase, _): Repetition(kind: kind, detail: useCase)
        case .storeFailed, .servingNotRecorded, .tokenUpkeepFailed: Repetition(kind: kind, detail: "")
        case .ready, .adminListening, .noAdminListener, .configurationNotice, .reloaded, .notReloaded, .certificatesLoaded,
            .certificatesNotLoaded, .stopping, .keysEvicted, .issuerKeyInForce, .issuerKeyFaulty, .usersLoaded,
            .versionUnusable, .shardOutOfService, .leftOut:
            nil
        }
    }
}

/// What repeated records have in common, of closed lists and names of the configuration only.
struct Repetition: Hashable, Sendable {
    var kind: String
    var detail: String

    /// As the line about what was left out says it.
    var text: String { detail.isEmpty ? kind : kind + " " + detail }
}

/// An event and its time.
public struct LogRecord: Sendable, Equatable {
    /// Seconds since 1970: finer times would help to find out whose request it was (service.md 8.1).
    public var time: Int
    /// What happened.
    public var event: LogEvent

    /// A record of now, or of the time given.
    public init(_ event: LogEvent, time: Int? = nil) {
        self.event = event
        self.time = time ?? secondsSince1970()
    }
}
