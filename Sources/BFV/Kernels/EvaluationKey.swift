// Key-switching keys: making them (client) and the form in which the server computes with them (spec bfv.md 6).

import RingMath

/// A key from s' to s: L ciphertexts over all moduli in Eval form (bfv.md 6.1).
public struct KeySwitchKey<Word: ResidueWord>: Sendable {
    /// `c_0` and `c_1` of each digit.
    public let pairs: [(Polynomial<Word, Evaluation>, Polynomial<Word, Evaluation>)]
    /// Seeds of the second polynomials, where they are known.
    public let seeds: [[UInt8]]?

    /// Takes the pairs as they are.
    public init(
        pairs: [(Polynomial<Word, Evaluation>, Polynomial<Word, Evaluation>)], seeds: [[UInt8]]? = nil
    ) {
        self.pairs = pairs
        self.seeds = seeds
    }
}

/// Galois keys by element, and a relinearization key if there is one.
public struct EvaluationKeySet<Word: ResidueWord>: Sendable {
    /// Keys by element.
    public var galois: [Int: KeySwitchKey<Word>]
    /// Key from s² to s.
    public var relinearization: KeySwitchKey<Word>?

    /// Takes keys as they are.
    public init(galois: [Int: KeySwitchKey<Word>], relinearization: KeySwitchKey<Word>?) {
        self.galois = galois
        self.relinearization = relinearization
    }
}

/// A key as the kernels read it: digit after digit, polynomial after polynomial, row after row, in the form of
/// `Modulus.factor`.
public struct PreparedKey<Word: ResidueWord>: Sendable {
    /// L·2·(L+1) rows, `ResidueWord.rowStride` words apart.
    public let words: [Word]

    /// - `permutation`: applied backwards to every row, so that sums with unpermuted digits come out unpermuted and the
    ///   automorphism can be applied afterwards, to fewer rows.
    public init(_ key: KeySwitchKey<Word>, _ context: BFVContext<Word>, undoing permutation: [UInt32]? = nil) {
        let n = context.degree
        let rows = context.keyRows
        let stride = Word.rowStride(degree: n)
        words = [Word](unsafeUninitializedCapacity: key.pairs.count * 2 * rows * stride) { out, count in
            guard let base = out.baseAddress else { return }
            var target = base
            for pair in key.pairs {
                for polynomial in [pair.0, pair.1] {
                    polynomial.words.withUnsafeBufferPointer { source in
                        guard let source = source.baseAddress else { return }
                        for row in 0..<rows {
                            let m = context.ring.moduli[row]
                            let one = m.factor(1)
                            let place = target + row * stride
                            Word.scale(source + row * n, place, n: n, by: one, m.shoup(one), m)
                            (place + n).initialize(repeating: 0, count: stride - n)
                        }
                    }
                    target += rows * stride
                }
            }
            count = key.pairs.count * 2 * rows * stride
            guard let permutation else { return }
            withUnsafeTemporaryAllocation(of: Word.self, capacity: n) { copy in
                for row in 0..<(count / stride) {
                    for i in 0..<n { copy[i] = base[row * stride + i] }
                    for i in 0..<n { base[row * stride + Int(permutation[i])] = copy[i] }
                }
            }
        }
    }
}

extension BFVContext {
    /// A key from `target` (Eval form, all moduli) to the secret key.
    func makeKeySwitchKey(
        _ target: Polynomial<Word, Evaluation>, _ key: SecretKey<Word>, seeds: [[UInt8]], errors: [[Int]]
    ) throws -> KeySwitchKey<Word> {
        let special = ring.moduli[specialRow].value
        var pairs: [(Polynomial<Word, Evaluation>, Polynomial<Word, Evaluation>)] = []
        for i in 0..<levels {
            let (zero, c1) = try encryptZero(key, rows: keyRows, seed: seeds[i], error: errors[i])
            var c0 = zero
            let m = ring.moduli[i]
            let factor = special % m.value
            for j in 0..<degree { c0[i, j] = m.add(c0[i, j], m.multiply(factor, target[i, j])) }
            pairs.append((c0, c1))
        }
        return KeySwitchKey(pairs: pairs, seeds: seeds)
    }

    private func fresh(_ source: inout some RandomSource) throws -> ([[UInt8]], [[Int]]) {
        var seeds: [[UInt8]] = []
        var errors: [[Int]] = []
        for _ in 0..<levels {
            seeds.append(try source.next(32))
            errors.append(try centeredBinomial(degree, from: &source))
        }
        return (seeds, errors)
    }

    /// `σ_g(s)`, what the Galois key of element g switches from.
    func galoisTarget(_ key: SecretKey<Word>, _ element: Int) throws -> Polynomial<Word, Evaluation> {
        guard hasValidElement(UInt64(clamping: element)) else {
            throw BFVError.badGaloisElement(UInt64(clamping: element))
        }
        let permutation = Ring<Word>.permutation(degree: degree, element: element)
        var out = key.polynomial
        for row in 0..<keyRows {
            for i in 0..<degree { out[row, i] = key.polynomial[row, Int(permutation[i])] }
        }
        return out
    }

    /// Whether an element is odd and in 3 … 2N−1 (bfv.md 6.2).
    public func hasValidElement(_ element: UInt64) -> Bool {
        element & 1 == 1 && element >= 3 && element < UInt64(2 * degree)
    }

    /// Galois keys for the elements, and a relinearization key if wanted.
    ///
    /// Throws `BFVError.noEvaluationKeys` for a set with one modulus, `badGaloisElement` for an element that cannot be.
    public func makeEvaluationKey(
        _ key: SecretKey<Word>, elements: [Int], relinearization: Bool, _ source: inout some RandomSource
    ) throws -> EvaluationKeySet<Word> {
        guard parameters.hasEvaluationKeys else { throw BFVError.noEvaluationKeys }
        var galois: [Int: KeySwitchKey<Word>] = [:]
        for element in elements {
            let (seeds, errors) = try fresh(&source)
            galois[element] = try makeKeySwitchKey(try galoisTarget(key, element), key, seeds: seeds, errors: errors)
        }
        var relin: KeySwitchKey<Word>?
        if relinearization {
            let (seeds, errors) = try fresh(&source)
            relin = try makeKeySwitchKey(ring.multiply(key.polynomial, key.polynomial), key, seeds: seeds, errors: errors)
        }
        return EvaluationKeySet(galois: galois, relinearization: relin)
    }
}
