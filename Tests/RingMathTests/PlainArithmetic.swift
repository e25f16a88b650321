// What the kernels are checked against: repeatable random numbers, and integers of any size done the slow way.

import RingMath

/// SplitMix64: the same numbers for the same seed.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// `count` numbers below `bound`, a third of them at an edge of [0, q), [0, 2q), [0, 4q) as far as the bound allows.
    mutating func row<Word: ResidueWord>(_ count: Int, below bound: Word, modulus q: Word) -> [Word] {
        let edges = [0, 1, q - 1, q, q + 1, q / 2, q / 2 + 1, 2 * q - 1, 2 * q, 4 * q - 1, bound - 1].filter { $0 < bound }
        return (0..<count).map { i in
            i % 3 == 0 ? edges[Int(next() % UInt64(edges.count))] : Word.random(in: 0..<bound, using: &self)
        }
    }
}

/// A natural number of any size, lowest 32 bits first.
struct Natural: Equatable {
    private(set) var limbs: [UInt32]

    init(_ x: UInt64) { limbs = [UInt32(truncatingIfNeeded: x), UInt32(truncatingIfNeeded: x >> 32)] }

    /// The product of all factors.
    init(product factors: [UInt64]) { self = factors.reduce(Natural(1)) { $0.times($1) } }

    func times(_ factor: UInt64) -> Natural {
        var out = Natural(0)
        var carry: UInt128 = 0
        out.limbs = limbs.map { limb in
            let p = UInt128(limb) * UInt128(factor) + carry
            carry = p >> 32
            return UInt32(truncatingIfNeeded: p)
        }
        while carry > 0 {
            out.limbs.append(UInt32(truncatingIfNeeded: carry))
            carry >>= 32
        }
        return out
    }

    func shiftedRight(_ count: Int) -> Natural {
        var out = self
        for _ in 0..<count {
            var low: UInt32 = 0
            for i in out.limbs.indices.reversed() {
                let next = out.limbs[i] & 1
                out.limbs[i] = out.limbs[i] >> 1 | low << 31
                low = next
            }
        }
        return out
    }

    /// `self − other`, which must not be negative.
    func minus(_ other: Natural) -> Natural {
        var out = self
        var borrow: Int64 = 0
        for i in out.limbs.indices {
            var d = Int64(out.limbs[i]) - (i < other.limbs.count ? Int64(other.limbs[i]) : 0) - borrow
            borrow = d < 0 ? 1 : 0
            if d < 0 { d += 1 << 32 }
            out.limbs[i] = UInt32(d)
        }
        return out
    }

    func modulo(_ q: UInt64) -> UInt64 {
        limbs.reversed().reduce(UInt64(0)) { UInt64((UInt128($0) << 32 | UInt128($1)) % UInt128(q)) }
    }

    /// A number of at most this many bits fewer than `limit` has.
    static func random(below limit: Natural, droppingBits: Int, using source: inout SeededNumbers) -> Natural {
        var out = limit.shiftedRight(droppingBits)
        let top = out.limbs.lastIndex { $0 != 0 } ?? 0
        for i in 0..<top { out.limbs[i] = UInt32(truncatingIfNeeded: source.next()) }
        out.limbs[top] = UInt32.random(in: 0...(out.limbs[top] == 0 ? 0 : out.limbs[top] - 1), using: &source)
        return out
    }
}

/// `a·b mod q` by 128-bit division.
func times<Word: ResidueWord>(_ a: Word, _ b: Word, mod q: Word) -> Word {
    Word(truncatingIfNeeded: UInt128(a) * UInt128(b) % UInt128(q))
}

/// The seed of this run: VEILRING_SEED or a fixed one.
func testSeed(_ environment: [String: String]) -> UInt64 { environment["VEILRING_SEED"].flatMap { UInt64($0) } ?? 20_240_917 }
