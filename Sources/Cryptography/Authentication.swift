// HMAC-SHA-256 (RFC 2104), SHA-384, and the comparison of secrets.

import COpenSSL

/// Whether two byte strings are equal, in a time that depends on their lengths only.
public func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}

/// SHA-384 digests.
public enum SHA384 {
    /// Bytes of a digest.
    public static let length = 48

    /// EVP_MD handles are immutable and live as long as the process.
    struct Algorithm: @unchecked Sendable {
        let handle: OpaquePointer?
    }

    static let algorithm = Algorithm(handle: EVP_MD_fetch(nil, "SHA384", nil))

    /// Digest of the concatenation of the pieces, 48 bytes.
    ///
    /// Throws `CryptographyError.libraryFailure`.
    public static func hash(_ pieces: [UInt8]...) throws(CryptographyError) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var digest = [UInt8](repeating: 0, count: length)
        var isDone = EVP_DigestInit_ex2(context, algorithm.handle, nil) == 1
        for piece in pieces where isDone { isDone = EVP_DigestUpdate(context, piece, piece.count) == 1 }
        guard isDone, EVP_DigestFinal_ex(context, &digest, nil) == 1 else { throw .libraryFailure("SHA-384") }
        return digest
    }
}

/// A key for HMAC-SHA-256, prepared once; copies share it, and threads may use it together.
public struct HMACSHA256: Sendable {
    /// Bytes of an authentication code.
    public static let length = 32

    private struct Algorithm: @unchecked Sendable {
        let handle: OpaquePointer?
        static let hmac = Algorithm(handle: EVP_MAC_fetch(nil, "HMAC", nil))
    }

    /// The state after the key; only ever copied from.
    private final class Keyed: @unchecked Sendable {
        let context: OpaquePointer
        init(_ context: OpaquePointer) { self.context = context }
        deinit { EVP_MAC_CTX_free(context) }
    }

    private let keyed: Keyed

    /// Prepares a key of any length.
    ///
    /// Throws `CryptographyError.libraryFailure`.
    public init(key: [UInt8]) throws(CryptographyError) {
        guard let context = EVP_MAC_CTX_new(Algorithm.hmac.handle) else { throw .libraryFailure("EVP_MAC_CTX_new") }
        keyed = Keyed(context)
        var name = Array("SHA256".utf8CString)
        // The library takes no key at all for "keep the old one": an empty key needs an address.
        let storage = key.isEmpty ? [0] : key
        let status = name.withUnsafeMutableBufferPointer { name in
            var parameters = [
                OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.baseAddress, 0), OSSL_PARAM_construct_end(),
            ]
            return EVP_MAC_init(context, storage, key.count, &parameters)
        }
        guard status == 1 else {
            ERR_clear_error()
            throw .libraryFailure("EVP_MAC_init")
        }
    }

    /// The authentication code of a message, 32 bytes.
    ///
    /// Throws `CryptographyError.libraryFailure`.
    public func code(for message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard let context = EVP_MAC_CTX_dup(keyed.context) else { throw .libraryFailure("EVP_MAC_CTX_dup") }
        defer { EVP_MAC_CTX_free(context) }
        var out = [UInt8](repeating: 0, count: Self.length)
        var length = 0
        guard EVP_MAC_update(context, message, message.count) == 1, EVP_MAC_final(context, &out, &length, out.count) == 1,
            length == Self.length
        else {
            ERR_clear_error()
            throw .libraryFailure("HMAC-SHA-256")
        }
        return out
    }
}
