// Ciphertexts and keys as bytes, and the refusal of everything that is not one (spec bfv.md 11, 13).

import RingMath

/// A ciphertext's bytes, before a message carries them (bfv.md 11.5).
public enum CiphertextBytes: Sendable, Equatable {
    /// `c_0` and the seed of `c_1`.
    case seeded(poly0: ArraySlice<UInt8>, seed: ArraySlice<UInt8>)
    /// Count and polynomials, bits dropped from each, correction factor.
    case full(polys: ArraySlice<UInt8>, skipLSBs: [UInt32], correctionFactor: UInt64)
}

extension BFVContext {
    /// Two polynomials from bytes; `Form` and rows are what the role of the object says (bfv.md 11.6).
    ///
    /// Throws `FormatError` for everything that bfv.md 13 lists.
    func readPair<Form>(
        _ bytes: CiphertextBytes, rows: Int, allowSkip: Bool, second: (Polynomial<Word, Evaluation>) -> Polynomial<Word, Form>
    ) throws -> (Polynomial<Word, Form>, Polynomial<Word, Form>, [UInt8]?) {
        switch bytes {
        case .seeded(let poly0, let seed):
            guard seed.count == 32 else { throw FormatError.length(what: "seed", expected: 32, got: seed.count) }
            let c0: Polynomial<Word, Form> = try ring.unpack(poly0, rows: rows)
            let seedBytes = Array(seed)
            return (c0, second(try uniform(seed: seedBytes, rows: rows)), seedBytes)
        case .full(let polys, let skips, let factor):
            guard factor == 1 else { throw FormatError.rule("correction factor must be 1") }
            guard skips.isEmpty || skips.count == 2 else { throw FormatError.rule("two skip_lsbs expected") }
            guard allowSkip || skips.allSatisfy({ $0 == 0 }) else { throw FormatError.rule("no bits may be dropped here") }
            let smallest = ring.moduli.prefix(rows).map(\.bits).min() ?? 0
            let skip = try (skips.isEmpty ? [0, 0] : skips).map { s -> Int in
                guard s < smallest else { throw FormatError.rule("skip_lsbs leave nothing of a residue") }
                return Int(s)
            }
            let sizes = skip.map { ring.packedBytes(rows: rows, skip: $0) }
            let expected = 2 + sizes[0] + sizes[1]
            guard polys.count == expected else { throw FormatError.length(what: "polys", expected: expected, got: polys.count) }
            let start = polys.startIndex
            guard polys[start] == 2, polys[start + 1] == 0 else { throw FormatError.rule("two polynomials expected") }
            let middle = start + 2 + sizes[0]
            return (
                try ring.unpack(polys[(start + 2)..<middle], rows: rows, skip: skip[0]),
                try ring.unpack(polys[middle...], rows: rows, skip: skip[1]), nil
            )
        }
    }

    /// A query ciphertext: Coeff form, top level, nothing dropped.
    public func readQueryCiphertext(_ bytes: CiphertextBytes) throws -> Ciphertext<Word> {
        let (c0, c1, seed) = try readPair(bytes, rows: levels, allowSkip: false) { ring.inverse($0) }
        return Ciphertext([c0, c1], seed: seed)
    }

    /// A reply ciphertext: Coeff form, level 1, low bits dropped as the message says.
    public func readReplyCiphertext(_ bytes: CiphertextBytes) throws -> Ciphertext<Word> {
        let (c0, c1, seed) = try readPair(bytes, rows: 1, allowSkip: true) { ring.inverse($0) }
        return Ciphertext([c0, c1], seed: seed)
    }

    /// A key-switching key: exactly L ciphertexts over all moduli in Eval form.
    public func readKeySwitchKey(_ ciphertexts: [CiphertextBytes]) throws -> KeySwitchKey<Word> {
        guard parameters.hasEvaluationKeys, ciphertexts.count == levels else {
            throw FormatError.length(what: "ciphertexts of a key-switching key", expected: levels, got: ciphertexts.count)
        }
        return KeySwitchKey(
            pairs: try ciphertexts.map {
                let (c0, c1, _): (Polynomial<Word, Evaluation>, Polynomial<Word, Evaluation>, [UInt8]?) =
                    try readPair($0, rows: keyRows, allowSkip: false) { $0 }
                return (c0, c1)
            })
    }

    /// Seeded where the seed is live, else full with nothing dropped.
    public func bytes(of ciphertext: Ciphertext<Word>) -> CiphertextBytes {
        if let seed = ciphertext.seed, ciphertext.polynomials.count == 2 {
            var poly0: [UInt8] = []
            ring.pack(ciphertext.polynomials[0], into: &poly0)
            return .seeded(poly0: poly0[...], seed: seed[...])
        }
        return fullBytes(of: ciphertext)
    }

    /// Full form. `skip`: bits dropped from each polynomial, none if absent.
    public func fullBytes(of ciphertext: Ciphertext<Word>, skip: [Int]? = nil) -> CiphertextBytes {
        let count = ciphertext.polynomials.count
        let skip = skip ?? [Int](repeating: 0, count: count)
        var out: [UInt8] = [UInt8(count & 0xff), UInt8(count >> 8)]
        for (p, polynomial) in ciphertext.polynomials.enumerated() { ring.pack(polynomial, skip: skip[p], into: &out) }
        return .full(polys: out[...], skipLSBs: skip.map { UInt32($0) }, correctionFactor: 1)
    }

    /// Form of a reply: level 1, two polynomials, low bits dropped (bfv.md 11.4).
    public func replyBytes(of ciphertext: Ciphertext<Word>) -> CiphertextBytes {
        let (s0, s1) = parameters.replySkipLSBs
        return fullBytes(of: ciphertext, skip: [s0, s1])
    }

    /// The L ciphertexts of a key-switching key: seeded where the seeds are known.
    public func bytes(of key: KeySwitchKey<Word>) -> [CiphertextBytes] {
        key.pairs.enumerated().map { i, pair in
            var poly0: [UInt8] = []
            ring.pack(pair.0, into: &poly0)
            if let seeds = key.seeds { return .seeded(poly0: poly0[...], seed: seeds[i][...]) }
            var out: [UInt8] = [2, 0]
            out += poly0
            ring.pack(pair.1, into: &out)
            return .full(polys: out[...], skipLSBs: [0, 0], correctionFactor: 1)
        }
    }

    /// Bytes of a secret key: count 1, all moduli, Eval form. Never leaves the client.
    public func bytes(of key: SecretKey<Word>) -> [UInt8] {
        var out: [UInt8] = [1, 0]
        ring.pack(key.polynomial, into: &out)
        return out
    }

    /// A secret key from its bytes.
    public func readSecretKey(_ bytes: ArraySlice<UInt8>) throws -> SecretKey<Word> {
        guard bytes.count >= 2, bytes[bytes.startIndex] == 1, bytes[bytes.startIndex + 1] == 0 else {
            throw FormatError.rule("one polynomial expected")
        }
        return SecretKey(try ring.unpack(bytes.dropFirst(2), rows: keyRows))
    }
}
