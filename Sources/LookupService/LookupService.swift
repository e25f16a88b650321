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
            record(
                method: head.method, path: head.path, source: head.source, status: response.status, duration: .zero,
                received: 0, sent: response.body.count)
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
            guard let snapshot = snapshots.current else { throw .tryAgainLater }
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

    /// Writes the line of a request.
    func record(
        method: String, path: String, source: HTTPSource, status: Int, duration: Duration, received: Int, sent: Int
    ) {
        let way = source == .gateway ? "gateway" : "direct"
        log.write(
            "\(LogText.time(secondsSince1970())) \(LogText.method(method)) \(RouteName(path: path).rawValue) \(status) "
                + "\(LogText.milliseconds(duration)) in\(LogText.bucket(received)) out\(LogText.bucket(sent)) \(way)")
    }

    /// Writes a line about the service itself; `text` holds nothing of a request.
    func note(_ text: String) { log.write("\(LogText.time(secondsSince1970())) \(text)") }
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
    }

    /// Whether the answer was given already (a deadline passed).
    var isDone: Bool { isAnswered.load(ordering: .acquiring) }

    /// Whether further work is useless: answered, or nobody waits.
    var isPointless: Bool { isDone || request.isCancelled }

    /// Gives the answer if none was given.
    func answer(_ response: HTTPResponse) {
        guard isAnswered.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        service.record(
            method: request.method, path: request.path, source: request.source, status: response.status,
            duration: ContinuousClock.now - request.receivedAt, received: request.body.count, sent: response.body.count)
        reply.send(response)
    }

    /// Answers with a protobuf message, or with an empty body.
    func succeed(_ body: [UInt8]) {
        var fields: HTTPFields = ["cache-control": "no-store"]
        if !body.isEmpty { fields.append("content-type", "application/x-protobuf") }
        answer(HTTPResponse(status: 200, fields: fields, body: body))
    }

    /// Refuses; `retryAfter`: seconds until there is room, when that is known.
    func refuse(_ failure: ServiceFailure, retryAfter: Int? = nil) { answer(failure.response(retryAfter: retryAfter)) }
}
