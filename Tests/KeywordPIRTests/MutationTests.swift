// Seeded damage to real queries and keys, through messages and past them: a typed error or a well-formed reply, never a trap.
// VEILRING_FUZZ_ITERATIONS makes it longer, VEILRING_SEED another one.

import BFV
import Foundation
import LookupMessages
import Protobuf
import Testing

@testable import KeywordPIR

/// SplitMix64: the same damage for the same seed.
private struct Damage {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }

    /// One to four changes to a byte string.
    mutating func apply(to original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0...below(4) where !bytes.isEmpty {
            let at = below(bytes.count)
            switch below(7) {
            case 0, 1: bytes[at] ^= 1 << UInt8(below(8))
            case 2: bytes[at] = UInt8(truncatingIfNeeded: next())
            case 3: bytes.removeSubrange(at..<min(bytes.count, at + 1 + below(40)))
            case 4: bytes.insert(contentsOf: (0..<(1 + below(40))).map { _ in UInt8(truncatingIfNeeded: next()) }, at: at)
            case 5:
                let from = below(bytes.count)
                bytes.insert(contentsOf: bytes[from..<min(bytes.count, from + 1 + below(150))], at: at)
            default: for i in at..<min(bytes.count, at + 10) { bytes[i] = 0xff }
            }
        }
        return bytes
    }
}

@Suite struct MutationTests {
    static let seed = ProcessInfo.processInfo.environment["VEILRING_SEED"].flatMap { UInt64($0) } ?? 1
    static let iterations = ProcessInfo.processInfo.environment["VEILRING_FUZZ_ITERATIONS"].flatMap { Int($0) } ?? 600

    /// Damaged query and key, as messages.
    @Test func damagedMessages() throws {
        let small = try SmallUseCase()
        let query = try small.client.makeQuery(SmallUseCase.keyword(1)).indices.encoded()
        let key = small.keyMessage.encoded()
        var damage = Damage(state: Self.seed)
        var (answered, refused) = (0, 0)
        for iteration in 0..<Self.iterations {
            let isKey = damage.below(3) == 0
            let bytes = damage.apply(to: isKey ? key : query)
            do {
                let response =
                    isKey
                    ? try small.response(
                        to: EncryptedIndices(decoding: query),
                        key: small.engine.decodeEvaluationKey(SerializedEvaluationKey(decoding: bytes)))
                    : try small.response(to: EncryptedIndices(decoding: bytes))
                #expect(small.isWellFormed(response), "iteration \(iteration), seed \(Self.seed)")
                answered += 1
            } catch { refused += 1 }
        }
        #expect(answered > 0 && refused > 0, "both outcomes are met: \(answered) and \(refused), seed \(Self.seed)")
    }

    /// Damage inside the polynomials only, which passes the messages and often the residues too.
    @Test(arguments: [KeyCompression.noCompression, .maxCompression]) func damagedPolynomials(compression: KeyCompression)
        throws
    {
        let small = try SmallUseCase(compression: compression)
        let query = try small.client.makeQuery(SmallUseCase.keyword(2)).indices
        var damage = Damage(state: Self.seed &+ 1)
        var answered = 0
        for iteration in 0..<(Self.iterations / 2) {
            var message = query
            let at = damage.below(message.ciphertexts.count)
            guard case .seeded(var seeded) = message.ciphertexts[at].kind else { continue }
            var bytes = Array(seeded.poly0)
            for _ in 0...damage.below(3) { bytes[damage.below(bytes.count)] ^= UInt8(1 << damage.below(8)) }
            seeded.poly0 = bytes[...]
            if damage.below(4) == 0 { seeded.seed = ArraySlice((0..<32).map { _ in UInt8(truncatingIfNeeded: damage.next()) }) }
            message.ciphertexts[at].kind = .seeded(seeded)
            guard let response = try? small.response(to: message) else { continue }
            answered += 1
            #expect(small.isWellFormed(response), "iteration \(iteration), seed \(Self.seed)")
        }
        #expect(answered > 0, "seed \(Self.seed)")
    }

    /// Damaged replies, as a client reads them.
    @Test func damagedResponses() throws {
        let small = try SmallUseCase()
        let query = try small.client.makeQuery(SmallUseCase.keyword(4))
        let response = try small.response(to: query.indices).encoded()
        var damage = Damage(state: Self.seed &+ 2)
        var refused = 0
        for _ in 0..<Self.iterations {
            let bytes = damage.apply(to: response)
            do {
                let value = try small.client.value(of: query, in: PIRResponse(decoding: bytes))
                #expect((value?.count ?? 0) <= HashBucket.maximumValueBytes)
            } catch { refused += 1 }
        }
        #expect(refused > 0, "seed \(Self.seed)")
    }

    /// Damaged configurations, as a client reads them.
    @Test func damagedConfigurations() throws {
        let small = try SmallUseCase()
        let config = small.parameters.pirConfig.encoded()
        let keyConfig = small.parameters.evaluationKeyConfig.encoded()
        var damage = Damage(state: Self.seed &+ 3)
        var (read, refused) = (0, 0)
        for _ in 0..<(4 * Self.iterations) {
            do {
                let parameters = try UseCaseParameters(
                    pirConfig: PIRConfig(decoding: damage.below(4) == 0 ? config : damage.apply(to: config)),
                    keyConfig: EvaluationKeyConfig(decoding: damage.below(4) > 0 ? keyConfig : damage.apply(to: keyConfig)))
                #expect(!parameters.shards.isEmpty && parameters.shards.count <= 1 << 20)
                read += 1
            } catch { refused += 1 }
        }
        #expect(read > 0 && refused > 0, "both outcomes are met: \(read) and \(refused), seed \(Self.seed)")
    }
}
