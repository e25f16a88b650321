// Exact centered conversion between bases (bfv.md 14.4), and rounding division (bfv.md 9.1), against integers of any size.

import Foundation
import Testing

@testable import RingMath

@Suite struct BasisConverterTests {
    static let seed = testSeed(ProcessInfo.processInfo.environment)

    /// A signed number with its magnitude.
    private struct Signed {
        let negative: Bool
        let magnitude: Natural

        func residue<Word: ResidueWord>(_ m: Modulus<Word>) -> Word {
            let r = m.reduce(magnitude.modulo(UInt64(m.value)))
            return negative ? m.negate(r) : r
        }
    }

    private func check<Word: ResidueWord>(_ from: [UInt64], to: [UInt64], multiplier: UInt64, _: Word.Type) throws {
        let source = try from.map { try Modulus<Word>($0) }
        let target = try to.map { try Modulus<Word>($0) }
        let converter = BasisConverter(from: source, to: target, multiplier: multiplier)
        let product = Natural(product: from)
        // The documented range: within S·(1/2 − 2^−25) of zero.
        let limit = product.shiftedRight(1).minus(product.shiftedRight(25)).minus(Natural(1))
        var numbers = SeededNumbers(Self.seed)
        let n = 64
        let values = (0..<n).map { i -> Signed in
            switch i {
            case 0: Signed(negative: false, magnitude: Natural(0))
            case 1, 2: Signed(negative: i == 1, magnitude: Natural(1))
            case 3, 4: Signed(negative: i == 3, magnitude: limit)
            case 5, 6: Signed(negative: i == 5, magnitude: product.shiftedRight(2))
            default:
                Signed(
                    negative: numbers.next() & 1 == 0,
                    magnitude: .random(below: product, droppingBits: i % 3 == 0 ? 1 + i : 2, using: &numbers))
            }
        }
        // The input is value / multiplier, so that the value itself is what comes out.
        let input = source.flatMap { m -> [Word] in
            let inverse = m.invert(m.reduce(multiplier))
            return values.map { m.multiply($0.residue(m), inverse) }
        }
        var output = [Word](repeating: 0, count: n * to.count)
        var scratch = [Word](repeating: 0, count: converter.scratchWords(n))
        converter.convert(input, inputStride: n, &output, outputStride: n, n: n, scratch: &scratch)
        for (k, m) in target.enumerated() {
            #expect(
                Array(output[(k * n)..<((k + 1) * n)]) == values.map { $0.residue(m) },
                "from \(from) to \(m.value), times \(multiplier), seed \(Self.seed)")
        }
    }

    @Test(arguments: [1, 17, 40961] as [UInt64]) func narrowWords(multiplier: UInt64) throws {
        let auxiliary = transformPrimes(below: 29, degree: 4096, count: 5, excluding: [])
        let ciphertext: [UInt64] = [134_176_769, 268_369_921]
        try check(ciphertext, to: auxiliary, multiplier: multiplier, UInt32.self)
        try check(auxiliary, to: ciphertext, multiplier: multiplier, UInt32.self)
        try check([536_690_689], to: ciphertext, multiplier: multiplier, UInt32.self)
        try check([131_249, 131_297, 131_441, 131_489], to: auxiliary, multiplier: 1, UInt32.self)
        try check(ciphertext, to: auxiliary, multiplier: multiplier, UInt64.self)
    }

    @Test(arguments: [1, 557_057, 2_199_023_288_321] as [UInt64]) func wideWords(multiplier: UInt64) throws {
        let auxiliary = transformPrimes(below: 60, degree: 8192, count: 3, excluding: [1_152_921_504_606_830_593])
        for ciphertext: [UInt64] in [
            [36_028_797_018_652_673, 36_028_797_017_571_329], [40961, 8_589_852_673],
            [1_099_511_480_321, 1_152_921_504_606_830_593],
            [576_460_752_303_436_801, 576_460_752_303_439_873, 576_460_752_303_447_041],
        ] where !ciphertext.contains(multiplier) {
            try check(ciphertext, to: auxiliary, multiplier: multiplier, UInt64.self)
            try check(auxiliary, to: ciphertext, multiplier: multiplier, UInt64.self)
        }
    }

    @Test func divideByLastRoundsToTheNearest() throws {
        func check<Word: ResidueWord>(_ degree: Int, _ moduli: [UInt64], _: Word.Type) throws {
            let ring = try Ring<Word>(degree: degree, moduli: moduli)
            let product = moduli.reduce(UInt128(1)) { $0 * UInt128($1) }
            let last = UInt128(moduli[moduli.count - 1])
            var numbers = SeededNumbers(Self.seed)
            var values = (0..<degree).map { _ in UInt128.random(in: 0..<product, using: &numbers) }
            let edges = [0, 1, last / 2, last / 2 + 1, last - 1, last, product - 1, product - last / 2 - 1, product - last / 2]
            for (i, edge) in edges.prefix(degree).enumerated() { values[i] = edge }
            let rows = moduli.flatMap { q in values.map { Word($0 % UInt128(q)) } }
            let got = ring.divideByLast(Polynomial<Word, Coefficient>(words: rows, degree: degree))
            let expected = moduli.dropLast().flatMap { q in values.map { Word((($0 + last / 2) / last) % UInt128(q)) } }
            #expect(got.words == expected, "moduli \(moduli), seed \(Self.seed)")
        }
        try check(4096, [134_176_769, 268_369_921, 268_361_729], UInt32.self)
        try check(4096, [134_176_769, 268_369_921, 268_361_729], UInt64.self)
        try check(16, [1_152_921_504_606_830_593, 1_152_921_504_606_748_673], UInt64.self)
        try check(8, [131_249, 131_297, 131_441, 131_489, 131_617], UInt64.self)
        try check(512, [576_460_752_303_436_801, 576_460_752_303_439_873], UInt64.self)
    }

    @Test func divideByLastTakesTheModuliOfItsRows() throws {
        let ring = try Ring<UInt32>(degree: 16, moduli: [134_176_769, 268_369_921, 268_361_729])
        let values = (0..<16).map { UInt64($0) * 2_000_000_000_000_000 + 7 }
        let (first, special): (UInt64, UInt64) = (134_176_769, 268_361_729)
        let words = [first, special].flatMap { q in values.map { UInt32($0 % q) } }
        let got = ring.divideByLast(Polynomial<UInt32, Coefficient>(words: words, degree: 16), moduli: [0, 2])
        #expect(got.words == values.map { UInt32((($0 + special / 2) / special) % first) })
    }
}
