// RSA private keys for blind signatures: creation, PKCS#8 files, and the private operation (RFC 9474 4.3; service.md 2.2, 2.9.1).

import COpenSSL

/// An RSA private key. Copies share one key object of libcrypto, which erases its numbers when the last copy goes.
public struct RSAPrivateKey: Sendable {
    /// Rounds of PBKDF2 (with HMAC-SHA-256) when a key is encrypted: some tens of milliseconds for each key at start.
    static let keyDerivationRounds: Int32 = 200_000
    /// A PEM text of the largest supported key has about 6.5 KiB.
    static let longestPEM = 32 * 1024

    /// The public half.
    public let publicKey: RSAPublicKey
    private let handle: RSAKeyHandle

    /// Takes over a key object and looks at its numbers.
    private init(_ handle: RSAKeyHandle, isChecked: Bool = true) throws(RSAError) {
        guard EVP_PKEY_is_a(handle.key, "RSA") == 1 else { throw .notAnRSAKey }
        guard let n = handle.number(.modulus), let e = handle.number(.exponent) else {
            throw .libraryFailure("EVP_PKEY_get_bn_param")
        }
        // Before the check, whose time grows with the size.
        publicKey = try RSAPublicKey(modulus: n.bytes, exponent: e.bytes)
        self.handle = handle
        if isChecked, !Self.isConsistent(handle) { throw .keyCheckFailed }
    }

    private static func isConsistent(_ handle: RSAKeyHandle) -> Bool {
        defer { ERR_clear_error() }
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, handle.key, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        return EVP_PKEY_check(context) == 1
    }

    /// A new key: 2048 bits, public exponent 65537. Takes some tenths of a second.
    ///
    /// Throws `RSAError.libraryFailure`.
    public static func generate() throws(RSAError) -> RSAPrivateKey {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { throw .libraryFailure("EVP_PKEY_CTX_new") }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else {
            ERR_clear_error()
            throw .libraryFailure("EVP_PKEY_generate")
        }
        return try RSAPrivateKey(RSAKeyHandle(taking: key))
    }

    /// A key from its numbers, big-endian; for test vectors. `isChecked: false` allows a key that signs wrongly.
    init(
        modulus: [UInt8], exponent: [UInt8], privateExponent: [UInt8], prime1: [UInt8], prime2: [UInt8], isChecked: Bool = true
    ) throws(RSAError) {
        guard let scratch = BigNumberScratch(), let n = BigNumber(modulus), let e = BigNumber(exponent),
            let d = BigNumber(privateExponent), let p = BigNumber(prime1), let q = BigNumber(prime2),
            let dp = scratch.remainder(d, byOneLessThan: p), let dq = scratch.remainder(d, byOneLessThan: q),
            let coefficient = scratch.inverse(q, modulo: p)
        else { throw .keyCheckFailed }
        let numbers: [(RSAKeyHandle.Number, BigNumber)] = [
            (.modulus, n), (.exponent, e), (.privateExponent, d),
            (.prime1, p), (.prime2, q), (.exponent1, dp),
            (.exponent2, dq), (.coefficient, coefficient),
        ]
        guard let handle = RSAKeyHandle.make(numbers, isPrivate: true) else { throw .libraryFailure("EVP_PKEY_fromdata") }
        try self.init(handle, isChecked: isChecked)
    }

    /// `m^d mod n`, without padding, checked by the public operation before it is released (RFC 9474 4.3).
    ///
    /// The message has as many bytes as the modulus. Throws `RSAError.wrongLength` and `.notBelowModulus` for a bad message,
    /// `.signingFailed` and `.signatureCheckFailed` for a faulty key or machine: do not use the key again then.
    public func rawSign(_ message: [UInt8]) throws(RSAError) -> [UInt8] {
        guard message.count == publicKey.modulus.count else {
            throw .wrongLength(expected: publicKey.modulus.count, got: message.count)
        }
        guard publicKey.isBelowModulus(message) else { throw .notBelowModulus }
        guard let signature = handle.rawSign(message) else { throw .signingFailed }
        guard let back = publicKey.handle.rawPublic(signature), constantTimeEqual(back, message) else {
            throw .signatureCheckFailed
        }
        return signature
    }
}

// MARK: - PKCS#8 in PEM

extension RSAPrivateKey {
    /// Reads PKCS#8 in PEM (RFC 5958, RFC 7468), encrypted or not, and runs the library's check of the key. Never asks a
    /// terminal for a passphrase.
    ///
    /// Throws `RSAError`: `.notAPrivateKey`, `.notAnRSAKey` (also for keys restricted to RSASSA-PSS), `.passphraseNeeded`,
    /// `.wrongPassphrase`, `.unsupportedModulus`, `.unsupportedExponent`, `.keyCheckFailed`.
    public init(pem: String, passphrase: [UInt8]? = nil) throws(RSAError) {
        defer { ERR_clear_error() }
        let info = try Self.privateKeyInfo(pem: pem, passphrase: passphrase)
        defer { PKCS8_PRIV_KEY_INFO_free(info) }
        guard let key = EVP_PKCS82PKEY(info) else { throw .notAPrivateKey }
        try self.init(RSAKeyHandle(taking: key))
    }

    /// The key as PKCS#8 in PEM. With a passphrase it is encrypted: PBES2 with AES-256-CBC, and PBKDF2 with HMAC-SHA-256 and
    /// 200,000 rounds.
    ///
    /// Throws `RSAError.libraryFailure`.
    public func pem(passphrase: [UInt8]? = nil) throws(RSAError) -> String {
        defer { ERR_clear_error() }
        guard let info = EVP_PKEY2PKCS8(handle.key) else { throw .libraryFailure("EVP_PKEY2PKCS8") }
        defer { PKCS8_PRIV_KEY_INFO_free(info) }
        guard let output = BIO_new(BIO_s_secmem()) else { throw .libraryFailure("BIO_new") }
        defer { BIO_free(output) }
        if let passphrase {
            guard
                let sealed = passphrase.withUnsafeBytes({ bytes in
                    PKCS8_encrypt(
                        -1, EVP_aes_256_cbc(), Self.characters(of: bytes), Int32(clamping: bytes.count), nil, 0,
                        Self.keyDerivationRounds,
                        info)
                })
            else { throw .libraryFailure("PKCS8_encrypt") }
            defer { X509_SIG_free(sealed) }
            guard PEM_write_bio_PKCS8(output, sealed) == 1 else { throw .libraryFailure("PEM_write_bio_PKCS8") }
        } else {
            guard PEM_write_bio_PKCS8_PRIV_KEY_INFO(output, info) == 1 else {
                throw .libraryFailure("PEM_write_bio_PKCS8_PRIV_KEY_INFO")
            }
        }
        var text = [UInt8](repeating: 0, count: Self.longestPEM)
        defer { text.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        let length = BIO_read(output, &text, Int32(text.count))
        guard length > 0, Int(length) < text.count else { throw .libraryFailure("BIO_read") }
        return String(decoding: text[..<Int(length)], as: UTF8.self)
    }

    /// The opened content of the first PEM block.
    private static func privateKeyInfo(pem: String, passphrase: [UInt8]?) throws(RSAError) -> OpaquePointer {
        var text = Array(pem.utf8)
        defer { text.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        // A copy, which the library erases: a BIO over the array's own memory would need that to stay where it is.
        guard !text.isEmpty, text.count <= longestPEM, let input = BIO_new(BIO_s_secmem()) else { throw .notAPrivateKey }
        defer { BIO_free(input) }
        guard BIO_write(input, text, Int32(text.count)) == text.count else { throw .libraryFailure("BIO_write") }
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var data: UnsafeMutablePointer<UInt8>?
        var length = 0
        guard PEM_read_bio(input, &name, &header, &data, &length) == 1 else { throw .notAPrivateKey }
        defer {
            CRYPTO_free(name, #file, #line)
            CRYPTO_free(header, #file, #line)
            CRYPTO_clear_free(data, length, #file, #line)
        }
        var position = UnsafePointer(data)
        switch name.map({ String(cString: $0) }) {
        case "PRIVATE KEY":
            guard let info = d2i_PKCS8_PRIV_KEY_INFO(nil, &position, length) else { throw .notAPrivateKey }
            return info
        case "ENCRYPTED PRIVATE KEY":
            guard let sealed = d2i_X509_SIG(nil, &position, length) else { throw .notAPrivateKey }
            defer { X509_SIG_free(sealed) }
            guard let passphrase else { throw .passphraseNeeded }
            let info = passphrase.withUnsafeBytes { PKCS8_decrypt(sealed, characters(of: $0), Int32(clamping: $0.count)) }
            guard let info else { throw .wrongPassphrase }
            return info
        default: throw .notAPrivateKey
        }
    }

    /// The bytes as C text; not nil for no bytes, since the library takes nil for a question.
    private static func characters(of bytes: UnsafeRawBufferPointer) -> UnsafePointer<CChar> {
        bytes.assumingMemoryBound(to: CChar.self).baseAddress ?? emptyText
    }

    private nonisolated(unsafe) static let emptyText: UnsafePointer<CChar> = {
        let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        text.initialize(to: 0)
        return UnsafePointer(text)
    }()
}
