// What the service counts, with the closed lists behind its labels (docs/metrics.md says what each metric means).

import HTTPCore
import HTTPServer
import ObliviousHTTP

/// Why the front itself refused a request or connection.
enum FrontRefusal: String, MetricLabel {
    case malformed
    case slowHeader = "slow_header"
    case slowBody = "slow_body"
    case slowReader = "slow_reader"
    case bodyBudget = "body_budget"
    case noAnswerInTime = "no_answer_in_time"
    case answerLost = "answer_lost"
    case answerTooLarge = "answer_too_large"
    case answerInvalid = "answer_invalid"
    case peerGone = "peer_gone"
    case connectionsPerAddress = "connections_per_address"

    init(_ refusal: HTTPRefusal) {
        switch refusal {
        case .message: self = .malformed
        case .headerTimeout: self = .slowHeader
        case .bodyTimeout: self = .slowBody
        case .writeTimeout: self = .slowReader
        case .bodyBudget: self = .bodyBudget
        case .handlerTimeout: self = .noAnswerInTime
        case .replyDropped: self = .answerLost
        case .responseTooLarge: self = .answerTooLarge
        case .responseInvalid: self = .answerInvalid
        case .peerGone: self = .peerGone
        case .connectionsPerAddress: self = .connectionsPerAddress
        }
    }
}

/// Why accepting paused.
enum AcceptPause: String, MetricLabel {
    case connections
    case descriptors
}

/// How a TLS handshake ended.
enum TLSHandshakeResult: MetricLabel {
    case succeeded
    case failed(TLSFailure)

    static var allCases: [TLSHandshakeResult] {
        // The last is for clients only.
        [.succeeded] + TLSFailure.allCases.filter { $0 != .certificateUntrusted }.map { .failed($0) }
    }

    var labelText: String {
        switch self {
        case .succeeded: "ok"
        case .failed(let failure): failure.rawValue
        }
    }
}

/// Versions of TLS, as the library names them.
enum TLSVersion: String, MetricLabel {
    case tls12 = "TLSv1.2"
    case tls13 = "TLSv1.3"
}

extension HTTP2StreamRefusal: MetricLabel {
    var labelText: String {
        switch self {
        case .concurrency: "concurrency"
        case .workInFlight: "work_in_flight"
        }
    }
}

extension HTTP2Ending {
    /// Why a connection was ended, as a label; the codes of HTTP/2 are a closed list.
    var labelText: String {
        switch self {
        case .shutdown: "shutdown"
        case .age: "age"
        case .requests: "requests"
        case .idle: "idle"
        case .settingsTimeout: "slow_settings"
        case .headerTimeout: "slow_header"
        case .fault(let code): code.description.lowercased()
        }
    }
}

/// A part of the way of a request through the computing threads.
enum RequestPhase: String, MetricLabel {
    /// Waiting for a thread.
    case queue
    /// Finding, decoding and checking evaluation keys and queries.
    case decode
    /// The private lookup itself.
    case compute
    /// Making the bytes of the answer.
    case encode
}

extension RouteName: MetricLabel {}

extension ServiceFailure: MetricLabel {}

extension WorkRank: MetricLabel {
    var labelText: String {
        switch self {
        case .block: "block"
        case .query: "query"
        case .upkeep: "upkeep"
        }
    }
}

extension HTTPVersion: MetricLabel {
    /// As the log writes it.
    var labelText: String { "HTTP/" + rawValue }
}

/// How a reload ended.
enum ReloadResult: String, MetricLabel {
    case succeeded = "ok"
    case failed
}

/// How the opening of an encapsulated request ended.
enum DecapsulationResult: Hashable, Sendable {
    case opened
    case failed(EncapsulationError)

    /// As a label.
    var labelText: String {
        switch self {
        case .opened: "ok"
        case .failed(.malformed): "malformed"
        case .failed(.unknownKey): "unknown_key"
        case .failed(.unsupportedSuite): "unsupported_suite"
        case .failed(.cannotOpen): "cannot_open"
        case .failed(.tooLarge): "too_large"
        case .failed(.truncated): "truncated"
        }
    }
}

/// Everything that is counted where it happens. What can be asked for at any time is gathered in MetricsPage.swift.
final class ServiceMetrics: Sendable {
    /// What an answered request is counted by.
    struct RequestKey: Hashable, Sendable {
        var route: RouteName
        var status: Int
        var version: HTTPVersion
    }

    /// What a refusal of the service is counted by.
    struct RefusalKey: Hashable, Sendable {
        var route: RouteName
        var failure: ServiceFailure
    }

    let requests = CombinedCounters<RequestKey>()
    let refusals = CombinedCounters<RefusalKey>()
    let requestsInFlight = Gauge()
    let durations = LabelledInstruments<RouteName, Histogram> { Histogram() }
    let phases = LabelledInstruments<RequestPhase, Histogram> { Histogram() }
    /// By the name of a use case, or `unknownUseCase`.
    let queries = CombinedCounters<String>()

    /// Openings of encapsulated requests, by how they ended.
    let decapsulations = CombinedCounters<DecapsulationResult>()
    /// By the tier of the key.
    let tokensIssued = CombinedCounters<String>()

    let connectionsAccepted = Counter()
    let connectionsOpen = Gauge()
    let acceptPauses = LabelledInstruments<AcceptPause, Counter> { Counter() }
    let frontRefusals = LabelledInstruments<FrontRefusal, Counter> { Counter() }
    let streamRefusals = LabelledInstruments<HTTP2StreamRefusal, Counter> { Counter() }
    let endings = CombinedCounters<HTTP2Ending>()
    let tlsHandshakes = LabelledInstruments<TLSHandshakeResult, Counter> { Counter() }
    let tlsDurations = LabelledInstruments<TLSVersion, Histogram> { Histogram() }
    let tlsResumptions = Counter()

    let reloads = LabelledInstruments<ReloadResult, Counter> { Counter() }

    /// The label of a name that the configuration does not have: the name itself could carry anything.
    static let unknownUseCase = "unknown"

    /// Counts what the front reports.
    func take(_ event: HTTPServerEvent) {
        switch event {
        case .connectionAccepted:
            connectionsAccepted.add()
            connectionsOpen.add(1)
        case .connectionClosed: connectionsOpen.add(-1)
        case .acceptPaused(.connections): acceptPauses[.connections]?.add()
        case .acceptPaused(.descriptors): acceptPauses[.descriptors]?.add()
        case .refused(let refusal): frontRefusals[FrontRefusal(refusal)]?.add()
        case .handshakeCompleted(let version, let isResumed, let duration):
            tlsHandshakes[.succeeded]?.add()
            if let version = TLSVersion(rawValue: version) { tlsDurations[version]?.observe(duration) }
            if isResumed { tlsResumptions.add() }
        case .handshakeFailed(let failure): tlsHandshakes[.failed(failure)]?.add()
        case .streamRefused(let refusal): streamRefusals[refusal]?.add()
        case .goAwaySent(let ending): endings.add(to: ending)
        // Counted by the service, which knows the route.
        case .requestCompleted: break
        }
    }

    /// Counts an answered request.
    func answered(_ key: RequestKey, after duration: Duration) {
        requests.add(to: key)
        durations[key.route]?.observe(duration)
    }

    /// Begins to measure a phase.
    func begin(_ phase: RequestPhase) -> PhaseTimer { PhaseTimer(histogram: phases[phase]) }
}

/// Measures a phase from its making to `end`.
struct PhaseTimer: Sendable {
    fileprivate let histogram: Histogram?
    private let start = ContinuousClock.now

    fileprivate init(histogram: Histogram?) { self.histogram = histogram }

    /// Counts the time since the beginning.
    func end() { histogram?.observe(ContinuousClock.now - start) }
}
