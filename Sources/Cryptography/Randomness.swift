// Random bytes: from the operating system, and the deterministic generator behind ciphertext seeds
// (NIST SP 800-90A CTR_DRBG with AES-128 and no derivation function; spec bfv.md 4.1, 4.2).

import COpenSSL

/// Random bytes from libcrypto's generator, which the operating system seeds.
///
/// Throws `CryptographyError.libraryFailure` if the generator refuses.
public func secureRandomBytes(_ count: Int) throws -> [UInt8] {
    var out = [UInt8](repeating: 0, count: count)
    let status = out.withUnsafeMutableBufferPointer { RAND_bytes($0.baseAddress, Int32($0.count)) }
    guard status == 1 || count == 0 else { throw CryptographyError.libraryFailure("RAND_bytes") }
    return out
}

/// Random bytes from the operating system itself: for a nonce, where libcrypto's generator takes longer than what is done with it.
public func systemRandomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    var out: [UInt8] = []
    out.reserveCapacity(count + 8)
    while out.count < count { withUnsafeBytes(of: generator.next()) { out.append(contentsOf: $0) } }
    out.removeLast(out.count - count)
    return out
}

/// The infinite byte stream of a 32-byte seed: requests of 4096 bytes, one after the other (bfv.md 4.2).
public struct SeedStream: ~Copyable {
    /// Bytes of a request.
    public static let requestBytes = 4096
    private struct Cipher: @unchecked Sendable {
        let handle: OpaquePointer?
        static let ctr = Cipher(handle: EVP_CIPHER_fetch(nil, "AES-128-CTR", nil))
    }

    /// Frees the libcrypto context when the stream goes.
    private final class Context {
        let handle = EVP_CIPHER_CTX_new()
        deinit { EVP_CIPHER_CTX_free(handle) }
    }

    private let holder = Context()
    private var context: OpaquePointer? { holder.handle }
    /// K and V of the generator; tests set them to reach the carries of the counter.
    var key = [UInt8](repeating: 0, count: 16)
    var counter = [UInt8](repeating: 0, count: 16)
    private var buffer = [UInt8](repeating: 0, count: requestBytes)
    private var position = requestBytes
    private static let zeros = [UInt8](repeating: 0, count: requestBytes)

    /// Throws `CryptographyError.badLength` unless the seed has 32 bytes.
    public init(seed: [UInt8]) throws {
        guard seed.count == 32 else { throw CryptographyError.badLength(expected: 32, got: seed.count) }
        guard holder.handle != nil else { throw CryptographyError.libraryFailure("EVP_CIPHER_CTX_new") }
        try update(seed)
    }

    /// Adds to the counter, modulo 2^128, big-endian.
    private mutating func advance(_ blocks: Int) {
        var carry = blocks
        var i = 15
        while carry > 0, i >= 0 {
            let sum = Int(counter[i]) + (carry & 0xff)
            counter[i] = UInt8(sum & 0xff)
            carry = (carry >> 8) + (sum >> 8)
            i -= 1
        }
    }

    /// `E(K, V+1) ‖ E(K, V+2) ‖ …` into the first `count` bytes of `out`, at most `requestBytes`; V advances by the
    /// blocks used.
    mutating func keystream(_ out: inout [UInt8], _ count: Int) throws {
        advance(1)
        guard EVP_EncryptInit_ex2(context, Cipher.ctr.handle, key, counter, nil) == 1 else {
            throw CryptographyError.libraryFailure("AES-128-CTR")
        }
        var written: Int32 = 0
        let status = out.withUnsafeMutableBufferPointer {
            EVP_EncryptUpdate(context, $0.baseAddress, &written, Self.zeros, Int32(count))
        }
        guard status == 1, Int(written) == count else { throw CryptographyError.libraryFailure("AES-128-CTR") }
        advance((count + 15) / 16 - 1)
    }

    /// `update(d)` of the generator.
    mutating func update(_ data: [UInt8]) throws {
        var x = [UInt8](repeating: 0, count: 32)
        try keystream(&x, 32)
        for i in 0..<16 {
            key[i] = x[i] ^ data[i]
            counter[i] = x[16 + i] ^ data[16 + i]
        }
    }

    /// The next 4096 bytes, for consumers that read whole requests; not to be mixed with `next`.
    public mutating func nextRequest(_ body: (UnsafeRawBufferPointer) -> Void) throws {
        try refill()
        position = buffer.count
        buffer.withUnsafeBytes(body)
    }

    private mutating func refill() throws {
        var out: [UInt8] = []
        swap(&out, &buffer)
        try keystream(&out, Self.requestBytes)
        swap(&out, &buffer)
        try update([UInt8](repeating: 0, count: 32))
        position = 0
    }

    /// The next bytes of the stream.
    public mutating func next(_ count: Int) throws -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(count)
        while out.count < count {
            if position == buffer.count { try refill() }
            let take = min(count - out.count, buffer.count - position)
            out.append(contentsOf: buffer[position..<(position + take)])
            position += take
        }
        return out
    }
}
