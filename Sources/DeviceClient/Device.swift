// What a phone does (service.md 1.4, keyword-pir.md 6, 8, 9): fetches configurations, makes and uploads keys, asks, decodes.

import Cryptography
import Glibc
import HTTPClient
import HTTPCore
import KeywordPIR
import LookupMessages
import Protobuf

/// What fetching tokens took.
public struct TokenSupply: Sendable, Equatable {
    /// Tokens that were fetched.
    public var count: Int
    /// From the first request to the last answer.
    public var time: Duration
}

/// A device of one user. Calls block.
public struct Device: Sendable {
    /// The user agent of a phone with the first system that knows every form of the configuration.
    public static let defaultUserAgent = "com.apple.ciphermld/1.0 iOS/18.2"

    /// The extension's bundle identifier.
    public let app: String

    private let service: ServiceConnection
    private let path: ObliviousPath?
    /// What pays for requests; nil: the server takes none.
    private var wallet: TokenWallet?
    private var state: DeviceState
    private var configurations: [String: DeviceConfiguration] = [:]
    private var clients: [[UInt8]: PIRClient] = [:]

    /// A device.
    ///
    /// - Parameters:
    ///   - serviceURL: scheme, host and port of the service.
    ///   - issuerURL: the same of the issuer of tokens; nil: the service's.
    ///   - userToken: what stands behind `Bearer ` in requests to the issuer; nil: requests carry no tokens.
    ///   - app: the bundle identifier of the extension, before `.identity` and `.block`.
    ///   - userAgent: what the device calls itself.
    ///   - state: a folder that keeps identifier and keys between runs; nil: they are thrown away.
    ///   - trust: whose certificates are good enough when a URL is https.
    ///   - address: where to connect instead of the URLs' own hosts.
    ///   - route: the gateway, and perhaps a relay, through which every request goes sealed; nil: directly.
    ///   - timeout: for each request.
    /// - Throws: `DeviceError`: `invalidURL`, `untrusted`, `state`, `cannotEncrypt`.
    public init(
        serviceURL: String, issuerURL: String? = nil, userToken: String? = nil, app: String,
        userAgent: String = Device.defaultUserAgent,
        state: String? = nil, trust: TLSTrust = .system, at address: ConnectAddress? = nil,
        through route: ObliviousRoute? = nil, timeout: Duration = .seconds(30)
    ) throws(DeviceError) {
        if let issuerURL { _ = try ServiceConnection.url(issuerURL) }
        let memory = try DeviceState(folder: state)
        self.app = app
        self.state = memory
        let path = try route.map { route throws(DeviceError) in try ObliviousPath(route, at: address, trust: trust) }
        self.path = path
        service = try ServiceConnection(
            url: serviceURL, at: address, userAgent: userAgent, identifier: memory.identifier, trust: trust, path: path,
            timeout: timeout)
        if let userToken {
            wallet = try TokenWallet(
                url: issuerURL ?? serviceURL, at: address, userToken: userToken, userAgent: userAgent, trust: trust,
                timeout: timeout, state: memory, path: path)
        }
    }

    /// Bytes that went through relay and gateway; nil for a device that asks directly.
    public var traffic: ObliviousTraffic? { path?.traffic }

    /// What the last supply of tokens took; nil if there was none.
    public var tokenSupply: TokenSupply? {
        wallet?.lastSupply.map { TokenSupply(count: $0.count, time: $0.directory + $0.tokenKey + $0.issuing) }
    }

    /// Posts a message with a token, if the server takes them. When it does not take this one, tries once more with a new one.
    private mutating func post(_ path: String, _ message: some ProtobufMessage) throws(DeviceError) -> [UInt8] {
        let token = try wallet?.take()
        do throws(DeviceError) {
            return try service.send(path, message, token)
        } catch {
            guard case .refused(_, 401, _) = error, token != nil else { throw error }
        }
        try wallet?.empty()
        return try service.send(path, message, try wallet?.take())
    }

    /// Posts a message whose answer is one.
    private mutating func exchange<Answer: ProtobufMessage>(
        _ path: String, _ message: some ProtobufMessage
    ) throws(DeviceError) -> Answer {
        let body = try post(path, message)
        do throws(ProtobufError) {
            return try Answer(decoding: body)
        } catch {
            throw .malformedAnswer(step: path)
        }
    }

    /// Whether the service refuses a token that was spent before: pays for a request with it, and for the same once more.
    ///
    /// - Returns: nil for a device without tokens.
    /// - Throws: `DeviceError`; the first of the two requests must be answered.
    public mutating func findsSpentTokenRefused() throws(DeviceError) -> Bool? {
        guard let token = try wallet?.take() else { return nil }
        let request = ConfigRequest(usecases: Array(configurations.keys.sorted().prefix(1)))
        _ = try service.send("/config", request, token)
        do throws(DeviceError) {
            _ = try service.send("/config", request, token)
            return false
        } catch {
            guard case .refused(_, 401, _) = error else { throw error }
            return true
        }
    }

    // MARK: Configuration and keys

    /// Fetches the configurations of the use cases, and uploads keys where the server's status asks for it. A use case that
    /// the server lacks is left out.
    ///
    /// - Returns: the names that the server has.
    /// - Throws: `DeviceError`.
    @discardableResult
    public mutating func prepare(_ useCases: [String]) throws(DeviceError) -> Set<String> {
        for name in useCases { configurations[name] = nil }
        if let all = try fetch(useCases) {
            for (name, configuration) in all { configurations[name] = configuration }
        } else if useCases.count > 1 {
            // The refusal does not say which one is missing.
            for name in useCases {
                if let one = try fetch([name])?[name] { configurations[name] = one }
            }
        }
        let present = useCases.filter { configurations[$0] != nil }
        try uploadKeys(present)
        return Set(present)
    }

    /// The configurations; nil when the server does not have all of the use cases.
    private mutating func fetch(_ useCases: [String]) throws(DeviceError) -> [String: DeviceConfiguration]? {
        let answer: ConfigResponse
        do throws(DeviceError) {
            answer = try exchange("/config", ConfigRequest(usecases: useCases))
        } catch {
            if case .refused("/config", 404, _) = error { return nil }
            throw error
        }
        var configurations: [String: DeviceConfiguration] = [:]
        for name in useCases {
            guard let config = answer.configs[name] else { throw .malformedAnswer(step: "/config") }
            configurations[name] = try DeviceConfiguration(useCase: name, config: config, keyInfo: answer.keyInfo)
        }
        return configurations
    }

    /// Makes the keys that are missing, and uploads those that the server does not hold. Use cases with one key configuration
    /// share a key.
    private mutating func uploadKeys(_ useCases: [String]) throws(DeviceError) {
        var uploads: [EvaluationKey] = []
        var seen: Set<[UInt8]> = []
        for name in useCases {
            guard let configuration = configurations[name], seen.insert(configuration.keyHash).inserted else { continue }
            let hash = configuration.keyHash
            let known = try state.key(for: hash)
            let client = try Self.client(configuration.parameters, secret: known?.secret)
            let timestamp = known?.timestamp ?? UInt64(max(1, time(nil)))
            if known == nil {
                try state.keep(DeviceKey(timestamp: timestamp, secret: client.secretKeyBytes), for: hash)
            }
            if configuration.serverTimestamp == timestamp { continue }
            let key: SerializedEvaluationKey
            do {
                key = try client.makeEvaluationKey()
            } catch {
                throw .cannotEncrypt(reason: "\(error)")
            }
            uploads.append(
                EvaluationKey(
                    metadata: EvaluationKeyMetadata(timestamp: timestamp, identifier: hash[...]), evaluationKey: key))
        }
        if uploads.isEmpty { return }
        _ = try post("/key", EvaluationKeys(keys: uploads))
    }

    private static func client(_ parameters: UseCaseParameters, secret: [UInt8]?) throws(DeviceError) -> PIRClient {
        do {
            return try PIRClient(parameters: parameters, secretKey: secret)
        } catch {
            throw .cannotEncrypt(reason: "\(error)")
        }
    }

    /// What the server's configuration of a use case says; nil before `prepare`, and for one that the server lacks.
    public func parameters(of useCase: String) -> UseCaseParameters? { configurations[useCase]?.parameters }

    // MARK: Queries

    /// Asks a use case for a keyword; nil means absent. Prepares the use case first if that was not done; when the server has
    /// given the configuration up meanwhile, fetches it anew and asks once more.
    ///
    /// - Throws: `DeviceError`; `unknownUseCase` when the server lacks it.
    public mutating func ask(_ useCase: String, for keyword: [UInt8]) throws(DeviceError) -> [UInt8]? {
        if configurations[useCase] == nil { try prepare([useCase]) }
        do throws(DeviceError) {
            return try askOnce(useCase, for: keyword)
        } catch {
            guard case .refused(_, 410, _) = error else { throw error }
            try prepare([useCase])
        }
        do throws(DeviceError) {
            return try askOnce(useCase, for: keyword)
        } catch {
            if case .refused(_, 410, _) = error { throw .configurationKeepsChanging(useCase: useCase) }
            throw error
        }
    }

    private mutating func askOnce(_ useCase: String, for keyword: [UInt8]) throws(DeviceError) -> [UInt8]? {
        guard let configuration = configurations[useCase], let key = try state.key(for: configuration.keyHash) else {
            throw .unknownUseCase(useCase)
        }
        let id = configuration.configurationID + configuration.keyHash
        let client: PIRClient
        if let made = clients[id] {
            client = made
        } else {
            client = try Self.client(configuration.parameters, secret: key.secret)
            clients[id] = client
        }
        let query: PIRQuery
        do {
            query = try client.makeQuery(keyword)
        } catch {
            throw .cannotEncrypt(reason: "\(error)")
        }
        var request = PIRRequest()
        request.shardIndex = UInt32(clamping: query.shard)
        request.query = query.indices
        request.evaluationKeyMetadata = EvaluationKeyMetadata(
            timestamp: key.timestamp, identifier: configuration.keyHash[...])
        request.configurationHash = configuration.configurationID[...]
        let answer: Responses = try exchange(
            "/queries", Requests(requests: [Request(usecase: useCase, kind: .pir(request))]))
        guard answer.responses.count == 1, case .pir(let response) = answer.responses.first?.kind else {
            throw .malformedAnswer(step: "/queries")
        }
        do {
            return try client.value(of: query, in: response)
        } catch {
            throw .undecodableReply(useCase: useCase, reason: "\(error)")
        }
    }
}
