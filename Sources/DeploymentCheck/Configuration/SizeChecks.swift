// The sizes to declare to the relay, taken from messages that were really made, put into Binary HTTP and sealed (service.md 3.11; field
// cases F18, F33); and whether they fit into the limits.

import CallerDirectory
import Cryptography
import KeywordPIR
import LookupMessages
import ObliviousHTTP
import PrivacyPass
import Protobuf

/// The messages that a phone of an app exchanges with the service.
struct AppMessages: Sendable {
    /// The path inside, with a remark.
    var path: String
    var request: [UInt8]
    var response: [UInt8]

    /// What is exchanged for these use cases: all keys at once, configurations as the oldest systems get them, one query each.
    static func all(of useCases: [LoadedUseCase]) throws -> [AppMessages] {
        var configuration = ConfigResponse()
        var keys: [EvaluationKey] = []
        var queries: [AppMessages] = []
        for useCase in useCases {
            let parameters = useCase.parameters
            let client = try PIRClient(parameters: parameters)
            let message = try client.makeEvaluationKey()
            let metadata = EvaluationKeyMetadata(
                timestamp: 1_800_000_000, identifier: parameters.evaluationKeyConfigHash[...])
            let isNew = !keys.contains { $0.metadata == metadata }
            if isNew { keys.append(EvaluationKey(metadata: metadata, evaluationKey: message)) }
            var config = Config()
            config.kind = .pir(parameters.pirConfigForOlderSystems() ?? parameters.pirConfig)
            config.configId = parameters.configurationID[...]
            configuration.configs[useCase.name] = config
            configuration.keyInfo.append(KeyStatus(timestamp: 1_800_000_000, keyConfig: parameters.evaluationKeyConfig))
            queries += try Self.queries(useCase, client, metadata, message)
        }
        let names = ConfigRequest(usecases: useCases.map(\.name))
        return [
            AppMessages(path: "/config", request: names.encoded(), response: configuration.encoded()),
            AppMessages(path: "/key", request: EvaluationKeys(keys: keys).encoded(), response: []),
        ] + queries
    }

    /// A query as phones send it, and one that carries its key, as they may from 27.3.
    private static func queries(
        _ useCase: LoadedUseCase, _ client: PIRClient, _ metadata: EvaluationKeyMetadata, _ key: SerializedEvaluationKey
    ) throws -> [AppMessages] {
        let query = try client.makeQuery(Array(TestEntry.number.utf8))
        let decodedKey = try useCase.engine.decodeEvaluationKey(key)
        let decoded = try useCase.engine.decodeQuery(query.indices, shard: query.shard)
        var response = PIRResponse()
        response.replies = try useCase.engine.answer(
            decoded, key: decodedKey, shard: useCase.shards[query.shard].contents, threads: 2)
        let answer = Responses(responses: [Response(kind: .pir(response))]).encoded()
        var request = PIRRequest()
        request.shardIndex = UInt32(clamping: query.shard)
        request.query = query.indices
        request.evaluationKeyMetadata = metadata
        request.configurationHash = client.parameters.configurationID[...]
        func message(_ path: String) -> AppMessages {
            AppMessages(
                path: path, request: Requests(requests: [Request(usecase: useCase.name, kind: .pir(request))]).encoded(),
                response: answer)
        }
        let plain = message("/queries")
        request.evaluationKey = EvaluationKey(metadata: metadata, evaluationKey: key)
        return [plain, message("/queries (with the key in it, from 27.3)")]
    }

    /// Both messages in Binary HTTP and sealed, as phone and gateway make them.
    func sealedSizes() throws -> DeclaredSize {
        let gateway = try GatewayKey(id: 1, privateKey: X25519PrivateKey.generate(), aeads: [.aes256GCM])
        let inner = try BinaryRequest(
            method: "POST", scheme: "https", authority: String(repeating: "h", count: 64),
            path: String(path.prefix { $0 != " " }),
            fields: [
                BinaryField("authorization", "PrivateToken token=" + String(repeating: "A", count: 472)),
                BinaryField("user-identifier", "A4C1E2B0-0000-4000-8000-00000000ABCD"),
                BinaryField("user-agent", "com.apple.ciphermld/1.0 iOS/18.2 (iPhone17,1)"),
                BinaryField("content-type", "application/x-protobuf"), BinaryField("accept", "*/*"),
                BinaryField("accept-encoding", "gzip, deflate, br"), BinaryField("accept-language", "en-US,en;q=0.9"),
            ], content: request[...]
        ).encoded()
        let sealed = try gateway.configuration.encapsulate(inner)
        let opened = try GatewayKeySet([gateway]).open(sealed.bytes)
        let outer = try BinaryResponse(
            status: 200,
            fields: [
                BinaryField("content-type", "application/x-protobuf"), BinaryField("cache-control", "no-store"),
                BinaryField("vary", "accept-encoding"),
            ], content: response[...]
        ).encoded()
        return DeclaredSize(
            path: path, request: sealed.bytes.count, response: try opened.responseSealer.seal(outer).count)
    }
}

extension ConfigurationCheck {
    mutating func checkSizes(_ built: [LoadedUseCase]) {
        var sizes: [DeclaredSize] = []
        var largestBody = 0
        var largestAnswer = 0
        do {
            for app in apps {
                let useCases = built.filter { [app.block, app.identity, app.filter].contains($0.name) }
                for messages in try AppMessages.all(of: useCases) {
                    largestBody = max(largestBody, messages.request.count)
                    largestAnswer = max(largestAnswer, messages.response.count)
                    sizes.grow(to: try messages.sealedSizes())
                }
            }
        } catch {
            return report.fail(.sizes, "messages could not be made: \(error)", mend: "build again")
        }
        guard !sizes.isEmpty else { return report.skip(.sizes, "no use case belongs to an app") }
        report.sizes = sizes
        report.noteSizes()
        let limits = configuration.limits
        if largestBody > limits.requestBodyBytes {
            report.fail(
                .limits, "a message of \(largestBody) bytes comes, and limits.requestBodyBytes is \(limits.requestBodyBytes)",
                mend: "raise it, 12582912 is the default")
        } else if largestAnswer > limits.responseBodyBytes {
            report.fail(
                .limits, "an answer has \(largestAnswer) bytes, and limits.responseBodyBytes is \(limits.responseBodyBytes)",
                mend: "raise it, 16777216 is the default")
        } else {
            report.ok(.limits, "bodies of \(limits.requestBodyBytes) bytes, and the largest has \(largestBody)")
        }
    }
}

extension [DeclaredSize] {
    /// The larger sizes of a path, in the order in which paths came first.
    mutating func grow(to size: DeclaredSize) {
        guard let index = firstIndex(where: { $0.path == size.path }) else { return append(size) }
        self[index].request = Swift.max(self[index].request, size.request)
        self[index].response = Swift.max(self[index].response, size.response)
    }
}

extension CheckReport {
    /// A line for each path.
    mutating func noteSizes() {
        for size in sizes { ok(.sizes, "\(size.path): request \(size.request) bytes, answer \(size.response) bytes") }
    }
}
