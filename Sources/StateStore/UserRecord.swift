// A user account: a tier, and the hashes of the user tokens that prove it (service.md 1.6.2, 2.7, 8.3).

/// One user. Times are seconds since 1970.
public struct UserRecord: Sendable, Equatable {
    /// Given by the store.
    public var id: Int64
    /// The tier whose tokens the user may have: 1 to 128 bytes without control characters.
    public var tier: String
    /// The operator's own note: up to 256 bytes without control characters. Never logged.
    public var label: String?
    /// When the user was added.
    public var created: Int64
    /// From this time on the user gets no tokens; nil: never.
    public var expires: Int64?
    /// When the user was revoked; nil: not.
    public var revoked: Int64?
    /// Hashes of the user's tokens, 32 bytes each, sorted, made by the caller; at most 64. The tokens are stored nowhere.
    public var credentialHashes: [[UInt8]]

    /// Makes a record; `SQLiteUserStore` checks the fields and gives the id.
    public init(
        id: Int64 = 0, tier: String, label: String? = nil, created: Int64, expires: Int64? = nil, revoked: Int64? = nil,
        credentialHashes: [[UInt8]]
    ) {
        self.id = id
        self.tier = tier
        self.label = label
        self.created = created
        self.expires = expires
        self.revoked = revoked
        self.credentialHashes = credentialHashes
    }

    /// Credentials of one user.
    static let mostCredentials = 64

    /// The texts of the errors never repeat the fields.
    func check() throws(StateStoreError) {
        guard Self.isText(tier, atMost: 128), !tier.isEmpty else {
            throw .invalidValue("a tier has 1 to 128 bytes without control characters")
        }
        guard Self.isText(label ?? "", atMost: 256) else {
            throw .invalidValue("a label has up to 256 bytes without control characters")
        }
        guard (1...Self.mostCredentials).contains(credentialHashes.count) else {
            throw .invalidValue("a user has 1 to \(Self.mostCredentials) credentials, this one has \(credentialHashes.count)")
        }
        for hash in credentialHashes { try Self.check(hash: hash) }
    }

    static func check(hash: [UInt8]) throws(StateStoreError) {
        guard hash.count == 32 else { throw .invalidValue("the hash of a credential has 32 bytes, this one has \(hash.count)") }
    }

    private static func isText(_ text: String, atMost limit: Int) -> Bool {
        text.utf8.count <= limit && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
