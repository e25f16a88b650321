// What a device makes of a `/config` answer: checked parameters and the key configuration that belongs to them
// (keyword-pir.md 9.1 to 9.5).

import Cryptography
import KeywordPIR
import LookupMessages
import Protobuf

/// The configuration of one use case as a device holds it.
struct DeviceConfiguration: Sendable {
    /// The checked parameters.
    var parameters: UseCaseParameters
    /// The id that queries name.
    var configurationID: [UInt8]
    /// The hash under which the evaluation key is known.
    var keyHash: [UInt8]
    /// The timestamp of the key that the server holds; 0 = none.
    var serverTimestamp: UInt64

    /// Checks an entry of the answer. Throws `DeviceError`: `unusableConfiguration`, `noKeyConfiguration`.
    init(useCase: String, config: Config, keyInfo: [KeyStatus]) throws(DeviceError) {
        guard let message = config.pirConfig else {
            throw .unusableConfiguration(useCase: useCase, reason: "it is not one of keyword PIR")
        }
        keyHash = Array(message.evaluationKeyConfigHash)
        // Key status comes in no order that carries meaning: it is found by its hash.
        var found: (status: KeyStatus, config: EvaluationKeyConfig)?
        for status in keyInfo {
            guard let keyConfig = status.keyConfig, SHA256.hash(keyConfig.encoded()) == keyHash else { continue }
            found = (status, keyConfig)
            break
        }
        guard let found else { throw .noKeyConfiguration(useCase: useCase) }
        serverTimestamp = found.status.timestamp
        do {
            parameters = try UseCaseParameters(pirConfig: message, keyConfig: found.config)
        } catch {
            throw .unusableConfiguration(useCase: useCase, reason: "\(error)")
        }
        configurationID = Array(config.configId)
        guard Self.spellings(of: message).contains(where: { SHA256.hash($0.encoded()) == configurationID }) else {
            throw .unusableConfiguration(useCase: useCase, reason: "its id is not the hash of its content")
        }
    }

    /// What the id may be the hash of: the message as it came, or, when an older system got a list of equal shards, the short
    /// form that the list was written out from (keyword-pir.md 9.3).
    private static func spellings(of message: PIRConfig) -> [PIRConfig] {
        guard message.pirShardConfigs == nil, message.shardConfigs.count > 1, let first = message.shardConfigs.first,
            message.shardConfigs.allSatisfy({ $0 == first }), let count = UInt32(exactly: message.shardConfigs.count)
        else { return [message] }
        var short = message
        short.shardConfigs = []
        short.pirShardConfigs = PIRShardConfigs(
            repeatedShardConfig: PIRFixedShardConfig(shardConfig: first, shardCount: count))
        return [message, short]
    }
}
