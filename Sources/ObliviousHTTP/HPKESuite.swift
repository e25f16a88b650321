// Algorithms of HPKE that this house uses, with their code points, and the labelled HKDF (RFC 9180 4, 7; service.md 4.1).

import Cryptography

/// An AEAD of HPKE; the raw value is its code point.
public enum HPKEAEAD: UInt16, Sendable, Hashable, CaseIterable {
    /// AES-128-GCM.
    case aes128GCM = 0x0001
    /// AES-256-GCM.
    case aes256GCM = 0x0002
    /// ChaCha20-Poly1305.
    case chaCha20Poly1305 = 0x0003

    /// The algorithm behind the code point.
    public var algorithm: AEADAlgorithm {
        switch self {
        case .aes128GCM: .aes128GCM
        case .aes256GCM: .aes256GCM
        case .chaCha20Poly1305: .chaCha20Poly1305
        }
    }

    /// Bytes of an encapsulated response's nonce and of the secret behind its key: max(Nn, Nk) of RFC 9458 4.4.
    public var responseNonceLength: Int { max(AEADAlgorithm.nonceLength, algorithm.keyLength) }
}

/// The code points of the other algorithms.
public enum HPKESuite {
    /// DHKEM(X25519, HKDF-SHA256).
    public static let kem: UInt16 = 0x0020
    /// HKDF-SHA256.
    public static let kdf: UInt16 = 0x0001
    /// Bytes of an encapsulated key, the sender's public key.
    public static let encapsulatedKeyLength = X25519PrivateKey.length
}

/// HKDF with the labels that tie every value to one suite.
struct LabeledHKDF: Sendable {
    private let prefix: [UInt8]

    /// Values of the KEM.
    static let kem = LabeledHKDF(suite: Array("KEM".utf8) + HPKESuite.kem.bigEndianBytes)

    /// Values of the key schedule.
    static func schedule(_ aead: HPKEAEAD) -> LabeledHKDF {
        switch aead {
        case .aes128GCM: aes128GCM
        case .aes256GCM: aes256GCM
        case .chaCha20Poly1305: chaCha20Poly1305
        }
    }

    private static let aes128GCM = LabeledHKDF(.aes128GCM)
    private static let aes256GCM = LabeledHKDF(.aes256GCM)
    private static let chaCha20Poly1305 = LabeledHKDF(.chaCha20Poly1305)

    private init(_ aead: HPKEAEAD) {
        self.init(
            suite: Array("HPKE".utf8) + HPKESuite.kem.bigEndianBytes + HPKESuite.kdf.bigEndianBytes
                + aead.rawValue.bigEndianBytes)
    }

    private init(suite: [UInt8]) { prefix = Array("HPKE-v1".utf8) + suite }

    func extract(
        _ hkdf: borrowing HKDFSHA256, salt: SecretBytes = .empty, _ label: String, _ secret: SecretBytes = .empty
    ) throws(CryptographyError) -> SecretBytes {
        try hkdf.extract(salt: salt, prefix: prefix + label.utf8, secret: secret)
    }

    func expand(
        _ hkdf: borrowing HKDFSHA256, _ key: SecretBytes, _ label: String, _ info: [UInt8], _ count: Int
    ) throws(CryptographyError) -> SecretBytes {
        guard let length = UInt16(exactly: count) else { throw .badLength(expected: HKDFSHA256.longestOutput, got: count) }
        return try hkdf.expand(key, info: length.bigEndianBytes + prefix + label.utf8 + info, count: count)
    }
}

extension SecretBytes {
    static let empty = SecretBytes(copying: [])
}

extension UInt16 {
    /// The two bytes, the upper one first.
    var bigEndianBytes: [UInt8] { [UInt8(self >> 8), UInt8(self & 0xFF)] }
}
