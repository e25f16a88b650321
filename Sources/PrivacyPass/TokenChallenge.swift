// TokenChallenge (RFC 9577 2.1): type u16 ‖ issuer_name<1..2^16-1> ‖ redemption_context<0..32> ‖ origin_info<0..2^16-1>.

import Cryptography

/// What a token is bound to.
public struct TokenChallenge: Sendable, Equatable {
    /// Host of the issuer, with `:port` unless that is 443.
    public let issuerName: String
    /// Nothing, or 32 bytes.
    public let redemptionContext: [UInt8]
    /// Hosts of origins, separated by commas; empty for any.
    public let originInfo: String

    /// Phones leave context and origin empty.
    ///
    /// Throws `PrivacyPassError.invalidTokenChallenge` for an empty or too long name, text beyond ASCII, or a context of another
    /// length than 0 or 32.
    public init(issuerName: String, redemptionContext: [UInt8] = [], originInfo: String = "") throws(PrivacyPassError) {
        guard (1...0xFFFF).contains(issuerName.utf8.count), issuerName.utf8.allSatisfy({ $0 < 0x80 }),
            redemptionContext.isEmpty || redemptionContext.count == 32,
            originInfo.utf8.count <= 0xFFFF, originInfo.utf8.allSatisfy({ $0 < 0x80 })
        else { throw .invalidTokenChallenge }
        self.issuerName = issuerName
        self.redemptionContext = redemptionContext
        self.originInfo = originInfo
    }

    /// Reads the structure to its end.
    ///
    /// Throws `PrivacyPassError.invalidTokenChallenge` and `.unsupportedTokenType`.
    public init(decoding bytes: [UInt8]) throws(PrivacyPassError) {
        var rest = bytes[...]
        guard let type = Self.take(2, from: &rest) else { throw .invalidTokenChallenge }
        guard type.elementsEqual(TokenType.blindRSA) else { throw .unsupportedTokenType(.tokenChallenge) }
        guard let name = Self.takeVector(lengthBytes: 2, from: &rest),
            let context = Self.takeVector(lengthBytes: 1, from: &rest),
            let origin = Self.takeVector(lengthBytes: 2, from: &rest), rest.isEmpty
        else { throw .invalidTokenChallenge }
        guard name.allSatisfy({ $0 < 0x80 }), origin.allSatisfy({ $0 < 0x80 }) else { throw .invalidTokenChallenge }
        try self.init(
            issuerName: String(decoding: name, as: UTF8.self), redemptionContext: Array(context),
            originInfo: String(decoding: origin, as: UTF8.self))
    }

    private static func take(_ count: Int, from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private static func takeVector(lengthBytes: Int, from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let length = take(lengthBytes, from: &rest) else { return nil }
        return take(length.reduce(0) { $0 << 8 | Int($1) }, from: &rest)
    }

    /// The bytes on the wire.
    public var encoded: [UInt8] {
        TokenType.blindRSA + Self.length(issuerName) + Array(issuerName.utf8)
            + [UInt8(truncatingIfNeeded: redemptionContext.count)] + redemptionContext
            + Self.length(originInfo) + Array(originInfo.utf8)
    }

    private static func length(_ text: String) -> [UInt8] {
        [UInt8(truncatingIfNeeded: text.utf8.count >> 8), UInt8(truncatingIfNeeded: text.utf8.count)]
    }

    /// SHA-256 of `encoded`, as tokens hold it.
    public var digest: [UInt8] { SHA256.hash(encoded) }
}
