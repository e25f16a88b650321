// RSA public keys: RSASSA-PSS with SHA-384 (RFC 8017 8.1.2; service.md 2.9.3).

import COpenSSL

/// An RSA public key. Two are equal when their numbers are.
public struct RSAPublicKey: Sendable, Equatable {
    /// Bits of a modulus. Above, hostile keys would cost much time.
    static let supportedBits = 2048...8192
    /// Bytes of salt of every signature.
    static let saltLength = 48

    /// Big-endian, without leading zeros.
    public let modulus: [UInt8]
    /// Big-endian, without leading zeros.
    public let exponent: [UInt8]
    /// Bits of the modulus.
    public let bits: Int
    let handle: RSAKeyHandle

    /// A key from its numbers, big-endian, with or without leading zeros.
    ///
    /// Throws `RSAError.unsupportedModulus` and `.unsupportedExponent`.
    public init(modulus: [UInt8], exponent: [UInt8]) throws(RSAError) {
        let significant = Array(modulus.drop { $0 == 0 })
        let significantExponent = Array(exponent.drop { $0 == 0 })
        let bits = significant.count * 8 - (significant.first?.leadingZeroBitCount ?? 0)
        guard Self.supportedBits.contains(bits), significant.last.map({ $0 & 1 == 1 }) == true else {
            throw .unsupportedModulus(bits: bits)
        }
        guard significantExponent.count <= 8, significantExponent != [1],
            significantExponent.last.map({ $0 & 1 == 1 }) == true
        else { throw .unsupportedExponent }
        guard let n = BigNumber(significant), let e = BigNumber(significantExponent),
            let handle = RSAKeyHandle.make([(.modulus, n), (.exponent, e)], isPrivate: false)
        else { throw .libraryFailure("EVP_PKEY_fromdata") }
        self.modulus = significant
        self.exponent = significantExponent
        self.bits = bits
        self.handle = handle
    }

    /// Whether the numbers are the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.modulus == right.modulus && left.exponent == right.exponent
    }

    /// DER of `RSAPublicKey` (RFC 8017 A.1.1).
    public var pkcs1: [UInt8] { DER.sequence(DER.unsignedInteger(modulus) + DER.unsignedInteger(exponent)) }

    /// Whether `signature` is an RSASSA-PSS signature of `message` with SHA-384, MGF1-SHA-384 and exactly 48 bytes of salt.
    public func verifyPSS(message: [UInt8], signature: [UInt8]) -> Bool {
        verifyPSS(message: message, signature: signature, saltLength: Self.saltLength)
    }

    /// As above, with another length of salt (RFC 9474 has variants without salt).
    func verifyPSS(message: [UInt8], signature: [UInt8], saltLength: Int) -> Bool {
        guard let digest = try? SHA384.hash(message) else { return false }
        return handle.verifyPSS(digest: digest, signature: signature, saltLength: saltLength)
    }

    /// Whether big-endian bytes, as many as the modulus has, are a number below it.
    public func isBelowModulus(_ value: [UInt8]) -> Bool {
        value.count == modulus.count && value.lexicographicallyPrecedes(modulus)
    }
}

/// The few forms of DER that an RSA public key consists of.
enum DER {
    static func sequence(_ content: [UInt8]) -> [UInt8] { [0x30] + length(content.count) + content }

    /// An INTEGER from big-endian bytes without leading zeros.
    static func unsignedInteger(_ bytes: [UInt8]) -> [UInt8] {
        let needsZero = bytes.first.map { $0 >= 0x80 } ?? true
        let content = needsZero ? [0] + bytes : bytes
        return [0x02] + length(content.count) + content
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        let bytes = withUnsafeBytes(of: count.bigEndian) { Array($0.drop { $0 == 0 }) }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}
