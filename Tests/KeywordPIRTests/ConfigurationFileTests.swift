// The configuration messages and parameter files of the reference, rebuilt from the shapes alone (keyword-pir.md 9, 11.2).

import BFV
import LookupMessages
import Protobuf
import TestVectors
import Testing

@testable import KeywordPIR

private struct ConfigurationCase: Decodable {
    struct Shard: Decodable {
        let entryCount: Int
        let entrySize: Int
        let dimensions: [Int]
    }
    let params: String
    let hashFunctionCount: Int
    let keyCompression: String?
    let configId: String
    let shards: [Shard]
}

@Suite struct ConfigurationFileTests {
    static let cases = VectorLookupTests.present

    private func rebuilt(_ name: String) throws -> (UseCaseParameters, ConfigurationCase) {
        let info: ConfigurationCase = try VectorFiles.json("pir/\(name)/case.json")
        let set = try ParameterSet.named(info.params, allowInsecure: true)
        let theirs = try PIRConfig(decoding: VectorFiles.bytes("pir/\(name)/pir-config.binpb"))
        var sharding = ShardingFunction.sha256
        if case .doubleMod(let other) = theirs.keywordPirParams?.shardingFunction?.kind {
            sharding = .doubleMod(otherShardCount: Int(other))
        }
        let parameters = try UseCaseParameters(
            set: set,
            shards: info.shards.map {
                try ShardParameters(
                    entryCount: $0.entryCount, entrySize: $0.entrySize, dimensions: $0.dimensions,
                    hashFunctionCount: info.hashFunctionCount, set: set)
            }, hashFunctionCount: info.hashFunctionCount, shardingFunction: sharding,
            keyCompression: info.keyCompression.flatMap { KeyCompression(rawValue: $0) } ?? .noCompression)
        return (parameters, info)
    }

    @Test(arguments: cases) func messagesAreRebuiltByteForByte(name: String) throws {
        let (parameters, info) = try rebuilt(name)
        #expect(parameters.pirConfig.encoded() == (try VectorFiles.bytes("pir/\(name)/pir-config.binpb")))
        #expect(try parameters.pirConfig.text() == VectorFiles.bytes("pir/\(name)/pir-config.txtpb"))
        #expect(parameters.evaluationKeyConfig.encoded() == (try VectorFiles.bytes("pir/\(name)/evaluation-key-config.binpb")))
        #expect(try parameters.evaluationKeyConfig.text() == VectorFiles.bytes("pir/\(name)/evaluation-key-config.txtpb"))
        #expect(hex(parameters.configurationID) == info.configId)
        var config = Config()
        config.kind = .pir(parameters.pirConfig)
        config.configId = parameters.configurationID[...]
        #expect(config.encoded() == (try VectorFiles.bytes("pir/\(name)/config.binpb")))
        let older = "pir/\(name)/config-before-ios-18.2.binpb"
        if VectorFiles.find(older) != nil {
            config.kind = .pir(try #require(parameters.pirConfigForOlderSystems()))
            #expect(config.encoded() == (try VectorFiles.bytes(older)))
        }
        if case .doubleMod = parameters.shardingFunction { #expect(parameters.pirConfigForOlderSystems() == nil) }
    }

    @Test(arguments: cases) func parameterFilesAreRebuiltByteForByte(name: String) throws {
        let (parameters, info) = try rebuilt(name)
        let compression = info.keyCompression.flatMap { KeyCompression(rawValue: $0) } ?? .noCompression
        for (i, shard) in parameters.shards.enumerated() {
            // A shard's own file names the keys that this shard alone needs.
            let own = try UseCaseParameters(
                set: parameters.set, shards: [shard], hashFunctionCount: parameters.hashFunctionCount,
                shardingFunction: parameters.shardingFunction, keyCompression: compression)
            let message = PirParameters(
                encryptionParameters: own.pirConfig.encryptionParameters, numEntries: UInt64(shard.entryCount),
                entrySize: UInt64(shard.entrySize), dimensions: shard.dimensions.map { UInt64($0) },
                keywordPirParams: own.pirConfig.keywordPirParams, algorithm: own.pirConfig.algorithm,
                batchSize: own.pirConfig.batchSize, evaluationKeyConfig: own.evaluationKeyConfig)
            #expect(message.encoded() == (try VectorFiles.bytes("pir/\(name)/shard-\(i).params.binpb")))
            #expect(try message.text() == VectorFiles.bytes("pir/\(name)/shard-\(i).params.txtpb"))
        }
    }

    /// A client refuses configurations that it could not work with, and never traps on one.
    @Test func unusableConfigurationsAreRefused() throws {
        let small = try SmallUseCase()
        let good = small.parameters.pirConfig
        let keyConfig = small.parameters.evaluationKeyConfig
        _ = try UseCaseParameters(pirConfig: good, keyConfig: keyConfig)
        func refuse(_ why: Comment, _ change: (inout PIRConfig) -> Void) {
            var config = good
            change(&config)
            #expect(throws: (any Error).self, why) {
                // The key configuration carries the same encryption parameters, so that this is not what is refused.
                var keys = keyConfig
                keys.encryptionParameters = config.encryptionParameters
                _ = try UseCaseParameters(pirConfig: config, keyConfig: keys)
            }
        }
        refuse("no encryption parameters") { $0.encryptionParameters = nil }
        refuse("no keyword parameters") { $0.keywordPirParams = nil }
        refuse("another algorithm") { $0.algorithm = PirAlgorithm(rawValue: 2) }
        refuse("no algorithm") { $0.algorithm = PirAlgorithm(rawValue: 0) }
        refuse("no shards") { $0.shardConfigs = [] }
        refuse("a batch smaller than the hash functions") { $0.batchSize = 1 }
        for count in [0, 9, 1 << 63, UInt64.max] {
            refuse("\(count) hash functions") { $0.keywordPirParams?.numHashFunctions = count }
            refuse("\(count) plus 2^24 entries") { $0.shardConfigs[0].numEntries = count | 1 << 24 | 1 }
            refuse("entries of \(count)") { $0.shardConfigs[0].entrySize = count < 100 ? 0 : count }
            refuse("dimension \(count)") { $0.shardConfigs[0].dimensions = [count < 100 ? 0 : count, 9] }
        }
        refuse("three dimensions") { $0.shardConfigs[0].dimensions = [9, 9, 9] }
        refuse("doubleMod without a count") {
            $0.keywordPirParams?.shardingFunction = PIRShardingFunction(kind: .doubleMod(otherShardCount: 0))
        }
        refuse("too many shards") {
            $0.pirShardConfigs = PIRShardConfigs(
                repeatedShardConfig: PIRFixedShardConfig(shardConfig: good.shardConfigs[0], shardCount: .max))
        }
        // Items 26 and 27 of bfv.md 13.
        for degree in [0, 7, 1 << 20, 1 << 63, UInt64.max] {
            refuse("degree \(degree)") { $0.encryptionParameters?.polynomialDegree = degree }
        }
        for scheme in [-1, 0, 2, 77] as [Int32] {
            refuse("scheme \(scheme)") { $0.encryptionParameters?.heScheme = HeScheme(rawValue: scheme) }
        }
        for value in [-1, 1, 2] as [Int32] {
            refuse("error distribution \(value)") { $0.encryptionParameters?.errorStdDev = ErrorStdDev(rawValue: value) }
        }
        for value in [-1, 2, 99] as [Int32] {
            refuse("level \(value)") { $0.encryptionParameters?.securityLevel = LookupMessages.SecurityLevel(rawValue: value) }
        }
        refuse("no moduli") { $0.encryptionParameters?.coefficientModuli = [] }
        for element in [0, 1, 2, 16, 17, UInt32.max] {
            var keys = keyConfig
            keys.galoisElements.append(element)
            #expect(throws: (any Error).self, "element \(element)") {
                try UseCaseParameters(pirConfig: good, keyConfig: keys)
            }
        }
        // Elements that do not carry the expansion are noticed when an engine is made of them.
        var none = keyConfig
        none.galoisElements = []
        #expect(throws: (any Error).self) {
            try PIREngine(parameters: UseCaseParameters(pirConfig: good, keyConfig: none))
        }
    }
}
