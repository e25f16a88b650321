// Our own database, server and client against each other over shapes that the vectors do not cover.

import BFV
import LookupMessages
import Testing

@testable import KeywordPIR

struct Shape: Sendable, CustomTestStringConvertible {
    var set = "insecure_n_512_logq_4x60_logt_20"
    var functions = 2
    var dimensionCount = 2
    var uneven = true
    var compression = KeyCompression.noCompression
    var lengths: [Int]
    var testDescription: String { "\(set) H\(functions) d\(dimensionCount) \(compression) rows \(lengths.count)" }
}

@Suite struct RoundTripTests {
    static let shapes: [Shape] = [
        Shape(lengths: (0..<60).map { $0 % 40 }),
        Shape(functions: 1, lengths: [Int](repeating: 12, count: 50)),
        Shape(functions: 3, compression: .maxCompression, lengths: [Int](repeating: 30, count: 90)),
        Shape(functions: 3, uneven: false, compression: .hybridCompression, lengths: (0..<20).map { $0 * 180 }),
        Shape(dimensionCount: 1, lengths: [Int](repeating: 100, count: 40)),
        Shape(lengths: [0, 65535, 1]),
        Shape(lengths: []),
        Shape(functions: 1, dimensionCount: 1, lengths: [4]),
        Shape(set: "insecure_n_8_logq_5x18_logt_5", dimensionCount: 1, lengths: [1, 0, 2, 1]),
        Shape(set: "insecure_n_8_logq_5x18_logt_5", lengths: [UInt8](repeating: 1, count: 12).map { Int($0) }),
        Shape(set: "n_4096_logq_27_28_28_logt_5", lengths: (0..<300).map { $0 % 50 }),
        Shape(set: "n_4096_logq_27_28_28_logt_6", compression: .maxCompression, lengths: [3000, 9000, 12, 0]),
        Shape(set: "n_4096_logq_27_28_28_logt_17", dimensionCount: 1, lengths: (0..<300).map { $0 % 50 }),
        Shape(set: "n_4096_logq_16_33_33_logt_4", lengths: (0..<200).map { $0 % 9 }),
        Shape(set: "n_8192_logq_3x55_logt_24", lengths: (0..<200).map { $0 % 90 }),
        Shape(set: "n_8192_logq_29_60_60_logt_15", lengths: (0..<200).map { $0 % 90 }),
        Shape(set: "n_8192_logq_40_60_60_logt_26", dimensionCount: 1, lengths: [60000, 5]),
    ]

    @Test(arguments: shapes) func findsEveryRow(shape: Shape) throws {
        let set = try ParameterSet.named(shape.set, allowInsecure: true)
        var hasher = KeywordHasher()
        var rows = TableRows()
        func keyword(_ i: Int) -> [UInt8] { Array("+88691234\(i)".utf8) }
        func value(_ i: Int) -> [UInt8] { (0..<shape.lengths[i]).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ i) } }
        for i in shape.lengths.indices { rows.append(hash: hasher.hash(keyword(i)), value: value(i)) }
        var settings = TableSettings(
            maxSerializedBucketSize: TableSettings.defaultBucketSize(
                longestValue: shape.lengths.max() ?? 0, bytesPerPlaintext: set.bytesPerPlaintext))
        settings.hashFunctionCount = shape.functions
        let table = try CuckooTable(rows, settings: settings)
        let per = max(set.bytesPerPlaintext / table.largestBucketBytes, 1)
        let dims = dimensions(
            plaintexts: (table.bucketsPerTable + per - 1) / per, hashFunctions: shape.functions,
            dimensionCount: shape.dimensionCount, uneven: shape.uneven)
        let shard = try ShardParameters(
            entryCount: table.bucketsPerTable, entrySize: table.largestBucketBytes, dimensions: dims,
            hashFunctionCount: shape.functions, set: set)
        let parameters = try UseCaseParameters(
            set: set, shards: [shard], hashFunctionCount: shape.functions, shardingFunction: .sha256,
            keyCompression: shape.compression)
        let fromMessages = try UseCaseParameters(
            pirConfig: parameters.pirConfig, keyConfig: parameters.evaluationKeyConfig)
        #expect(fromMessages == parameters)
        let contents = try ShardEncoder(set: set).encodeInMemory(table, shape: shard)
        let engine = try PIREngine(parameters: parameters)
        let client = try PIRClient(parameters: parameters)
        let key = try engine.decodeEvaluationKey(client.makeEvaluationKey())
        let sample =
            shape.lengths.count <= 4 ? Array(shape.lengths.indices) : [0, shape.lengths.count / 2, shape.lengths.count - 1]
        for i in sample + [-1] {
            let query = try client.makeQuery(i < 0 ? Array("+1999".utf8) : keyword(i))
            let read = try engine.decodeQuery(query.indices, shard: 0)
            var response = PIRResponse()
            response.replies = try engine.answer(read, key: key, shard: contents, threads: 1 + i & 1)
            #expect(try client.value(of: query, in: response) == (i < 0 ? nil : value(i)))
            #expect(try client.noiseBudget(of: response) > 1)
        }
        // Two devices that share a scan get what each would get alone.
        let stranger = try PIRClient(parameters: parameters)
        let strangersKey = try engine.decodeEvaluationKey(stranger.makeEvaluationKey())
        let queries = try [(client, key), (stranger, strangersKey), (client, key)].map { client, key in
            (
                query: try engine.decodeQuery(client.makeQuery(keyword(shape.lengths.count / 2)).indices, shard: 0), key: key
            )
        }
        let together = try engine.answerTogether(queries, shard: contents)
        #expect(try together == queries.map { try engine.answer($0.query, key: $0.key, shard: contents, threads: 1) })
        #expect(try engine.answerTogether([], shard: contents).isEmpty)
        #expect((1...PIREngine.mostTogether).contains(engine.worthTogether(contents)))
    }

    @Test func unfitSetsAreRefusedForTwoDimensions() throws {
        let set = try ParameterSet.named("n_4096_logq_27_28_28_logt_17")
        let shard = try ShardParameters(entryCount: 10, entrySize: 8192, dimensions: [5, 2], hashFunctionCount: 2, set: set)
        #expect(throws: PIRError.self) {
            try UseCaseParameters(
                set: set, shards: [shard], hashFunctionCount: 2, shardingFunction: .sha256, keyCompression: .noCompression)
        }
    }

    @Test func dimensionRule() {
        #expect(dimensions(plaintexts: 10, hashFunctions: 2, dimensionCount: 2, uneven: false) == [4, 3])
        #expect(dimensions(plaintexts: 15, hashFunctions: 1, dimensionCount: 2, uneven: true) == [5, 3])
        #expect(dimensions(plaintexts: 17, hashFunctions: 2, dimensionCount: 2, uneven: true) == [9, 2])
        #expect(dimensions(plaintexts: 190, hashFunctions: 2, dimensionCount: 2, uneven: true) == [24, 8])
        #expect(dimensions(plaintexts: 299, hashFunctions: 2, dimensionCount: 2, uneven: true) == [50, 6])
        #expect(galoisElements(degree: 4096, outputs: 64, compression: .hybridCompression) == [129, 1025])
        #expect(galoisElements(degree: 4096, outputs: 1024, compression: .maxCompression) == [9, 17, 33, 65, 129])
        #expect(galoisElements(degree: 4096, outputs: 1, compression: .noCompression) == [])
    }
}
