// The walk through the engine of docs/engine.md: the same code, run; and the comparison with the page.

import BFV
import Cryptography
import Foundation
import LookupMessages
import Protobuf
import Testing

@testable import KeywordPIR

@Suite struct EngineGuideTests {
    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("docs/engine.md")

    @Test func theWalk() throws {
        // The page begins.
        let set = try ParameterSet.named("n_4096_logq_27_28_28_logt_5")
        #expect(set.bytesPerPlaintext == 2048)

        var hasher = KeywordHasher()
        var rows = TableRows()
        for i in 0..<300 {
            let number = Array("+886912345\(100 + i)".utf8)
            rows.append(hash: hasher.hash(number), value: Array("Caller \(i)".utf8))
        }

        let bucketBytes = TableSettings.defaultBucketSize(longestValue: 10, bytesPerPlaintext: set.bytesPerPlaintext)
        let table = try CuckooTable(rows, settings: TableSettings(maxSerializedBucketSize: bucketBytes))
        #expect(try table.value(ofHash: hasher.hash(Array("+886912345107".utf8))).map { Array($0) } == Array("Caller 7".utf8))

        let perPlaintext = set.bytesPerPlaintext / table.largestBucketBytes
        let shape = try ShardParameters(
            entryCount: table.bucketsPerTable, entrySize: table.largestBucketBytes,
            dimensions: dimensions(
                plaintexts: (table.bucketsPerTable + perPlaintext - 1) / perPlaintext, hashFunctions: 2, dimensionCount: 2,
                uneven: true), hashFunctionCount: 2, set: set)

        let parameters = try UseCaseParameters(
            set: set, shards: [shape], hashFunctionCount: 2, shardingFunction: .sha256, keyCompression: .noCompression)
        #expect(parameters.configurationID == SHA256.hash(parameters.pirConfig.encoded()))

        let shard = try ShardEncoder(set: set).encodeInMemory(table, shape: shape)
        let engine = try PIREngine(parameters: parameters)

        let published = try UseCaseParameters(pirConfig: parameters.pirConfig, keyConfig: parameters.evaluationKeyConfig)
        let phone = try PIRClient(parameters: published)
        let upload = try phone.makeEvaluationKey().encoded()
        let key = try engine.decodeEvaluationKey(SerializedEvaluationKey(decoding: upload))

        let query = try phone.makeQuery(Array("+886912345107".utf8))
        let stranger = try phone.makeQuery(Array("+15550100".utf8))
        #expect(query.indices.encoded().count == stranger.indices.encoded().count)

        let received = try engine.decodeQuery(EncryptedIndices(decoding: query.indices.encoded()), shard: query.shard)
        let response = PIRResponse(replies: try engine.answer(received, key: key, shard: shard, threads: 2))

        #expect(try phone.value(of: query, in: response) == Array("Caller 7".utf8))
        #expect(try phone.noiseBudget(of: response) > 1)
        let other = try engine.answer(
            engine.decodeQuery(stranger.indices, shard: stranger.shard), key: key, shard: shard, threads: 1)
        #expect(try phone.value(of: stranger, in: PIRResponse(replies: other)) == nil)

        let context = try BFVContext<UInt32>(set)
        var randomness = SystemRandomSource()
        let secret = try context.makeSecretKey(&randomness)
        let two = try context.encrypt([2], secret, &randomness)
        let x = try context.encrypt([0, 1], secret, &randomness)
        let sum = try context.add(two, x)
        #expect(context.decrypt(sum, secret).prefix(3) == [2, 1, 0])
        let square = try context.multiply(sum, sum)
        #expect(context.decrypt(square, secret).prefix(4) == [4, 4, 1, 0])
        let small = context.modSwitchDownToSingle(try context.multiply(two, plaintext: [0, 5]))
        #expect(context.decrypt(small, secret).prefix(3) == [0, 10, 0])
        // The page ends.
    }

    /// Lines without their indentation and without empty ones.
    private func bare(_ lines: some Sequence<Substring>) -> [String] {
        lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    @Test func thePageShowsTheSameCode() throws {
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        var blocks: [[Substring]] = []
        var inside = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text == "```swift" {
                inside = true
                blocks.append([])
            } else if text == "```" {
                inside = false
            } else if inside {
                blocks[blocks.count - 1].append(line)
            }
        }
        #expect(blocks.count == 11, "one block for each step")
        let source = try String(contentsOf: URL(fileURLWithPath: #filePath), encoding: .utf8)
        let code = source.split(separator: "\n", omittingEmptySubsequences: false)
            .drop { $0.trimmingCharacters(in: .whitespaces) != "// The page begins." }.dropFirst()
            .prefix { $0.trimmingCharacters(in: .whitespaces) != "// The page ends." }
        #expect(bare(blocks.flatMap { $0 }) == bare(code))
        let numbers = page.split(separator: "\n").compactMap { $0.split(separator: ".").first.flatMap { Int($0) } }
        #expect(numbers == Array(1...11), "the steps are numbered in order")
    }
}
