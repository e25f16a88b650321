// Uniform polynomials of a seed and the small distributions against the reference's samples (bfv.md 4.3, 4.4).

import Cryptography
import RingMath
import TestVectors
import Testing

@testable import BFV

private struct UniformVectors: Decodable {
    struct Vector: Decodable {
        struct Row: Decodable {
            let modulus: UInt64
            let values: [UInt64]?
            let first16: [UInt64]?
            let last16: [UInt64]?
            let sha256OfU64LittleEndian: String
        }
        let seedName: String
        let seed: String
        let degree: Int
        let perModulus: [Row]
    }
    let vectors: [Vector]
}

private struct SmallVectors: Decodable {
    struct Vector: Decodable {
        let seedName: String
        let seed: String
        let degree: Int
        let ternary: [Int]
        let ternarySha256OfInt8: String
        let centeredBinomial: [Int]
        let centeredBinomialSha256OfInt8: String
    }
    let vectors: [Vector]
}

@Suite struct SamplingTests {
    @Test(.enabled(if: VectorFiles.find("rng/uniform.json") != nil, "rng/uniform.json is not here"))
    func uniformPolynomialsEqualTheVectors() throws {
        let file: UniformVectors = try VectorFiles.json("rng/uniform.json")
        #expect(!file.vectors.isEmpty)
        for vector in file.vectors {
            try check(vector, UInt64.self)
            if vector.degree >= 16, vector.perModulus.allSatisfy({ $0.modulus < 1 << 30 }) { try check(vector, UInt32.self) }
        }
    }

    private func check<Word: ResidueWord>(_ vector: UniformVectors.Vector, _: Word.Type) throws {
        let set = try ParameterSet(
            degree: vector.degree, plaintextModulus: 17, coefficientModuli: vector.perModulus.map(\.modulus), level: .unchecked)
        let context = try BFVContext<Word>(set)
        let p = try context.uniform(seed: bytes(hex: vector.seed), rows: vector.perModulus.count)
        for (i, row) in vector.perModulus.enumerated() {
            let words = p.words[(i * vector.degree)..<((i + 1) * vector.degree)].map { UInt64($0) }
            let name: Comment = "\(vector.seedName), degree \(vector.degree), \(row.modulus)"
            if let values = row.values { #expect(words == values, name) }
            if let first = row.first16 { #expect(Array(words.prefix(16)) == first, name) }
            if let last = row.last16 { #expect(Array(words.suffix(16)) == last, name) }
            let flat = words.flatMap { w in (0..<8).map { UInt8(truncatingIfNeeded: w >> UInt64(8 * $0)) } }
            #expect(hex(SHA256.hash(flat)) == row.sha256OfU64LittleEndian, name)
        }
    }

    @Test func uniformRefusesOtherSeeds() throws {
        let context = try BFVContext<UInt64>(ParameterSet.named("insecure_n_8_logq_5x18_logt_5", allowInsecure: true))
        for length in [0, 31, 33] {
            #expect(throws: CryptographyError.badLength(expected: 32, got: length)) {
                try context.uniform(seed: [UInt8](repeating: 0, count: length), rows: 1)
            }
        }
    }

    @Test(.enabled(if: VectorFiles.find("rng/small-distributions.json") != nil, "small-distributions.json is not here"))
    func smallDistributionsEqualTheVectors() throws {
        let file: SmallVectors = try VectorFiles.json("rng/small-distributions.json")
        #expect(!file.vectors.isEmpty)
        for vector in file.vectors {
            let seed = bytes(hex: vector.seed)
            func digest(_ values: [Int]) -> String { hex(SHA256.hash(values.map { UInt8(bitPattern: Int8($0)) })) }
            var source = try SeededRandomSource(seed: seed)
            let three = try ternary(vector.degree, from: &source)
            #expect(Array(three.prefix(vector.ternary.count)) == vector.ternary, "\(vector.seedName)")
            #expect(digest(three) == vector.ternarySha256OfInt8, "\(vector.seedName)")
            source = try SeededRandomSource(seed: seed)
            let bell = try centeredBinomial(vector.degree, from: &source)
            #expect(Array(bell.prefix(vector.centeredBinomial.count)) == vector.centeredBinomial, "\(vector.seedName)")
            #expect(digest(bell) == vector.centeredBinomialSha256OfInt8, "\(vector.seedName)")
        }
    }

    @Test func smallDistributionsHaveTheRightSpread() throws {
        var source = try SeededRandomSource(seed: [UInt8](repeating: 7, count: 32))
        let three = try ternary(30000, from: &source)
        for value in -1...1 { #expect(abs(three.count { $0 == value } - 10000) < 500, "\(value)") }
        let bell = try centeredBinomial(30000, from: &source)
        let variance = Double(bell.reduce(0) { $0 + $1 * $1 }) / 30000
        #expect(abs(variance - 10.5) < 0.5, "21 pairs of bits")
        #expect(bell.allSatisfy { abs($0) <= 21 })
    }
}
