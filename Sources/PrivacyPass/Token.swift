// Token (RFC 9577 2.2): type u16 ‖ nonce[32] ‖ challenge_digest[32] ‖ token_key_id[32] ‖ authenticator[256].

import Cryptography

/// What pays for one request.
public struct Token: Sendable, Equatable {
    /// Bytes of a token of type 2.
    public static let length = 354
    /// Bytes that the signature covers.
    public static let authenticatorInputLength = 98
    /// Bytes of `spentMark`.
    public static let spentMarkLength = 16

    /// 32 random bytes of the client.
    public let nonce: [UInt8]
    /// SHA-256 of the challenge, 32 bytes.
    public let challengeDigest: [UInt8]
    /// The key that signed.
    public let keyID: TokenKeyID
    /// The signature, 256 bytes.
    public let authenticator: [UInt8]

    /// From the 98 bytes that were signed and the 256 of the signature.
    init(authenticatorInput: [UInt8], authenticator: [UInt8]) throws(PrivacyPassError) {
        try self.init(decoding: authenticatorInput + authenticator)
    }

    /// Reads exactly 354 bytes. Says nothing about the signature.
    ///
    /// Throws `PrivacyPassError.wrongLength` and `.unsupportedTokenType`.
    public init(decoding bytes: [UInt8]) throws(PrivacyPassError) {
        guard bytes.count == Self.length, let keyID = TokenKeyID(Array(bytes[66..<98])) else {
            throw .wrongLength(.token, expected: Self.length, got: bytes.count)
        }
        guard bytes.starts(with: TokenType.blindRSA) else { throw .unsupportedTokenType(.token) }
        nonce = Array(bytes[2..<34])
        challengeDigest = Array(bytes[34..<66])
        self.keyID = keyID
        authenticator = Array(bytes[98...])
    }

    /// The 98 bytes that the signature covers.
    public var authenticatorInput: [UInt8] { TokenType.blindRSA + nonce + challengeDigest + keyID.bytes }

    /// The 354 bytes.
    public var encoded: [UInt8] { authenticatorInput + authenticator }

    /// What a store of spent tokens keeps: the first 16 bytes of SHA-256(key id ‖ nonce). Too short to recover the token from,
    /// long enough that two of 2^40 tokens agree with a chance of 2^-49.
    public var spentMark: [UInt8] { Array(SHA256.hash(keyID.bytes + nonce).prefix(Self.spentMarkLength)) }
}
