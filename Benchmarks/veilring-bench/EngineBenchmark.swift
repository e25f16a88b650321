// `veilring-bench engine`: one lookup on data made here, every answer decrypted and compared.

import BFV
import Foundation
import KeywordPIR
import LookupMessages

/// What to measure.
struct EngineBenchmark {
    var rows = 10_000
    var valueBytes = 40
    var set = "n_4096_logq_27_28_28_logt_5"
    var hashFunctions = 2
    var dimensionCount = 2
    var threads = 1
    var repeats = 20
    var plan = DimensionRule.cost
    /// d_0 and d_1, if they are given.
    var split: [Int]?

    enum Failure: Error { case wrongAnswer }

    private func keyword(_ i: Int) -> [UInt8] { Array("+8869\(10_000_000 + i)".utf8) }

    private func value(_ i: Int) -> [UInt8] {
        var state = UInt64(i) &* 0x9e37_79b9_7f4a_7c15 | 1
        return (0..<valueBytes).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state >> 11)
        }
    }

    private func milliseconds(_ body: () throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        try body()
        return Double((clock.now - start).components.attoseconds) / 1e15 + Double((clock.now - start).components.seconds) * 1e3
    }

    private func line(_ name: String, _ times: [Double]) -> String {
        let sorted = times.sorted()
        return String(
            format: "%@ median %.2f ms, p99 %.2f ms, least %.2f ms", name, sorted[sorted.count / 2],
            sorted[min(sorted.count - 1, sorted.count * 99 / 100)], sorted[0])
    }

    func run() throws {
        let parameterSet = try ParameterSet.named(set)
        var hasher = KeywordHasher()
        var table = TableRows()
        for i in 0..<rows { table.append(hash: hasher.hash(keyword(i)), value: value(i)) }
        var settings = TableSettings(
            maxSerializedBucketSize: TableSettings.defaultBucketSize(
                longestValue: valueBytes, bytesPerPlaintext: parameterSet.bytesPerPlaintext))
        settings.hashFunctionCount = hashFunctions
        var built: ShardContents?
        var parameters: UseCaseParameters?
        let build = try milliseconds {
            let cuckoo = try CuckooTable(table, settings: settings)
            let per = max(parameterSet.bytesPerPlaintext / cuckoo.largestBucketBytes, 1)
            let chunks = (cuckoo.largestBucketBytes + parameterSet.bytesPerPlaintext - 1) / parameterSet.bytesPerPlaintext
            let plaintexts = (cuckoo.bucketsPerTable + per - 1) / per
            let shape = try ShardParameters(
                entryCount: cuckoo.bucketsPerTable, entrySize: cuckoo.largestBucketBytes,
                dimensions: split
                    ?? CostModel(parameterSet).dimensions(
                        plaintexts: plaintexts, hashFunctions: hashFunctions, chunks: chunks, dimensionCount: dimensionCount,
                        rule: plan), hashFunctionCount: hashFunctions, set: parameterSet)
            let estimate = CostModel(parameterSet).estimate(
                CostModel.Query(
                    hashFunctions: hashFunctions, chunks: chunks, plaintexts: plaintexts, dimensions: shape.dimensions))
            print(
                String(
                    format: "estimate: %.2f ms = expand %.2f + first %.2f + second %.2f", estimate.total / 1e6,
                    estimate.expansion / 1e6, estimate.firstDimension / 1e6, estimate.secondDimension / 1e6))
            parameters = try UseCaseParameters(
                set: parameterSet, shards: [shape], hashFunctionCount: hashFunctions, shardingFunction: .sha256,
                keyCompression: .noCompression)
            built = try ShardEncoder(set: parameterSet).encodeInMemory(cuckoo, shape: shape)
        }
        guard let contents = built, let parameters else { return }
        print("shape: dimensions \(contents.parameters.dimensions), \(contents.layout.words * contents.wordBytes) bytes")
        print(String(format: "build: %.0f rows/s", Double(rows) / build * 1000))
        let engine = try PIREngine(parameters: parameters)
        let client = try PIRClient(parameters: parameters)
        let keyMessage = try client.makeEvaluationKey()
        var keyTimes: [Double] = []
        var key = try engine.decodeEvaluationKey(keyMessage)
        for _ in 0..<5 { keyTimes.append(try milliseconds { key = try engine.decodeEvaluationKey(keyMessage) }) }
        print(line("decode key:", keyTimes))
        var compute: [Double] = []
        var request: [Double] = []
        for i in 0..<repeats {
            let row = i * 7919 % rows
            let query = try client.makeQuery(keyword(row))
            var response = PIRResponse()
            var only = 0.0
            request.append(
                try milliseconds {
                    let read = try engine.decodeQuery(query.indices, shard: 0)
                    only = try milliseconds {
                        response.replies = try engine.answer(read, key: key, shard: contents, threads: threads)
                    }
                    _ = response.encoded()
                })
            compute.append(only)
            guard try client.value(of: query, in: response) == value(row) else { throw Failure.wrongAnswer }
            if i == 0 { print(String(format: "noise budget: %.1f bits", try client.noiseBudget(of: response))) }
        }
        print(line("compute reply:", compute))
        print(line("request:", request))
        print(
            "bytes: key \(keyMessage.encoded().count), query \(try client.makeQuery(keyword(0)).indices.encoded().count)")
    }
}
