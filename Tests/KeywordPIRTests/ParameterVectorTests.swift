// Dimensions, Galois elements, layout, and the bytes and identifiers of configurations (keyword-pir.md 4, 6.4, 9, A.4, A.5).

import BFV
import Cryptography
import LookupMessages
import Protobuf
import TestVectors
import Testing

@testable import KeywordPIR

private struct DimensionVector: Decodable {
    let params: String
    let entryCount: Int
    let entrySize: Int
    let dimensionCount: Int
    let unevenDimensions: Bool
    let batchSize: Int
    let dimensions: [Int]
    let galoisElements: [Int]
}

private struct ElementVector: Decodable {
    let degree: Int
    let expandedQueryCount: Int
    let keyCompression: String
    let galoisElements: [Int]
}

@Suite struct ParameterVectorTests {
    @Test(.enabled(if: VectorFiles.find("pir/dimensions.json") != nil, "pir/dimensions.json is not here"))
    func dimensionsEqualTheVectors() throws {
        let vectors: [DimensionVector] = try VectorFiles.json("pir/dimensions.json")
        #expect(!vectors.isEmpty)
        for v in vectors {
            let set = try ParameterSet.named(v.params, allowInsecure: true)
            let shape = try ShardParameters(
                entryCount: v.entryCount, entrySize: v.entrySize, dimensions: [ShardParameters.maximum >> 4],
                hashFunctionCount: 1, set: set)
            let got = dimensions(
                plaintexts: shape.plaintextCount(set), hashFunctions: v.batchSize, dimensionCount: v.dimensionCount,
                uneven: v.unevenDimensions)
            #expect(got == v.dimensions, "\(v)")
            let outputs = v.batchSize * got.reduce(0, +)
            #expect(
                galoisElements(degree: set.degree, outputs: outputs, compression: .noCompression) == v.galoisElements, "\(v)")
        }
    }

    @Test(.enabled(if: VectorFiles.find("pir/evaluation-key-elements.json") != nil, "the file is not here"))
    func galoisElementsEqualTheVectors() throws {
        let vectors: [ElementVector] = try VectorFiles.json("pir/evaluation-key-elements.json")
        #expect(!vectors.isEmpty)
        for v in vectors {
            let compression = try #require(KeyCompression(rawValue: v.keyCompression))
            #expect(
                galoisElements(degree: v.degree, outputs: v.expandedQueryCount, compression: compression) == v.galoisElements,
                "\(v)")
        }
    }

    /// Whatever the expansion needs can be reached with what the client is told to upload.
    @Test func everyStrategyReachesEveryLevel() {
        for log in 3...13 {
            for m in [2, 3, 4, 5, 8, 9, 31, 32, 33, 1 << log, (1 << log) + 1, 2 << log] {
                for compression in [KeyCompression.noCompression, .hybridCompression, .maxCompression] {
                    let elements = galoisElements(degree: 1 << log, outputs: m, compression: compression)
                    #expect(elements == elements.sorted() && Set(elements).count == elements.count)
                    let depth = min(log, m.bitWidth - (m - 1).leadingZeroBitCount)
                    for s in 1...depth {
                        let plan = automorphismPlan(power: log - s + 1, elements: elements, degree: 1 << log)
                        guard let plan else {
                            Issue.record("degree 2^\(log), \(m) outputs, \(compression), level \(s)")
                            continue
                        }
                        var power = 1
                        for _ in 0..<plan.times { power = power * plan.element % (2 << log) }
                        #expect(power == ((1 << (log - s + 1)) + 1) % (2 << log), "degree 2^\(log), \(compression), level \(s)")
                    }
                }
            }
        }
        #expect(automorphismPlan(power: 3, elements: [], degree: 8) == nil)
        #expect(automorphismPlan(power: 3, elements: [15, 7], degree: 8) == nil)
    }

    private func exampleA(_ compression: KeyCompression = .noCompression, shards: Int = 1) throws -> UseCaseParameters {
        let set = try ParameterSet.named("n_4096_logq_27_28_28_logt_5")
        let shard = try ShardParameters(
            entryCount: 380, entrySize: 981, dimensions: [24, 8], hashFunctionCount: 2, set: set)
        return try UseCaseParameters(
            set: set, shards: [ShardParameters](repeating: shard, count: shards), hashFunctionCount: 2,
            shardingFunction: .sha256, keyCompression: compression)
    }

    @Test func canonicalBytesOfTheAppendix() throws {
        let a = try exampleA()
        #expect(hex(EncryptionParameters(a.set).encoded()) == "08802010111a0c81c0fd3f8180fc7f81c0fb7f28013001")
        #expect(
            hex(a.evaluationKeyConfig.encoded())
                == "0a1708802010111a0c81c0fd3f8180fc7f81c0fb7f28013001120c8101810281048108811081201801")
        #expect(hex(a.evaluationKeyConfigHash) == "bf2d7c0c86e82507d29ed61dfb6076a7e4334deea35381d9f7cdd2ac708fcfb6")
        #expect(hex(PIRShardConfig(a.shards[0]).encoded()) == "08fc0210d5071a0218082200")
        #expect(hex(try #require(a.pirConfig.keywordPirParams).encoded()) == "080222020a00")
        #expect(
            hex(a.pirConfig.encoded())
                == "0a1708802010111a0c81c0fd3f8180fc7f81c0fb7f28013001120c08fc0210d5071a02180822001a06080222020a0020012802"
                + "3220bf2d7c0c86e82507d29ed61dfb6076a7e4334deea35381d9f7cdd2ac708fcfb6")
        #expect(hex(a.configurationID) == "93b5c40d90ad2085029025243777889752b1e7fa456b4ed222c34618edd73098")
        let three = try exampleA(shards: 3)
        #expect(hex(three.configurationID) == "618d3b9bf531d831d605651518f92a8dffaa416eb2d6fdbd07d7143a00883bdd")
        #expect(hex(three.pirConfig.encoded()).hasSuffix("52120a100a0c08fc0210d5071a02180822001003"))
        let older = try #require(three.pirConfigForOlderSystems())
        #expect(older.shardConfigs.count == 3 && older.pirShardConfigs == nil)
        #expect(a.pirConfigForOlderSystems() == a.pirConfig)
        #expect(
            hex(try exampleA(.hybridCompression).evaluationKeyConfigHash)
                == "103f95427bccbe89c94c6aed86f43368172c3314a7fcb9234bffebb0d5f04c05")
        #expect(
            hex(try exampleA(.maxCompression).evaluationKeyConfigHash)
                == "01929b408cab19115292c35aa0c32601785b74b3a959fc111e9e474820e5f465")
        let b = try ShardParameters(entryCount: 598, entrySize: 1024, dimensions: [50, 6], hashFunctionCount: 2, set: a.set)
        let useCase = try UseCaseParameters(
            set: a.set, shards: [b], hashFunctionCount: 2, shardingFunction: .sha256, keyCompression: .noCompression)
        #expect(hex(useCase.evaluationKeyConfigHash) == "ef8dbf14d53d6b623edc748b33536b24ea6312a250658fd1f2633b83e49063d8")
    }

    @Test func layoutOfTheAppendix() throws {
        let a = try exampleA()
        let shape = a.shards[0]
        var hasher = KeywordHasher()
        func places(_ keyword: String) -> [Int] {
            let hash = hasher.hash(Array(keyword.utf8))
            return hasher.candidates(hash: hash, buckets: 380, functions: 2).enumerated().flatMap { table, bucket in
                let (row, column) = shape.coordinates(ofEntry: bucket, a.set)
                return [32 * table + row, 32 * table + 24 + column]
            }
        }
        #expect(places("+14085551212") == [10, 29, 36, 63])
        #expect(places("+123") == [21, 29, 33, 59])
        #expect(shape.coordinates(ofEntry: 171, a.set) == (10, 5))
        #expect(shape.offset(ofEntry: 171, a.set) == 981)
        #expect(shape.coordinates(ofEntry: 78, a.set) == (4, 7))
        #expect(shape.offset(ofEntry: 78, a.set) == 0)
        #expect(shape.plaintextCount(a.set) == 190)
        #expect(shape.expandedCount == 64)
        // 2^−6 is 4 modulo 17: the query polynomial holds it in exactly these coefficients.
        let client = try PIRClient(parameters: a)
        let query = try client.makeQuery(Array("+14085551212".utf8))
        let context = try BFVContext<UInt32>(a.set)
        let read = try context.readQueryCiphertext(#require(query.indices.ciphertexts.first).bytes())
        let plain = context.decrypt(read, try context.readSecretKey(client.secretKeyBytes[...]))
        #expect(plain.enumerated().filter { $0.element != 0 }.map(\.offset) == [10, 29, 36, 63])
        #expect(plain.allSatisfy { $0 == 0 || $0 == 4 })
    }

    @Test func shapesThatCannotBe() throws {
        let set = try ParameterSet.named("n_4096_logq_27_28_28_logt_5")
        func refuse(_ entries: Int, _ size: Int, _ dims: [Int], _ functions: Int, _ why: Comment) {
            #expect(throws: PIRError.self, why) {
                try ShardParameters(
                    entryCount: entries, entrySize: size, dimensions: dims, hashFunctionCount: functions, set: set)
            }
        }
        for n in [0, -1, Int.min, ShardParameters.maximum + 1, Int.max] {
            refuse(n, 10, [4], 1, "\(n) entries")
            refuse(10, n, [4], 1, "entries of \(n) bytes")
            refuse(10, 10, [n], 1, "dimension \(n)")
            refuse(10, 10, [1, n], 1, "second dimension \(n)")
        }
        for functions in [-1, 0, 9, Int.max] { refuse(10, 10, [4], functions, "\(functions) hash functions") }
        refuse(10, 10, [], 1, "no dimension")
        refuse(10, 10, [2, 2, 2], 1, "three dimensions")
        refuse(100, 2048, [9, 11], 1, "99 places for 100 plaintexts")
        refuse(10, 10, [1 << 20, 1], 1, "more than 2^20 selections")
    }
}
