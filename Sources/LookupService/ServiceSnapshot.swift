// What the service answers from: the loaded use cases of one data version and the older ones that stay answerable
// (service.md 1.9.3, 9). A snapshot never changes; a reload puts another one in its place in one step.

import KeywordPIR
import LookupMessages
import Protobuf
import Synchronization

/// A shard of a loaded use case: its contents, or nothing while it is out of service.
public struct ShardSlot: Sendable {
    private let current: @Sendable () -> ShardContents?

    /// A slot that asks `contents` at each query; nil while the shard is out of service (a payload block failed its check).
    public init(contents: @escaping @Sendable () -> ShardContents?) { current = contents }

    /// The contents; nil when out of service.
    public var contents: ShardContents? { current() }
}

/// One use case of one data version, ready to answer.
public struct ServedUseCase: Sendable {
    /// What its answers are for; block queries are computed before others (service.md 7).
    public enum Kind: String, Sendable, Equatable {
        /// Number to `CallIdentity`.
        case identity
        /// Number to one byte.
        case block
        /// Any keyword to any value.
        case keyword
    }

    /// The name that devices ask for.
    public let name: String
    /// What its answers are for.
    public let kind: Kind
    /// The parameters; their configuration id is the one that queries name.
    public let parameters: UseCaseParameters
    /// Decodes keys and queries and computes answers.
    public let engine: PIREngine
    /// One slot for each shard of the parameters, in index order.
    public let shards: [ShardSlot]
    /// The messages of `POST /config`, made once.
    let wire: WireConfiguration
    /// What the cost model says that a query of each shard takes on one thread.
    let estimatedSeconds: [Double]

    /// A use case. A slot missing for a shard of the parameters counts as out of service.
    public init(name: String, kind: Kind, engine: PIREngine, shards: [ShardSlot]) {
        self.name = name
        self.kind = kind
        parameters = engine.parameters
        self.engine = engine
        self.shards = shards
        wire = WireConfiguration(engine.parameters)
        estimatedSeconds = Self.estimates(engine.parameters)
    }

    private static func estimates(_ parameters: UseCaseParameters) -> [Double] {
        let set = parameters.set
        let model = CostModel(set)
        // Most shards of a use case have the same shape.
        var known: [ShardParameters: Double] = [:]
        return parameters.shards.map { shard in
            if let seconds = known[shard] { return seconds }
            let query = CostModel.Query(
                hashFunctions: shard.hashFunctionCount, chunks: shard.chunks(set), plaintexts: shard.plaintextCount(set),
                dimensions: shard.dimensions)
            let seconds = model.estimate(query).total * 1e-9
            known[shard] = seconds
            return seconds
        }
    }
}

/// The bytes of a use case's configuration, serialised once when a version is loaded (service.md 1.9.3).
struct WireConfiguration: Sendable {
    /// The `Config` message in its newest form.
    let newest: [UInt8]
    /// The `Config` message for systems before iOS 18.2 and macOS 15.2; nil when nothing suitable exists.
    let older: [UInt8]?
    /// The `EvaluationKeyConfig` message.
    let keyConfig: [UInt8]

    init(_ parameters: UseCaseParameters) {
        let id = parameters.configurationID[...]
        newest = Config(kind: .pir(parameters.pirConfig), configId: id).encoded()
        older = parameters.pirConfigForOlderSystems().map { Config(kind: .pir($0), configId: id).encoded() }
        keyConfig = parameters.evaluationKeyConfig.encoded()
    }
}

/// All that the service answers from at one moment.
public struct ServiceSnapshot: Sendable {
    /// The name of the data version, for logs and for `build --wait`.
    public let version: String
    /// The use cases that `/config` hands out, by name.
    public let current: [String: ServedUseCase]
    /// When the version was built, in seconds since 1970; nil if nobody knows.
    public let created: Int?
    /// Use cases that should be there and are not.
    public let missing: [String]
    /// Every use case that answers queries, current and retained, by name and then by configuration id.
    let answering: [String: [[UInt8]: ServedUseCase]]
    /// For each evaluation key configuration of `answering` (by its hash) an engine that decodes such keys.
    let keyEngines: [[UInt8]: PIREngine]

    /// A snapshot.
    ///
    /// - Parameters:
    ///   - version: the name of the data version.
    ///   - current: the use cases of this version; of two with one name the first counts.
    ///   - retained: use cases of older versions, newest first, also of names that are not current any more. Of several
    ///     with one name and one configuration id the newest answers.
    ///   - created: when the version was built, in seconds since 1970.
    ///   - missing: names of use cases that should be in this version.
    public init(
        version: String, current: [ServedUseCase], retained: [ServedUseCase] = [], created: Int? = nil,
        missing: [String] = []
    ) {
        self.version = version
        self.created = created
        self.missing = missing
        self.current = Dictionary(current.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var answering: [String: [[UInt8]: ServedUseCase]] = [:]
        var keyEngines: [[UInt8]: PIREngine] = [:]
        for useCase in current + retained {
            let id = useCase.parameters.configurationID
            if answering[useCase.name]?[id] == nil { answering[useCase.name, default: [:]][id] = useCase }
            let hash = useCase.parameters.evaluationKeyConfigHash
            if keyEngines[hash] == nil { keyEngines[hash] = useCase.engine }
        }
        self.answering = answering
        self.keyEngines = keyEngines
    }
}

/// Holds the snapshot in force. A request takes it once and keeps it to its end.
final class SnapshotHolder: Sendable {
    private let held = Mutex<ServiceSnapshot?>(nil)

    /// The snapshot in force; nil before the first load.
    var current: ServiceSnapshot? { held.withLock { $0 } }

    /// Puts another snapshot in force, for all use cases in one step.
    func swap(to snapshot: ServiceSnapshot) { held.withLock { $0 = snapshot } }
}
