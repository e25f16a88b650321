// What a client needs to know of a use case, the messages that say it, and its two identifiers
// (spec keyword-pir.md 6.4, 9.1 – 9.5).

import BFV
import Cryptography
import LookupMessages
import Protobuf
import RingMath

/// Parameters of all shards of a use case, and the identifiers that follow from them.
public struct UseCaseParameters: Sendable, Equatable {
    /// BFV parameters, the same for all shards.
    public let set: ParameterSet
    /// One for each shard, in index order; at least one.
    public let shards: [ShardParameters]
    /// H.
    public let hashFunctionCount: Int
    /// How a keyword finds its shard.
    public let shardingFunction: ShardingFunction
    /// Union of what the shards need, ascending.
    public let galoisElements: [Int]
    /// The configuration as the newest systems get it.
    public let pirConfig: PIRConfig
    /// SHA-256 of `pirConfig`.
    public let configurationID: [UInt8]
    /// What an evaluation key must hold.
    public let evaluationKeyConfig: EvaluationKeyConfig
    /// SHA-256 of `evaluationKeyConfig`.
    public let evaluationKeyConfigHash: [UInt8]

    /// The server's side: from shapes to messages.
    ///
    /// Throws `PIRError.invalid` for no shards, shards with different numbers of hash functions, or a parameter set that
    /// cannot serve these dimensions.
    public init(
        set: ParameterSet, shards: [ShardParameters], hashFunctionCount: Int, shardingFunction: ShardingFunction,
        keyCompression: KeyCompression
    ) throws {
        guard !shards.isEmpty, shards.count <= 1 << 20 else { throw PIRError.invalid("1 to 2^20 shards expected") }
        guard shards.allSatisfy({ $0.hashFunctionCount == hashFunctionCount }) else {
            throw PIRError.invalid("shards differ in the number of hash functions")
        }
        if shards.contains(where: { $0.dimensions.count == 2 }), let reason = set.refusalForTwoDimensions {
            throw PIRError.invalid("two dimensions: \(reason)")
        }
        var elements: Set<Int> = []
        var perShard: Set<[Int]> = []
        for shape in Set(shards) {
            let own = KeywordPIR.galoisElements(
                degree: set.degree, outputs: shape.expandedCount, compression: keyCompression)
            elements.formUnion(own)
            perShard.insert(own)
        }
        guard set.hasEvaluationKeys || elements.isEmpty else {
            throw PIRError.invalid("the parameter set has a single modulus, so queries cannot be expanded")
        }
        try self.init(
            set: set, shards: shards, hashFunctionCount: hashFunctionCount, shardingFunction: shardingFunction,
            galoisElements: elements.sorted(), compact: shards.count > 1 && Set(shards).count == 1 && perShard.count == 1,
            hasRelinKey: set.hasEvaluationKeys)
    }

    private init(
        set: ParameterSet, shards: [ShardParameters], hashFunctionCount: Int, shardingFunction: ShardingFunction,
        galoisElements: [Int], compact: Bool, hasRelinKey: Bool
    ) throws {
        self.set = set
        self.shards = shards
        self.hashFunctionCount = hashFunctionCount
        self.shardingFunction = shardingFunction
        self.galoisElements = galoisElements
        let encryption = EncryptionParameters(set)
        evaluationKeyConfig = EvaluationKeyConfig(
            encryptionParameters: encryption, galoisElements: galoisElements.map { UInt32($0) }, hasRelinKey: hasRelinKey)
        evaluationKeyConfigHash = SHA256.hash(evaluationKeyConfig.encoded())
        var config = PIRConfig()
        config.encryptionParameters = encryption
        if compact {
            config.pirShardConfigs = PIRShardConfigs(
                repeatedShardConfig: PIRFixedShardConfig(
                    shardConfig: PIRShardConfig(shards[0]), shardCount: UInt32(shards.count)))
        } else {
            config.shardConfigs = shards.map { PIRShardConfig($0) }
        }
        var function = PIRShardingFunction()
        switch shardingFunction {
        case .sha256: function.kind = .sha256
        case .doubleMod(let other): function.kind = .doubleMod(otherShardCount: UInt32(clamping: other))
        }
        var keyword = KeywordPirParameters()
        keyword.numHashFunctions = UInt64(hashFunctionCount)
        keyword.shardingFunction = function
        config.keywordPirParams = keyword
        config.algorithm = PirAlgorithm(rawValue: 1)
        config.batchSize = UInt64(hashFunctionCount)
        config.evaluationKeyConfigHash = evaluationKeyConfigHash[...]
        pirConfig = config
        configurationID = SHA256.hash(config.encoded())
    }

    /// The client's side: from messages that a server sent.
    ///
    /// Throws `PIRError.invalid` or `ParameterError` for anything that a lookup could not work with.
    public init(pirConfig config: PIRConfig, keyConfig: EvaluationKeyConfig) throws {
        guard let encryption = config.encryptionParameters, let keyword = config.keywordPirParams else {
            throw PIRError.invalid("configuration lacks encryption or keyword parameters")
        }
        guard config.algorithm.rawValue == 1 else { throw PIRError.invalid("algorithm is not MulPIR") }
        guard config.encodingEntrySize != true else { throw PIRError.invalid("entries with size prefix are not supported") }
        guard keyword.symmetricPirClientConfig == nil else { throw PIRError.invalid("symmetric PIR is not supported yet") }
        let set = try encryption.parameterSet()
        guard keyConfig.encryptionParameters == encryption else {
            throw PIRError.invalid("key configuration has other encryption parameters")
        }
        let functions = Int(clamping: keyword.numHashFunctions)
        func shape(_ m: PIRShardConfig) throws -> ShardParameters {
            try ShardParameters(
                entryCount: Int(clamping: m.numEntries), entrySize: Int(clamping: m.entrySize),
                dimensions: m.dimensions.map { Int(clamping: $0) }, hashFunctionCount: functions, set: set)
        }
        var shards: [ShardParameters]
        var compact = false
        if let fixed = config.pirShardConfigs?.repeatedShardConfig, let one = fixed.shardConfig {
            guard (1...(1 << 20)).contains(fixed.shardCount) else { throw PIRError.invalid("1 to 2^20 shards expected") }
            shards = [ShardParameters](repeating: try shape(one), count: Int(fixed.shardCount))
            compact = true
        } else {
            guard (1...(1 << 20)).contains(config.shardConfigs.count) else {
                throw PIRError.invalid("1 to 2^20 shards expected")
            }
            shards = try config.shardConfigs.map(shape)
        }
        guard config.batchSize >= UInt64(functions) else { throw PIRError.invalid("batch size is below the hash functions") }
        var sharding = ShardingFunction.sha256
        if case .doubleMod(let other) = keyword.shardingFunction?.kind {
            guard other >= 1 else { throw PIRError.invalid("doubleMod needs the shard count of the other use case") }
            sharding = .doubleMod(otherShardCount: Int(other))
        }
        let elements = keyConfig.galoisElements.map { Int($0) }
        guard elements.allSatisfy({ $0 & 1 == 1 && $0 >= 3 && $0 < 2 * set.degree }) else {
            throw PIRError.invalid("Galois element must be odd and in 3 … 2N−1")
        }
        try self.init(
            set: set, shards: shards, hashFunctionCount: functions, shardingFunction: sharding,
            galoisElements: elements, compact: compact, hasRelinKey: keyConfig.hasRelinKey)
    }

    /// The configuration for systems before iOS 18.2 and macOS 15.2: the shard list written out (keyword-pir.md 9.3). The
    /// identifier stays that of `pirConfig`. Nil for doubleMod sharding, which such systems would route wrongly.
    public func pirConfigForOlderSystems() -> PIRConfig? {
        guard shardingFunction == .sha256 else { return nil }
        guard pirConfig.pirShardConfigs != nil else { return pirConfig }
        var config = pirConfig
        config.pirShardConfigs = nil
        config.shardConfigs = shards.map { PIRShardConfig($0) }
        return config
    }
}

extension EncryptionParameters {
    /// The message of a parameter set (bfv.md 12.6).
    public init(_ set: ParameterSet) {
        self.init()
        polynomialDegree = UInt64(set.degree)
        plaintextModulus = set.plaintextModulus
        coefficientModuli = set.coefficientModuli
        securityLevel = SecurityLevel(rawValue: set.level == .quantum128 ? 1 : 0)
        heScheme = HeScheme(rawValue: 1)
    }

    /// The parameter set of a message; throws `ParameterError.invalid` for anything that bfv.md 1.2 refuses.
    public func parameterSet() throws -> ParameterSet {
        guard heScheme.rawValue == 1 else { throw ParameterError.invalid("scheme is not BFV") }
        guard errorStdDev.rawValue == 0 else { throw ParameterError.invalid("error distribution is not stddev32") }
        guard (0...1).contains(securityLevel.rawValue) else { throw ParameterError.invalid("unknown security level") }
        guard let degree = Int(exactly: polynomialDegree) else { throw ParameterError.invalid("degree out of range") }
        return try ParameterSet(
            degree: degree, plaintextModulus: plaintextModulus, coefficientModuli: coefficientModuli,
            level: securityLevel.rawValue == 1 ? .quantum128 : .unchecked)
    }
}

extension PIRShardConfig {
    /// The message of a shard; `shard_id` is set to the empty string as devices have always got it (keyword-pir.md 9.1).
    public init(_ shard: ShardParameters) {
        self.init()
        numEntries = UInt64(shard.entryCount)
        entrySize = UInt64(shard.entrySize)
        dimensions = shard.dimensions.map { UInt64($0) }
        shardId = ""
    }
}
