// What can be wrong with the messages of Privacy Pass.

/// Why a message, a header field or a key was refused. Texts never hold bytes of what came.
public enum PrivacyPassError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A structure has another length than its layout allows.
    case wrongLength(PrivacyPassStructure, expected: Int, got: Int)
    /// A structure is of a token type other than 2, "Blind RSA (2048-bit)".
    case unsupportedTokenType(PrivacyPassStructure)
    /// A challenge that is cut short, goes on after its end, or has an empty or non-ASCII name or a context of a forbidden length.
    case invalidTokenChallenge
    /// A key that is not RSA of 2048 bits with the exponent 65537, or not in the one form of its SubjectPublicKeyInfo.
    case invalidTokenKey
    /// A request whose blinded message is not below the modulus, or that names another key.
    case invalidTokenRequest
    /// An answer of the issuer that does not lead to a valid signature.
    case invalidTokenResponse
    /// An `Authorization` field without exactly one well-formed private token.
    case invalidAuthorization
    /// A `WWW-Authenticate` field that cannot be parsed, or whose private token challenge is malformed.
    case invalidChallengeField
    /// An issuer directory that is too large, not JSON, or without the members that it must have.
    case invalidDirectory
    /// The private operation failed or gave a wrong result: the key must not be used any more.
    case signingFailed
    /// libcrypto failed, for example for want of memory.
    case libraryFailure

    /// The reason in words.
    public var description: String {
        switch self {
        case .wrongLength(let structure, let expected, let got): "\(structure.rawValue) of \(got) bytes instead of \(expected)"
        case .unsupportedTokenType(let structure): "\(structure.rawValue) of a token type other than 2"
        case .invalidTokenChallenge: "malformed token challenge"
        case .invalidTokenKey: "not the public key of an issuer for token type 2"
        case .invalidTokenRequest: "invalid token request"
        case .invalidTokenResponse: "the issuer's answer is not a valid signature"
        case .invalidAuthorization: "no well-formed private token in Authorization"
        case .invalidChallengeField: "malformed WWW-Authenticate"
        case .invalidDirectory: "malformed issuer directory"
        case .signingFailed: "the issuer's key failed"
        case .libraryFailure: "libcrypto failed"
        }
    }
}

/// The structures of fixed layout.
public enum PrivacyPassStructure: String, Sendable {
    /// RFC 9577 2.1.
    case tokenChallenge = "token challenge"
    /// RFC 9578 6.1.
    case tokenRequest = "token request"
    /// RFC 9578 6.2.
    case tokenResponse = "token response"
    /// RFC 9577 2.2.
    case token
    /// SHA-256 of the key's SubjectPublicKeyInfo.
    case tokenKeyID = "token key id"
    /// The random number of a token.
    case nonce
}

/// Token type 2, "Blind RSA (2048-bit)" (RFC 9578 8.2.2), the only one here.
enum TokenType {
    static let blindRSA: [UInt8] = [0x00, 0x02]
    /// Bytes of a signature, and of a blinded message.
    static let signatureLength = 256
}
