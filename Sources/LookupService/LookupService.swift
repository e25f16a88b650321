// The routes of the service behind the HTTP front (service.md 1.5 to 1.12): which request goes where, what is checked before
// a body is read, and the line that the log gets. The work of each route is in Routes/.

import HTTPCore
import HTTPServer
import StateStore
import Synchronization

/// Answers `/config`, `/key` and `/queries` from the snapshot in force. Knows nothing of sockets: it is the handler of an
/// `HTTPServer`, and can be called directly.
public final class LookupService: HTTPHandler {
    let options: ServiceOptions
    let store: any EvaluationKeyStore
    let log: any LogWriter
    let snapshots = SnapshotHolder()
    let decodedKeys: DecodedKeyCache
    /// Computes queries and checks uploads.
    let computing: WorkPool
    /// How long queries will take.
    let forecast = DurationForecast()
    /// Waits for the store.
    let clerks: WorkPool
    let deadlines = Deadlines()
    let metrics = ServiceMetrics()
    private let isStopping = Atomic<Bool>(false)
    /// Queries whose timestamp matched no stored key (service.md 1.10.1).
    let unmatchedTimestamps = Atomic<Int>(0)
    /// Evaluation keys decoded, for queries and to check uploads.
    let keyDecodings = Atomic<Int>(0)
    /// Queries that were answered together with others of their batch, in one scan of the shard.
    let sharedScans = Atomic<Int>(0)

    /// A service without data: it answers 503 until the first `swap`.
    public init(options: ServiceOptions = ServiceOptions(), store: any EvaluationKeyStore, log: any LogWriter) {
        self.options = options
        self.store = store
        self.log = log
        decodedKeys = DecodedKeyCache(bytes: options.decodedKeyBytes)
        computing = WorkPool(
            WorkPool.Settings(
                name: "compute", threads: options.computeThreads, niceness: options.computeNiceness, rules: options.lineRules,
                waitingTime: options.waitingTime))
        clerks = WorkPool(
            WorkPool.Settings(
                name: "clerk", threads: 4, rules: LineRules(queries: 0, upkeep: options.waitingClerical),
                waitingTime: options.waitingTime))
    }

    /// Puts a snapshot in force, for all use cases in one step. Requests that began before end under the one before.
    public func swap(to snapshot: ServiceSnapshot) { snapshots.swap(to: snapshot) }

    /// The version in force; nil before the first.
    public var version: String? { snapshots.current?.version }

    /// From now on `/readyz` says no.
    func beginStopping() { isStopping.store(true, ordering: .releasing) }

    /// What `/readyz` says.
    var readiness: Readiness {
        var missing = isStopping.load(ordering: .acquiring) ? ["the server is stopping"] : []
        guard let snapshot = snapshots.current else { return Readiness(missing: missing + ["no data is loaded yet"]) }
        missing += snapshot.missing.map { "use case \($0) is not in version \(snapshot.version)" }
        let damaged = snapshot.current.values.sorted { $0.name < $1.name }.compactMap { useCase -> String? in
            let count = useCase.shards.count { $0.contents == nil }
            return count == 0 ? nil : "use case \(useCase.name): \(count) of \(useCase.shards.count) shards out of service"
        }
        return Readiness(missing: missing, remarks: damaged)
    }

    /// What `/version` says: the program, and the data in force.
    var versionReport: String {
        var members = ProgramVersion.current.members.map { ($0.name, LogValue.text($0.text)) }
        if let snapshot = snapshots.current {
            members.append(("data", .text(snapshot.version)))
            if let created = snapshot.created { members.append(("data_built", .text(LogText.time(created)))) }
            members.append(("use_cases", .texts(snapshot.current.keys.sorted())))
        }
        return JSONLine.object(members)
    }

    /// Decides about a request by its head (service.md 1.8): route, method, length, encoding, user identifier.
    public func begin(_ head: HTTPRequestHead) -> HTTPAdmission {
        do throws(ServiceFailure) {
            let route = try route(path: head.path, authority: head.authority)
            let limit = try bodyLimit(of: route)
            guard head.method == "POST" else { throw .methodNotAllowed }
            if let length = head.contentLength, length > limit { throw .bodyTooLarge }
            let encodings = head.fields.values("content-encoding")
            guard encodings.allSatisfy({ $0 == "identity" || $0.isEmpty }) else { throw .compressedRequest }
            _ = try Self.userIdentifier(head.fields)
            return .readBody(limit: limit)
        } catch {
            let response = error.response
            refused(head.path, error)
            record(head, response, after: .zero, received: 0)
            return .respond(response)
        }
    }

    /// Answers a complete request.
    public func handle(_ request: HTTPRequest, reply: HTTPReply) {
        let call = ServiceCall(request: request, reply: reply, service: self)
        do throws(ServiceFailure) {
            let route = try route(path: request.path, authority: request.authority)
            let limit = try bodyLimit(of: route)
            guard request.method == "POST" else { throw .methodNotAllowed }
            if request.body.count > limit { throw .bodyTooLarge }
            let user = try Self.userIdentifier(request.fields)
            guard let snapshot = snapshots.current else { throw .notLoaded }
            switch route {
            case .config: try takeConfig(call, snapshot: snapshot, user: user)
            case .key: try takeKeys(call, snapshot: snapshot, user: user)
            case .queries: try takeQueries(call, snapshot: snapshot, user: user)
            case .unknown: throw .notFound
            }
        } catch {
            call.refuse(error)
        }
    }

    private func bodyLimit(of route: RouteName) throws(ServiceFailure) -> Int {
        switch route {
        case .config: options.configBody
        case .key: options.keyBody
        case .queries: options.queriesBody
        case .unknown: throw .notFound
        }
    }

    /// The one `User-Identifier`: 1 to 128 bytes of visible ASCII.
    static func userIdentifier(_ fields: HTTPFields) throws(ServiceFailure) -> String {
        let values = fields.values("user-identifier")
        guard values.count == 1, let value = values.first, (1...128).contains(value.utf8.count),
            value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .invalidUserIdentifier }
        return value
    }

    /// Counts an answered request, and writes its line.
    func record(_ head: HTTPRequestHead, _ response: HTTPResponse, after duration: Duration, received: Int) {
        let route = RouteName(path: head.path)
        metrics.answered(.init(route: route, status: response.status, version: head.version), after: duration)
        log.note(
            .request(
                RequestSummary(
                    method: LogText.method(head.method), route: route.rawValue, status: response.status, duration: duration,
                    received: received, sent: response.body.count, version: head.version,
                    isThroughGateway: head.source == .gateway)))
    }

    /// Counts a refusal.
    func refused(_ path: String, _ failure: ServiceFailure) {
        metrics.refusals.add(to: .init(route: RouteName(path: path), failure: failure))
    }
}

/// One request on its way: answers it once, and writes its line.
final class ServiceCall: Sendable {
    let request: HTTPRequest
    private let reply: HTTPReply
    private let service: LookupService
    private let isAnswered = Atomic<Bool>(false)

    init(request: HTTPRequest, reply: HTTPReply, service: LookupService) {
        self.request = request
        self.reply = reply
        self.service = service
        service.metrics.requestsInFlight.add(1)
    }

    deinit { if !isDone { service.metrics.requestsInFlight.add(-1) } }

    /// Whether the answer was given already (a deadline passed).
    var isDone: Bool { isAnswered.load(ordering: .acquiring) }

    /// Whether further work is useless: answered, or nobody waits.
    var isPointless: Bool { isDone || request.isCancelled }

    /// Gives the answer if none was given; `failure` is why it is a refusal.
    func answer(_ response: HTTPResponse, failure: ServiceFailure? = nil) {
        guard isAnswered.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        service.metrics.requestsInFlight.add(-1)
        if let failure { service.refused(request.path, failure) }
        service.record(
            request.head, response, after: ContinuousClock.now - request.receivedAt, received: request.body.count)
        reply.send(response)
    }

    /// Answers with a protobuf message, or with an empty body.
    func succeed(_ body: [UInt8]) {
        var fields: HTTPFields = ["cache-control": "no-store"]
        if !body.isEmpty { fields.append("content-type", "application/x-protobuf") }
        answer(HTTPResponse(status: 200, fields: fields, body: body))
    }

    /// Refuses; `retryAfter`: seconds until there is room, when that is known.
    func refuse(_ failure: ServiceFailure, retryAfter: Int? = nil) {
        answer(failure.response(retryAfter: retryAfter), failure: failure)
    }

    /// Refuses because the line does not do the work.
    func refuse(_ refusal: WorkRefusal) { refuse(ServiceFailure(refusal.reason), retryAfter: refusal.retryAfter) }
}
