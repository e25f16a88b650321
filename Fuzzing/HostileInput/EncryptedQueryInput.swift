// Ciphertexts, keys and queries of small parameter sets, in words of both widths: what is accepted reads back the same, and a
// query or a key that is accepted is answered, whatever it holds.

import BFV
import KeywordPIR
import LookupMessages
import Protobuf

enum EncryptedQueryInput {
    /// Steering: byte 0 the parameter set (bit 0), byte 1 what the message should be (modulo 5).
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        guard let useCase = input.steer(0) & 1 == 0 ? narrow : wide else {
            verdict.violations.append("the use case cannot be made")
            return verdict
        }
        do {
            switch input.steer(1) % 5 {
            case 0: try query(input, useCase, &verdict)
            case 1: try key(input, useCase, &verdict)
            case 2: try reply(input, useCase, &verdict)
            case 3: try secretKey(input, useCase, &verdict)
            default: try processedShard(input, useCase, &verdict)
            }
        } catch let error as FormatError {
            verdict.outcomes.insert("format error")
            verdict.require(!"\(error)".isEmpty, "an error without words")
        } catch is BFVError {
            verdict.outcomes.insert("BFV error")
        } catch is PIRError {
            verdict.outcomes.insert("PIR error")
        } catch is ProtobufError {
            verdict.outcomes.insert("protobuf error")
        } catch {
            verdict.violations.append("an error of an unknown type")
        }
        return verdict
    }

    /// A query, a key, a reply, a secret key and a shard, of both sets.
    static var examples: [[UInt8]] {
        [narrow, wide].enumerated().flatMap { number, made -> [[UInt8]] in
            guard let useCase = made, let key = try? useCase.client.makeEvaluationKey(),
                let replies = try? useCase.engine.answer(
                    useCase.query, key: useCase.key, shard: useCase.contents, threads: 1)
            else { return [] }
            let messages = [
                useCase.asked.indices.encoded(), key.encoded(), PIRResponse(replies: replies).encoded(),
                useCase.client.secretKeyBytes, useCase.emptyShard,
            ]
            return messages.enumerated().map { [2, UInt8(number), UInt8($0)] + $1 }
        }
    }

    /// The configurations of both sets.
    static var configurations: [[UInt8]] {
        [narrow, wide].compactMap { $0?.parameters }.map { parameters in
            let config = parameters.pirConfig.encoded()
            return [1, UInt8(truncatingIfNeeded: config.count)] + config + parameters.evaluationKeyConfig.encoded()
        }
    }

    private static func query(_ input: SteeredInput, _ useCase: UseCase, _ verdict: inout InputVerdict) throws {
        let query = try useCase.engine.decodeQuery(try EncryptedIndices(decoding: input.message), shard: 0)
        verdict.outcomes.insert("query")
        check(try? useCase.engine.answer(query, key: useCase.key, shard: useCase.contents, threads: 1), useCase, &verdict)
    }

    private static func key(_ input: SteeredInput, _ useCase: UseCase, _ verdict: inout InputVerdict) throws {
        let key = try useCase.engine.decodeEvaluationKey(try SerializedEvaluationKey(decoding: input.message))
        verdict.outcomes.insert("key")
        verdict.require(key.byteCount == useCase.key.byteCount, "a key of another size was accepted")
        check(try? useCase.engine.answer(useCase.query, key: key, shard: useCase.contents, threads: 1), useCase, &verdict)
    }

    /// Every reply to an accepted query is a reply: of the right shape, and the client can read its form.
    private static func check(_ replies: [SerializedCiphertextVec]?, _ useCase: UseCase, _ verdict: inout InputVerdict) {
        guard let replies else {
            verdict.violations.append("what was accepted is not answered")
            return
        }
        let chunks = useCase.contents.parameters.chunks(useCase.parameters.set)
        verdict.require(replies.count == useCase.parameters.hashFunctionCount, "another number of replies")
        verdict.require(replies.allSatisfy { $0.ciphertexts.count == chunks }, "another number of ciphertexts")
        verdict.require((try? useCase.client.noiseBudget(of: PIRResponse(replies: replies))) != nil, "a reply cannot be read")
    }

    private static func reply(_ input: SteeredInput, _ useCase: UseCase, _ verdict: inout InputVerdict) throws {
        let response = try PIRResponse(decoding: input.message)
        let budget = try useCase.client.noiseBudget(of: response)
        verdict.require(!budget.isNaN, "a noise budget that is no number")
        verdict.outcomes.insert(response.replies.isEmpty ? "no reply" : "reply")
        _ = try useCase.client.value(of: useCase.asked, in: response)
        verdict.outcomes.insert("value")
    }

    private static func secretKey(_ input: SteeredInput, _ useCase: UseCase, _ verdict: inout InputVerdict) throws {
        let client = try PIRClient(parameters: useCase.parameters, secretKey: Array(input.message))
        verdict.outcomes.insert("secret key")
        verdict.require(client.secretKeyBytes.elementsEqual(input.message), "a secret key is another when it is written")
        verdict.require((try? client.makeQuery([1, 2, 3])) != nil, "a client cannot ask with a key that it took")
    }

    private static func processedShard(_ input: SteeredInput, _ useCase: UseCase, _ verdict: inout InputVerdict) throws {
        let shape = useCase.contents.parameters
        let shard = try ProcessedFile.read(Array(input.message), shape: shape, set: useCase.parameters.set)
        verdict.outcomes.insert("processed shard")
        let query = try useCase.engine.decodeQuery(useCase.asked.indices, shard: 0)
        check(try? useCase.engine.answer(query, key: useCase.key, shard: shard, threads: 1), useCase, &verdict)
    }

    /// N = 16 in words of 32 bits, and N = 8 in words of 64.
    private static let narrow = try? UseCase(
        ParameterSet(degree: 16, plaintextModulus: 17, coefficientModuli: [131_297, 131_489, 131_617], level: .unchecked))
    private static let wide = try? UseCase(ParameterSet.named("insecure_n_8_logq_5x18_logt_5", allowInsecure: true))

    /// Twenty rows, a client, its key and one of its queries.
    private struct UseCase {
        let parameters: UseCaseParameters
        let contents: ShardContents
        let engine: PIREngine
        let client: PIRClient
        let key: DecodedEvaluationKey
        let asked: PIRQuery
        let query: DecodedQuery

        /// A processed shard with one plaintext, of zeros.
        var emptyShard: [UInt8] {
            let (shape, set) = (contents.parameters, parameters.set)
            let count = shape.hashFunctionCount * shape.chunks(set) * shape.columns * shape.rows
            let zeros = set.coefficientModuli.dropLast().map { set.degree * (64 - $0.leadingZeroBitCount) / 8 }.reduce(0, +)
            let header: [UInt8] = [1, UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8), 0, 0]
            return header + [1] + [UInt8](repeating: 0, count: zeros + count - 1)
        }

        init(_ set: ParameterSet) throws {
            var hasher = KeywordHasher()
            var rows = TableRows()
            for number in 0..<UInt8(20) { rows.append(hash: hasher.hash([number]), value: [number]) }
            let table = try CuckooTable(rows, settings: TableSettings(maxSerializedBucketSize: 24))
            let entries = max(set.bytesPerPlaintext / table.largestBucketBytes, 1)
            let shard = try ShardParameters(
                entryCount: table.bucketsPerTable, entrySize: table.largestBucketBytes,
                dimensions: dimensions(
                    plaintexts: (table.bucketsPerTable + entries - 1) / entries, hashFunctions: 2, dimensionCount: 2,
                    uneven: false), hashFunctionCount: 2, set: set)
            parameters = try UseCaseParameters(
                set: set, shards: [shard], hashFunctionCount: 2, shardingFunction: .sha256, keyCompression: .noCompression)
            contents = try ShardEncoder(set: set).encodeInMemory(table, shape: shard)
            engine = try PIREngine(parameters: parameters)
            // The same numbers in every run: coverage is compared between runs.
            var source = try SeededRandomSource(seed: [UInt8](repeating: 7, count: 32))
            client = try PIRClient(parameters: parameters, randomness: &source)
            key = try engine.decodeEvaluationKey(client.makeEvaluationKey())
            asked = try client.makeQuery([1])
            query = try engine.decodeQuery(asked.indices, shard: 0)
        }
    }
}
