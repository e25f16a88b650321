// The AEADs of HPKE (RFC 9180 7.3): AES-GCM (NIST SP 800-38D) and ChaCha20-Poly1305 (RFC 8439), by libcrypto.

import COpenSSL
import Synchronization

/// An algorithm for authenticated encryption. All have nonces of 12 bytes and tags of 16.
public enum AEADAlgorithm: Sendable, Hashable, CaseIterable {
    /// AES in Galois/Counter Mode with a key of 16 bytes.
    case aes128GCM
    /// AES in Galois/Counter Mode with a key of 32 bytes.
    case aes256GCM
    /// ChaCha20 and Poly1305; key of 32 bytes.
    case chaCha20Poly1305

    /// Bytes of a nonce.
    public static let nonceLength = 12
    /// Bytes by which a ciphertext is longer than its plaintext.
    public static let tagLength = 16
    /// Most bytes of a plaintext: libcrypto counts in C's `int`.
    public static let longestPlaintext = Int(Int32.max) - 64

    /// Bytes of a key.
    public var keyLength: Int { self == .aes128GCM ? 16 : 32 }

    /// EVP_CIPHER handles are immutable and live as long as the process.
    private struct Cipher: @unchecked Sendable {
        let handle: OpaquePointer?
        static let aes128GCM = Cipher(handle: EVP_CIPHER_fetch(nil, "AES-128-GCM", nil))
        static let aes256GCM = Cipher(handle: EVP_CIPHER_fetch(nil, "AES-256-GCM", nil))
        static let chaCha20Poly1305 = Cipher(handle: EVP_CIPHER_fetch(nil, "ChaCha20-Poly1305", nil))
    }

    fileprivate var cipher: OpaquePointer? {
        switch self {
        case .aes128GCM: Cipher.aes128GCM.handle
        case .aes256GCM: Cipher.aes256GCM.handle
        case .chaCha20Poly1305: Cipher.chaCha20Poly1305.handle
        }
    }
}

/// A key, prepared once for any number of messages. Copies share it; threads may use it together, one at a time.
public struct AEADKey: Sendable {
    /// The context holds the key, and erases it when it is freed.
    private final class Keyed: Sendable {
        struct Context: @unchecked Sendable {
            let pointer: OpaquePointer
        }

        let context: Mutex<Context>
        init(_ pointer: OpaquePointer) { context = Mutex(Context(pointer: pointer)) }
        deinit { context.withLock { EVP_CIPHER_CTX_free($0.pointer) } }
    }

    /// The algorithm.
    public let algorithm: AEADAlgorithm
    private let keyed: Keyed

    /// Prepares a key of `algorithm.keyLength` bytes.
    ///
    /// Throws `CryptographyError.badLength`, `.libraryFailure`.
    public init(_ algorithm: AEADAlgorithm, key: SecretBytes) throws(CryptographyError) {
        guard key.count == algorithm.keyLength else { throw .badLength(expected: algorithm.keyLength, got: key.count) }
        guard let context = EVP_CIPHER_CTX_new() else { throw .libraryFailure("EVP_CIPHER_CTX_new") }
        keyed = Keyed(context)
        self.algorithm = algorithm
        let status = key.withBytes { bytes in
            EVP_CipherInit_ex2(context, algorithm.cipher, bytes.bindMemory(to: UInt8.self).baseAddress, nil, 1, nil)
        }
        guard status == 1 else {
            ERR_clear_error()
            throw .libraryFailure("EVP_CipherInit_ex2")
        }
    }

    /// The ciphertext with its tag behind it. A nonce (12 bytes) must never be used twice with one key.
    ///
    /// Throws `CryptographyError.badLength`, `.libraryFailure`.
    public func seal(_ plaintext: ArraySlice<UInt8>, nonce: [UInt8], authenticating data: [UInt8] = [])
        throws(CryptographyError) -> [UInt8]
    {
        try check(nonce, plaintext.count)
        let tagLength = AEADAlgorithm.tagLength
        var isDone = false
        let sealed = [UInt8](unsafeUninitializedCapacity: plaintext.count + tagLength) { out, count in
            guard let start = out.baseAddress else { return }
            isDone = plaintext.withUnsafeBufferPointer { input in
                encrypt(input, to: start, tag: start + input.count, nonce, data)
            }
            // All of it has been written if it was done; else nobody sees it.
            count = isDone ? plaintext.count + tagLength : 0
        }
        guard isDone else { throw failure() }
        return sealed
    }

    /// Encrypts the bytes of a buffer from `start` on where they are, and appends the tag.
    ///
    /// Throws `CryptographyError.badLength` (for a start outside the buffer, too), `.libraryFailure`.
    public func seal(inPlace buffer: inout [UInt8], from start: Int, nonce: [UInt8], authenticating data: [UInt8] = [])
        throws(CryptographyError)
    {
        guard (0...buffer.count).contains(start) else { throw .badLength(expected: buffer.count, got: start) }
        let length = buffer.count - start
        try check(nonce, length)
        buffer.append(contentsOf: repeatElement(0, count: AEADAlgorithm.tagLength))
        let isDone = buffer.withUnsafeMutableBufferPointer { whole in
            guard let at = whole.baseAddress.map({ $0 + start }) else { return false }
            return encrypt(UnsafeBufferPointer(start: at, count: length), to: at, tag: at + length, nonce, data)
        }
        guard isDone else { throw failure() }
    }

    /// The plaintext of a ciphertext with its tag behind it.
    ///
    /// Throws `CryptographyError.badLength`, `.openingFailed` if the tag is not right, `.libraryFailure`.
    public func open(_ sealed: ArraySlice<UInt8>, nonce: [UInt8], authenticating data: [UInt8] = [])
        throws(CryptographyError) -> [UInt8]
    {
        let length = sealed.count - AEADAlgorithm.tagLength
        guard length >= 0 else { throw .openingFailed }
        try check(nonce, length)
        var isDone = false
        let plaintext = [UInt8](unsafeUninitializedCapacity: max(length, 1)) { out, count in
            guard let start = out.baseAddress else { return }
            isDone = sealed.withUnsafeBufferPointer { input in
                decrypt(UnsafeBufferPointer(rebasing: input[..<length]), tag: input[length...], to: start, nonce, data)
            }
            count = isDone ? length : 0
            if !isDone { OPENSSL_cleanse(start, length) }
        }
        guard isDone else { throw openingFailure() }
        return plaintext
    }

    /// Decrypts the bytes of a buffer from `start` on where they are, and removes the tag at its end. After a failure the bytes
    /// from `start` on are gone.
    ///
    /// Throws `CryptographyError.badLength`, `.openingFailed` if the tag is not right, `.libraryFailure`.
    public func open(inPlace buffer: inout [UInt8], from start: Int, nonce: [UInt8], authenticating data: [UInt8] = [])
        throws(CryptographyError)
    {
        guard (0...buffer.count).contains(start) else { throw .badLength(expected: buffer.count, got: start) }
        let length = buffer.count - start - AEADAlgorithm.tagLength
        guard length >= 0 else { throw .openingFailed }
        try check(nonce, length)
        let isDone = buffer.withUnsafeMutableBufferPointer { whole in
            guard let at = whole.baseAddress.map({ $0 + start }) else { return false }
            let isDone = decrypt(
                UnsafeBufferPointer(start: at, count: length),
                tag: UnsafeBufferPointer(rebasing: whole[(start + length)...])[...], to: at, nonce, data)
            if !isDone { OPENSSL_cleanse(at, length) }
            return isDone
        }
        buffer.removeLast(isDone ? AEADAlgorithm.tagLength : buffer.count - start)
        guard isDone else { throw openingFailure() }
    }

    private func check(_ nonce: [UInt8], _ length: Int) throws(CryptographyError) {
        guard nonce.count == AEADAlgorithm.nonceLength else {
            throw .badLength(expected: AEADAlgorithm.nonceLength, got: nonce.count)
        }
        guard length <= AEADAlgorithm.longestPlaintext else {
            throw .badLength(expected: AEADAlgorithm.longestPlaintext, got: length)
        }
    }

    private func failure() -> CryptographyError {
        ERR_clear_error()
        return .libraryFailure("EVP_CipherUpdate")
    }

    private func openingFailure() -> CryptographyError {
        ERR_clear_error()
        return .openingFailed
    }

    /// `output` has room for the input, `tag` for 16 bytes; input and output may be the same place.
    private func encrypt(
        _ input: UnsafeBufferPointer<UInt8>, to output: UnsafeMutablePointer<UInt8>, tag: UnsafeMutablePointer<UInt8>,
        _ nonce: [UInt8], _ data: [UInt8]
    ) -> Bool {
        keyed.context.withLock { context in
            let context = context.pointer
            return EVP_CipherInit_ex2(context, nil, nil, nonce, 1, nil) == 1
                && update(context, input, output, data) && finish(context)
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(AEADAlgorithm.tagLength), tag) == 1
        }
    }

    /// False if anything fails, the tag above all.
    private func decrypt(
        _ input: UnsafeBufferPointer<UInt8>, tag: Slice<UnsafeBufferPointer<UInt8>>, to output: UnsafeMutablePointer<UInt8>,
        _ nonce: [UInt8], _ data: [UInt8]
    ) -> Bool {
        var tag = Array(tag)
        return keyed.context.withLock { context in
            let context = context.pointer
            return EVP_CipherInit_ex2(context, nil, nil, nonce, 0, nil) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1
                && update(context, input, output, data) && finish(context)
        }
    }

    private func update(
        _ context: OpaquePointer, _ input: UnsafeBufferPointer<UInt8>, _ output: UnsafeMutablePointer<UInt8>, _ data: [UInt8]
    ) -> Bool {
        var written: Int32 = 0
        if !data.isEmpty {
            guard let count = Int32(exactly: data.count), EVP_CipherUpdate(context, nil, &written, data, count) == 1 else {
                return false
            }
        }
        guard !input.isEmpty else { return true }
        guard let count = Int32(exactly: input.count) else { return false }
        return EVP_CipherUpdate(context, output, &written, input.baseAddress, count) == 1 && written == count
    }

    /// None of these algorithms holds bytes back, so that nothing is written here.
    private func finish(_ context: OpaquePointer) -> Bool {
        var written: Int32 = 0
        return withUnsafeTemporaryAllocation(byteCount: 32, alignment: 16) { scratch in
            EVP_CipherFinal_ex(context, scratch.bindMemory(to: UInt8.self).baseAddress, &written) == 1 && written == 0
        }
    }
}
