// Ciphertext products: lifting to auxiliary primes, summed tensor products, scaling by t/Q
// (spec bfv.md 8.5, 14.4; Halevi, Polyakov, Shoup: eprint 2018/117).

import RingMath

/// What a product of ciphertexts at the top level needs: enough auxiliary primes that a sum of `maximumTerms` products,
/// scaled by t/Q, is known exactly.
public final class ProductContext<Word: ResidueWord>: Sendable {
    /// Products that one sum may hold.
    public static var maximumTerms: Int { 1 << 10 }
    /// L, rows of a ciphertext.
    public let levels: Int
    /// L + K, rows of a lifted operand: first the ciphertext moduli, then the auxiliary primes.
    public let rows: Int
    /// Transforms of all rows.
    public let tables: [NTTTable<Word>]

    let degree: Int
    let up: BasisConverter<Word>
    let remainder: BasisConverter<Word>
    let down: BasisConverter<Word>
    /// Per auxiliary prime: t and Q^−1, each with its Shoup companion.
    let scaling: [(t: Word, tShoup: Word, inverse: Word, inverseShoup: Word)]

    init(_ parameters: ParameterSet, ring: Ring<Word>) throws {
        degree = parameters.degree
        levels = parameters.ciphertextModuliCount
        let width = parameters.auxiliaryPrimeBits
        let count = parameters.auxiliaryPrimeCount
        let primes = transformPrimes(
            below: width, degree: degree, count: count, excluding: parameters.coefficientModuli)
        let auxiliary = try primes.map { try Modulus<Word>($0) }
        rows = levels + primes.count
        tables = try Array(ring.tables.prefix(levels)) + auxiliary.map { try NTTTable(degree: parameters.degree, modulus: $0) }
        let q = Array(ring.moduli.prefix(levels))
        up = BasisConverter(from: q, to: auxiliary)
        remainder = BasisConverter(from: q, to: auxiliary, multiplier: parameters.plaintextModulus)
        down = BasisConverter(from: auxiliary, to: q)
        scaling = auxiliary.map { m in
            let t = m.reduce(parameters.plaintextModulus)
            let inverse = m.invert(BasisConverter.product(q, except: -1, modulo: m))
            return (t, m.shoup(t), inverse, m.shoup(inverse))
        }
    }

    /// Distance of the polynomials of lifted operands, which a sum reads side by side (see `ResidueWord.rowStride`).
    public var polynomialStride: Int { rows * degree + Word.tile }

    /// Scratch words that `lift` and `scaleDown` need.
    public var scratchWords: Int { (rows + 1) * degree + (rows - levels) * degree }

    /// Adds the auxiliary rows, in Eval form, to a polynomial. `coefficients`: L rows; `out`: row i at `i·N`, rows L … are
    /// written.
    public func lift(
        _ coefficients: UnsafePointer<Word>, _ out: UnsafeMutablePointer<Word>, scratch: UnsafeMutablePointer<Word>
    ) {
        let n = degree
        up.convert(coefficients, inputStride: n, out + levels * n, outputStride: n, n: n, scratch: scratch)
        for row in levels..<rows { Word.forward(out + row * n, tables[row]) }
    }

    /// `Σ_j a_j ⊗ b_j`: three polynomials of all rows, Eval form, reduced.
    ///
    /// Operand j starts at `j·stride`, its second polynomial `polynomialStride` words after the first; those of `out` are
    /// `rows·N` words apart.
    public func tensorSum(
        _ a: UnsafePointer<Word>, _ b: UnsafePointer<Word>, stride: Int, count: Int, _ out: UnsafeMutablePointer<Word>
    ) {
        let n = degree
        let poly = rows * n
        for row in 0..<rows {
            let at = row * n
            Word.tensorRow(
                a: a + at, aStride: stride, aPoly: polynomialStride, b: b + at, bStride: stride, bPoly: polynomialStride,
                count: count,
                out: (out + at, out + poly + at, out + 2 * poly + at), n: n, tables[row].modulus)
        }
    }

    /// `round(t·x/Q)` of one polynomial of `tensorSum`: in place to Coeff form, then L rows of coefficients into `out`.
    public func scaleDown(
        _ x: UnsafeMutablePointer<Word>, _ out: UnsafeMutablePointer<Word>, scratch: UnsafeMutablePointer<Word>
    ) {
        let n = degree
        for row in 0..<rows { Word.inverse(x + row * n, tables[row]) }
        let r = scratch + (rows + 1) * n
        remainder.convert(x, inputStride: n, r, outputStride: n, n: n, scratch: scratch)
        for k in 0..<(rows - levels) {
            let m = tables[levels + k].modulus
            let row = x + (levels + k) * n
            let s = scaling[k]
            Word.scale(row, row, n: n, by: s.t, s.tShoup, m)
            Word.subtractAndScale(row, r + k * n, row, n: n, by: s.inverse, s.inverseShoup, m)
        }
        down.convert(x + levels * n, inputStride: n, out, outputStride: n, n: n, scratch: scratch)
    }
}

extension ParameterSet {
    /// Bits of the primes that ciphertext products work with beside the moduli: one fewer than such a prime may have, or two if
    /// as many of those do, since transforms of primes below 2^28 reduce less.
    var auxiliaryPrimeBits: Int {
        if !fits32Bits { return 60 }
        return auxiliaryPrimeCount(bits: 28) == auxiliaryPrimeCount(bits: 29) ? 28 : 29
    }

    /// K: how many of those a sum of `ProductContext.maximumTerms` products takes.
    public var auxiliaryPrimeCount: Int { auxiliaryPrimeCount(bits: auxiliaryPrimeBits) }

    private func auxiliaryPrimeCount(bits width: Int) -> Int {
        // |t·x/Q| of a sum of d products is below t·d·N·Q/2·(1 + slack); two more bits keep the conversion exact.
        let bits = coefficientModuli.prefix(ciphertextModuliCount).reduce(0) { $0 + floorLog2($1) + 1 }
        let terms = ceilLog2(ProductContext<UInt64>.maximumTerms)
        let need = bits + floorLog2(plaintextModulus) + 1 + ceilLog2(degree) + terms + 2
        return (need + width - 1) / width
    }
}
