// Automorphisms, monomials, signed residues, primality and the choice of primes (bfv.md 1.2, 4.3, 7, A.4).

import Foundation
import Testing

@testable import RingMath

@Suite struct RingTests {
    static let seed = testSeed(ProcessInfo.processInfo.environment)

    @Test func permutationsOfTheAppendix() {
        #expect(Ring<UInt64>.permutation(degree: 8, element: 3) == [4, 5, 7, 6, 1, 0, 2, 3])
        #expect(Ring<UInt64>.permutation(degree: 8, element: 5) == [2, 3, 1, 0, 7, 6, 4, 5])
        #expect(Ring<UInt64>.permutation(degree: 8, element: 9) == [1, 0, 3, 2, 5, 4, 7, 6])
        #expect(Ring<UInt64>.permutation(degree: 8, element: 15) == [7, 6, 5, 4, 3, 2, 1, 0])
    }

    @Test func automorphismsAndMonomialsAgreeInBothForms() throws {
        let ring = try Ring<UInt32>(degree: 64, moduli: [134_176_769, 268_369_921])
        var numbers = SeededNumbers(Self.seed)
        let words = ring.moduli.flatMap { numbers.row(64, below: $0.value, modulus: $0.value) }
        let p = Polynomial<UInt32, Coefficient>(words: words, degree: 64)
        let values = ring.forward(p)
        for element in stride(from: 1, to: 128, by: 2) {
            let permutation = Ring<UInt32>.permutation(degree: 64, element: element)
            let turned = ring.forward(ring.automorphism(p, element))
            for row in 0..<2 {
                for i in 0..<64 { #expect(turned[row, i] == values[row, Int(permutation[i])], "element \(element)") }
            }
        }
        for power in [0, 1, -1, 63, -63, 64, -64, 65, 127, -127, 128, -1000] {
            let moved = ring.forward(ring.multiplyByMonomial(p, power: power))
            for row in 0..<2 {
                let monomial = ring.monomialValues(power: power, modulus: row)
                for i in 0..<64 {
                    #expect(moved[row, i] == times(values[row, i], monomial[i], mod: ring.moduli[row].value), "power \(power)")
                }
            }
        }
    }

    @Test func productIsNegacyclic() throws {
        let ring = try Ring<UInt64>(degree: 16, moduli: [1_152_921_504_606_830_593])
        let q = ring.moduli[0].value
        var numbers = SeededNumbers(Self.seed)
        let a = numbers.row(16, below: q, modulus: q)
        let b = numbers.row(16, below: q, modulus: q)
        var expected = [UInt64](repeating: 0, count: 16)
        for i in 0..<16 {
            for j in 0..<16 {
                let product = times(a[i], b[j], mod: q)
                let k = (i + j) % 16
                expected[k] =
                    i + j < 16 ? ring.moduli[0].add(expected[k], product) : ring.moduli[0].subtract(expected[k], product)
            }
        }
        func values(_ words: [UInt64]) -> Polynomial<UInt64, Evaluation> {
            ring.forward(Polynomial<UInt64, Coefficient>(words: words, degree: 16))
        }
        #expect(ring.inverse(ring.multiply(values(a), values(b))).words == expected)
        #expect(ring.add(values(a), ring.negate(values(a))).words.allSatisfy { $0 == 0 })
        #expect(ring.subtract(values(a), values(b)) == ring.add(values(a), ring.negate(values(b))))
    }

    @Test func reductions() throws {
        func check<Word: ResidueWord>(_ q: UInt64, _: Word.Type) throws {
            let m = try Modulus<Word>(q)
            var numbers = SeededNumbers(Self.seed)
            let edges: [UInt64] = [0, 1, q - 1, q, q + 1, 1 << 63, .max]
            let draws =
                edges.flatMap { high in edges.map { (high, $0) } } + (0..<2000).map { _ in (numbers.next(), numbers.next()) }
            for (high, low) in draws {
                let expected = Word((UInt128(high) << 64 | UInt128(low)) % UInt128(q))
                #expect(m.reduce(high: high, low: low) == expected, "\(high) \(low) mod \(q)")
            }
            for x in [0, 1, -1, Int(q), -Int(q), Int.max, Int.min, Int.min + 1] {
                #expect(m.reduce(signed: x) == Word(((Int128(x) % Int128(q)) + Int128(q)) % Int128(q)), "\(x) mod \(q)")
            }
            for _ in 0..<200 {
                let x = Word(truncatingIfNeeded: numbers.next() % (q - 1) + 1)
                #expect(m.multiply(x, m.invert(x)) == 1)
                #expect(UInt128(m.shoup(x)) == (UInt128(x) << UInt128(Word.bitWidth)) / UInt128(q))
            }
            #expect(m.value &* m.inverse == 1)
            #expect(UInt128(m.r) == (UInt128(1) << UInt128(Word.bitWidth)) % UInt128(q))
            #expect(m.bits == 64 - q.leadingZeroBitCount)
        }
        for q: UInt64 in [3, 5, 17, 40961, 134_176_769, 536_690_689] {
            try check(q, UInt32.self)
            try check(q, UInt64.self)
        }
        for q: UInt64 in [8_589_852_673, 1_152_921_504_606_830_593, (1 << 59) - 55] { try check(q, UInt64.self) }
    }

    @Test func primality() {
        var sieve = [Bool](repeating: true, count: 20000)
        (sieve[0], sieve[1]) = (false, false)
        for i in 2..<142 where sieve[i] { for j in stride(from: i * i, to: sieve.count, by: i) { sieve[j] = false } }
        for i in sieve.indices { #expect(isPrime(UInt64(i)) == sieve[i], "\(i)") }
        // Strong pseudoprimes to the first bases, Carmichael numbers, squares, and the ends of the range.
        for n: UInt64 in [
            2047, 1_373_653, 25_326_001, 3_215_031_751, 2_152_302_898_747, 3_474_749_660_383, 341_550_071_728_321,
            3_825_123_056_546_413_051, 561, 1105, 1729, 4_295_098_369, 18_446_744_065_119_617_025, .max, 1 << 63,
        ] { #expect(!isPrime(n), "\(n)") }
        for n: UInt64 in [
            18_446_744_073_709_551_557, (1 << 61) - 1, 1_152_921_504_606_830_593, 4_294_967_291, 2_199_023_288_321,
        ] { #expect(isPrime(n), "\(n)") }
    }

    @Test func choiceOfPrimes() {
        // The secure sets were picked like this (bfv.md 1.1).
        #expect(transformPrimes(below: 27, degree: 4096, count: 1, excluding: []) == [134_176_769])
        #expect(transformPrimes(below: 28, degree: 4096, count: 2, excluding: []) == [268_369_921, 268_361_729])
        #expect(transformPrimes(below: 28, degree: 4096, count: 1, excluding: [268_369_921]) == [268_361_729])
        #expect(
            transformPrimes(below: 55, degree: 8192, count: 3, excluding: [])
                == [36_028_797_018_652_673, 36_028_797_017_571_329, 36_028_797_017_456_641])
        #expect(transformPrimes(below: 60, degree: 8192, count: 1, excluding: []) == [1_152_921_504_606_830_593])
        #expect(transformPrimes(below: 6, degree: 4096, count: 1, excluding: []).isEmpty)
    }

    @Test func logarithms() {
        #expect([0, 1, 2, 3, 4, 5, 4096, 4097].map { ceilLog2($0) } == [0, 0, 1, 2, 2, 3, 12, 13])
        #expect([1, 2, 3, 4, 17, UInt64.max].map { floorLog2($0) } == [0, 1, 1, 2, 4, 63])
        #expect((0..<8).map { reverseBits($0, 3) } == [0, 4, 2, 6, 1, 5, 3, 7])
        #expect(reverseBits(0, 0) == 0)
    }
}
