// Residues to bits and back, most significant bit first (spec bfv.md 3.3, 11.1 – 11.3).

import RingMath

/// Bytes that are not what the format says (bfv.md 13). Texts name sizes and places, never contents.
public enum FormatError: Error, Sendable, Equatable {
    /// A field has another length than its parameters imply.
    case length(what: String, expected: Int, got: Int)
    /// A residue is not below its modulus.
    case residueTooLarge(row: Int)
    /// Any other rule of bfv.md 13, named in the text.
    case rule(String)
}

/// Bytes that `count` residues of `bits` bits take.
public func packedBytes(count: Int, bits: Int) -> Int { (count * bits + 7) / 8 }

/// Appends residues with `bits` bits each, without their lowest `skip` bits.
@_specialize(where Word == UInt32)
@_specialize(where Word == UInt64)
public func pack<Word: ResidueWord>(_ residues: ArraySlice<Word>, bits: Int, skip: Int, into out: inout [UInt8]) {
    var accumulator: UInt64 = 0
    var filled = 0
    let width = bits - skip
    for r in residues {
        let value = UInt64(r) >> UInt64(skip)
        var left = width
        while left > 0 {
            let take = min(left, 56 - filled)
            left -= take
            accumulator = accumulator << UInt64(take) | ((value >> UInt64(left)) & ((1 << UInt64(take)) - 1))
            filled += take
            while filled >= 8 {
                filled -= 8
                out.append(UInt8(truncatingIfNeeded: accumulator >> UInt64(filled)))
            }
        }
    }
    if filled > 0 { out.append(UInt8(truncatingIfNeeded: accumulator << UInt64(8 - filled))) }
}

/// Reads `count` residues of `bits` bits whose lowest `skip` bits were left out; those come back as zeros.
///
/// Throws `FormatError.length` unless the bytes are exactly as many as needed.
@_specialize(where Word == UInt32)
@_specialize(where Word == UInt64)
public func unpack<Word: ResidueWord>(
    _ bytes: ArraySlice<UInt8>, count: Int, bits: Int, skip: Int, as: Word.Type = Word.self
) throws -> [Word] {
    let width = bits - skip
    guard width >= 1, width <= 62 else { throw FormatError.rule("dropped bits leave nothing of a residue") }
    let expected = packedBytes(count: count, bits: width)
    guard bytes.count == expected else { throw FormatError.length(what: "residues", expected: expected, got: bytes.count) }
    return bytes.withUnsafeBytes { source in
        [Word](unsafeUninitializedCapacity: count) { out, initialized in
            let mask = (UInt64(1) << UInt64(width)) - 1
            var position = 0
            for i in 0..<count {
                let byte = position >> 3
                let offset = position & 7
                var window: UInt64 = 0
                var extra: UInt64 = 0
                if byte + 9 <= source.count {
                    window = UInt64(bigEndian: source.loadUnaligned(fromByteOffset: byte, as: UInt64.self))
                    extra = UInt64(source[byte + 8])
                } else {
                    for k in 0..<8 { window = window << 8 | (byte + k < source.count ? UInt64(source[byte + k]) : 0) }
                    extra = byte + 8 < source.count ? UInt64(source[byte + 8]) : 0
                }
                let aligned = offset == 0 ? window : window << UInt64(offset) | extra >> UInt64(8 - offset)
                let value = (aligned >> UInt64(64 - width)) & mask
                out[i] = Word(truncatingIfNeeded: value << UInt64(skip))
                position += width
            }
            initialized = count
        }
    }
}

/// Whether every residue is below the modulus.
@_specialize(where Word == UInt32)
@_specialize(where Word == UInt64)
func allBelow<Word: ResidueWord>(_ residues: [Word], _ modulus: Word) -> Bool {
    var greatest: Word = 0
    for r in residues { greatest = max(greatest, r) }
    return greatest < modulus
}

/// Payload bytes to plaintext coefficients of `bits` bits; the last one is padded on the right (bfv.md 3.3).
@_specialize(where Word == UInt32)
@_specialize(where Word == UInt64)
public func coefficients<Word: ResidueWord>(of bytes: [UInt8], bits: Int) -> [Word] {
    var out: [Word] = []
    out.reserveCapacity((bytes.count * 8 + bits - 1) / bits)
    var accumulator: UInt64 = 0
    var filled = 0
    let mask = (UInt64(1) << UInt64(bits)) - 1
    for byte in bytes {
        accumulator = accumulator << 8 | UInt64(byte)
        filled += 8
        while filled >= bits {
            filled -= bits
            out.append(Word(truncatingIfNeeded: (accumulator >> UInt64(filled)) & mask))
        }
    }
    if filled > 0 { out.append(Word(truncatingIfNeeded: (accumulator << UInt64(bits - filled)) & mask)) }
    return out
}

/// Plaintext coefficients to payload bytes: the inverse of `coefficients`, over all of them.
///
/// Throws `FormatError.rule` if a coefficient does not fit, which after decryption means that the noise budget ran out.
@_specialize(where Word == UInt32)
@_specialize(where Word == UInt64)
public func payload<Word: ResidueWord>(of coefficients: [Word], bits: Int) throws -> [UInt8] {
    guard coefficients.allSatisfy({ UInt64($0) >> UInt64(bits) == 0 }) else {
        throw FormatError.rule("a decrypted coefficient is outside the payload range")
    }
    var out: [UInt8] = []
    out.reserveCapacity(packedBytes(count: coefficients.count, bits: bits))
    pack(coefficients[...], bits: bits, skip: 0, into: &out)
    return out
}

extension Ring {
    /// Bytes of one polynomial with the first `rows` moduli and `skip` bits dropped (bfv.md 11.2).
    public func packedBytes(rows: Int, skip: Int = 0) -> Int {
        moduli.prefix(rows).reduce(0) { $0 + BFV.packedBytes(count: degree, bits: $1.bits - skip) }
    }

    /// Appends a polynomial, row by row (bfv.md 11.2).
    public func pack<Form>(_ p: Polynomial<Word, Form>, skip: Int = 0, into out: inout [UInt8]) {
        for row in 0..<p.rows {
            BFV.pack(p.words[(row * degree)..<((row + 1) * degree)], bits: moduli[row].bits, skip: skip, into: &out)
        }
    }

    /// Reads a polynomial with the first `rows` moduli; throws `FormatError` for a wrong length or an unreduced residue.
    public func unpack<Form>(
        _ bytes: ArraySlice<UInt8>, rows: Int, skip: Int = 0, as: Form.Type = Form.self
    ) throws -> Polynomial<Word, Form> {
        let expected = packedBytes(rows: rows, skip: skip)
        guard bytes.count == expected else {
            throw FormatError.length(what: "polynomial", expected: expected, got: bytes.count)
        }
        var words: [Word] = []
        words.reserveCapacity(rows * degree)
        var start = bytes.startIndex
        for row in 0..<rows {
            let m = moduli[row]
            guard skip < m.bits else { throw FormatError.rule("dropped bits leave nothing of a residue") }
            let end = start + BFV.packedBytes(count: degree, bits: m.bits - skip)
            let part: [Word] = try BFV.unpack(bytes[start..<end], count: degree, bits: m.bits, skip: skip)
            guard allBelow(part, m.value) else { throw FormatError.residueTooLarge(row: row) }
            words += part
            start = end
        }
        return Polynomial(words: words, degree: degree)
    }
}
