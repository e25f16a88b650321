// Uniform polynomials from a seed, exactly as the wire needs, and small secret ones (spec bfv.md 4).

import Cryptography
import RingMath

/// Where secrets and errors come from.
public protocol RandomSource {
    /// The next `count` bytes.
    mutating func next(_ count: Int) throws -> [UInt8]
}

/// The operating system's generator, for everything but tests.
public struct SystemRandomSource: RandomSource, Sendable {
    /// Nothing to set up.
    public init() {}
    /// See `RandomSource`.
    public mutating func next(_ count: Int) throws -> [UInt8] { try secureRandomBytes(count) }
}

/// The stream of a seed, so that tests can repeat a run. Never for real secrets.
public final class SeededRandomSource: RandomSource {
    private var stream: SeedStream
    /// Throws `CryptographyError.badLength` unless the seed has 32 bytes.
    public init(seed: [UInt8]) throws { stream = try SeedStream(seed: seed) }
    /// See `RandomSource`.
    public func next(_ count: Int) throws -> [UInt8] { try stream.next(count) }
}

extension BFVContext {
    /// The uniform polynomial behind a ciphertext seed over the first `rows` moduli, in Eval form (bfv.md 4.3).
    ///
    /// Throws `CryptographyError.badLength` unless the seed has 32 bytes.
    public func uniform(seed: [UInt8], rows: Int) throws -> Polynomial<Word, Evaluation> {
        var words = [Word](repeating: 0, count: rows * degree)
        try words.withUnsafeMutableBufferPointer { out in
            guard let base = out.baseAddress else { return }
            var stream = try SeedStream(seed: seed)
            let moduli = ring.moduli
            var i = 0
            while i < out.count {
                try stream.nextRequest { bytes in
                    let draws = min(SeedStream.requestBytes / 16, out.count - i)
                    var k = 0
                    while k < draws {
                        // One row at a time, so that the modulus stays in registers.
                        let row = (i + k) / degree
                        let end = min(draws, (row + 1) * degree - i)
                        Self.reduce(bytes, k..<end, moduli[row], into: base + i)
                        k = end
                    }
                    i += draws
                }
            }
        }
        return Polynomial(words: words, degree: degree)
    }
}

extension BFVContext {
    /// Draws of 16 bytes, little-endian, reduced.
    @_specialize(where Word == UInt32)
    @_specialize(where Word == UInt64)
    private static func reduce(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ modulus: Modulus<Word>, into out: UnsafeMutablePointer<Word>
    ) {
        for k in range {
            let low = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16 * k, as: UInt64.self))
            let high = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16 * k + 8, as: UInt64.self))
            out[k] = modulus.reduce(high: high, low: low)
        }
    }
}

/// Coefficients −1, 0, 1, uniform (bfv.md 4.4).
public func ternary(_ count: Int, from source: inout some RandomSource) throws -> [Int] {
    let bytes = try source.next(12 * count)
    return (0..<count).map { i in
        let at = 12 * i
        var x: UInt64 = 0
        for k in 0..<8 { x |= UInt64(bytes[at + k]) << UInt64(8 * k) }
        var y: UInt64 = 0
        for k in 0..<4 { y |= UInt64(bytes[at + 8 + k]) << UInt64(8 * k) }
        // 2^32 is 1 modulo 3.
        return Int((x % 3 + y % 3) % 3) - 1
    }
}

/// Centered binomial coefficients of standard deviation 3.24 (bfv.md 4.4).
public func centeredBinomial(_ count: Int, from source: inout some RandomSource) throws -> [Int] {
    let bytes = try source.next(16 * count)
    let mask: UInt64 = 0x1f_ffff
    return (0..<count).map { i in
        var x: UInt64 = 0
        var y: UInt64 = 0
        for k in 0..<8 {
            x |= UInt64(bytes[16 * i + k]) << UInt64(8 * k)
            y |= UInt64(bytes[16 * i + 8 + k]) << UInt64(8 * k)
        }
        return (x & mask).nonzeroBitCount - (y & mask).nonzeroBitCount
    }
}
