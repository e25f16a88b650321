// Twiddle factors of the negacyclic transform for one modulus and degree (spec bfv.md 2.2, 2.3).

/// The tables of one (degree, modulus). Immutable after `init`, so shared freely between threads.
public final class NTTTable<Word: ResidueWord>: @unchecked Sendable {
    /// Number of coefficients, a power of two.
    public let degree: Int
    /// The modulus, 1 modulo `2·degree`.
    public let modulus: Modulus<Word>
    /// The smallest primitive `2·degree`-th root of unity.
    public let root: Word

    @usableFromInline let storage: UnsafeMutablePointer<Word>
    let forward: UnsafePointer<Word>
    let forwardShoup: UnsafePointer<Word>
    let backward: UnsafePointer<Word>
    let backwardShoup: UnsafePointer<Word>
    let forwardTail: UnsafePointer<Word>
    let backwardTail: UnsafePointer<Word>
    let forwardPacked: UnsafePointer<Word>
    let backwardPacked: UnsafePointer<Word>

    /// Builds the tables.
    ///
    /// Throws `RingError.badDegree` unless the degree is a power of two in 2 … 65536, and `RingError.noRoot` if the modulus
    /// is not 1 modulo twice the degree.
    public init(degree: Int, modulus: Modulus<Word>) throws {
        guard degree >= 2, degree <= 65536, degree & (degree - 1) == 0 else { throw RingError.badDegree(degree) }
        guard (modulus.value - 1) % Word(2 * degree) == 0 else {
            throw RingError.noRoot(modulus: UInt64(modulus.value), degree: degree)
        }
        let psi = try Self.minimalRoot(degree: degree, modulus: modulus)
        self.degree = degree
        self.modulus = modulus
        root = psi
        let words = 4 * degree + 2 * 4 * degree
        storage = .allocate(capacity: words)
        storage.initialize(repeating: 0, count: words)
        let (f, fs) = (storage, storage + degree)
        let (b, bs) = (storage + 2 * degree, storage + 3 * degree)
        let bits = degree.trailingZeroBitCount
        let inverseRoot = modulus.invert(psi)
        var power: Word = 1
        var inversePower: Word = 1
        for i in 0..<degree {
            let place = reverseBits(i, bits)
            f[place] = power
            b[place] = inversePower
            power = modulus.multiply(power, psi)
            inversePower = modulus.multiply(inversePower, inverseRoot)
        }
        let scale = modulus.invert(modulus.reduce(UInt64(degree)))
        b[0] = scale
        b[1] = modulus.multiply(b[1], scale)
        for i in 0..<degree {
            fs[i] = modulus.shoup(f[i])
            bs[i] = modulus.shoup(b[i])
        }
        let (ft, bt) = (storage + 4 * degree, storage + 8 * degree)
        var (fp, bp) = (ft, bt)
        if Word.bitWidth == 32, degree >= 64 {
            Self.layTail(ft, f, fs, degree)
            Self.layTail(bt, b, bs, degree)
        } else if Word.bitWidth == 64, degree >= 16 {
            (fp, bp) = (ft + 3 * degree / 2, bt + 3 * degree / 2)
            Self.layTail64(ft, fp, f, fs, degree)
            Self.layTail64(bt, bp, b, bs, degree)
        }
        forwardPacked = UnsafePointer(fp)
        backwardPacked = UnsafePointer(bp)
        forward = UnsafePointer(f)
        forwardShoup = UnsafePointer(fs)
        backward = UnsafePointer(b)
        backwardShoup = UnsafePointer(bs)
        forwardTail = UnsafePointer(ft)
        backwardTail = UnsafePointer(bt)
    }

    deinit { storage.deallocate() }

    /// Twiddles of the stages with distance 4, 2 and 1 for 64 residues that lie transposed, lane i of vector j for residue j of
    /// the i-th eight: one vector for distance 4, two, four, each with its Shoup companions behind it; 112 words. A transform
    /// reads them once from beginning to end, so they are kept few: those of three moduli stay in the second-level cache.
    private static func layTail(
        _ tail: UnsafeMutablePointer<Word>, _ w: UnsafeMutablePointer<Word>, _ ws: UnsafeMutablePointer<Word>, _ n: Int
    ) {
        for g in 0..<(n / 64) {
            var t = tail + 112 * g
            for width in [1, 2, 4] {
                for j in 0..<width {
                    for lane in 0..<8 {
                        let i = n / 8 * width + width * (8 * g + lane) + j
                        (t[lane], t[8 + lane]) = (w[i], ws[i])
                    }
                    t += 16
                }
            }
        }
    }

    /// Twiddles of 64-bit words as vectors of four read them: those of the stages with distance 2 and 1 for sixteen residues,
    /// 24 words, lanes in the order that transposing four blocks gives; and for every earlier stage four words each (the
    /// twiddle, the same with its halves exchanged, its companion, the high half of that), to be spread over a vector.
    private static func layTail64(
        _ tail: UnsafeMutablePointer<Word>, _ packed: UnsafeMutablePointer<Word>, _ w: UnsafeMutablePointer<Word>,
        _ ws: UnsafeMutablePointer<Word>, _ n: Int
    ) {
        for g in 0..<(n / 16) {
            let t = tail + 24 * g
            for (lane, block) in [0, 2, 1, 3].enumerated() {
                let two = n / 4 + 4 * g + block
                let one = n / 2 + 2 * (4 * g + block)
                (t[lane], t[4 + lane]) = (w[two], ws[two])
                (t[8 + lane], t[12 + lane]) = (w[one], ws[one])
                (t[16 + lane], t[20 + lane]) = (w[one + 1], ws[one + 1])
            }
        }
        for i in 0..<(n / 4) {
            let p = packed + 4 * i
            (p[0], p[1], p[2], p[3]) = (w[i], w[i] << 32 | w[i] >> 32, ws[i], ws[i] >> 32)
        }
    }

    /// The numerically smallest primitive `2·degree`-th root (bfv.md 2.2: the odd powers of any such root are all of them).
    private static func minimalRoot(degree: Int, modulus: Modulus<Word>) throws -> Word {
        let q = modulus.value
        let exponent = UInt64((q - 1) / Word(2 * degree))
        var base: Word = 2
        while base < 1000 {
            let r = modulus.power(base, exponent)
            if modulus.power(r, UInt64(degree)) == q - 1 {
                let square = modulus.multiply(r, r)
                var best = r
                var current = r
                for _ in 1..<degree {
                    current = modulus.multiply(current, square)
                    best = min(best, current)
                }
                return best
            }
            base += 1
        }
        throw RingError.noRoot(modulus: UInt64(q), degree: degree)
    }
}
