// Queries, keys and files that are not what they should be: every item of bfv.md 13 and keyword-pir.md 13 that a message can
// carry, and every cut of a real message. A typed error each time, never a trap.

import BFV
import Cryptography
import LookupMessages
import Protobuf
import TestVectors
import Testing

@testable import KeywordPIR

@Suite struct MalformedRequestTests {
    let small: SmallUseCase
    let good: EncryptedIndices

    init() throws {
        small = try SmallUseCase()
        good = try small.client.makeQuery(SmallUseCase.keyword(3)).indices
    }

    private func refused(_ why: Comment, _ change: (inout EncryptedIndices) -> Void) {
        var message = good
        change(&message)
        #expect(throws: (any Error).self, why) { try small.engine.decodeQuery(message, shard: 0) }
    }

    private func refusedKey(_ why: Comment, _ change: (inout SerializedEvaluationKey) -> Void) {
        var message = small.keyMessage
        change(&message)
        #expect(throws: (any Error).self, why) { try small.engine.decodeEvaluationKey(message) }
    }

    @Test func theGoodOnesAreAnswered() throws {
        for i in 0..<20 {
            let query = try small.client.makeQuery(SmallUseCase.keyword(i))
            #expect(try small.client.value(of: query, in: small.response(to: query.indices)) == SmallUseCase.value(i))
        }
        let absent = try small.client.makeQuery(Array("nobody".utf8))
        #expect(try small.client.value(of: absent, in: small.response(to: absent.indices)) == nil)
    }

    /// Items 14, 17 and 18.
    @Test func queriesOfAnotherShape() throws {
        let count = good.ciphertexts.count
        try #require(count == 2, "more selections than coefficients, so that the count matters")
        for wrong in [0, 1, 3, 100] {
            refused("\(wrong) ciphertexts") { m in m.ciphertexts = (0..<wrong).map { good.ciphertexts[$0 % count] } }
        }
        for calls in [0, 1, 3, 1 << 63, .max] as [UInt64] { refused("\(calls) calls") { $0.numPirCalls = calls } }
        refused("neither form") { $0.ciphertexts[1].kind = nil }
        for shard in [-1, 1, Int.max, Int.min] {
            #expect(throws: PIRError.self, "shard \(shard)") { try small.engine.decodeQuery(good, shard: shard) }
        }
        guard case .seeded(let seeded) = good.ciphertexts[0].kind else {
            Issue.record("queries are seeded")
            return
        }
        for bytes in [[], Array(seeded.poly0.dropLast()), seeded.poly0 + [0]] as [[UInt8]] {
            refused("\(bytes.count) bytes") {
                $0.ciphertexts[0].kind = .seeded(SerializedSeededCiphertext(poly0: bytes[...], seed: seeded.seed))
            }
        }
        for seed in [[], Array(seeded.seed.dropLast()), seeded.seed + [0]] as [[UInt8]] {
            refused("seed of \(seed.count)") {
                $0.ciphertexts[0].kind = .seeded(SerializedSeededCiphertext(poly0: seeded.poly0, seed: seed[...]))
            }
        }
        let full = try fullForm(good.ciphertexts[0])
        #expect(full.skipLsbs.allSatisfy { $0 == 0 })
        func refusedFull(_ why: Comment, _ change: @escaping (inout SerializedFullCiphertext) -> Void) {
            var other = full
            change(&other)
            refused(why) { $0.ciphertexts[0].kind = .full(other) }
        }
        var asFull = good
        asFull.ciphertexts[0].kind = .full(full)
        _ = try small.engine.decodeQuery(asFull, shard: 0)
        refusedFull("no bytes") { $0.polys = [] }
        refusedFull("three polynomials") { $0.polys = [3, 0] + $0.polys.dropFirst(2) }
        refusedFull("no polynomials") { $0.polys = [0, 0] }
        refusedFull("one dropped-bit count") { $0.skipLsbs = [0] }
        refusedFull("dropped bits") { $0.skipLsbs = [1, 1] }
        refusedFull("many dropped-bit counts") { $0.skipLsbs = [UInt32](repeating: 0, count: 100_000) }
        refusedFull("no correction factor") { $0.correctionFactor = 0 }
        refusedFull("huge correction factor") { $0.correctionFactor = .max }
    }

    private func fullForm(_ message: SerializedCiphertext) throws -> SerializedFullCiphertext {
        let context = try BFVContext<UInt64>(small.parameters.set)
        let read = try context.readQueryCiphertext(message.bytes())
        guard case .full(let full) = SerializedCiphertext(context.fullBytes(of: read)).kind else {
            throw PIRError.unreadableReply
        }
        return full
    }

    /// Items 19 – 23.
    @Test func keysOfAnotherShape() throws {
        let element = UInt64(small.parameters.galoisElements[0])
        let one = try #require(small.keyMessage.galoisKey?.keySwitchKeys[element])
        refusedKey("no Galois part") { $0.galoisKey = nil }
        refusedKey("no relinearization key") { $0.relinKey = nil }
        refusedKey("an empty relinearization key") { $0.relinKey = SerializedRelinKey() }
        refusedKey("a relinearization key without ciphertexts") {
            $0.relinKey = SerializedRelinKey(relinKey: SerializedKeySwitchKey(keySwitchKey: SerializedCiphertextVec()))
        }
        refusedKey("nothing") { $0 = SerializedEvaluationKey() }
        for bad in [0, 1, 2, 16, 17, 1 << 32, 1 << 63, .max] as [UInt64] {
            refusedKey("element \(bad)") { $0.galoisKey?.keySwitchKeys[bad] = one }
        }
        let list = try #require(one.keySwitchKey).ciphertexts
        for count in [0, 1, 3, 5, 8] {
            let other = SerializedKeySwitchKey(
                keySwitchKey: SerializedCiphertextVec(ciphertexts: Array((list + list).prefix(count))))
            refusedKey("\(count) ciphertexts") { $0.galoisKey?.keySwitchKeys[element] = other }
            refusedKey("\(count) ciphertexts") { $0.relinKey = SerializedRelinKey(relinKey: other) }
        }
        refusedKey("no vector") { $0.galoisKey?.keySwitchKeys[element] = SerializedKeySwitchKey() }
        refusedKey("a ciphertext without form") {
            $0.galoisKey?.keySwitchKeys[element]?.keySwitchKey?.ciphertexts[2] = SerializedCiphertext()
        }
        refusedKey("a query ciphertext in a key") { message in
            message.galoisKey?.keySwitchKeys[element]?.keySwitchKey?.ciphertexts[2] = good.ciphertexts[0]
        }
    }

    /// Item 20, second half: what was not asked for is not kept, and is not even read.
    @Test func elementsNobodyAskedForAreDropped() throws {
        let valid = try #require([3, 7, 11, 13, 15].first { !small.parameters.galoisElements.contains($0) })
        var message = small.keyMessage
        message.galoisKey?.keySwitchKeys[UInt64(valid)] = SerializedKeySwitchKey()
        let key = try small.engine.decodeEvaluationKey(message)
        #expect(key.byteCount == small.key.byteCount)
        let query = try small.client.makeQuery(SmallUseCase.keyword(5))
        #expect(try small.client.value(of: query, in: small.response(to: query.indices, key: key)) == SmallUseCase.value(5))
    }

    /// Item 24: another client's key cannot be told from one's own; its owner gets a well-formed answer that says nothing.
    @Test func aForeignKeySpoilsOnlyItsOwnAnswer() throws {
        let stranger = try PIRClient(parameters: small.parameters)
        let foreign = try small.engine.decodeEvaluationKey(stranger.makeEvaluationKey())
        let response = try small.response(to: good, key: foreign)
        #expect(small.isWellFormed(response))
        let query = try small.client.makeQuery(SmallUseCase.keyword(3))
        #expect(try small.client.value(of: query, in: small.response(to: query.indices)) == SmallUseCase.value(3))
    }

    @Test func enginesDoNotMix() throws {
        let narrow = try SmallUseCase(
            ParameterSet(
                degree: 16, plaintextModulus: 17,
                coefficientModuli: [268_369_921, 268_361_729, 134_176_769], level: .unchecked), dimensionCount: 1)
        let query = try small.engine.decodeQuery(good, shard: 0)
        #expect(throws: PIRError.self) { try narrow.engine.answer(query, key: narrow.key, shard: narrow.contents, threads: 1) }
        #expect(throws: PIRError.self) { try small.engine.answer(query, key: narrow.key, shard: small.contents, threads: 1) }
        #expect(throws: PIRError.self) { try small.engine.answer(query, key: small.key, shard: narrow.contents, threads: 1) }
    }

    /// A query message cut anywhere is refused.
    @Test func cutQueries() throws {
        let bytes = good.encoded()
        for cut in 0..<bytes.count {
            #expect(throws: (any Error).self, "\(cut) of \(bytes.count) bytes") {
                try small.engine.decodeQuery(EncryptedIndices(decoding: Array(bytes[..<cut])), shard: 0)
            }
        }
        _ = try small.engine.decodeQuery(EncryptedIndices(decoding: bytes), shard: 0)
    }

    /// A key message cut anywhere is refused.
    @Test func cutKeys() throws {
        let bytes = small.keyMessage.encoded()
        for cut in 0..<bytes.count {
            #expect(throws: (any Error).self, "\(cut) of \(bytes.count) bytes") {
                try small.engine.decodeEvaluationKey(SerializedEvaluationKey(decoding: Array(bytes[..<cut])))
            }
        }
        _ = try small.engine.decodeEvaluationKey(SerializedEvaluationKey(decoding: bytes))
    }

    /// What a client does with a response that is not one.
    @Test func responsesOfAnotherShape() throws {
        let query = try small.client.makeQuery(SmallUseCase.keyword(3))
        let response = try small.response(to: query.indices)
        func refused(_ why: Comment, _ change: (inout PIRResponse) -> Void) {
            var other = response
            change(&other)
            #expect(throws: (any Error).self, why) { try small.client.value(of: query, in: other) }
        }
        refused("no replies") { $0.replies = [] }
        refused("one reply") { $0.replies.removeLast() }
        refused("a reply too many") { $0.replies.append($0.replies[0]) }
        refused("a chunk missing") { $0.replies[0].ciphertexts.removeLast() }
        refused("a ciphertext without form") { $0.replies[0].ciphertexts[0].kind = nil }
        refused("a query ciphertext") { $0.replies[0].ciphertexts[0] = query.indices.ciphertexts[0] }
        refused("a damaged ciphertext") { r in
            guard case .full(var full) = r.replies[0].ciphertexts[0].kind else { return }
            full.polys = full.polys.dropLast()
            r.replies[0].ciphertexts[0].kind = .full(full)
        }
    }

    /// A processed file that is cut, longer, or of another shape.
    @Test(.enabled(if: VectorFiles.find("pir/rows24-hash3-chunks/shard-0.bin") != nil, "the vectors are not here"))
    func processedFiles() throws {
        let folder = "pir/rows24-hash3-chunks"
        let parameters = try UseCaseParameters(
            pirConfig: PIRConfig(decoding: VectorFiles.bytes("\(folder)/pir-config.binpb")),
            keyConfig: EvaluationKeyConfig(decoding: VectorFiles.bytes("\(folder)/evaluation-key-config.binpb")))
        let good = try VectorFiles.bytes("\(folder)/shard-0.bin")
        func read(_ bytes: [UInt8]) throws -> ShardContents {
            try ProcessedFile.read(bytes, shape: parameters.shards[0], set: parameters.set)
        }
        _ = try read(good)
        for cut in [0, 1, 4, 5, 6, good.count / 2, good.count - 1] {
            #expect(throws: PIRError.self, "\(cut) bytes") { try read(Array(good[..<cut])) }
        }
        #expect(throws: PIRError.self) { try read(good + [0]) }
        for (place, value) in [(0, 2), (1, 0xff), (4, 0x80), (5, 2)] as [(Int, UInt8)] {
            var other = good
            other[place] = value
            #expect(throws: PIRError.self, "byte \(place)") { try read(other) }
        }
        var large = good
        for i in 6..<14 { large[i] = 0xff }
        #expect(throws: FormatError.residueTooLarge(row: 0)) { try read(large) }
    }
}
