// The Oblivious HTTP gateway (RFC 9458; service.md 3): keys in force, the list that clients fetch, and which targets are ours.

import HTTPCore
import ObliviousHTTP
import StateStore
import Synchronization

/// Which authorities the gateway dispatches to: our own, and nobody else's (service.md 3.8).
public struct GatewayTargets: Sendable, Equatable {
    /// Hosts with port, in lower case, for https.
    private let secure: Set<String>
    /// The same for http: own cleartext listeners on loopback only.
    private let cleartext: Set<String>

    /// - Parameters:
    ///   - secure: authorities for https; `:443` may be there or not.
    ///   - cleartext: authorities for http.
    public init(secure: [String], cleartext: [String] = []) {
        self.secure = Set(secure.map { Self.normal($0, defaultPort: ":443") })
        self.cleartext = Set(cleartext.map { Self.normal($0, defaultPort: ":80") })
    }

    /// Whether a request with this scheme and authority is for us.
    func contains(scheme: String, authority: String) -> Bool {
        switch scheme {
        case "https": secure.contains(Self.normal(authority, defaultPort: ":443"))
        case "http": cleartext.contains(Self.normal(authority, defaultPort: ":80"))
        default: false
        }
    }

    private static func normal(_ authority: String, defaultPort: String) -> String {
        let name = authority.lowercased()
        return name.hasSuffix(defaultPort) ? String(name.dropLast(defaultPort.utf8.count)) : name
    }
}

/// What the operator decides about the gateway.
public struct GatewayRules: Sendable {
    /// AEADs that are listed and accepted, the preferred one first.
    public var aeads = HPKEAEAD.allCases
    /// Responses are padded inside to a multiple of so many bytes; 0 or 1: not.
    public var paddingMultiple = 0
    /// Bytes that an encapsulated request may have beyond the largest body inside.
    public var overhead = 64 << 10
    /// One more path of the resource.
    public var path: String?
    /// One more path of the key configuration.
    public var keysPath: String?
    /// Whether field names inside must be in lower case.
    public var isStrict = false
    /// Whether requests in the chunked form, a draft, are taken as well (service.md 3.10).
    public var isChunked = false

    /// The defaults.
    public init() {}
}

/// Opens encapsulated requests and seals answers.
public final class ObliviousGateway: Sendable {
    private struct State {
        var stamp: KeyFolderStamp
        var schedule: GatewayKeySchedule
        var keys: [UInt8: GatewayKey]
        var targets: GatewayTargets
        /// The list for these ids.
        var list: (ids: [UInt8], whole: CacheableBody, first: CacheableBody)?
        /// The keys that open requests, for these ids.
        var openers: (ids: [UInt8], keys: GatewayKeySet)?
    }

    let rules: GatewayRules
    private let folder: GatewayKeyFolder
    private let state: Mutex<State>
    private let now: @Sendable () -> Int64

    /// Opens the folder; a first key is made if there is none.
    ///
    /// - Throws: `IssuerKeyError`.
    public init(
        folder: GatewayKeyFolder, rules: GatewayRules = GatewayRules(), targets: GatewayTargets,
        now: (@Sendable () -> Int64)? = nil
    ) throws(IssuerKeyError) {
        let now = now ?? { Int64(secondsSince1970()) }
        try folder.maintain(at: now())
        let stamp = try folder.folder.stampOfKeys()
        let records = try folder.stored()
        self.folder = folder
        self.rules = rules
        self.now = now
        state = Mutex(
            State(
                stamp: stamp, schedule: folder.schedule(of: records), keys: try Self.keys(records, rules),
                targets: targets))
    }

    private static func keys(_ records: [StoredKey], _ rules: GatewayRules) throws(IssuerKeyError) -> [UInt8: GatewayKey] {
        var keys: [UInt8: GatewayKey] = [:]
        for record in records { keys[record.gatewayID] = try record.gatewayKey(aeads: rules.aeads) }
        return keys
    }

    /// Looks at the folder and the clock.
    func refresh() throws(IssuerKeyError) {
        try folder.maintain(at: now())
        let stamp = try folder.folder.stampOfKeys()
        guard state.withLock({ $0.stamp != stamp }) else { return }
        let records = try folder.stored()
        let keys = try Self.keys(records, rules)
        state.withLock { state in
            state.stamp = stamp
            state.schedule = folder.schedule(of: records)
            state.keys = keys
            (state.list, state.openers) = (nil, nil)
        }
    }

    /// From now on these are the targets.
    func replaceTargets(_ targets: GatewayTargets) { state.withLock { $0.targets = targets } }

    /// Whether a request inside is for us.
    func serves(scheme: String, authority: String) -> Bool {
        state.withLock { $0.targets }.contains(scheme: scheme, authority: authority)
    }

    /// The keys with which requests are opened now.
    private func openers() throws(EncapsulationError) -> GatewayKeySet {
        let now = now()
        do throws(RepeatedKeyID) {
            return try state.withLock { state throws(RepeatedKeyID) in
                let ids = state.schedule.opening(at: now)
                if let openers = state.openers, openers.ids == ids { return openers.keys }
                let keys = try GatewayKeySet(ids.compactMap { state.keys[$0] })
                state.openers = (ids, keys)
                return keys
            }
        } catch {
            throw .unknownKey
        }
    }

    /// Opens an encapsulated request, all of it or nothing. May take milliseconds for a large one.
    func open(_ request: consuming [UInt8], in form: EncapsulationForm) throws(EncapsulationError) -> OpenedExchange {
        try OpenedExchange(opening: request, in: form, with: openers())
    }

    /// The form that a media type names, if it is taken here.
    func form(ofType type: String) -> EncapsulationForm? {
        EncapsulationForm.allCases.first { $0.requestType == type && ($0 == .whole || rules.isChunked) }
    }

    /// The list of key configurations (RFC 9458 section 3), or its first one without length for clients of an older draft.
    func listAnswer(_ head: HTTPRequestHead, isOldForm: Bool) -> HTTPResponse {
        let now = now()
        let body = state.withLock { state -> CacheableBody? in
            let ids = state.schedule.listed(at: now)
            if let list = state.list, list.ids == ids { return isOldForm ? list.first : list.whole }
            let configurations = ids.compactMap { state.keys[$0]?.configuration }
            guard let first = configurations.first else { return nil }
            let whole = CacheableBody(KeyConfiguration.encodeList(configurations), type: Self.listType)
            let single = CacheableBody(first.encoded, type: Self.listType)
            state.list = (ids, whole, single)
            return isOldForm ? single : whole
        }
        guard let body else { return ServiceFailure.internalError.response }
        return body.answer(head, maxAge: Int(folder.rules.listMaxAge))
    }

    static let listType = "application/ohttp-keys"
}
