// A prime modulus with the constants that the kernels need, and plain modular arithmetic for set-up work.
// Spec: bfv.md 1.2 (primality), 2.3 (roots), 8.4 (lazy sums).

/// A prime modulus below 2^30 in 32-bit words or 2^60 in 64-bit words, with its precomputed constants.
public struct Modulus<Word: ResidueWord>: Sendable, Equatable {
    /// The modulus itself, odd.
    public let value: Word
    /// `floor(2^w / q)`, the Shoup companion of 1.
    public let one: Word
    /// `q^-1 mod 2^w` (Montgomery, subtracting form).
    public let inverse: Word
    /// `2^w mod q`.
    public let r: Word
    /// Shoup companion of `r`.
    public let rShoup: Word
    /// `2^64 mod q` and its Shoup companion in 64 bits, for 128-bit draws.
    let r64: UInt64
    let r64Shoup: UInt64
    let one64: UInt64

    /// Moduli have at most so many bits, so that the kernels' lazy values fit the word.
    public static var greatestBits: Int { Word.bitWidth == 32 ? 30 : 60 }

    /// Bits of the modulus: `ceilLog2(q)` for these odd numbers.
    public var bits: Int { Word.bitWidth - value.leadingZeroBitCount }

    /// Takes an odd modulus of at least 3.
    ///
    /// Throws `RingError.badModulus` for an even one, or one that leaves no room for lazy values in `Word`.
    public init(_ q: UInt64) throws {
        guard q >= 3, q & 1 == 1, q < UInt64(1) << UInt64(Self.greatestBits) else {
            throw RingError.badModulus(q)
        }
        value = Word(truncatingIfNeeded: q)
        one = Word(truncatingIfNeeded: (Word.bitWidth == 32 ? (UInt64(1) << 32) / q : UInt64.max / q))
        var inv = value
        for _ in 0..<6 { inv = inv &* (2 &- value &* inv) }
        inverse = inv
        let two64 = (UInt64.max % q) + 1
        r64 = two64 == q ? 0 : two64
        r64Shoup = q.dividingFullWidth((r64, 0)).quotient
        one64 = UInt64.max / q
        r = Word.bitWidth == 32 ? Word(truncatingIfNeeded: (UInt64(1) << 32) % q) : Word(truncatingIfNeeded: r64)
        rShoup = value.dividingFullWidth((r, 0)).quotient
    }

    /// `a·b mod q`.
    public func multiply(_ a: Word, _ b: Word) -> Word {
        value.dividingFullWidth((a % value).multipliedFullWidth(by: b % value)).remainder
    }

    /// `a + b mod q` of reduced residues.
    public func add(_ a: Word, _ b: Word) -> Word {
        let s = a &+ b
        return s >= value ? s &- value : s
    }

    /// `a − b mod q` of reduced residues.
    public func subtract(_ a: Word, _ b: Word) -> Word { a >= b ? a &- b : a &+ value &- b }

    /// `−a mod q` of a reduced residue.
    public func negate(_ a: Word) -> Word { a == 0 ? 0 : value &- a }

    /// `a^e mod q`.
    public func power(_ a: Word, _ e: UInt64) -> Word {
        var result: Word = 1 % value
        var base = a % value
        var e = e
        while e > 0 {
            if e & 1 == 1 { result = multiply(result, base) }
            base = multiply(base, base)
            e >>= 1
        }
        return result
    }

    /// `a^-1 mod q` for a prime modulus.
    public func invert(_ a: Word) -> Word { power(a, UInt64(value) - 2) }

    /// Shoup companion `floor(2^w·a / q)` of a reduced constant.
    public func shoup(_ a: Word) -> Word { value.dividingFullWidth((a, 0)).quotient }

    /// `x mod q` of any 64-bit number.
    public func reduce(_ x: UInt64) -> Word { Word(truncatingIfNeeded: x % UInt64(value)) }

    /// The residue of a signed number.
    public func reduce(signed x: Int) -> Word {
        let m = reduce(x.magnitude.asUInt64)
        return x < 0 ? negate(m) : m
    }

    /// `(high·2^64 + low) mod q`, exact (bfv.md 4.3).
    @inline(__always)
    public func reduce(high: UInt64, low: UInt64) -> Word {
        let q = UInt64(truncatingIfNeeded: value)
        let a = (high &* r64) &- (high.multipliedFullWidth(by: r64Shoup).high &* q)
        let b = low &- (low.multipliedFullWidth(by: one64).high &* q)
        var s = a &+ b
        s = min(s, s &- 2 &* q)
        s = min(s, s &- q)
        return Word(truncatingIfNeeded: s)
    }
}

extension UInt {
    var asUInt64: UInt64 { UInt64(self) }
}

/// What can be wrong with numbers given to the ring.
public enum RingError: Error, Sendable, Equatable {
    /// Not an odd number that leaves two bits of its word free.
    case badModulus(UInt64)
    /// The degree is not a power of two in range.
    case badDegree(Int)
    /// The modulus has no root of unity of order `2·degree`.
    case noRoot(modulus: UInt64, degree: Int)
}

/// Miller–Rabin with the bases 2 … 37, exact below 2^64.
public func isPrime(_ n: UInt64) -> Bool {
    let bases: [UInt64] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
    if n < 2 { return false }
    for p in bases where n % p == 0 { return n == p }
    let shift = (n - 1).trailingZeroBitCount
    let odd = (n - 1) >> UInt64(shift)
    func multiply(_ a: UInt64, _ b: UInt64) -> UInt64 { n.dividingFullWidth(a.multipliedFullWidth(by: b)).remainder }
    nextBase: for base in bases {
        var x: UInt64 = 1
        var b = base
        var e = odd
        while e > 0 {
            if e & 1 == 1 { x = multiply(x, b) }
            b = multiply(b, b)
            e >>= 1
        }
        if x == 1 || x == n - 1 { continue }
        for _ in 1..<max(shift, 1) {
            x = multiply(x, x)
            if x == n - 1 { continue nextBase }
        }
        return false
    }
    return true
}

/// The largest primes below `2^bits` that are 1 modulo `2·degree`, leaving out `excluded`.
public func transformPrimes(below bits: Int, degree: Int, count: Int, excluding excluded: [UInt64]) -> [UInt64] {
    let step = 2 * UInt64(degree)
    var candidate = (UInt64(1) << UInt64(bits)) / step * step + 1
    var out: [UInt64] = []
    while out.count < count, candidate > 2 * step {
        candidate -= step
        if !excluded.contains(candidate), isPrime(candidate) { out.append(candidate) }
    }
    return out
}

/// `ceil(log2 x)`, 0 for 0 and 1.
public func ceilLog2(_ x: Int) -> Int { x <= 1 ? 0 : Int.bitWidth - (x - 1).leadingZeroBitCount }

/// `floor(log2 x)` of a positive number.
public func floorLog2(_ x: UInt64) -> Int { 63 - x.leadingZeroBitCount }

/// The lowest `bits` bits of `x` in reverse order.
public func reverseBits(_ x: Int, _ bits: Int) -> Int {
    bits == 0 ? 0 : Int(UInt64(x).bitReversed >> UInt64(64 - bits))
}

extension UInt64 {
    var bitReversed: UInt64 {
        var x = byteSwapped
        x = (x & 0x0f0f_0f0f_0f0f_0f0f) << 4 | (x >> 4) & 0x0f0f_0f0f_0f0f_0f0f
        x = (x & 0x3333_3333_3333_3333) << 2 | (x >> 2) & 0x3333_3333_3333_3333
        return (x & 0x5555_5555_5555_5555) << 1 | (x >> 1) & 0x5555_5555_5555_5555
    }
}
