// TokenRequest (RFC 9578 6.1): type u16 ‖ truncated_token_key_id u8 ‖ blinded_msg[256].

/// What a client sends to an issuer.
public struct TokenRequest: Sendable, Equatable {
    /// Bytes of a request.
    public static let length = 259
    /// Media type of a request (RFC 9578 8.3).
    public static let mediaType = "application/private-token-request"
    /// Media type of an issuer's answer (RFC 9578 8.3).
    public static let responseMediaType = "application/private-token-response"

    /// The last byte of the id of the key that is to sign.
    public let truncatedKeyID: UInt8
    /// 256 bytes; not yet compared with any modulus.
    public let blindedMessage: [UInt8]

    init(truncatedKeyID: UInt8, blindedMessage: [UInt8]) {
        self.truncatedKeyID = truncatedKeyID
        self.blindedMessage = blindedMessage
    }

    /// Reads exactly 259 bytes.
    ///
    /// Throws `PrivacyPassError.wrongLength` and `.unsupportedTokenType`.
    public init(decoding bytes: [UInt8]) throws(PrivacyPassError) {
        guard bytes.count == Self.length else { throw .wrongLength(.tokenRequest, expected: Self.length, got: bytes.count) }
        guard bytes.starts(with: TokenType.blindRSA) else { throw .unsupportedTokenType(.tokenRequest) }
        truncatedKeyID = bytes[2]
        blindedMessage = Array(bytes[3...])
    }

    /// The 259 bytes.
    public var encoded: [UInt8] { TokenType.blindRSA + [truncatedKeyID] + blindedMessage }
}
