// The issuer directory (RFC 9578 4; service.md 2.4): JSON with the keys of an issuer, the preferred one first.

import FoundationEssentials

/// Which keys an issuer has.
public struct IssuerDirectory: Sendable, Equatable {
    /// A key with the time from which it is used.
    public struct Entry: Sendable, Equatable {
        /// The key.
        public var key: TokenPublicKey
        /// Seconds since 1970; nil for a key that was always in use.
        public var notBefore: Int64?

        /// A key with the time from which it is used.
        public init(key: TokenPublicKey, notBefore: Int64? = nil) {
            self.key = key
            self.notBefore = notBefore
        }
    }

    /// Media type of a directory (RFC 9578 8.1).
    public static let mediaType = "application/private-token-issuer-directory"
    /// Where it is, below the issuer's host (RFC 9578 8.2).
    public static let path = "/.well-known/private-token-issuer-directory"
    /// Longest text that is read, in bytes: above twice that of 64 keys.
    public static let longestJSON = 96 * 1024
    /// Longest request URI, in bytes.
    static let longestURI = 2048

    /// Where requests go: absolute, or relative to the directory's own address.
    public let requestURI: String
    /// Keys of type 2, the preferred one first.
    public let keys: [Entry]

    /// A directory of these keys, in this order.
    ///
    /// Throws `PrivacyPassError.invalidDirectory` unless the URI is 1 to 2048 visible ASCII characters.
    public init(requestURI: String, keys: [Entry]) throws(PrivacyPassError) {
        guard (1...Self.longestURI).contains(requestURI.utf8.count), requestURI.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .invalidDirectory }
        self.requestURI = requestURI
        self.keys = keys
    }

    /// Reads a directory. Unknown members, and keys of other token types, are skipped.
    ///
    /// Throws `PrivacyPassError.invalidDirectory`; also for more than 96 KiB, and for a key of type 2 that is not one.
    public init(json: [UInt8]) throws(PrivacyPassError) {
        guard json.count <= Self.longestJSON, let document = try? JSONDecoder().decode(Document.self, from: Data(json)) else {
            throw .invalidDirectory
        }
        var keys: [Entry] = []
        for item in document.tokenKeys where item.tokenType == 2 {
            guard let text = item.tokenKey, let spki = Base64.urlBytes(Array(text.utf8), limit: TokenPublicKey.spkiLength),
                let key = try? TokenPublicKey(spki: spki), (item.notBefore ?? 0) >= 0
            else { throw .invalidDirectory }
            keys.append(Entry(key: key, notBefore: item.notBefore))
        }
        try self.init(requestURI: document.requestURI, keys: keys)
    }

    /// The text, the same for the same directory: members and keys in fixed order.
    public var json: [UInt8] {
        let uri = requestURI.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
        let items = keys.map { entry in
            let time = entry.notBefore.map { ",\"not-before\":\($0)" } ?? ""
            return "{\"token-type\":2,\"token-key\":\"\(Base64.urlText(entry.key.spki, padded: true))\"\(time)}"
        }
        return Array("{\"issuer-request-uri\":\"\(uri)\",\"token-keys\":[\(items.joined(separator: ","))]}".utf8)
    }

    /// The first key that may be used at a time, in seconds since 1970.
    public func usableKey(at now: Int64) -> TokenPublicKey? {
        keys.first { ($0.notBefore ?? .min) <= now }?.key
    }

    /// Whether a key is in the directory.
    public func contains(_ id: TokenKeyID) -> Bool { keys.contains { $0.key.id == id } }

    private struct Document: Decodable {
        var requestURI: String
        var tokenKeys: [Item]

        enum CodingKeys: String, CodingKey {
            case requestURI = "issuer-request-uri"
            case tokenKeys = "token-keys"
        }
    }

    /// A key of any type: only those of type 2 must have the members in their form.
    private struct Item: Decodable {
        var tokenType: Int
        var tokenKey: String?
        var notBefore: Int64?

        enum CodingKeys: String, CodingKey {
            case tokenType = "token-type"
            case tokenKey = "token-key"
            case notBefore = "not-before"
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            tokenType = try members.decode(Int.self, forKey: .tokenType)
            guard tokenType == 2 else { return }
            tokenKey = try members.decode(String.self, forKey: .tokenKey)
            notBefore = try members.decodeIfPresent(Int64.self, forKey: .notBefore)
        }
    }
}
