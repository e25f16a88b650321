// The predefined sets, field by field, and the refusal of every other kind of numbers (bfv.md 1.1, 1.2, 11.4).

import LookupMessages
import RingMath
import TestVectors
import Testing

@testable import BFV

private struct ParameterVectors: Decodable {
    struct Parameters: Decodable {
        let name: String
        let polyDegree: Int
        let plaintextModulus: UInt64
        let coefficientModuli: [UInt64]
        let securityLevel: String
        let fitsUInt32: Bool
        let bytesPerPlaintext: Int
        let skipLSBsForDecryption: [Int]
        let encryptionParametersProtobuf: String
    }
    let predefinedParameters: [Parameters]
}

@Suite struct ParameterSetTests {
    @Test(.enabled(if: VectorFiles.find("parameters.json") != nil, "parameters.json is not here"))
    func predefinedSetsEqualTheVectors() throws {
        let vectors: ParameterVectors = try VectorFiles.json("parameters.json")
        let ours = ParameterSet.secure + ParameterSet.insecure
        #expect(Set(vectors.predefinedParameters.map(\.name)) == Set(ours.map(\.name)))
        for vector in vectors.predefinedParameters {
            let set = try ParameterSet.named(vector.name, allowInsecure: true)
            #expect(set.name == vector.name)
            #expect(set.degree == vector.polyDegree, "\(vector.name)")
            #expect(set.plaintextModulus == vector.plaintextModulus, "\(vector.name)")
            #expect(set.coefficientModuli == vector.coefficientModuli, "\(vector.name)")
            #expect((set.level == .quantum128) == (vector.securityLevel == "quantum128"), "\(vector.name)")
            #expect(set.coefficientModuli.allSatisfy { $0 < 1 << 30 } == vector.fitsUInt32, "\(vector.name)")
            // Ours runs rows of fewer than 16 words with 64 bits, whatever the moduli.
            #expect(set.fits32Bits == (vector.fitsUInt32 && set.degree >= 16), "\(vector.name)")
            #expect(set.bytesPerPlaintext == vector.bytesPerPlaintext, "\(vector.name)")
            #expect([set.replySkipLSBs.0, set.replySkipLSBs.1] == vector.skipLSBsForDecryption, "\(vector.name)")
            #expect(set.ciphertextModuliCount == max(1, vector.coefficientModuli.count - 1), "\(vector.name)")
            // The same numbers pass the rules for arbitrary sets.
            let checked = try ParameterSet(
                degree: set.degree, plaintextModulus: set.plaintextModulus, coefficientModuli: set.coefficientModuli,
                level: set.level)
            #expect(checked == set)
            let message = try EncryptionParameters(decoding: bytes(hex: vector.encryptionParametersProtobuf))
            #expect(message.polynomialDegree == UInt64(set.degree))
            #expect(message.coefficientModuli == set.coefficientModuli)
        }
    }

    @Test func insecureSetsNeedPermission() {
        #expect(throws: ParameterError.unknownName("insecure_n_8_logq_5x18_logt_5")) {
            try ParameterSet.named("insecure_n_8_logq_5x18_logt_5")
        }
        #expect(throws: ParameterError.unknownName("n_1")) { try ParameterSet.named("n_1", allowInsecure: true) }
    }

    private static let a: [UInt64] = [134_176_769, 268_369_921, 268_361_729]

    private func refuse(
        _ degree: Int, _ t: UInt64, _ moduli: [UInt64], _ why: Comment, level: BFV.SecurityLevel = .unchecked
    ) {
        #expect(throws: ParameterError.self, why) {
            try ParameterSet(degree: degree, plaintextModulus: t, coefficientModuli: moduli, level: level)
        }
    }

    /// Item 26 of bfv.md 13.
    @Test func refusesWhatTheRulesForbid() {
        for degree in [0, -8, 1, 4, 12, 4095, 65536, Int.max, Int.min] { refuse(degree, 17, Self.a, "degree \(degree)") }
        for t: UInt64 in [0, 1, 2, 4, 15, 1 << 63, .max] { refuse(4096, t, Self.a, "plaintext modulus \(t)") }
        refuse(4096, 134_176_769, Self.a, "plaintext modulus equal to a modulus")
        refuse(4096, 17, [], "no modulus")
        refuse(4096, 17, [134_176_769, 134_176_769], "the same modulus twice")
        refuse(4096, 17, [134_176_769, 97], "not 1 modulo 2N")
        refuse(4096, 17, [8193 * 8193], "1 modulo 2N, not prime")
        refuse(4096, 17, [0], "zero")
        refuse(4096, 17, transformPrimes(below: 61, degree: 4096, count: 1, excluding: []), "61 bits")
        refuse(4096, 17, [.max], "too wide")
        refuse(4096, 17, transformPrimes(below: 28, degree: 4096, count: 33, excluding: []), "33 moduli")
        refuse(4096, 17, [268_369_921, 268_361_729, 268_271_617], "84 bits at degree 4096", level: .quantum128)
        refuse(512, 17, [12289], "a degree without a bound", level: .quantum128)
    }

    /// Moduli that a key switch could not sum are taken to wider words, or refused (bfv.md 1.2, rule 7).
    @Test func manyWideModuliDoNotOverflowAKeySwitch() throws {
        let narrow = transformPrimes(below: 30, degree: 1024, count: 6, excluding: [])
        func set(_ moduli: [UInt64]) throws -> ParameterSet {
            try ParameterSet(degree: 1024, plaintextModulus: 17, coefficientModuli: moduli, level: .unchecked)
        }
        #expect(try set(Array(narrow.prefix(2))).fits32Bits)
        #expect(try !set(narrow).fits32Bits)
        #expect(throws: RingError.self) { try BFVContext<UInt32>(set(narrow)) }
        _ = try BFVContext<UInt64>(set(narrow))
        let wide = transformPrimes(below: 60, degree: 1024, count: 7, excluding: [])
        #expect(throws: RingError.self) { try BFVContext<UInt64>(set(wide)) }
        _ = try BFVContext<UInt64>(set(Array(wide.prefix(6))))
    }

    @Test func refusesTwoDimensionsWhereNoBudgetIsLeft() {
        let fit = ParameterSet.secure.filter { $0.set.refusalForTwoDimensions == nil }.map(\.name)
        #expect(
            fit == [
                "n_4096_logq_27_28_28_logt_4", "n_4096_logq_27_28_28_logt_5", "n_4096_logq_27_28_28_logt_6",
                "n_4096_logq_16_33_33_logt_4", "n_8192_logq_3x55_logt_24", "n_8192_logq_29_60_60_logt_15",
            ])
    }
}
