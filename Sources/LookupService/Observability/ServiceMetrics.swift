// What the service counts, with the closed lists behind its labels (docs/metrics.md says what each metric means).

import HTTPCore
import HTTPServer

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
enum TLSHandshakeResult: String, MetricLabel {
    /// It succeeded.
    case succeeded = "ok"
    /// What came was no TLS.
    case notTLS = "not_tls"
    /// No version of TLS that both speak.
    case unsupportedVersion = "unsupported_version"
    /// No cipher, group or signature that both know.
    case nothingInCommon = "nothing_in_common"
    /// No protocol of ALPN that both know.
    case noProtocol = "no_protocol"
    /// The client sent an alert: it does not trust the certificate, or has another reason.
    case refusedByClient = "refused_by_client"
    /// It took too long.
    case timeout
    /// The client went away.
    case peerGone = "peer_gone"
    /// Anything else.
    case other
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

extension HTTPVersion: MetricLabel {
    /// As the log writes it.
    var labelText: String { "HTTP/" + rawValue }
}

/// How a reload ended.
enum ReloadResult: String, MetricLabel {
    case succeeded = "ok"
    case failed
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

    let connectionsAccepted = Counter()
    let connectionsOpen = Gauge()
    let acceptPauses = LabelledInstruments<AcceptPause, Counter> { Counter() }
    let frontRefusals = LabelledInstruments<FrontRefusal, Counter> { Counter() }
    let tlsHandshakes = LabelledInstruments<TLSHandshakeResult, Counter> { Counter() }

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
