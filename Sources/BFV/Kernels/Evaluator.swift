// Operations on ciphertexts, one at a time and as the specification words them (spec bfv.md 6.3 – 9.2). The lookup itself
// runs on the fused path in KeywordPIR; this is what it is checked against.

import RingMath

extension BFVContext {
    private func requireMatch(_ a: Ciphertext<Word>, _ b: Ciphertext<Word>) throws {
        guard a.level == b.level, a.polynomials.count == b.polynomials.count else {
            throw BFVError.mismatch("operands differ in level or number of polynomials")
        }
    }

    /// Sum. Throws `BFVError.mismatch` for operands of different shape.
    public func add(_ a: Ciphertext<Word>, _ b: Ciphertext<Word>) throws -> Ciphertext<Word> {
        try requireMatch(a, b)
        return Ciphertext(zip(a.polynomials, b.polynomials).map { ring.add($0, $1) })
    }

    /// Difference. Throws `BFVError.mismatch` for operands of different shape.
    public func subtract(_ a: Ciphertext<Word>, _ b: Ciphertext<Word>) throws -> Ciphertext<Word> {
        try requireMatch(a, b)
        return Ciphertext(zip(a.polynomials, b.polynomials).map { ring.subtract($0, $1) })
    }

    /// At most N coefficients, all below t (bfv.md 13, item 30).
    private func requirePlaintext(_ plaintext: [Word]) throws {
        guard plaintext.count <= degree, plaintext.allSatisfy({ UInt64($0) < parameters.plaintextModulus }) else {
            throw BFVError.badPlaintext
        }
    }

    /// Ciphertext plus coefficient plaintext; keeps the seed (bfv.md 8.2). Throws `BFVError.badPlaintext`.
    public func add(_ a: Ciphertext<Word>, plaintext: [Word]) throws -> Ciphertext<Word> {
        try requirePlaintext(plaintext)
        var out = a
        out.polynomials[0] = ring.add(a.polynomials[0], scaled(plaintext, rows: a.level))
        return out
    }

    /// Ciphertext times plaintext (bfv.md 8.3). Throws `BFVError.badPlaintext`.
    public func multiply(_ a: Ciphertext<Word>, plaintext: [Word]) throws -> Ciphertext<Word> {
        try requirePlaintext(plaintext)
        let p = evaluationPlaintext(plaintext, rows: a.level)
        return Ciphertext(a.polynomials.map { ring.inverse(ring.multiply(ring.forward($0), p)) })
    }

    /// Ciphertext times `X^power` (bfv.md 7.4).
    public func multiplyByMonomial(_ a: Ciphertext<Word>, power: Int) -> Ciphertext<Word> {
        Ciphertext(a.polynomials.map { ring.multiplyByMonomial($0, power: power) })
    }

    /// Key switching of one polynomial as bfv.md 6.3 has it: digits not centered, rounding division by P.
    func keySwitch(
        _ d: Polynomial<Word, Coefficient>, _ key: PreparedKey<Word>
    ) -> (Polynomial<Word, Coefficient>, Polynomial<Word, Coefficient>) {
        let level = d.rows
        let n = degree
        let indices = Array(0..<level) + [specialRow]
        var sums = [Polynomial<Word, Evaluation>](repeating: .init(rows: level + 1, degree: n), count: 2)
        var digits = [Word](repeating: 0, count: level * n)
        var first = [Word](repeating: 0, count: n)
        var second = first
        for (row, index) in indices.enumerated() {
            let m = ring.moduli[index]
            for j in 0..<level {
                for i in 0..<n { digits[j * n + i] = d[j, i] % m.value }
            }
            digits.withUnsafeMutableBufferPointer { buffer in
                guard let base = buffer.baseAddress else { return }
                for j in 0..<level { Word.forward(base + j * n, ring.tables[index]) }
                key.words.withUnsafeBufferPointer { k in
                    guard let k = k.baseAddress else { return }
                    let stride = Word.rowStride(degree: n)
                    let poly = keyRows * stride
                    Word.keySwitchRow(
                        digits: base, digitStride: n, key: k + index * stride, keyStride: 2 * poly, polyStride: poly,
                        count: level,
                        places: nil, out0: &first, out1: &second, n: n, m)
                }
            }
            sums[0].words.replaceSubrange((row * n)..<((row + 1) * n), with: first)
            sums[1].words.replaceSubrange((row * n)..<((row + 1) * n), with: second)
        }
        let out = sums.map { ring.divideByLast(ring.inverse($0, moduli: indices), moduli: indices) }
        return (out[0], out[1])
    }

    /// `σ_g` with the switch back to the secret key (bfv.md 6.4). `key` is prepared without a permutation.
    ///
    /// Throws `BFVError.mismatch` unless the ciphertext has two polynomials, `badGaloisElement` for an impossible element.
    public func applyGalois(_ a: Ciphertext<Word>, element: Int, key: PreparedKey<Word>) throws -> Ciphertext<Word> {
        guard hasValidElement(UInt64(clamping: element)) else { throw BFVError.badGaloisElement(UInt64(clamping: element)) }
        guard a.polynomials.count == 2 else { throw BFVError.mismatch("two polynomials expected") }
        let (u0, u1) = keySwitch(ring.automorphism(a.polynomials[1], element), key)
        return Ciphertext([ring.add(ring.automorphism(a.polynomials[0], element), u0), u1])
    }

    /// Three polynomials back to two (bfv.md 6.4).
    ///
    /// Throws `BFVError.mismatch` unless the ciphertext has three polynomials.
    public func relinearize(_ a: Ciphertext<Word>, key: PreparedKey<Word>) throws -> Ciphertext<Word> {
        guard a.polynomials.count == 3 else { throw BFVError.mismatch("three polynomials expected") }
        let (u0, u1) = keySwitch(a.polynomials[2], key)
        return Ciphertext([ring.add(a.polynomials[0], u0), ring.add(a.polynomials[1], u1)])
    }

    /// Product of two ciphertexts of the top level: three polynomials (bfv.md 8.5).
    ///
    /// Throws `BFVError.mismatch` for other shapes, `noEvaluationKeys` for a set with a single modulus.
    public func multiply(_ a: Ciphertext<Word>, _ b: Ciphertext<Word>) throws -> Ciphertext<Word> {
        guard let products else { throw BFVError.noEvaluationKeys }
        guard a.polynomials.count == 2, b.polynomials.count == 2, a.level == levels, b.level == levels else {
            throw BFVError.mismatch("two ciphertexts of two polynomials at the top level expected")
        }
        let n = degree
        let poly = products.polynomialStride
        var scratch = [Word](repeating: 0, count: products.scratchWords)
        func lifted(_ c: Ciphertext<Word>) -> [Word] {
            var out = [Word](repeating: 0, count: 2 * poly)
            out.withUnsafeMutableBufferPointer { buffer in
                guard let base = buffer.baseAddress else { return }
                for (p, polynomial) in c.polynomials.enumerated() {
                    polynomial.words.withUnsafeBufferPointer { source in
                        guard let source = source.baseAddress else { return }
                        products.lift(source, base + p * poly, scratch: &scratch)
                        (base + p * poly).update(from: source, count: levels * n)
                    }
                    for row in 0..<levels { Word.forward(base + p * poly + row * n, ring.tables[row]) }
                }
            }
            return out
        }
        let x = lifted(a)
        let y = lifted(b)
        let tensorPoly = products.rows * n
        var tensor = [Word](repeating: 0, count: 3 * tensorPoly)
        var out = [Word](repeating: 0, count: 3 * levels * n)
        products.tensorSum(x, y, stride: 2 * poly, count: 1, &tensor)
        tensor.withUnsafeMutableBufferPointer { t in
            out.withUnsafeMutableBufferPointer { o in
                guard let t = t.baseAddress, let o = o.baseAddress else { return }
                for p in 0..<3 { products.scaleDown(t + p * tensorPoly, o + p * levels * n, scratch: &scratch) }
            }
        }
        return Ciphertext(
            (0..<3).map { Polynomial(words: Array(out[($0 * levels * n)..<(($0 + 1) * levels * n)]), degree: n) })
    }

    /// One modulus less (bfv.md 9.2). At level 1 nothing changes.
    public func modSwitchDown(_ a: Ciphertext<Word>) -> Ciphertext<Word> {
        a.level <= 1 ? a : Ciphertext(a.polynomials.map { ring.divideByLast($0) })
    }

    /// Down to the first modulus, the level of replies.
    public func modSwitchDownToSingle(_ a: Ciphertext<Word>) -> Ciphertext<Word> {
        var out = a
        while out.level > 1 { out = modSwitchDown(out) }
        return out
    }
}
