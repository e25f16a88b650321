// Everything that follows from a parameter set and is computed once (spec bfv.md 1.3, 3.4, 3.5).

import RingMath

/// An instance of BFV in words of one width. Immutable; share it freely.
public final class BFVContext<Word: ResidueWord>: Sendable {
    /// The numbers.
    public let parameters: ParameterSet
    /// All moduli, the key-switching modulus last; ciphertexts use the first L rows.
    public let ring: Ring<Word>
    /// L.
    public let levels: Int
    /// The machinery of ciphertext products, or nil where there is no key-switching modulus.
    public let products: ProductContext<Word>?

    /// `P^−1` modulo each ciphertext modulus, with Shoup companions; empty without a key-switching modulus.
    public let specialInverse: [(Word, Word)]
    /// `q_k^−1` modulo each earlier ciphertext modulus, by k, with Shoup companions.
    public let levelInverse: [[(Word, Word)]]

    /// N.
    public var degree: Int { parameters.degree }
    /// Index of the key-switching modulus.
    public var specialRow: Int { levels }
    /// L + 1, rows of a key.
    public var keyRows: Int { ring.moduli.count }

    /// Throws `RingError` if a modulus does not fit the word, or is too large for the number of digits of a key switch.
    public init(_ parameters: ParameterSet) throws {
        self.parameters = parameters
        ring = try Ring(degree: parameters.degree, moduli: parameters.coefficientModuli)
        levels = parameters.ciphertextModuliCount
        for m in ring.moduli where parameters.hasEvaluationKeys && levels > Modulus<Word>.maximumDigits(of: m.value) {
            throw RingError.badModulus(UInt64(m.value))
        }
        let ring = ring
        let special = parameters.hasEvaluationKeys ? ring.moduli.last?.value : nil
        specialInverse =
            special.map { special in
                ring.moduli.dropLast().map { m in
                    let c = m.invert(special % m.value)
                    return (c, m.shoup(c))
                }
            } ?? []
        levelInverse = (0..<levels).map { k in
            ring.moduli.prefix(k).map { m in
                let c = m.invert(ring.moduli[k].value % m.value)
                return (c, m.shoup(c))
            }
        }
        products = parameters.hasEvaluationKeys ? try ProductContext(parameters, ring: ring) : nil
    }

    /// Coefficient plaintext to values for all `rows` moduli: lifted centered, then transformed (bfv.md 3.4).
    public func evaluationPlaintext(_ coefficients: [Word], rows: Int) -> Polynomial<Word, Evaluation> {
        let t = Word(truncatingIfNeeded: parameters.plaintextModulus)
        let threshold = (t + 1) / 2
        var out = Polynomial<Word, Coefficient>(rows: rows, degree: degree)
        for row in 0..<rows {
            let lift = ring.moduli[row].value - t
            for (j, m) in coefficients.enumerated() { out[row, j] = m < threshold ? m : m + lift }
        }
        return ring.forward(out)
    }

    /// `round(Q_l·m/t)` in each of the first `rows` moduli (bfv.md 3.5).
    public func scaled(_ coefficients: [Word], rows: Int) -> Polynomial<Word, Coefficient> {
        let t = parameters.plaintextModulus
        let moduli = parameters.coefficientModuli.prefix(rows)
        let rho = moduli.reduce(UInt64(1)) { t.dividingFullWidth($0.multipliedFullWidth(by: $1 % t)).remainder }
        var out = Polynomial<Word, Coefficient>(rows: rows, degree: degree)
        let half = (t + 1) / 2
        let roundings = coefficients.map { m -> UInt64 in
            let p = UInt64(m).multipliedFullWidth(by: rho)
            let (low, carry) = p.low.addingReportingOverflow(half)
            return t.dividingFullWidth((p.high + (carry ? 1 : 0), low)).quotient
        }
        for row in 0..<rows {
            let m = ring.moduli[row]
            // Q is 0 modulo q_i, so D = (Q − ρ)/t is −ρ/t.
            let d = m.multiply(m.negate(m.reduce(rho)), m.invert(m.reduce(t)))
            for (j, value) in coefficients.enumerated() {
                out[row, j] = m.add(m.multiply(value, d), m.reduce(roundings[j]))
            }
        }
        return out
    }
}
