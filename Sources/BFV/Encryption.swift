// Secret key, ciphertexts, encryption, decryption and noise budget (spec bfv.md 5, 10). The client's side.

import Foundation
import RingMath

/// What an operation on ciphertexts or keys was given wrongly.
public enum BFVError: Error, Sendable, Equatable {
    /// Operands of different level, polynomial count or correction factor.
    case mismatch(String)
    /// The evaluation key has no key for this Galois element.
    case missingGaloisKey(Int)
    /// The evaluation key has no relinearization key.
    case missingRelinearizationKey
    /// The parameter set has no key-switching modulus.
    case noEvaluationKeys
    /// A plaintext has too many coefficients, or one that is not below t.
    case badPlaintext
    /// A Galois element is not odd or not in 3 … 2N−1.
    case badGaloisElement(UInt64)
}

/// A ciphertext in Coeff form at some level; decrypts through `c_0 + c_1·s (+ c_2·s²)`.
public struct Ciphertext<Word: ResidueWord>: Sendable, Equatable {
    /// Two or three polynomials of equal rows.
    public var polynomials: [Polynomial<Word, Coefficient>]
    /// The 32-byte seed while `c_1` still equals its expansion (bfv.md 5.5).
    public var seed: [UInt8]?

    /// Takes polynomials as they are.
    public init(_ polynomials: [Polynomial<Word, Coefficient>], seed: [UInt8]? = nil) {
        self.polynomials = polynomials
        self.seed = seed
    }

    /// Level: the number of moduli.
    public var level: Int { polynomials.first?.rows ?? 0 }
}

/// The secret key: a ternary polynomial in Eval form over all moduli (bfv.md 5.1).
public struct SecretKey<Word: ResidueWord>: Sendable {
    /// Rows q_0 … q_L.
    public let polynomial: Polynomial<Word, Evaluation>

    /// Takes a polynomial in Eval form over all moduli.
    public init(_ polynomial: Polynomial<Word, Evaluation>) { self.polynomial = polynomial }
}

extension BFVContext {
    /// A fresh secret key.
    public func makeSecretKey(_ source: inout some RandomSource) throws -> SecretKey<Word> {
        SecretKey(ring.forward(ring.polynomial(signed: try ternary(degree, from: &source), rows: ring.moduli.count)))
    }

    /// Encryption of zero over the first `rows` moduli: `c_0 = −(a·s + e)` and `a`, both in Eval form (bfv.md 5.3).
    func encryptZero(
        _ key: SecretKey<Word>, rows: Int, seed: [UInt8], error: [Int]
    ) throws -> (Polynomial<Word, Evaluation>, Polynomial<Word, Evaluation>) {
        let a = try uniform(seed: seed, rows: rows)
        let product = ring.multiply(a, key.polynomial.prefix(rows: rows))
        let e = ring.forward(ring.polynomial(signed: error, rows: rows))
        return (ring.negate(ring.add(product, e)), a)
    }

    /// Encrypts a coefficient plaintext at the top level; the result is seeded (bfv.md 5.4).
    ///
    /// Throws `BFVError.badPlaintext` for more than N coefficients or one that is not below t.
    public func encrypt(
        _ plaintext: [Word], _ key: SecretKey<Word>, _ source: inout some RandomSource
    ) throws -> Ciphertext<Word> {
        let seed = try source.next(32)
        return try encrypt(plaintext, key, seed: seed, error: centeredBinomial(degree, from: &source))
    }

    /// The same with given randomness, for tests.
    public func encrypt(
        _ plaintext: [Word], _ key: SecretKey<Word>, seed: [UInt8], error: [Int]
    ) throws -> Ciphertext<Word> {
        guard plaintext.count <= degree, plaintext.allSatisfy({ UInt64($0) < parameters.plaintextModulus }) else {
            throw BFVError.badPlaintext
        }
        let (c0, c1) = try encryptZero(key, rows: levels, seed: seed, error: error)
        let scaled = scaled(plaintext, rows: levels)
        return Ciphertext([ring.add(ring.inverse(c0), scaled), ring.inverse(c1)], seed: seed)
    }

    /// `c_0 + c_1·s + …` in Coeff form.
    func phase(_ ciphertext: Ciphertext<Word>, _ key: SecretKey<Word>) -> Polynomial<Word, Coefficient> {
        let s = key.polynomial.prefix(rows: ciphertext.level)
        var sum = Polynomial<Word, Evaluation>(rows: ciphertext.level, degree: degree)
        for p in ciphertext.polynomials.reversed() {
            sum = ring.add(ring.multiply(sum, s), ring.forward(p))
        }
        return ring.inverse(sum)
    }

    /// For each coefficient v of the phase: `t·v/Q` as its whole part modulo t and its fraction in units of 2^−122.
    private func divided(
        _ ciphertext: Ciphertext<Word>, _ key: SecretKey<Word>
    ) -> [(whole: UInt64, fraction: UInt128)] {
        let v = phase(ciphertext, key)
        let rows = ciphertext.level
        let t = parameters.plaintextModulus
        let moduli = ring.moduli.prefix(rows)
        let weights = moduli.enumerated().map { i, m in
            m.invert(moduli.enumerated().reduce(Word(1)) { $1.offset == i ? $0 : m.multiply($0, $1.element.value % m.value) })
        }
        let one = UInt128(1) << 122
        return (0..<degree).map { j in
            var whole: UInt64 = 0
            var fraction: UInt128 = 0
            for (i, m) in moduli.enumerated() {
                let q = UInt64(m.value)
                let z = UInt64(m.multiply(v[i, j], weights[i]))
                let product = q.dividingFullWidth(t.multipliedFullWidth(by: z))
                whole = (whole + product.quotient % t) % t
                let high = q.dividingFullWidth((product.remainder >> 3, product.remainder << 61))
                let low = q.dividingFullWidth((high.remainder >> 3, high.remainder << 61))
                fraction += UInt128(high.quotient) << 61 | UInt128(low.quotient)
                if fraction >= one {
                    fraction -= one
                    whole = (whole + 1) % t
                }
            }
            return (whole, fraction)
        }
    }

    /// Decrypts at any level; exact rounding (bfv.md 10.1).
    public func decrypt(_ ciphertext: Ciphertext<Word>, _ key: SecretKey<Word>) -> [Word] {
        let t = parameters.plaintextModulus
        return divided(ciphertext, key).map { whole, fraction in
            Word(truncatingIfNeeded: fraction >= UInt128(1) << 121 ? (whole + 1) % t : whole)
        }
    }

    /// Noise budget in bits, at most about 120 (bfv.md 10.2). Needs the secret key and is a decryption oracle.
    public func noiseBudget(_ ciphertext: Ciphertext<Word>, _ key: SecretKey<Word>) -> Double {
        let one = UInt128(1) << 122
        let worst = divided(ciphertext, key).map { min($0.fraction, one - $0.fraction) }.max() ?? 0
        return worst == 0 ? .infinity : -1 - log2(Double(worst) / Double(one))
    }
}
