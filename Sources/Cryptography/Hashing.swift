// SHA-256 by libcrypto.

import COpenSSL

/// What libcrypto refused to do.
public enum CryptographyError: Error, Sendable, Equatable {
    /// The named operation failed inside libcrypto.
    case libraryFailure(String)
    /// A seed or key has another length than the operation needs.
    case badLength(expected: Int, got: Int)
    /// A ciphertext does not belong to the key, the nonce and the data that go with it.
    case openingFailed
    /// A public key with which every shared secret is zero.
    case lowOrderPoint
}

/// SHA-256 digests. One value holds one libcrypto context and may be used again and again; not shared between threads.
public struct SHA256: ~Copyable {
    /// EVP_MD handles are immutable and live as long as the process.
    private struct Algorithm: @unchecked Sendable {
        let handle: OpaquePointer?
        static let sha256 = Algorithm(handle: EVP_MD_fetch(nil, "SHA256", nil))
    }

    private let context: OpaquePointer?

    /// A hasher at its beginning.
    public init() {
        context = EVP_MD_CTX_new()
        restart()
    }

    deinit { EVP_MD_CTX_free(context) }

    private func restart() { _ = EVP_DigestInit_ex2(context, Algorithm.sha256.handle, nil) }

    /// Adds bytes.
    public mutating func update(_ bytes: some Sequence<UInt8>) {
        let done: Void? = bytes.withContiguousStorageIfAvailable { buffer in
            if buffer.count > 0 { _ = EVP_DigestUpdate(context, buffer.baseAddress, buffer.count) }
        }
        if done == nil { update(Array(bytes)) }
    }

    /// Adds the bytes of a buffer.
    public mutating func update(buffer: UnsafeRawBufferPointer) {
        if buffer.count > 0 { _ = EVP_DigestUpdate(context, buffer.baseAddress, buffer.count) }
    }

    /// The 32 bytes of the digest; starts over.
    public mutating func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        _ = digest.withUnsafeMutableBufferPointer { EVP_DigestFinal_ex(context, $0.baseAddress, &length) }
        restart()
        return digest
    }

    /// The first eight bytes of the digest of `bytes`, as a little-endian number; starts over.
    public mutating func firstWord(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        update(buffer: bytes)
        return withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { out in
            var length: UInt32 = 0
            _ = EVP_DigestFinal_ex(context, out.bindMemory(to: UInt8.self).baseAddress, &length)
            restart()
            return UInt64(littleEndian: out.load(as: UInt64.self))
        }
    }

    /// Digest of one message.
    public static func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var hasher = SHA256()
        hasher.update(bytes)
        return hasher.finish()
    }
}
