// The negacyclic transform against the reference's vectors and the table of minimal roots (bfv.md 2.2, 2.3, A.1).

import Foundation
import TestVectors
import Testing

@testable import RingMath

private struct TransformVector: Decodable {
    let degree: Int
    let modulus: UInt64
    let minimalPrimitive2NthRoot: UInt64
    let coeff: [UInt64]
    let eval: [UInt64]
    let evalOfXFirst16: [UInt64]
}

/// A row of bfv.md 2.3; 0 where the table says nothing.
struct RootRow: Sendable {
    let degree: Int
    let modulus: UInt64
    let root: UInt64
    var inverseRoot: UInt64 = 0
    var inverseDegree: UInt64 = 0
}

@Suite struct TransformTests {
    static let files = VectorFiles.present(
        [
            "n8-q131249", "n8-q131617", "n16-q60bit", "n512-q60bit", "n4096-q134176769", "n4096-q268369921",
            "n8192-q36028797018652673",
        ].map { "ntt/\($0).json" })

    @Test(arguments: files) func equalsTheVectors(file: String) throws {
        let vector: TransformVector = try VectorFiles.json(file)
        try check(vector, as: UInt64.self)
        if vector.modulus < 1 << 30 { try check(vector, as: UInt32.self) }
    }

    private func check<Word: ResidueWord>(_ vector: TransformVector, as: Word.Type) throws {
        let ring = try Ring<Word>(degree: vector.degree, moduli: [vector.modulus])
        #expect(UInt64(ring.tables[0].root) == vector.minimalPrimitive2NthRoot)
        let coefficients = Polynomial<Word, Coefficient>(words: vector.coeff.map { Word($0) }, degree: vector.degree)
        let values = ring.forward(coefficients)
        #expect(values.words.map { UInt64($0) } == vector.eval)
        #expect(ring.inverse(values) == coefficients)
        var x = Polynomial<Word, Coefficient>(rows: 1, degree: vector.degree)
        x[0, 1] = 1
        #expect(ring.forward(x).words.prefix(16).map { UInt64($0) } == vector.evalOfXFirst16)
        #expect(Array(ring.monomialValues(power: 1, modulus: 0).prefix(16)).map { UInt64($0) } == vector.evalOfXFirst16)
        var one = Polynomial<Word, Coefficient>(rows: 1, degree: vector.degree)
        one[0, 0] = 5
        #expect(ring.forward(one).words.allSatisfy { $0 == 5 })
    }

    @Test func smallExamples() throws {
        func transform(_ n: Int) throws -> [UInt64] {
            let ring = try Ring<UInt64>(degree: n, moduli: [17])
            return ring.forward(Polynomial<UInt64, Coefficient>(words: (1...UInt64(n)).map { $0 }, degree: n)).words
        }
        #expect(try transform(4) == [15, 11, 13, 16])
        #expect(try transform(8) == [5, 0, 13, 8, 9, 11, 5, 8])
    }

    @Test(
        arguments: [
            (134_176_769, 124_630_541, [94_443_895, 115_864_473, 78_021_645, 77_365_567]),
            (268_369_921, 34_929_049, [9_886_790, 248_370_192, 249_317_749, 135_181_493]),
            (268_361_729, 251_443_611, [254_927_334, 255_198_986, 175_274_288, 43_696_338]),
        ] as [(UInt64, UInt64, [UInt64])]) func countingPolynomial(modulus: UInt64, last: UInt64, first: [UInt64]) throws
    {
        func check<Word: ResidueWord>(_: Word.Type) throws {
            let ring = try Ring<Word>(degree: 4096, moduli: [modulus])
            let p = ring.forward(Polynomial<Word, Coefficient>(words: (0..<4096).map { Word($0) }, degree: 4096))
            #expect(p.words.prefix(4).map { UInt64($0) } == first)
            #expect(p.words.last.map { UInt64($0) } == last)
        }
        try check(UInt32.self)
        try check(UInt64.self)
    }

    static let roots: [RootRow] = [
        RootRow(degree: 4096, modulus: 134_176_769, root: 24149, inverseRoot: 113_035_413, inverseDegree: 134_144_011),
        RootRow(degree: 4096, modulus: 268_369_921, root: 62736, inverseRoot: 140_443_332, inverseDegree: 268_304_401),
        RootRow(degree: 4096, modulus: 268_361_729, root: 58939, inverseRoot: 50_153_624, inverseDegree: 268_296_211),
        RootRow(degree: 4096, modulus: 40961, root: 12, inverseRoot: 23894, inverseDegree: 40951),
        RootRow(degree: 4096, modulus: 65537, root: 13, inverseRoot: 15124, inverseDegree: 65521),
        RootRow(
            degree: 4096, modulus: 8_589_852_673, root: 652_337, inverseRoot: 4_488_289_110, inverseDegree: 8_587_755_541),
        RootRow(
            degree: 4096, modulus: 8_589_844_481, root: 4_268_790, inverseRoot: 4_246_636_448, inverseDegree: 8_587_747_351),
        RootRow(
            degree: 8192, modulus: 36_028_797_018_652_673, root: 15_372_713_853_695, inverseRoot: 7_637_093_443_110_013,
            inverseDegree: 36_024_398_972_141_607),
        RootRow(
            degree: 8192, modulus: 36_028_797_017_571_329, root: 3_055_459_936_772, inverseRoot: 33_892_739_036_095_762,
            inverseDegree: 36_024_398_971_060_395),
        RootRow(
            degree: 8192, modulus: 36_028_797_017_456_641, root: 4_991_203_289_951, inverseRoot: 23_993_309_702_540_796,
            inverseDegree: 36_024_398_970_945_721),
        RootRow(degree: 8192, modulus: 268_369_921, root: 65274, inverseRoot: 224_085_636, inverseDegree: 268_337_161),
        RootRow(degree: 8192, modulus: 536_690_689, root: 130_289, inverseRoot: 374_273_469, inverseDegree: 536_625_175),
        RootRow(
            degree: 8192, modulus: 1_099_511_480_321, root: 30_370_987, inverseRoot: 1_057_071_716_438,
            inverseDegree: 1_099_377_262_611),
        RootRow(
            degree: 8192, modulus: 1_152_921_504_606_830_593, root: 25_959_043_411_404,
            inverseRoot: 481_119_619_158_432_183, inverseDegree: 1_152_780_767_118_475_267),
        RootRow(
            degree: 8192, modulus: 1_152_921_504_606_748_673, root: 100_406_242_475_323,
            inverseRoot: 326_501_891_199_175_410, inverseDegree: 1_152_780_767_118_393_357),
        RootRow(degree: 8192, modulus: 557_057, root: 268, inverseRoot: 14550, inverseDegree: 556_989),
        RootRow(degree: 8192, modulus: 8_404_993, root: 272, inverseRoot: 957_922, inverseDegree: 8_403_967),
        RootRow(degree: 8192, modulus: 33_832_961, root: 2686, inverseRoot: 9_988_659, inverseDegree: 33_828_831),
        RootRow(degree: 8192, modulus: 268_582_913, root: 15787, inverseRoot: 185_236_635, inverseDegree: 268_550_127),
        RootRow(degree: 8192, modulus: 536_903_681, root: 78006, inverseRoot: 12_478_609, inverseDegree: 536_838_141),
        RootRow(
            degree: 8192, modulus: 2_199_023_288_321, root: 103_974_551, inverseRoot: 1_102_953_587_829,
            inverseDegree: 2_198_754_852_861),
        RootRow(degree: 8, modulus: 17, root: 3, inverseRoot: 6, inverseDegree: 15),
        RootRow(degree: 8, modulus: 131249, root: 17580), RootRow(degree: 8, modulus: 131297, root: 16189),
        RootRow(degree: 8, modulus: 131441, root: 1472), RootRow(degree: 8, modulus: 131489, root: 6723),
        RootRow(degree: 8, modulus: 131617, root: 20350),
        RootRow(degree: 16, modulus: 16417, root: 707, inverseRoot: 4946, inverseDegree: 15391),
        RootRow(degree: 16, modulus: 1_152_921_504_606_830_593, root: 63_018_411_528_440_961),
        RootRow(degree: 512, modulus: 525_313, root: 532, inverseRoot: 149_102, inverseDegree: 524_287),
        RootRow(degree: 512, modulus: 576_460_752_303_436_801, root: 817_491_645_781_307),
        RootRow(degree: 512, modulus: 576_460_752_303_439_873, root: 142_400_806_261_588),
        RootRow(degree: 512, modulus: 576_460_752_303_447_041, root: 370_456_649_725_342),
        RootRow(degree: 512, modulus: 576_460_752_303_471_617, root: 423_707_909_917_657),
    ]

    @Test func minimalRoots() throws {
        func check<Word: ResidueWord>(_ row: RootRow, _: Word.Type) throws {
            let modulus = try Modulus<Word>(row.modulus)
            let table = try NTTTable(degree: row.degree, modulus: modulus)
            #expect(UInt64(table.root) == row.root, "\(row)")
            if row.inverseRoot > 0 { #expect(UInt64(modulus.invert(table.root)) == row.inverseRoot, "\(row)") }
            if row.inverseDegree > 0 {
                #expect(UInt64(modulus.invert(Word(row.degree))) == row.inverseDegree, "\(row)")
                #expect(UInt64(table.backward[0]) == row.inverseDegree, "\(row)")
            }
        }
        for row in Self.roots {
            try check(row, UInt64.self)
            if row.modulus < 1 << 30 { try check(row, UInt32.self) }
        }
    }

    @Test func refusesWhatCannotTransform() throws {
        #expect(throws: RingError.badDegree(12)) { try NTTTable(degree: 12, modulus: Modulus<UInt64>(97)) }
        #expect(throws: RingError.badDegree(1)) { try NTTTable(degree: 1, modulus: Modulus<UInt64>(97)) }
        #expect(throws: RingError.badDegree(1 << 17)) { try NTTTable(degree: 1 << 17, modulus: Modulus<UInt64>(97)) }
        #expect(throws: RingError.noRoot(modulus: 97, degree: 64)) { try NTTTable(degree: 64, modulus: Modulus<UInt64>(97)) }
        for q: UInt64 in [0, 1, 2, 16, (1 << 60) + 1, 1 << 62, .max] {
            #expect(throws: RingError.badModulus(q)) { try Modulus<UInt64>(q) }
        }
        #expect(throws: RingError.badModulus((1 << 30) + 1)) { try Modulus<UInt32>((1 << 30) + 1) }
    }
}
