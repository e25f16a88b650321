// Diffie-Hellman on Curve25519 (RFC 7748), by libcrypto.

import COpenSSL
import Synchronization

/// A private key with its public key. Copies share one key object of libcrypto, which erases it when the last copy goes.
public struct X25519PrivateKey: Sendable {
    /// Bytes of a private key, of a public key and of a shared secret.
    public static let length = 32

    /// Never changes once it is made.
    private final class Handle: @unchecked Sendable {
        let key: OpaquePointer
        /// Ready to agree with anyone; only ever copied from, which takes less than to make another one.
        let agreement: OpaquePointer?

        init(_ key: OpaquePointer) {
            self.key = key
            let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
            if EVP_PKEY_derive_init(context) == 1 {
                agreement = context
            } else {
                EVP_PKEY_CTX_free(context)
                agreement = nil
            }
        }

        deinit {
            EVP_PKEY_CTX_free(agreement)
            EVP_PKEY_free(key)
        }
    }

    /// Objects for public keys that were used before: other bytes in one of them take a quarter of the time of another object,
    /// for which the library goes through the names of all algorithms.
    private enum PublicKeys {
        private struct Kept: @unchecked Sendable {
            var keys: [OpaquePointer] = []
        }

        private static let kept = Mutex(Kept())
        /// As many as threads will use at a time.
        private static let most = 64

        static func take(_ bytes: [UInt8]) -> OpaquePointer? {
            guard let key = kept.withLock({ $0.keys.popLast() }) else {
                return EVP_PKEY_new_raw_public_key_ex(nil, "X25519", nil, bytes, bytes.count)
            }
            guard EVP_PKEY_set1_encoded_public_key(key, bytes, bytes.count) == 1 else {
                EVP_PKEY_free(key)
                return nil
            }
            return key
        }

        static func giveBack(_ key: OpaquePointer) {
            let isKept = kept.withLock { kept in
                guard kept.keys.count < most else { return false }
                kept.keys.append(key)
                return true
            }
            if !isKept { EVP_PKEY_free(key) }
        }
    }

    /// The public key, 32 bytes.
    public let publicKey: [UInt8]
    private let handle: Handle

    private init(_ handle: Handle) throws(CryptographyError) {
        var bytes = [UInt8](repeating: 0, count: Self.length)
        var count = bytes.count
        guard EVP_PKEY_get_raw_public_key(handle.key, &bytes, &count) == 1, count == Self.length else {
            ERR_clear_error()
            throw .libraryFailure("EVP_PKEY_get_raw_public_key")
        }
        publicKey = bytes
        self.handle = handle
    }

    /// A new key.
    ///
    /// Throws `CryptographyError.libraryFailure`.
    public static func generate() throws(CryptographyError) -> X25519PrivateKey {
        try X25519PrivateKey(rawBytes: .random(count: length))
    }

    /// A key from its 32 bytes; any will do (RFC 7748 5).
    ///
    /// Throws `CryptographyError.badLength`, `.libraryFailure`.
    public init(rawBytes: SecretBytes) throws(CryptographyError) {
        guard rawBytes.count == Self.length else { throw .badLength(expected: Self.length, got: rawBytes.count) }
        let key = rawBytes.withBytes { bytes in
            EVP_PKEY_new_raw_private_key_ex(nil, "X25519", nil, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        }
        guard let key else {
            ERR_clear_error()
            throw .libraryFailure("EVP_PKEY_new_raw_private_key_ex")
        }
        try self.init(Handle(key))
    }

    /// The key's 32 bytes.
    ///
    /// Throws `CryptographyError.libraryFailure`.
    public func rawBytes() throws(CryptographyError) -> SecretBytes {
        var count = Self.length
        var status: Int32 = 0
        let bytes = SecretBytes(count: Self.length) { out in
            status = EVP_PKEY_get_raw_private_key(handle.key, out.bindMemory(to: UInt8.self).baseAddress, &count)
        }
        guard status == 1, count == Self.length else {
            ERR_clear_error()
            throw .libraryFailure("EVP_PKEY_get_raw_private_key")
        }
        return bytes
    }

    /// The secret that this key shares with the owner of a public key, 32 bytes.
    ///
    /// Throws `CryptographyError.badLength` for a public key of another length, `.lowOrderPoint` for one with which the secret
    /// would be zero whoever computes it (RFC 7748 6.1), `.libraryFailure`.
    public func sharedSecret(with publicKey: some Collection<UInt8>) throws(CryptographyError) -> SecretBytes {
        let bytes = Array(publicKey)
        guard bytes.count == Self.length else { throw .badLength(expected: Self.length, got: bytes.count) }
        defer { ERR_clear_error() }
        guard let peer = PublicKeys.take(bytes) else { throw .libraryFailure("EVP_PKEY_set1_encoded_public_key") }
        // Given back when the context has forgotten it.
        defer { PublicKeys.giveBack(peer) }
        guard let template = handle.agreement, let context = EVP_PKEY_CTX_dup(template) else {
            throw .libraryFailure("EVP_PKEY_CTX_dup")
        }
        defer { EVP_PKEY_CTX_free(context) }
        // There is nothing to validate: any 32 bytes are a public key, and a secret of zeros is refused below.
        guard EVP_PKEY_derive_set_peer_ex(context, peer, 0) == 1 else {
            throw .libraryFailure("EVP_PKEY_derive_set_peer_ex")
        }
        var isDone = false
        let secret = SecretBytes(count: Self.length) { out in
            var count = out.count
            isDone =
                EVP_PKEY_derive(context, out.bindMemory(to: UInt8.self).baseAddress, &count) == 1 && count == out.count
                && out.reduce(0, |) != 0
        }
        guard isDone else { throw .lowOrderPoint }
        return secret
    }
}
