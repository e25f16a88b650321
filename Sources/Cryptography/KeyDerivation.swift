// HKDF with SHA-256 (RFC 5869), from the HMAC of libcrypto.

import COpenSSL

/// The two steps of HKDF-SHA-256, as often as wanted: to prepare the digest takes longer than to use it. Erased when it goes.
public struct HKDFSHA256: ~Copyable {
    /// Bytes of a pseudorandom key.
    public static let keyLength = 32
    /// Most bytes that one key can be expanded to.
    public static let longestOutput = 255 * keyLength

    /// A context that knows its digest but no key; only ever copied from.
    private struct Template: @unchecked Sendable {
        let context: OpaquePointer?

        static let hmac: Template = {
            guard let algorithm = EVP_MAC_fetch(nil, "HMAC", nil), let context = EVP_MAC_CTX_new(algorithm) else {
                return Template(context: nil)
            }
            var name = Array("SHA256".utf8CString)
            let status = name.withUnsafeMutableBufferPointer { name in
                var parameters = [
                    OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.baseAddress, 0), OSSL_PARAM_construct_end(),
                ]
                return EVP_MAC_CTX_set_params(context, &parameters)
            }
            return Template(context: status == 1 ? context : nil)
        }()
    }

    private let context: OpaquePointer

    /// Throws `CryptographyError.libraryFailure`.
    public init() throws(CryptographyError) {
        guard let context = EVP_MAC_CTX_dup(Template.hmac.context) else { throw .libraryFailure("EVP_MAC_CTX_dup") }
        self.context = context
    }

    deinit { EVP_MAC_CTX_free(context) }

    /// HKDF-Extract(salt, prefix ‖ secret): a pseudorandom key of 32 bytes. The prefix is for protocols that label their
    /// secrets.
    ///
    /// Throws `CryptographyError.libraryFailure`.
    public func extract(salt: SecretBytes, prefix: [UInt8] = [], secret: SecretBytes) throws(CryptographyError) -> SecretBytes {
        try withHMAC(key: salt) { context, isDone in
            SecretBytes(count: Self.keyLength) { out in
                var length = 0
                isDone =
                    EVP_MAC_update(context, prefix, prefix.count) == 1
                    && secret.withBytes { EVP_MAC_update(context, $0.baseAddress, $0.count) } == 1
                    && EVP_MAC_final(context, out.baseAddress, &length, out.count) == 1 && length == out.count
            }
        }
    }

    /// HKDF-Expand(key, info, count).
    ///
    /// Throws `CryptographyError.badLength` for more than `longestOutput` bytes, `.libraryFailure`.
    public func expand(_ key: SecretBytes, info: [UInt8], count: Int) throws(CryptographyError) -> SecretBytes {
        guard (0...Self.longestOutput).contains(count) else {
            throw .badLength(expected: Self.longestOutput, got: count)
        }
        return try withHMAC(key: key) { context, isDone in
            SecretBytes(count: count) { out in
                // Whole blocks go through here, so that the last one may be cut.
                let block = SecretBytes(count: Self.keyLength) { block in
                    var written = 0
                    var counter: UInt8 = 0
                    isDone = true
                    while written < count, isDone {
                        counter += 1
                        isDone = Self.next(block, counter, info, context)
                        let part = min(Self.keyLength, count - written)
                        out[written..<(written + part)].copyBytes(from: block[..<part])
                        written += part
                    }
                }
                _ = block
            }
        }
    }

    /// T(counter) of RFC 5869 2.3, in the place of T(counter - 1).
    private static func next(
        _ block: UnsafeMutableRawBufferPointer, _ counter: UInt8, _ info: [UInt8], _ context: OpaquePointer
    ) -> Bool {
        var counter = counter
        var length = 0
        return
            (counter == 1
            || EVP_MAC_init(context, nil, 0, nil) == 1 && EVP_MAC_update(context, block.baseAddress, block.count) == 1)
            && EVP_MAC_update(context, info, info.count) == 1 && EVP_MAC_update(context, &counter, 1) == 1
            && EVP_MAC_final(context, block.baseAddress, &length, block.count) == 1 && length == block.count
    }

    private func withHMAC(key: SecretBytes, _ body: (OpaquePointer, inout Bool) -> SecretBytes) throws(CryptographyError)
        -> SecretBytes
    {
        var isDone = false
        // An empty key has an address too: without one, the library would go on with the key before.
        let isReady = key.withBytes { EVP_MAC_init(context, $0.baseAddress, $0.count, nil) } == 1
        let result = isReady ? body(context, &isDone) : key
        guard isDone else {
            ERR_clear_error()
            throw .libraryFailure("HKDF-SHA-256")
        }
        return result
    }
}
