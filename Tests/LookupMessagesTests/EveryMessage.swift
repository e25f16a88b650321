// The list of all messages, and a seeded generator: what several test files of this target walk over.

import Foundation

@testable import LookupMessages
@testable import Protobuf

/// Every message type, by name.
let everyMessage: [String: any TextMessage.Type] = [
    "SerializedPlaintext": SerializedPlaintext.self, "SerializedSeededCiphertext": SerializedSeededCiphertext.self,
    "SerializedFullCiphertext": SerializedFullCiphertext.self, "SerializedCiphertext": SerializedCiphertext.self,
    "SerializedCiphertextVec": SerializedCiphertextVec.self, "SerializedSecretKey": SerializedSecretKey.self,
    "SerializedKeySwitchKey": SerializedKeySwitchKey.self, "SerializedGaloisKey": SerializedGaloisKey.self,
    "SerializedRelinKey": SerializedRelinKey.self, "SerializedEvaluationKey": SerializedEvaluationKey.self,
    "EvaluationKeyMetadata": EvaluationKeyMetadata.self, "EvaluationKey": EvaluationKey.self,
    "EvaluationKeys": EvaluationKeys.self, "EncryptionParameters": EncryptionParameters.self,
    "EvaluationKeyConfig": EvaluationKeyConfig.self, "ConfigRequest": ConfigRequest.self, "KeyStatus": KeyStatus.self,
    "ConfigResponse": ConfigResponse.self, "Config": Config.self, "PIRShardConfig": PIRShardConfig.self,
    "PIRFixedShardConfig": PIRFixedShardConfig.self, "PIRShardConfigs": PIRShardConfigs.self,
    "SymmetricPirClientConfig": SymmetricPirClientConfig.self, "PIRShardingFunction": PIRShardingFunction.self,
    "KeywordPirParameters": KeywordPirParameters.self, "PIRConfig": PIRConfig.self, "EncryptedIndices": EncryptedIndices.self,
    "PIRRequest": PIRRequest.self, "OPRFRequest": OPRFRequest.self, "Request": Request.self, "Requests": Requests.self,
    "StashOfEntries": StashOfEntries.self, "PIRResponse": PIRResponse.self, "OPRFResponse": OPRFResponse.self,
    "Response": Response.self, "Responses": Responses.self, "ErrorMessage": ErrorMessage.self,
    "KeywordDatabaseRow": KeywordDatabaseRow.self, "KeywordDatabase": KeywordDatabase.self,
    "PirParameters": PirParameters.self, "Icon": Icon.self, "CallIdentity": CallIdentity.self,
    "InputCallIdentity": InputCallIdentity.self, "InputIdentities": InputIdentities.self,
]

/// SplitMix64: the same numbers from the same seed, everywhere.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// How many rounds a fuzz test runs: VEILRING_FUZZ_ITERATIONS, else the figure given.
func fuzzIterations(default count: Int) -> Int {
    ProcessInfo.processInfo.environment["VEILRING_FUZZ_ITERATIONS"].flatMap(Int.init) ?? count
}

/// The seed of a fuzz test: VEILRING_FUZZ_SEED, else a new one. Failures print it.
func fuzzSeed() -> UInt64 {
    ProcessInfo.processInfo.environment["VEILRING_FUZZ_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0..<1 << 32)
}
