// Residues as bits, whole polynomials, and payload bytes, against the reference's vectors (bfv.md 3.3, 11.1 – 11.3, A.3, A.4).

import RingMath
import TestVectors
import Testing

@testable import BFV

private struct PackingVectors: Decodable {
    struct Packed: Decodable {
        let bitsPerCoeff: Int
        let skipLSBs: Int
        let coeffs: [UInt64]
        let bytes: String
        let decoded: [UInt64]
    }
    struct Payload: Decodable {
        let bitsPerCoeff: Int
        let bytes: String
        let coeffs: [UInt64]
    }
    let coefficientsToBytes: [Packed]
    let bytesToPlaintextCoefficients: [Payload]
}

private struct PolynomialVectors: Decodable {
    struct Vector: Decodable {
        let degree: Int
        let moduli: [UInt64]
        let skipLSBs: [Int]
        let polys: [[[UInt64]]]
        let polySerializations: [String]
        let withCountPrefix: String
    }
    let vectors: [Vector]
}

@Suite struct PackingTests {
    @Test(.enabled(if: VectorFiles.find("serialize/packing.json") != nil, "serialize/packing.json is not here"))
    func bitsEqualTheVectors() throws {
        let file: PackingVectors = try VectorFiles.json("serialize/packing.json")
        #expect(!file.coefficientsToBytes.isEmpty)
        for vector in file.coefficientsToBytes {
            try check(vector, UInt64.self)
            if vector.bitsPerCoeff <= 30 { try check(vector, UInt32.self) }
        }
        #expect(!file.bytesToPlaintextCoefficients.isEmpty)
        for vector in file.bytesToPlaintextCoefficients {
            let payloadBytes = bytes(hex: vector.bytes)
            let wide: [UInt64] = coefficients(of: payloadBytes, bits: vector.bitsPerCoeff)
            #expect(wide == vector.coeffs, "\(vector.bitsPerCoeff) bits")
            let narrow: [UInt32] = coefficients(of: payloadBytes, bits: vector.bitsPerCoeff)
            #expect(narrow.map { UInt64($0) } == vector.coeffs, "\(vector.bitsPerCoeff) bits")
            #expect(Array(try payload(of: wide, bits: vector.bitsPerCoeff).prefix(payloadBytes.count)) == payloadBytes)
        }
    }

    private func check<Word: ResidueWord>(_ vector: PackingVectors.Packed, _: Word.Type) throws {
        let name: Comment = "\(vector.bitsPerCoeff) bits, \(vector.skipLSBs) dropped, \(vector.coeffs.count) residues"
        var out: [UInt8] = []
        pack(vector.coeffs.map { Word($0) }[...], bits: vector.bitsPerCoeff, skip: vector.skipLSBs, into: &out)
        #expect(hex(out) == vector.bytes, name)
        let width = vector.bitsPerCoeff - vector.skipLSBs
        #expect(packedBytes(count: vector.coeffs.count, bits: width) == out.count, name)
        guard width <= 62 else {
            #expect(throws: FormatError.self, name) {
                let _: [Word] = try unpack(
                    out[...], count: vector.coeffs.count, bits: vector.bitsPerCoeff, skip: vector.skipLSBs)
            }
            return
        }
        let back: [Word] = try unpack(out[...], count: vector.coeffs.count, bits: vector.bitsPerCoeff, skip: vector.skipLSBs)
        #expect(back.map { UInt64($0) } == vector.decoded, name)
        for wrong in [out + [0], Array(out.dropLast())] {
            #expect(throws: FormatError.self, name) {
                let _: [Word] = try unpack(
                    wrong[...], count: vector.coeffs.count, bits: vector.bitsPerCoeff, skip: vector.skipLSBs)
            }
        }
    }

    @Test func smallExamples() throws {
        var out: [UInt8] = []
        pack([5, 0, 7, 2, 1] as ArraySlice<UInt32>, bits: 3, skip: 0, into: &out)
        #expect(hex(out) == "a3a2")
        out = []
        pack([5, 0, 7, 2, 1] as ArraySlice<UInt64>, bits: 3, skip: 1, into: &out)
        #expect(hex(out) == "8d00")
        #expect(try unpack(out[...], count: 5, bits: 3, skip: 1) == [4, 0, 6, 2, 0] as [UInt64])
        let sample = bytes(hex: "01479dedc0")
        let expected: [(Int, [UInt64])] = [
            (3, [0, 0, 2, 4, 3, 6, 3, 5, 7, 3, 3, 4, 0, 0]), (4, [0, 1, 4, 7, 9, 13, 14, 13, 12, 0]),
            (5, [0, 5, 3, 25, 27, 27, 14, 0]), (12, [20, 1949, 3804, 0]), (16, [327, 40429, 49152]),
        ]
        for (bits, values) in expected { #expect(coefficients(of: sample, bits: bits) == values, "\(bits) bits") }
    }

    @Test(.enabled(if: VectorFiles.find("serialize/polys.json") != nil, "serialize/polys.json is not here"))
    func polynomialsEqualTheVectors() throws {
        let file: PolynomialVectors = try VectorFiles.json("serialize/polys.json")
        #expect(!file.vectors.isEmpty)
        for vector in file.vectors { try check(vector, UInt64.self) }
    }

    private func check<Word: ResidueWord>(_ vector: PolynomialVectors.Vector, _: Word.Type) throws {
        let ring = try Ring<Word>(degree: vector.degree, moduli: vector.moduli)
        var whole: [UInt8] = [UInt8(vector.polys.count), 0]
        for (p, rows) in vector.polys.enumerated() {
            let polynomial = Polynomial<Word, Coefficient>(words: rows.flatMap { $0.map { Word($0) } }, degree: vector.degree)
            var alone: [UInt8] = []
            ring.pack(polynomial, into: &alone)
            #expect(try ring.unpack(alone[...], rows: vector.moduli.count) == polynomial)
            let skip = vector.skipLSBs[p]
            var dropped: [UInt8] = []
            ring.pack(polynomial, skip: skip, into: &dropped)
            #expect(hex(dropped) == vector.polySerializations[p])
            #expect(dropped.count == ring.packedBytes(rows: vector.moduli.count, skip: skip))
            let read: Polynomial<Word, Coefficient> = try ring.unpack(dropped[...], rows: vector.moduli.count, skip: skip)
            #expect(read.words == polynomial.words.map { ($0 >> Word(skip)) << Word(skip) })
            whole += dropped
        }
        #expect(hex(whole) == vector.withCountPrefix)
    }

    @Test func payloadRefusesValuesOutsideItsBits() {
        #expect(throws: FormatError.self) { try payload(of: [1, 16, 3] as [UInt32], bits: 4) }
        #expect(throws: FormatError.self) { try payload(of: [1 << 63] as [UInt64], bits: 41) }
    }

    /// Every position of an unreduced residue is noticed, in every row.
    @Test func unreducedResiduesAreRefused() throws {
        let ring = try Ring<UInt64>(degree: 8, moduli: [131_249, 131_297])
        for row in 0..<2 {
            for i in 0..<8 {
                var p = Polynomial<UInt64, Coefficient>(rows: 2, degree: 8)
                p[row, i] = ring.moduli[row].value
                var out: [UInt8] = []
                ring.pack(p, into: &out)
                #expect(throws: FormatError.residueTooLarge(row: row)) {
                    let _: Polynomial<UInt64, Coefficient> = try ring.unpack(out[...], rows: 2)
                }
                p[row, i] -= 1
                out = []
                ring.pack(p, into: &out)
                #expect(try ring.unpack(out[...], rows: 2) == p)
            }
        }
    }
}
