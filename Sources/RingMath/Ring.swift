// A ring Z[X]/(X^N + 1) modulo several primes, and its polynomials (spec bfv.md 2, 7, 9.1).

/// Marks a polynomial that holds coefficients.
public enum Coefficient: Sendable {}
/// Marks a polynomial that holds values of the negacyclic transform, in bit-reversed order.
public enum Evaluation: Sendable {}

/// An element of the ring: rows of residues, one row for each modulus, in the order of the moduli.
///
/// `Form` says whether the rows are coefficients or values; bytes do not say it (bfv.md 11.6).
public struct Polynomial<Word: ResidueWord, Form: Sendable>: Sendable, Equatable {
    /// `rows·degree` residues, row after row.
    public var words: [Word]
    /// Residues in a row.
    public let degree: Int

    /// Number of moduli.
    public var rows: Int { words.count / degree }

    /// Takes rows as they are; `words.count` is a multiple of `degree`.
    public init(words: [Word], degree: Int) {
        self.words = words
        self.degree = degree
    }

    /// Zero.
    public init(rows: Int, degree: Int) { self.init(words: [Word](repeating: 0, count: rows * degree), degree: degree) }

    /// One residue.
    public subscript(row: Int, index: Int) -> Word {
        get { words[row * degree + index] }
        set { words[row * degree + index] = newValue }
    }

    /// The first `count` rows.
    public func prefix(rows count: Int) -> Self { Self(words: Array(words.prefix(count * degree)), degree: degree) }
}

/// Moduli with their transforms. A polynomial's row i belongs to modulus i unless a method takes `moduli`.
public final class Ring<Word: ResidueWord>: Sendable {
    /// N.
    public let degree: Int
    /// Moduli in row order.
    public let moduli: [Modulus<Word>]
    /// Transform of each modulus.
    public let tables: [NTTTable<Word>]

    /// Throws `RingError` if a modulus does not suit the degree.
    public init(degree: Int, moduli: [UInt64]) throws {
        self.degree = degree
        self.moduli = try moduli.map { try Modulus($0) }
        tables = try self.moduli.map { try NTTTable(degree: degree, modulus: $0) }
    }

    /// The indices of all moduli of a polynomial whose rows start at modulus 0.
    private func range(_ rows: Int) -> [Int] { Array(0..<rows) }

    /// Forward transform. `moduli` tells the modulus of each row if they are not the first ones.
    public func forward(
        _ p: consuming Polynomial<Word, Coefficient>, moduli indices: [Int]? = nil
    ) -> Polynomial<Word, Evaluation> {
        var words = p.words
        let indices = indices ?? range(p.rows)
        words.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            for (row, m) in indices.enumerated() { Word.forward(base + row * degree, tables[m]) }
        }
        return Polynomial(words: words, degree: degree)
    }

    /// Inverse transform.
    public func inverse(
        _ p: consuming Polynomial<Word, Evaluation>, moduli indices: [Int]? = nil
    ) -> Polynomial<Word, Coefficient> {
        var words = p.words
        let indices = indices ?? range(p.rows)
        words.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            for (row, m) in indices.enumerated() { Word.inverse(base + row * degree, tables[m]) }
        }
        return Polynomial(words: words, degree: degree)
    }

    /// Residue by residue with the modulus of its row.
    private func map<Form>(
        _ a: Polynomial<Word, Form>, _ b: Polynomial<Word, Form>, _ body: (Modulus<Word>, Word, Word) -> Word
    ) -> Polynomial<Word, Form> {
        var out = a
        for row in 0..<a.rows {
            let m = moduli[row]
            for i in (row * degree)..<((row + 1) * degree) { out.words[i] = body(m, a.words[i], b.words[i]) }
        }
        return out
    }

    /// Sum; operands of equal rows.
    public func add<Form>(_ a: Polynomial<Word, Form>, _ b: Polynomial<Word, Form>) -> Polynomial<Word, Form> {
        map(a, b) { $0.add($1, $2) }
    }

    /// Difference; operands of equal rows.
    public func subtract<Form>(_ a: Polynomial<Word, Form>, _ b: Polynomial<Word, Form>) -> Polynomial<Word, Form> {
        map(a, b) { $0.subtract($1, $2) }
    }

    /// Negative.
    public func negate<Form>(_ a: Polynomial<Word, Form>) -> Polynomial<Word, Form> { map(a, a) { m, x, _ in m.negate(x) } }

    /// Product in the ring, value by value.
    public func multiply(
        _ a: Polynomial<Word, Evaluation>, _ b: Polynomial<Word, Evaluation>
    ) -> Polynomial<Word, Evaluation> {
        map(a, b) { $0.multiply($1, $2) }
    }

    /// Signed integer coefficients written into every row.
    public func polynomial(signed coefficients: [Int], rows: Int) -> Polynomial<Word, Coefficient> {
        var out = Polynomial<Word, Coefficient>(rows: rows, degree: degree)
        for row in 0..<rows {
            for (i, c) in coefficients.enumerated() { out[row, i] = moduli[row].reduce(signed: c) }
        }
        return out
    }

    /// `σ_g` on coefficients: coefficient j moves to `j·g mod N`, negated if `floor(j·g/N)` is odd (bfv.md 7.1).
    public func automorphism(_ p: Polynomial<Word, Coefficient>, _ element: Int) -> Polynomial<Word, Coefficient> {
        var out = p
        for row in 0..<p.rows {
            let m = moduli[row]
            for j in 0..<degree {
                let place = (j * element) & (2 * degree - 1)
                let x = p[row, j]
                if place < degree { out[row, place] = x } else { out[row, place - degree] = m.negate(x) }
            }
        }
        return out
    }

    /// `σ_g` on values: `out[i] = in[π(i)]` (bfv.md 7.2). The permutation is the same for every row.
    public static func permutation(degree: Int, element: Int) -> [UInt32] {
        let bits = degree.trailingZeroBitCount
        return (0..<degree).map { i in
            let exponent = ((2 * reverseBits(i, bits) + 1) * element) & (2 * degree - 1)
            return UInt32(reverseBits((exponent - 1) / 2, bits))
        }
    }

    /// A permutation of `permutation(degree:element:)` in the form in which kernels take it, which go through rows in the order
    /// in which they read: entry `8·b + k` is `8·d + l` if entry `8·b + l` goes to `8·d + k`. For degrees of 8 and more.
    public static func places(_ permutation: [UInt32]) -> [UInt32] {
        var places = [UInt32](repeating: 0, count: permutation.count)
        for i in permutation.indices {
            let from = permutation[i]
            places[Int(from) & ~7 | i & 7] = UInt32(i & ~7) | from & 7
        }
        return places
    }

    /// `X^power` on coefficients, any integer power (bfv.md 7.4).
    public func multiplyByMonomial(_ p: Polynomial<Word, Coefficient>, power: Int) -> Polynomial<Word, Coefficient> {
        var out = p
        for row in 0..<p.rows {
            let m = moduli[row]
            for j in 0..<degree {
                let place = (j + power) & (2 * degree - 1)
                let x = p[row, j]
                if place < degree { out[row, place] = x } else { out[row, place - degree] = m.negate(x) }
            }
        }
        return out
    }

    /// Values of `X^power` for modulus `m`: `ψ^((2·brv(i)+1)·power)` (bfv.md 7.4).
    public func monomialValues(power: Int, modulus m: Int) -> [Word] {
        let bits = degree.trailingZeroBitCount
        let mask = 2 * degree - 1
        var powers = [Word](repeating: 1, count: 2 * degree)
        for i in 1..<(2 * degree) { powers[i] = moduli[m].multiply(powers[i - 1], tables[m].root) }
        return (0..<degree).map { powers[((2 * reverseBits($0, bits) + 1) * power) & mask] }
    }

    /// Rounding division by the modulus of the last row, which is dropped (bfv.md 9.1).
    ///
    /// - `indices`: the modulus of each row, if they are not the first ones.
    public func divideByLast(
        _ p: Polynomial<Word, Coefficient>, moduli indices: [Int]? = nil
    ) -> Polynomial<Word, Coefficient> {
        let indices = indices ?? range(p.rows)
        let last = p.rows - 1
        let z = moduli[indices[last]]
        let half = z.value / 2
        var out = p.prefix(rows: last)
        for row in 0..<last {
            let m = moduli[indices[row]]
            let inverse = m.invert(z.value % m.value)
            let halfHere = half % m.value
            for i in 0..<degree {
                let shifted = z.add(p[last, i], half) % m.value
                out[row, i] = m.multiply(m.subtract(m.add(p[row, i], halfHere), shifted), inverse)
            }
        }
        return out
    }
}
