// The header fields of the `PrivateToken` scheme (RFC 9577 2.1, 2.2; service.md 1.6.1, 2.8).

/// `Authorization: PrivateToken token=…`.
public enum PrivateTokenAuthorization {
    /// The token of a field value. Accepts the scheme and names in any case, a quoted or bare value, base64url with or without
    /// padding, and unknown parameters beside it.
    ///
    /// Throws `PrivacyPassError.invalidAuthorization` for anything that is not exactly one token of 354 bytes and type 2.
    public static func token(in fieldValue: String) throws(PrivacyPassError) -> Token {
        guard let elements = AuthenticationFieldReader.elements(of: fieldValue), elements.count == 1,
            let element = elements.first, element.scheme == "privatetoken", let text = element.single("token"),
            let bytes = Base64.urlBytes(text, limit: Token.length), let token = try? Token(decoding: bytes)
        else { throw .invalidAuthorization }
        return token
    }

    /// The field value, exactly as phones send it: bare, 472 characters of base64url.
    public static func text(for token: Token) -> String {
        "PrivateToken token=" + Base64.urlText(token.encoded, padded: false)
    }
}

/// One challenge of `WWW-Authenticate: PrivateToken challenge="…", token-key="…"`, of any token type.
public struct PrivateTokenChallenge: Sendable, Equatable {
    /// The bytes of the challenge's structure.
    public let challenge: [UInt8]
    /// The bytes of the issuer's public key; nil if the field leaves it to the client to know.
    public let tokenKey: [UInt8]?
    /// For how many seconds the challenge is good; nil for no limit.
    public let maxAge: Int?

    /// A challenge of type 2.
    public init(_ challenge: TokenChallenge, key: TokenPublicKey?, maxAge: Int? = nil) {
        self.challenge = challenge.encoded
        tokenKey = key?.spki
        self.maxAge = maxAge
    }

    private init(_ element: AuthenticationElement) throws(PrivacyPassError) {
        guard let text = element.single("challenge"),
            let challenge = Base64.urlBytes(text, limit: AuthenticationFieldReader.longestField), challenge.count >= 2
        else { throw .invalidChallengeField }
        self.challenge = challenge
        if element.has("token-key") {
            guard let text = element.single("token-key"),
                let key = Base64.urlBytes(text, limit: AuthenticationFieldReader.longestField)
            else { throw .invalidChallengeField }
            tokenKey = key
        } else {
            tokenKey = nil
        }
        if element.has("max-age") {
            guard let digits = element.single("max-age"), (1...10).contains(digits.count),
                digits.allSatisfy({ (0x30...0x39).contains($0) })
            else { throw .invalidChallengeField }
            maxAge = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        } else {
            maxAge = nil
        }
    }

    /// The challenges of this scheme in a field value, in order; those of other schemes are skipped.
    ///
    /// Throws `PrivacyPassError.invalidChallengeField`.
    public static func challenges(in fieldValue: String) throws(PrivacyPassError) -> [PrivateTokenChallenge] {
        guard let elements = AuthenticationFieldReader.elements(of: fieldValue) else { throw .invalidChallengeField }
        var result: [PrivateTokenChallenge] = []
        for element in elements where element.scheme == "privatetoken" { result.append(try PrivateTokenChallenge(element)) }
        return result
    }

    /// The token type, the first two bytes of every challenge.
    public var tokenType: UInt16 { challenge.prefix(2).reduce(0) { $0 << 8 | UInt16($1) } }

    /// The challenge of type 2.
    ///
    /// Throws `PrivacyPassError.unsupportedTokenType` and `.invalidTokenChallenge`.
    public func decoded() throws(PrivacyPassError) -> TokenChallenge { try TokenChallenge(decoding: challenge) }

    /// The field value, base64url with padding as in the RFC's samples.
    public var fieldValue: String {
        var text = "PrivateToken challenge=\"\(Base64.urlText(challenge, padded: true))\""
        if let tokenKey { text += ", token-key=\"\(Base64.urlText(tokenKey, padded: true))\"" }
        if let maxAge { text += ", max-age=\"\(maxAge)\"" }
        return text
    }
}
