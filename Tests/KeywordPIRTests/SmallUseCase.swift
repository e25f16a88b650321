// A whole use case on the smallest parameter set, for tests that run many lookups.

import BFV
import LookupMessages

@testable import KeywordPIR

/// Twenty rows in two tables of the insecure set with N = 8.
struct SmallUseCase {
    let parameters: UseCaseParameters
    let contents: ShardContents
    let engine: PIREngine
    let client: PIRClient
    let keyMessage: SerializedEvaluationKey
    let key: DecodedEvaluationKey

    static func keyword(_ i: Int) -> [UInt8] { Array("+1408555\(i)".utf8) }

    static func value(_ i: Int) -> [UInt8] { [UInt8(i)] }

    init(_ set: ParameterSet? = nil, dimensionCount: Int = 2, compression: KeyCompression = .noCompression) throws {
        let set = try set ?? ParameterSet.named("insecure_n_8_logq_5x18_logt_5", allowInsecure: true)
        var hasher = KeywordHasher()
        var rows = TableRows()
        for i in 0..<20 { rows.append(hash: hasher.hash(Self.keyword(i)), value: Self.value(i)) }
        let table = try CuckooTable(rows, settings: TableSettings(maxSerializedBucketSize: 24))
        let per = max(set.bytesPerPlaintext / table.largestBucketBytes, 1)
        let shard = try ShardParameters(
            entryCount: table.bucketsPerTable, entrySize: table.largestBucketBytes,
            dimensions: dimensions(
                plaintexts: (table.bucketsPerTable + per - 1) / per, hashFunctions: 2, dimensionCount: dimensionCount,
                uneven: false), hashFunctionCount: 2, set: set)
        parameters = try UseCaseParameters(
            set: set, shards: [shard], hashFunctionCount: 2, shardingFunction: .sha256, keyCompression: compression)
        contents = try ShardEncoder(set: set).encodeInMemory(table, shape: shard)
        engine = try PIREngine(parameters: parameters)
        client = try PIRClient(parameters: parameters)
        keyMessage = try client.makeEvaluationKey()
        key = try engine.decodeEvaluationKey(keyMessage)
    }

    /// The response to a query message.
    func response(to indices: EncryptedIndices, key other: DecodedEvaluationKey? = nil) throws -> PIRResponse {
        let query = try engine.decodeQuery(indices, shard: 0)
        var response = PIRResponse()
        response.replies = try engine.answer(query, key: other ?? key, shard: contents, threads: 1)
        return response
    }

    /// Whether a response has the form that a client expects, whatever it holds.
    func isWellFormed(_ response: PIRResponse) -> Bool {
        let chunks = parameters.shards[0].chunks(parameters.set)
        return response.replies.count == 2
            && response.replies.allSatisfy { reply in
                reply.ciphertexts.count == chunks
                    && reply.ciphertexts.allSatisfy { (try? client.noiseBudget(of: one($0))) != nil }
            }
    }

    private func one(_ ciphertext: SerializedCiphertext) -> PIRResponse {
        var response = PIRResponse()
        response.replies = [SerializedCiphertextVec(ciphertexts: [ciphertext])]
        return response
    }
}
