// Bytes of keys and of what keys are made from: erased when the last copy goes, and never printed.

import COpenSSL

/// Secret bytes. Copies share one buffer, which is erased with the last of them.
public struct SecretBytes: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Written only before it is shared.
    private final class Storage: @unchecked Sendable {
        let buffer: UnsafeMutableRawBufferPointer

        init(count: Int) { buffer = .allocate(byteCount: max(count, 1), alignment: 16) }

        deinit {
            OPENSSL_cleanse(buffer.baseAddress, buffer.count)
            buffer.deallocate()
        }
    }

    private let storage: Storage
    /// Number of bytes.
    public let count: Int

    /// A copy of the bytes; erasing the original is the caller's business.
    public init(copying bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { buffer in buffer.copyBytes(from: bytes) }
    }

    /// Bytes that the closure writes, all of them.
    init(count: Int, write: (UnsafeMutableRawBufferPointer) -> Void) {
        storage = Storage(count: count)
        self.count = count
        write(UnsafeMutableRawBufferPointer(rebasing: storage.buffer[..<count]))
    }

    /// Random bytes from libcrypto's generator for private keys.
    ///
    /// Throws `CryptographyError.libraryFailure` if the generator refuses.
    public static func random(count: Int) throws(CryptographyError) -> SecretBytes {
        var status: Int32 = 1
        let bytes = SecretBytes(count: count) { buffer in
            if count > 0 { status = RAND_priv_bytes(buffer.baseAddress, Int32(clamping: count)) }
        }
        guard status == 1, count <= Int(Int32.max) else { throw .libraryFailure("RAND_priv_bytes") }
        return bytes
    }

    /// A copy that nobody erases: for a file, for a table of tests.
    public var exposed: [UInt8] { withBytes { Array($0) } }

    /// The buffer has an address also when it is empty.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(rebasing: storage.buffer[..<count]))
    }

    /// Whether the bytes are equal, in a time that depends on their lengths only.
    public static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.count == right.count
            && left.withBytes { left in right.withBytes { CRYPTO_memcmp(left.baseAddress, $0.baseAddress, left.count) } } == 0
    }

    /// The length only.
    public var description: String { "secret of \(count) bytes" }
    /// The length only.
    public var debugDescription: String { description }
    /// The length only.
    public var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}
