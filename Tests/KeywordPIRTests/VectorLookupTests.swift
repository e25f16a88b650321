// The databases, keys, queries and replies that the public reference produced: our server answers its queries, and our client
// reads its replies.

import BFV
import Foundation
import LookupMessages
import Protobuf
import TestVectors
import Testing

@testable import KeywordPIR

private struct Case: Decodable {
    struct Lookup: Decodable {
        let keyword: String
        let shardIndex: Int
        let value: String?
    }
    struct Shard: Decodable { let index: Int }
    let params: String
    let configId: String
    let evaluationKeyConfigSha256: String
    let shards: [Shard]
    let lookups: [Lookup]
}

func bytes(hex: String) -> [UInt8] {
    var out: [UInt8] = []
    var rest = hex[...]
    while rest.count >= 2 {
        out.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
        rest = rest.dropFirst(2)
    }
    return out
}

func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

@Suite struct VectorLookupTests {
    static let cases = [
        "rows100-v20", "rows400-v1-t4", "rows300-v1-hash1", "rows12-v4000", "rows240-three-shards-fixed", "rows300-doublemod",
        "rows200-even", "rows200-one-dimension", "rows24-hash3-chunks", "rows60-max-compression", "rows200-n8192",
    ]

    /// Those whose files are here: all with the shared folder, one without it.
    static let present = cases.filter { VectorFiles.find("pir/\($0)/case.json") != nil }

    @Test(arguments: present) func answersTheVectors(name: String) throws {
        let info = try JSONDecoder().decode(Case.self, from: Data(VectorFiles.bytes("pir/\(name)/case.json")))
        let config = try PIRConfig(decoding: VectorFiles.bytes("pir/\(name)/pir-config.binpb"))
        let keyConfig = try EvaluationKeyConfig(decoding: VectorFiles.bytes("pir/\(name)/evaluation-key-config.binpb"))
        let parameters = try UseCaseParameters(pirConfig: config, keyConfig: keyConfig)
        #expect(hex(parameters.configurationID) == info.configId)
        #expect(hex(parameters.evaluationKeyConfigHash) == info.evaluationKeyConfigSha256)
        #expect(parameters.pirConfig == config)

        let engine = try PIREngine(parameters: parameters)
        let keys = try EvaluationKeys(decoding: VectorFiles.bytes("pir/\(name)/evaluation-keys.binpb"))
        let key = try engine.decodeEvaluationKey(#require(keys.keys.first?.evaluationKey))
        let secret = try SerializedSecretKey(decoding: VectorFiles.bytes("pir/\(name)/secret-key.binpb"))
        let client = try PIRClient(parameters: parameters, secretKey: Array(secret.polys))
        let requests = try Requests(decoding: VectorFiles.bytes("pir/\(name)/requests.binpb"))
        let theirs = try Responses(decoding: VectorFiles.bytes("pir/\(name)/responses.binpb"))
        var shards: [Int: ShardContents] = [:]
        for (i, lookup) in info.lookups.enumerated() {
            guard case .pir(let request) = requests.requests[i].kind, case .pir(let response) = theirs.responses[i].kind else {
                Issue.record("vector \(i) is no PIR request")
                continue
            }
            let keyword = bytes(hex: lookup.keyword)
            let mine = try client.makeQuery(keyword)
            #expect(mine.shard == lookup.shardIndex)
            let expected = lookup.value.map { bytes(hex: $0) }
            #expect(try client.value(of: mine, in: response) == expected)

            let shard = Int(request.shardIndex)
            if shards[shard] == nil {
                shards[shard] = try ProcessedFile.read(
                    VectorFiles.bytes("pir/\(name)/shard-\(shard).bin"), shape: parameters.shards[shard],
                    set: parameters.set)
            }
            let query = try engine.decodeQuery(#require(request.query), shard: shard)
            var answer = PIRResponse()
            answer.replies = try engine.answer(query, key: key, shard: #require(shards[shard]), threads: 2)
            #expect(try client.value(of: mine, in: answer) == expected)
            let budget = try client.noiseBudget(of: answer)
            #expect(budget > 1, "noise budget \(budget)")
            #expect(try answer.encoded().count == response.encoded().count)
        }
    }
}
