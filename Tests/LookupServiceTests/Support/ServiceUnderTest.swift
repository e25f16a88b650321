// A service with two sample use cases, called without sockets, and a client that makes valid requests for it.

import Dispatch
import HTTPCore
import HTTPServer
import KeywordPIR
import LookupMessages
import Protobuf
import StateStore
import Synchronization

@testable import LookupService

/// A service and what a device needs to know of it.
struct ServiceUnderTest {
    static let identity = "net.example.test.identity"
    static let block = "net.example.test.block"
    static let number = "+14085551212"

    let service: LookupService
    let log: MemoryLog
    let store: any EvaluationKeyStore
    let identitySample: SampleUseCase
    let blockSample: SampleUseCase

    static func rows(name: String) -> [String: [UInt8]] {
        [number: Array(name.utf8), "+886912345678": Array("Mr Huang".utf8)]
    }

    init(
        options: ServiceOptions = ServiceOptions(), name: String = "Johnny", sharding: ShardingFunction = .sha256,
        store: (any EvaluationKeyStore)? = nil, isLoaded: Bool = true, gateway: ObliviousGateway? = nil
    ) throws {
        let store = try store ?? InMemoryEvaluationKeyStore()
        let log = MemoryLog()
        self.store = store
        self.log = log
        service = LookupService(options: options, store: store, gateway: gateway, log: log)
        identitySample = try SampleUseCase.make(
            Self.identity, kind: .identity, rows: Self.rows(name: name), sharding: sharding)
        // Fewer buckets, so that the two use cases have different configuration ids.
        blockSample = try SampleUseCase.make(Self.block, kind: .block, rows: [Self.number: [1]], buckets: 8, entrySize: 80)
        if isLoaded { service.swap(to: snapshot) }
    }

    var identity: ServedUseCase { identitySample.loaded }
    var block: ServedUseCase { blockSample.loaded }
    var snapshot: ServiceSnapshot { ServiceSnapshot(version: "one", current: [identity, block]) }

    /// Sends a request to the handler as the HTTP front does, and waits for the answer.
    func call(
        _ path: String, _ body: [UInt8] = [], method: String = "POST", fields: HTTPFields = Self.fields,
        cancellation: HTTPCancellation = HTTPCancellation()
    ) -> HTTPResponse {
        service.answer(
            HTTPRequest(method: method, path: path, fields: fields, body: body, cancellation: cancellation))
    }

    func call(_ path: String, _ message: some ProtobufMessage, fields: HTTPFields = Self.fields) -> HTTPResponse {
        call(path, message.encoded(), fields: fields)
    }

    static let fields: HTTPFields = [
        "user-identifier": "A4C1E2B0-0000-4000-8000-00000000ABCD", "user-agent": "com.apple.ciphermld/1.0 iOS/18.2",
    ]
}

/// A device of the service under test, with its keys uploaded.
struct TestDevice {
    let client: PIRClient
    let useCase: ServedUseCase
    let key: EvaluationKey
    var timestamp: UInt64 { key.metadata?.timestamp ?? 0 }

    init(_ useCase: ServedUseCase, timestamp: UInt64 = 77) throws {
        self.useCase = useCase
        client = try PIRClient(parameters: useCase.parameters)
        key = EvaluationKey(
            metadata: EvaluationKeyMetadata(
                timestamp: timestamp, identifier: useCase.parameters.evaluationKeyConfigHash[...]),
            evaluationKey: try client.makeEvaluationKey())
    }

    var upload: EvaluationKeys { EvaluationKeys(keys: [key]) }

    func query(_ keyword: String) throws -> (query: PIRQuery, request: PIRRequest) {
        let query = try client.makeQuery(Array(keyword.utf8))
        var request = PIRRequest()
        request.shardIndex = UInt32(query.shard)
        request.query = query.indices
        request.evaluationKeyMetadata = key.metadata
        request.configurationHash = useCase.parameters.configurationID[...]
        return (query, request)
    }

    func requests(_ request: PIRRequest) -> Requests {
        Requests(requests: [Request(usecase: useCase.name, kind: .pir(request))])
    }

    /// The value that a successful answer holds at a position.
    func value(_ query: PIRQuery, in response: HTTPResponse, at position: Int = 0) throws -> [UInt8]? {
        let answer = try Responses(decoding: response.body)
        guard answer.responses.indices.contains(position), case .pir(let reply) = answer.responses[position].kind else {
            throw NoReply()
        }
        return try client.value(of: query, in: reply)
    }
}

struct NoReply: Error {}

extension LookupService {
    /// Answers a request as behind the HTTP front, and waits for it.
    func answer(_ request: HTTPRequest) -> HTTPResponse {
        switch begin(request.head) {
        case .respond(let response): return response
        case .readBody(let limit):
            guard request.body.count <= limit else { return HTTPResponse(status: 413) }
            let answer = Mutex<HTTPResponse?>(nil)
            let done = DispatchSemaphore(value: 0)
            handle(
                request,
                reply: HTTPReply { response in
                    answer.withLock { $0 = response }
                    done.signal()
                })
            done.wait()
            return answer.withLock { $0 } ?? HTTPResponse(status: 599)
        }
    }
}
