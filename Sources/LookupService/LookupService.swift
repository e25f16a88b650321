// The routes of the service behind the HTTP front (service.md 1.5 to 1.12): which request goes where, what is checked before
// a body is read. The work of each route is in Routes/, a request on its way in ServiceCall.swift.

import HTTPCore
import HTTPServer
import StateStore
import Synchronization

/// Answers `/config`, `/key` and `/queries` from the snapshot in force, and issues the tokens that pay for them. Knows nothing of
/// sockets: it is the handler of an `HTTPServer`, and can be called directly.
public final class LookupService: HTTPHandler {
    let options: ServiceOptions
    let store: any EvaluationKeyStore
    /// Issuer keys, users and spent tokens; nil: everyone may ask.
    let privacyPass: PrivacyPassRoles?
    /// Opens encapsulated requests; nil: there is no gateway.
    let gateway: ObliviousGateway?
    let log: any LogWriter
    let snapshots = SnapshotHolder()
    let decodedKeys: DecodedKeyCache
    /// Computes queries and checks uploads.
    let computing: WorkPool
    /// How long queries will take.
    let forecast = DurationForecast()
    /// Waits for the store.
    let clerks: WorkPool
    /// Finds out who a user is, which may mean to ask another server.
    let registrars: WorkPool
    /// Signs blindly.
    let signers: WorkPool
    /// Opens encapsulated requests, as far as that is not done where they arrive.
    let openers: WorkPool
    let openingShare = OpeningShare()
    /// The answer of `GET /config`, made once for each snapshot.
    let publicConfig = PublicConfigCache()
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
    ///
    /// - Parameters:
    ///   - privacyPass: who may ask; nil: everyone.
    ///   - gateway: opens encapsulated requests; nil: they are not taken.
    public init(
        options: ServiceOptions = ServiceOptions(), store: any EvaluationKeyStore, privacyPass: PrivacyPassRoles? = nil,
        gateway: ObliviousGateway? = nil, log: any LogWriter
    ) {
        self.privacyPass = privacyPass
        self.gateway = gateway
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
        let issuing = LineRules(queries: 0, upkeep: privacyPass == nil ? 0 : options.waitingClerical)
        registrars = WorkPool(
            WorkPool.Settings(
                name: "registrar", threads: privacyPass == nil ? 1 : 4, rules: issuing, waitingTime: options.waitingTime))
        signers = WorkPool(
            WorkPool.Settings(
                name: "signer", threads: options.signingThreads ?? max(1, options.computeThreads / 2),
                niceness: options.computeNiceness, rules: issuing, waitingTime: options.waitingTime))
        // Junk costs as much as a real request, so half of the cores at most are busy with it (service.md 8.4), event loops that
        // take a place of these threads included.
        openers = WorkPool(
            WorkPool.Settings(
                name: "opener", threads: gateway == nil ? 1 : max(1, options.computeThreads / 2),
                rules: LineRules(queries: 0, upkeep: gateway == nil ? 0 : options.waitingClerical),
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

    /// Decides about a request by its head (service.md 1.8): route, method, length, encoding, credentials.
    public func begin(_ head: HTTPRequestHead) -> HTTPAdmission {
        do throws(ServiceFailure) {
            let route = try route(of: head)
            let limit = try bodyLimit(of: route)
            guard methods(of: route, path: head.path).contains(head.method) else { throw .methodNotAllowed }
            if let length = head.contentLength, length > limit, head.method == "POST" { throw .bodyTooLarge }
            let encodings = head.fields.values("content-encoding")
            guard encodings.allSatisfy({ $0 == "identity" || $0.isEmpty }) else { throw .compressedRequest }
            switch route.credential(method: head.method) {
            case .none where route == .gateway && head.method == "POST": try checkGatewayHead(head)
            case .none:
                let response = try publicAnswer(route, head)
                record(head, response, after: .zero, received: 0)
                return .respond(response)
            case .userToken: _ = try Self.userCredential(head.fields)
            case .token:
                // Small bodies may come before the signature is looked at; nobody makes us keep large ones without a token.
                let isLarge = head.contentLength.map { $0 > Self.bodyBeforeSignature } ?? true
                _ = try privacyPass?.redemption.token(in: head.fields, checkingSignature: isLarge)
                _ = try Self.userIdentifier(head.fields)
            }
            return .readBody(limit: limit)
        } catch {
            let response = refusal(error, path: head.path)
            refused(head.path, error)
            record(head, response, after: .zero, received: 0)
            return .respond(response)
        }
    }

    /// Bytes of a body that are read before the token's signature was checked (service.md 1.8).
    private static let bodyBeforeSignature = 64 << 10

    /// Answers a complete request.
    public func handle(_ request: consuming HTTPRequest, reply: HTTPReply) {
        var request = request
        let received = request.body.count
        let isSealed = gateway != nil && request.method == "POST" && name(ofPath: request.path) == .gateway
        let sealed = isSealed ? SealedBody(taking: &request.body) : nil
        let call = ServiceCall(request: request, received: received, reply: reply, service: self)
        do throws(ServiceFailure) {
            let route = try route(of: request.head)
            let limit = try bodyLimit(of: route)
            guard methods(of: route, path: request.path).contains(request.method) else { throw .methodNotAllowed }
            if received > limit { throw .bodyTooLarge }
            switch route.credential(method: request.method) {
            case .none:
                guard let sealed, let gateway else {
                    return call.answer(try publicAnswer(route, request.head))
                }
                let form = try checkGatewayHead(request.head)
                takeEncapsulated(call, sealed, in: form, by: gateway)
            case .userToken:
                guard let privacyPass else { throw .notFound }
                let credential = try Self.userCredential(request.fields)
                if route == .issue {
                    issue(call, to: credential, by: privacyPass)
                } else {
                    handOutKey(call, to: credential, by: privacyPass)
                }
            case .token: try answerPaid(call, route)
            }
        } catch {
            call.refuse(error)
        }
    }

    /// The routes that cost a token.
    private func answerPaid(_ call: ServiceCall, _ route: RouteName) throws(ServiceFailure) {
        if let privacyPass {
            call.pay(with: try privacyPass.redemption.token(in: call.request.fields, checkingSignature: true))
        }
        let user = try Self.userIdentifier(call.request.fields)
        guard let snapshot = snapshots.current else { throw .notLoaded }
        switch route {
        case .config: try takeConfig(call, snapshot: snapshot, user: user)
        case .key: try takeKeys(call, snapshot: snapshot, user: user)
        case .queries: try takeQueries(call, snapshot: snapshot, user: user)
        case .issuerDirectory, .userTokenKey, .issue, .gateway, .gatewayKeys, .unknown: throw .notFound
        }
    }

    /// What everybody may read, answered at once.
    private func publicAnswer(_ route: RouteName, _ head: HTTPRequestHead) throws(ServiceFailure) -> HTTPResponse {
        switch route {
        case .config:
            guard let snapshot = snapshots.current else { throw .notLoaded }
            return publicConfig.answer(head, snapshot: snapshot, tiers: privacyPass?.tiers, maxAge: options.publicConfigMaxAge)
        case .issuerDirectory:
            guard let privacyPass else { throw .notFound }
            return privacyPass.keys.directoryAnswer(head)
        case .gateway, .gatewayKeys:
            guard let gateway else { throw .notFound }
            // The root is everybody's first try; only who asks for keys gets them there (service.md 3.3).
            if head.path == "/", head.fields["accept"]?.lowercased().contains(ObliviousGateway.listType) != true {
                throw .notFound
            }
            return gateway.listAnswer(head, isOldForm: head.path == "/ohttp-configs")
        case .key, .queries, .userTokenKey, .issue, .unknown: throw .notFound
        }
    }

    /// The methods that a route answers.
    private func methods(of route: RouteName, path: String) -> [String] {
        switch route {
        case .gateway: path == "/gateway" || path == gateway?.rules.path ? ["POST"] : ["POST", "GET", "HEAD"]
        case .gatewayKeys: ["GET", "HEAD"]
        case .config: options.servesPublicConfig ? ["POST", "GET", "HEAD"] : ["POST"]
        case .key, .queries, .issue: ["POST"]
        case .issuerDirectory, .userTokenKey: ["GET", "HEAD"]
        case .unknown: []
        }
    }

    private func bodyLimit(of route: RouteName) throws(ServiceFailure) -> Int {
        switch route {
        case .config: return options.configBody
        case .key: return options.keyBody
        case .queries: return options.queriesBody
        case .issuerDirectory, .userTokenKey, .issue:
            guard privacyPass != nil else { throw .notFound }
            return route == .issue ? options.issueBody : 0
        case .gateway, .gatewayKeys:
            guard gateway != nil else { throw .notFound }
            return route == .gateway ? gatewayBodyLimit : 0
        case .unknown: throw .notFound
        }
    }

    /// The route of a request. What is for the gateway does not come through the gateway.
    private func route(of head: HTTPRequestHead) throws(ServiceFailure) -> RouteName {
        let route = try route(path: head.path, authority: head.authority)
        if head.source == .gateway, route.role == .gateway { throw .notFound }
        return route
    }

    /// The answer to a request that is refused.
    func refusal(_ failure: ServiceFailure, path: String, retryAfter: Int? = nil) -> HTTPResponse {
        let route = name(ofPath: path)
        let challenge: String? =
            switch route.credential(method: "POST") {
            case .token: privacyPass?.keys.challenge
            case .userToken: "Bearer"
            case .none: nil
            }
        return failure.response(
            retryAfter: retryAfter, allow: methods(of: route, path: path).joined(separator: ", "), challenge: challenge,
            limit: failure == .bodyTooLarge ? try? bodyLimit(of: route) : nil)
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
        let route = name(ofPath: head.path)
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
        metrics.refusals.add(to: .init(route: name(ofPath: path), failure: failure))
    }
}
