// `veilring-bench gateway`: the processor time that the gateway adds to a query: the same query directly and sealed, in turn, in one
// process and without sockets; and what of it opening and sealing take alone.

import Cryptography
import Dispatch
import Foundation
import HTTPCore
import HTTPServer
import KeywordPIR
import LookupMessages
import LookupService
import ObliviousHTTP
import StateStore
import Synchronization

/// The options of a measurement of the gateway.
struct GatewayBenchOptions: Codable, Equatable {
    /// Pairs of a direct and a sealed request, of which the medians count.
    var pairs = 1000

    static let names = ["--pairs"]

    init() {}

    /// Throws `UsageError`.
    init(_ arguments: BenchArguments) throws {
        pairs = try arguments.number("--pairs", in: 4...1_000_000, default: pairs)
    }
}

/// A result of `veilring-bench gateway`. Times are processor time of the whole process, in microseconds.
struct GatewayResult: Codable {
    /// What the gateway adds to one kind of request.
    struct Added: Codable {
        /// Median of the direct requests.
        var direct: Double
        /// Median of the differences of neighbours.
        var added: Double
        /// Half of the differences are between these.
        var quartiles: [Double]
        /// Medians of opening, reading, writing and sealing messages of these sizes, and nothing else, once in each turn.
        var alone: Double
        /// The same of one X25519 key agreement, which every opening needs.
        var agreement: Double
        /// Bytes of the message and of its answer.
        var requestBytes: Int
        var answerBytes: Int
    }

    var benchmark = "gateway"
    var commit: String?
    var options: GatewayBenchOptions
    var machine: Machine
    /// A query that is computed, in the whole and in the chunked form.
    var query: Added
    var chunkedQuery: Added
    /// The same query for a use case that is not there: refused as soon as it is read. Its answer is padded to that of the query.
    var refusal: Added
}

/// Measures the gateway with some options.
struct GatewayBenchmark {
    let options: GatewayBenchOptions

    private static let useCase = "bench.identity"
    private static let fields: HTTPFields = [
        "user-identifier": "A4C1E2B0-0000-4000-8000-00000000ABCD", "user-agent": "com.apple.ciphermld/1.0 iOS/18.2",
        "content-type": "application/x-protobuf",
    ]

    func run() throws -> GatewayResult {
        let machine = Machine.current
        let folder = FileManager.default.temporaryDirectory.path + "/veilring-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let stage = try Self.stage()
        let message = try Self.query(stage)
        let plain = try Self.service(stage, folder: folder, padding: 0)
        let query = try measure(plain, message, expecting: 200, in: .whole)
        let chunkedQuery = try measure(plain, message, expecting: 200, in: .chunked)
        var foreign = message
        foreign.requests[0].usecase += ".absent"
        let padded = try Self.service(stage, folder: folder, padding: query.answerBytes)
        let refusal = try measure(padded, foreign, expecting: 400, in: .whole)
        return GatewayResult(
            options: options, machine: machine, query: query, chunkedQuery: chunkedQuery, refusal: refusal)
    }

    // MARK: The service

    /// Few rows: what is added depends on the sizes of the messages only, and a short computation disturbs least.
    private static func stage() throws -> EngineBenchmark.Stage {
        var options = EngineOptions()
        options.rows = 50
        return try EngineBenchmark(options).build()
    }

    private static func query(_ stage: EngineBenchmark.Stage) throws -> Requests {
        let query = try stage.client.makeQuery(SampleData(rows: 50, valueBytes: 40).keyword(1))
        var request = PIRRequest()
        request.shardIndex = UInt32(query.shard)
        request.query = query.indices
        request.evaluationKeyMetadata = metadata(stage)
        request.configurationHash = stage.parameters.configurationID[...]
        return Requests(requests: [Request(usecase: useCase, kind: .pir(request))])
    }

    private static func metadata(_ stage: EngineBenchmark.Stage) -> EvaluationKeyMetadata {
        EvaluationKeyMetadata(timestamp: 1, identifier: stage.parameters.evaluationKeyConfigHash[...])
    }

    /// A service with the device's key, behind a gateway.
    private static func service(
        _ stage: EngineBenchmark.Stage, folder: String, padding: Int
    ) throws -> LookupService {
        var rules = GatewayRules()
        (rules.isChunked, rules.paddingMultiple) = (true, padding)
        let gateway = try ObliviousGateway(
            folder: GatewayKeyFolder(path: folder + "/keys", rules: GatewayRotationRules(), isScheduled: true),
            rules: rules, targets: GatewayTargets(secure: ["bench.example"]))
        // One thread computes and one opens: a query that is shared out costs now more, now less.
        var options = ServiceOptions()
        options.computeThreads = 1
        let service = LookupService(
            options: options, store: try InMemoryEvaluationKeyStore(), gateway: gateway, log: SilentLog())
        let contents = stage.contents
        let served = ServedUseCase(
            name: useCase, kind: .identity, engine: stage.engine, shards: [ShardSlot { contents }])
        service.swap(to: ServiceSnapshot(version: "bench", current: [served]))
        let key = EvaluationKey(
            metadata: metadata(stage), evaluationKey: try SerializedEvaluationKey(decoding: stage.keyBytes))
        let answer = ask(service, direct("/key", EvaluationKeys(keys: [key]).encoded()))
        guard answer.status == 200 else { throw BenchError.failed("the key was refused with \(answer.status)") }
        return service
    }

    private static func direct(_ path: String, _ body: [UInt8]) -> HTTPRequest {
        HTTPRequest(method: "POST", scheme: "https", authority: "bench.example", path: path, fields: fields, body: body)
    }

    /// Asks as the HTTP front does, and waits.
    private static func ask(_ service: LookupService, _ request: HTTPRequest) -> HTTPResponse {
        switch service.begin(request.head) {
        case .respond(let response): return response
        case .readBody:
            let answer = Mutex<HTTPResponse?>(nil)
            let done = DispatchSemaphore(value: 0)
            service.handle(
                request,
                reply: HTTPReply { response in
                    answer.withLock { $0 = response }
                    done.signal()
                })
            done.wait()
            return answer.withLock { $0 } ?? HTTPResponse(status: 500)
        }
    }

    // MARK: Measuring

    private enum Form { case whole, chunked }

    /// A sealed request that can be sent again and again, and what opens its answers.
    private static func seal(
        _ request: HTTPRequest, for service: LookupService, in form: Form
    ) throws -> (request: HTTPRequest, open: (HTTPResponse) throws -> BinaryResponse) {
        let list = ask(service, HTTPRequest(method: "GET", path: "/ohttp-keys"))
        guard let key = try KeyConfiguration.decodeList(list.body).first else { throw BenchError.failed("there is no key") }
        let plain = try BinaryRequest(
            method: request.method, scheme: request.scheme, authority: request.authority, path: request.path,
            fields: request.fields.map { BinaryField($0.name, $0.value) }, content: request.body[...]
        ).encoded()
        func outer(_ type: String, _ body: [UInt8]) -> HTTPRequest {
            HTTPRequest(method: "POST", authority: "bench.example", path: "/", fields: ["content-type": type], body: body)
        }
        switch form {
        case .whole:
            let sealed = try key.encapsulate(plain)
            return (
                outer("message/ohttp-req", sealed.bytes),
                { try BinaryResponse(decoding: sealed.responseOpener.open($0.body)) }
            )
        case .chunked:
            var sealer = try key.encapsulateChunked()
            let body = try sealer.seal(plain[...], isFinal: true)
            let opener = sealer.responseOpener()
            return (
                outer("message/ohttp-chunked-req", body),
                { response in
                    var opener = opener
                    let beginning = try opener.append(response.body[...])
                    return try BinaryResponse(decoding: (beginning + opener.finish())[...])
                }
            )
        }
    }

    private func measure(
        _ service: LookupService, _ message: Requests, expecting status: Int, in form: Form
    ) throws -> GatewayResult.Added {
        let request = Self.direct("/queries", message.encoded())
        let (sealed, open) = try Self.seal(request, for: service, in: form)
        var answerBytes = 0
        /// Processor time of one request, in microseconds; the answers are looked at outside of it.
        func time(isSealed: Bool) throws -> Double {
            var fresh = isSealed ? sealed : request
            fresh.receivedAt = .now
            fresh.deadline = fresh.receivedAt.advanced(by: .seconds(30))
            let before = Machine.cpuSeconds
            let outer = Self.ask(service, fresh)
            let time = (Machine.cpuSeconds - before) * 1e6
            if isSealed {
                let inner = try open(outer)
                guard inner.status == status, inner.content.count == answerBytes else {
                    throw BenchError.failed("a sealed request was answered otherwise: \(inner.status)")
                }
            } else {
                guard outer.status == status else { throw BenchError.failed("a request was answered \(outer.status)") }
                answerBytes = outer.body.count
            }
            return time
        }
        for _ in 0..<20 { _ = (try time(isSealed: false), try time(isSealed: true)) }
        let parts = try GatewayParts(requestBytes: request.body.count, answerBytes: answerBytes, fields: Self.fields)
        var (direct, added, alone, agreement) = (Sample(), Sample(), Sample(), Sample())
        for pair in 0..<options.pairs {
            // Who is second finds warmer caches: in turn.
            let isSealedFirst = pair % 2 == 1
            let first = try time(isSealed: isSealedFirst)
            let second = try time(isSealed: !isSealedFirst)
            direct.append(isSealedFirst ? second : first)
            added.append(isSealedFirst ? first - second : second - first)
            // In the same turn, so that all suffer alike from what else the machine does.
            alone.append(try Self.microseconds(parts.openAndSeal))
            agreement.append(try Self.microseconds(parts.agree))
        }
        return GatewayResult.Added(
            direct: direct.median, added: added.median, quartiles: [added.percentile(25), added.percentile(75)],
            alone: alone.median, agreement: agreement.median, requestBytes: request.body.count, answerBytes: answerBytes)
    }

    /// Processor time of some work.
    private static func microseconds(_ work: () throws -> Void) rethrows -> Double {
        let before = Machine.cpuSeconds
        try work()
        return (Machine.cpuSeconds - before) * 1e6
    }
}

/// What every sealed request needs, without a service around it.
private struct GatewayParts {
    private let keys: GatewayKeySet
    private let sealed: [UInt8]
    private let answer: BinaryResponse
    private let requestBytes: Int
    private let mine: X25519PrivateKey
    private let other: [UInt8]

    init(requestBytes: Int, answerBytes: Int, fields: HTTPFields) throws {
        let key = try GatewayKey(id: 1, privateKey: X25519PrivateKey.generate())
        keys = try GatewayKeySet([key])
        let request = BinaryRequest(
            method: "POST", scheme: "https", authority: "bench.example", path: "/queries",
            fields: fields.map { BinaryField($0.name, $0.value) }, content: [UInt8](repeating: 7, count: requestBytes)[...])
        sealed = try key.configuration.encapsulate(try request.encoded()).bytes
        answer = BinaryResponse(status: 200, content: [UInt8](repeating: 9, count: answerBytes)[...])
        self.requestBytes = requestBytes
        (mine, other) = (try X25519PrivateKey.generate(), try X25519PrivateKey.generate().publicKey)
    }

    /// Opens and reads a request, writes and seals an answer.
    func openAndSeal() throws {
        let opened = try keys.open(sealed)
        guard try BinaryRequest(decoding: opened.plaintext).content.count == requestBytes else {
            throw BenchError.failed("a request was opened wrongly")
        }
        _ = try opened.responseSealer.seal(answer.encoded())
    }

    /// One key agreement.
    func agree() throws { _ = try mine.sharedSecret(with: other) }
}
