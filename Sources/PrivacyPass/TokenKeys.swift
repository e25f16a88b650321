// Keys of token type 2: their one encoding, their ids, and what they do (RFC 9578 6; service.md 2.2, 2.3).

public import Cryptography

/// SHA-256 of a public key's SubjectPublicKeyInfo: says in every token which key signed it.
public struct TokenKeyID: Sendable, Hashable {
    /// Bytes of an id.
    public static let length = 32
    /// All 32 bytes.
    public let bytes: [UInt8]

    /// An id from its 32 bytes; nil for another number.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    init(ofSPKI spki: [UInt8]) { bytes = SHA256.hash(spki) }

    /// The last byte, which is all that a token request says.
    public var truncated: UInt8 { bytes.last ?? 0 }

    /// The first 4 bytes in hexadecimal: public, and may be logged.
    public var shortText: String { bytes.prefix(4).hexadecimal }
}

/// The public key of an issuer.
public struct TokenPublicKey: Sendable, Equatable {
    /// Bytes of a SubjectPublicKeyInfo.
    public static let spkiLength = 342

    /// AlgorithmIdentifier id-RSASSA-PSS with SHA-384, MGF1-SHA-384 and 48 bytes of salt, the hashes without parameters, and the
    /// head of the BIT STRING. libcrypto would add NULL parameters and so change the id: written by hand.
    private static let prefix: [UInt8] = [
        0x30, 0x82, 0x01, 0x52, 0x30, 0x3D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A, 0x30, 0x30,
        0xA0, 0x0D, 0x30, 0x0B, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02,
        0xA1, 0x1A, 0x30, 0x18, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x08,
        0x30, 0x0B, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02,
        0xA2, 0x03, 0x02, 0x01, 0x30, 0x03, 0x82, 0x01, 0x0F, 0x00,
    ]
    /// SEQUENCE and the INTEGER's head before a modulus of 2048 bits.
    private static let modulusHead: [UInt8] = [0x30, 0x82, 0x01, 0x0A, 0x02, 0x82, 0x01, 0x01, 0x00]
    /// INTEGER 65537.
    private static let exponentPart: [UInt8] = [0x02, 0x03, 0x01, 0x00, 0x01]
    private static let exponent: [UInt8] = [0x01, 0x00, 0x01]

    /// DER of the SubjectPublicKeyInfo, 342 bytes.
    public let spki: [UInt8]
    /// SHA-256 of `spki`.
    public let id: TokenKeyID
    let key: RSAPublicKey

    /// Throws `PrivacyPassError.invalidTokenKey` unless the modulus has 2048 bits and the exponent is 65537.
    public init(_ key: RSAPublicKey) throws(PrivacyPassError) {
        guard key.bits == 2048, key.exponent == Self.exponent else { throw .invalidTokenKey }
        let spki = Self.prefix + key.pkcs1
        guard spki.count == Self.spkiLength else { throw .invalidTokenKey }
        self.key = key
        self.spki = spki
        id = TokenKeyID(ofSPKI: spki)
    }

    /// Reads the one form of SubjectPublicKeyInfo that RFC 9578 has.
    ///
    /// Throws `PrivacyPassError.invalidTokenKey` for every other form.
    public init(spki: [UInt8]) throws(PrivacyPassError) {
        let head = Self.prefix + Self.modulusHead
        guard spki.count == Self.spkiLength, spki.starts(with: head), spki.suffix(5).elementsEqual(Self.exponentPart),
            let key = try? RSAPublicKey(modulus: Array(spki[head.count..<(head.count + 256)]), exponent: Self.exponent)
        else { throw .invalidTokenKey }
        try self.init(key)
    }

    /// Whether the two are the same key.
    public static func == (left: Self, right: Self) -> Bool { left.spki == right.spki }

    /// Whether the token names this key and its signature is right.
    public func verify(_ token: Token) -> Bool {
        token.keyID == id && key.verifyPSS(message: token.authenticatorInput, signature: token.authenticator)
    }
}

/// The private key of an issuer.
public struct TokenIssuerKey: Sendable {
    /// The public half.
    public let publicKey: TokenPublicKey
    private let key: RSAPrivateKey

    /// Throws `PrivacyPassError.invalidTokenKey` unless the modulus has 2048 bits and the exponent is 65537.
    public init(_ key: RSAPrivateKey) throws(PrivacyPassError) {
        publicKey = try TokenPublicKey(key.publicKey)
        self.key = key
    }

    /// Whether a request names this key, and its blinded message is below the modulus: all that can be wrong with it.
    public func canSign(_ request: TokenRequest) -> Bool {
        request.truncatedKeyID == publicKey.id.truncated && publicKey.key.isBelowModulus(request.blindedMessage)
    }

    /// The token response: the blind signature, 256 bytes.
    ///
    /// Throws `PrivacyPassError.invalidTokenRequest` if the request names another key or its blinded message is not below the
    /// modulus, and `.signingFailed` if the private operation fails or its result does not lead back to the blinded message: the
    /// key must not be used any more then.
    public func sign(_ request: TokenRequest) throws(PrivacyPassError) -> [UInt8] {
        guard canSign(request) else { throw .invalidTokenRequest }
        do {
            return try key.rawSign(request.blindedMessage)
        } catch {
            throw .signingFailed
        }
    }
}
