// A key object of libcrypto with its prepared contexts, shared among threads (service.md 2.9.1: a context is for one thread
// at a time, the key object is for all).

import COpenSSL
import Synchronization

/// Owns an `EVP_PKEY`, which never changes, and pools of contexts for the three operations on it.
final class RSAKeyHandle: @unchecked Sendable {
    /// What a context is prepared for.
    enum Operation: Sendable {
        /// `m^d mod n`, without padding.
        case rawSign
        /// `s^e mod n`, without padding.
        case rawPublic
        /// RSASSA-PSS over a SHA-384 digest, with MGF1-SHA-384 and exactly this many bytes of salt.
        case verifyPSS(saltLength: Int32)
    }

    private struct Context: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// Idle contexts of one operation. At most `limit` are kept; more are made and freed under more threads than that.
    private final class Pool: Sendable {
        static let limit = 64
        let operation: Operation
        private let idle = Mutex<[Context]>([])

        init(_ operation: Operation) { self.operation = operation }

        deinit { idle.withLock { $0.forEach { EVP_PKEY_CTX_free($0.pointer) } } }

        func take() -> Context? { idle.withLock { $0.popLast() } }

        func giveBack(_ context: Context) {
            let isKept = idle.withLock { contexts in
                guard contexts.count < Self.limit else { return false }
                contexts.append(context)
                return true
            }
            if !isKept { EVP_PKEY_CTX_free(context.pointer) }
        }
    }

    let key: OpaquePointer
    /// Bytes of the modulus, which inputs and outputs have.
    let size: Int
    private let signing = Pool(.rawSign)
    private let raising = Pool(.rawPublic)
    private let verifying = Pool(.verifyPSS(saltLength: Int32(RSAPublicKey.saltLength)))

    /// Takes over the key.
    init(taking key: OpaquePointer) {
        self.key = key
        size = Int(EVP_PKEY_get_size(key))
    }

    deinit { EVP_PKEY_free(key) }

    /// `m^d mod n` of `size` bytes below the modulus; nil if the library refuses.
    func rawSign(_ message: [UInt8]) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: size)
        var length = size
        let status = with(signing) { EVP_PKEY_sign($0, &out, &length, message, message.count) }
        return status == 1 && length == size ? out : nil
    }

    /// `s^e mod n` of `size` bytes below the modulus; nil if the library refuses.
    func rawPublic(_ signature: [UInt8]) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: size)
        var length = size
        let status = with(raising) { EVP_PKEY_encrypt($0, &out, &length, signature, signature.count) }
        return status == 1 && length == size ? out : nil
    }

    /// Whether the signature is right for the SHA-384 digest.
    func verifyPSS(digest: [UInt8], signature: [UInt8], saltLength: Int) -> Bool {
        guard signature.count == size, digest.count == SHA384.length, let salt = Int32(exactly: saltLength) else {
            return false
        }
        let isUsual = saltLength == RSAPublicKey.saltLength
        let pool = isUsual ? verifying : Pool(.verifyPSS(saltLength: salt))
        return with(pool) { EVP_PKEY_verify($0, signature, signature.count, digest, digest.count) } == 1
    }

    /// Runs the body with a context of the pool, or returns -1; forgets the library's error texts after a failure.
    private func with(_ pool: Pool, _ body: (OpaquePointer) -> Int32) -> Int32 {
        guard let context = pool.take() ?? makeContext(pool.operation) else {
            ERR_clear_error()
            return -1
        }
        let status = body(context.pointer)
        if status != 1 { ERR_clear_error() }
        pool.giveBack(context)
        return status
    }

    private func makeContext(_ operation: Operation) -> Context? {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
        let isReady =
            switch operation {
            // The padding is set after the init call: before it, it would be refused and PKCS#1 stay in force.
            case .rawSign: EVP_PKEY_sign_init(context) == 1 && EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING) == 1
            case .rawPublic:
                EVP_PKEY_encrypt_init(context) == 1 && EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING) == 1
            case .verifyPSS(let saltLength):
                EVP_PKEY_verify_init(context) == 1
                    && EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
                    && EVP_PKEY_CTX_set_signature_md(context, SHA384.algorithm.handle) == 1
                    && EVP_PKEY_CTX_set_rsa_mgf1_md(context, SHA384.algorithm.handle) == 1
                    && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, saltLength) == 1
            }
        guard isReady else {
            EVP_PKEY_CTX_free(context)
            return nil
        }
        return Context(pointer: context)
    }
}

extension RSAKeyHandle {
    /// The numbers of a key; raw values are those of `copenssl_rsa_parameter`.
    enum Number: Int32, Sendable {
        case modulus, exponent, privateExponent, prime1, prime2, exponent1, exponent2, coefficient

        /// Its name in libcrypto; lives as long as the process.
        var name: UnsafePointer<CChar>? { copenssl_rsa_parameter(rawValue) }
    }

    /// A key object from its numbers; nil if the library refuses them.
    static func make(_ numbers: [(Number, BigNumber)], isPrivate: Bool) -> RSAKeyHandle? {
        defer { ERR_clear_error() }
        guard let builder = OSSL_PARAM_BLD_new() else { return nil }
        defer { OSSL_PARAM_BLD_free(builder) }
        for (number, value) in numbers {
            guard OSSL_PARAM_BLD_push_BN(builder, number.name, value.pointer) == 1 else { return nil }
        }
        // The builder only noted where the numbers are.
        guard let parameters = withExtendedLifetime(numbers, { OSSL_PARAM_BLD_to_param(builder) }) else { return nil }
        defer { OSSL_PARAM_free(parameters) }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        let selection = isPrivate ? copenssl_keypair_selection() : copenssl_public_key_selection()
        guard EVP_PKEY_fromdata_init(context) == 1, EVP_PKEY_fromdata(context, &key, selection, parameters) == 1, let key
        else { return nil }
        return RSAKeyHandle(taking: key)
    }

    /// One of the key's numbers.
    func number(_ wanted: Number) -> BigNumber? {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, wanted.name, &number) == 1, let number else {
            ERR_clear_error()
            return nil
        }
        return BigNumber(taking: number)
    }
}
