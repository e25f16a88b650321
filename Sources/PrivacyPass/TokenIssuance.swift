// The client's side of issuance (RFC 9578 6; service.md 2.9.2).

import Cryptography

/// One token on its way: holds the secrets between request and answer.
public struct TokenIssuance: Sendable {
    /// What to send to the issuer.
    public let request: TokenRequest
    private let key: TokenPublicKey
    private let authenticatorInput: [UInt8]
    private let blinded: BlindedMessage

    /// Draws a nonce and blinds it with the challenge and the key's id.
    ///
    /// Throws `PrivacyPassError.libraryFailure`, and `.invalidTokenKey` if the modulus is not what a modulus should be.
    public init(key: TokenPublicKey, challenge: TokenChallenge) throws(PrivacyPassError) {
        try self.init(key: key, challengeDigest: challenge.digest, nonce: nil, salt: nil, factor: nil)
    }

    /// With the random parts of a test vector in place of fresh ones.
    init(
        key: TokenPublicKey, challengeDigest: [UInt8], nonce: [UInt8]?, salt: [UInt8]?, factor: [UInt8]?
    ) throws(PrivacyPassError) {
        guard let nonce = try? nonce ?? secureRandomBytes(32) else { throw .libraryFailure }
        guard nonce.count == 32 else { throw .wrongLength(.nonce, expected: 32, got: nonce.count) }
        authenticatorInput = TokenType.blindRSA + nonce + challengeDigest + key.id.bytes
        self.key = key
        do {
            let encoded = try key.key.pssEncoding(of: authenticatorInput, salt: salt)
            blinded = try key.key.blind(encodedMessage: encoded, factor: factor)
        } catch RSAError.keyCheckFailed {
            throw .invalidTokenKey
        } catch {
            throw .libraryFailure
        }
        request = TokenRequest(truncatedKeyID: key.id.truncated, blindedMessage: blinded.bytes)
    }

    /// The token, from the issuer's answer of 256 bytes. Its signature has been verified.
    ///
    /// Throws `PrivacyPassError.wrongLength`, and `.invalidTokenResponse` when the issuer misbehaved.
    public func finish(_ response: [UInt8]) throws(PrivacyPassError) -> Token {
        guard response.count == TokenType.signatureLength else {
            throw .wrongLength(.tokenResponse, expected: TokenType.signatureLength, got: response.count)
        }
        let signature: [UInt8]
        do {
            signature = try key.key.finalise(response, of: blinded, message: authenticatorInput)
        } catch {
            throw .invalidTokenResponse
        }
        return try Token(authenticatorInput: authenticatorInput, authenticator: signature)
    }
}
