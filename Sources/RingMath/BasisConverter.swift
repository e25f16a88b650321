// Conversion of residues from one set of moduli to another, centered and exact up to the rounding of the quotient
// (Halevi, Polyakov, Shoup: eprint 2018/117; spec bfv.md 14.4). Replaces the correction steps of BEHZ (bfv.md 8.6).

/// Takes x modulo `S = s_0 · … · s_(k−1)` as the integer nearest to zero and gives it modulo other primes.
///
/// The quotient is worked out with 30 bits (32-bit words) or 58 bits (64-bit words) after the point, so x within
/// `S·(1/2 − 2^−25)` of zero converts exactly; closer to `±S/2` the result may be off by one S.
public struct BasisConverter<Word: ResidueWord>: Sendable {
    let from: [Modulus<Word>]
    let to: [Modulus<Word>]
    /// `multiplier·(S/s_i)^−1 mod s_i`, with Shoup companions.
    let weight: [(Word, Word)]
    /// `floor(2^(w−1+bits(s_i)) / s_i)`.
    let fraction: [Word]
    /// `w − bits(s_i)`.
    let shifts: [Int32]
    /// For each target: `S/s_i` for all i and then `−S`, in the form of `Modulus.factor`.
    let columns: [[Word]]

    /// - `multiplier`: a constant that every x is multiplied with first (1, or t when scaling down a product).
    public init(from: [Modulus<Word>], to: [Modulus<Word>], multiplier: UInt64 = 1) {
        self.from = from
        self.to = to
        weight = from.indices.map { i in
            let m = from[i]
            let punctured = Self.product(from, except: i, modulo: m)
            let w = m.multiply(m.invert(punctured), m.reduce(multiplier))
            return (w, m.shoup(w))
        }
        fraction = from.map { m in
            let shift = m.bits - 1
            return m.value.dividingFullWidth((Word(1) << Word(shift), 0)).quotient
        }
        shifts = from.map { Int32(Word.bitWidth - $0.bits) }
        columns = to.map { m in
            var column = from.indices.map { i in m.factor(Self.product(from, except: i, modulo: m)) }
            let whole = Self.product(from, except: -1, modulo: m)
            column.append(m.factor(m.negate(whole)))
            return column
        }
    }

    /// Product of the moduli but one (−1: all of them) modulo `m`.
    public static func product(_ moduli: [Modulus<Word>], except skipped: Int, modulo m: Modulus<Word>) -> Word {
        var out: Word = 1
        for i in moduli.indices where i != skipped { out = m.multiply(out, moduli[i].value % m.value) }
        return out
    }

    /// Residues that are converted before the next ones: with all that is in between they fit the first-level cache.
    private static var piece: Int { 4096 / MemoryLayout<Word>.size / 2 }

    /// Number of scratch words that `convert` needs for rows of `n`.
    public func scratchWords(_ n: Int) -> Int { (from.count + 1) * min(n, Self.piece) }

    /// Converts `n` residues of each modulus. Input row i starts at `input + i·inputStride`, reduced; output rows likewise,
    /// reduced.
    public func convert(
        _ input: UnsafePointer<Word>, inputStride: Int, _ output: UnsafeMutablePointer<Word>, outputStride: Int, n: Int,
        scratch: UnsafeMutablePointer<Word>
    ) {
        let m = min(n, Self.piece)
        let quotient = scratch + from.count * m
        for start in stride(from: 0, to: n, by: m) {
            for i in from.indices {
                Word.scale(
                    input + (i * inputStride + start), scratch + i * m, n: m, by: weight[i].0, weight[i].1, from[i])
            }
            Word.quotientRow(scratch, stride: m, count: from.count, shifts, fraction, quotient, n: m)
            for k in to.indices {
                columns[k].withUnsafeBufferPointer { column in
                    guard let base = column.baseAddress else { return }
                    Word.convertRow(
                        scratch, stride: m, count: from.count + 1, base, output + (k * outputStride + start), n: m, to[k])
                }
            }
        }
    }
}
