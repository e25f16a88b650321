// The database of users as `veilring users` sees it: tokens go in as keyed hashes and never come out (service.md 1.6.2, 8.1).

import CallerDirectory
import Cryptography
import Glibc
import PrivacyPass
import StateStore

/// The users of a deployment that are kept in its database.
public struct UserRegister: Sendable {
    private let store: SQLiteUserStore
    private let secret: AccountSecret

    /// Whether there is a database already, with the secret that its hashes need.
    public static func exists(data: String) -> Bool {
        access(data + "/state/accounts.secret", F_OK) == 0 && access(data + "/state/users.sqlite", F_OK) == 0
    }

    /// How many users of the database may have tokens. Changes nothing; there must be a database.
    ///
    /// - Throws: `StateStoreError`.
    public static func count(data: String) throws -> Int {
        let store = try SQLiteUserStore(lookingAt: data + "/state/users.sqlite")
        defer { store.close() }
        return try store.list().count { $0.revoked == nil }
    }

    /// Opens `<data>/state/users.sqlite`, or makes it.
    ///
    /// - Throws: `IssuerKeyError.secretFile`, `StateStoreError`.
    public init(data: String) throws {
        secret = try AccountSecret(file: data + "/state/accounts.secret")
        store = try SQLiteUserStore(path: data + "/state/users.sqlite")
    }

    /// Adds a user.
    ///
    /// - Parameters:
    ///   - token: the user token as text; known afterwards by both of its forms.
    ///   - label: the operator's own note.
    ///   - expires: seconds since 1970; nil: never.
    /// - Throws: `StateStoreError`; `credentialTaken` when somebody has this token already.
    public func add(token: String, tier: String, label: String?, expires: Int64?) throws -> UserRecord {
        try store.add(
            UserRecord(
                tier: tier, label: label, created: Int64(secondsSince1970()), expires: expires,
                credentialHashes: try hashes(token)))
    }

    /// Revokes a user; tokens that were issued stay good until they expire.
    public func revoke(id: Int64) throws { try store.revoke(id: id, at: Int64(secondsSince1970())) }

    /// Revokes the user who has this user token.
    public func revoke(token: String) throws {
        guard let hash = try hashes(token).first else { return }
        try store.revoke(credentialHash: hash, at: Int64(secondsSince1970()))
    }

    /// All users, by id.
    public func list() throws -> [UserRecord] { try store.list() }

    /// Adds groups of users, all or none; who is there already gets the tier of the group.
    ///
    /// - Returns: how many were new.
    public func importGroups(_ groups: [UserGroup]) throws -> Int {
        let now = Int64(secondsSince1970())
        return try store.importAll(
            groups.flatMap { group in
                try group.tokens.map { UserRecord(tier: group.tier, created: now, credentialHashes: try hashes($0)) }
            })
    }

    private func hashes(_ token: String) throws(CryptographyError) -> [[UInt8]] {
        var hashes: [[UInt8]] = []
        for credential in BearerAuthorization.credentials(ofUserToken: token) {
            hashes.append(try secret.credentialHash(credential))
        }
        return hashes
    }
}

/// A user token in the forms in which people and phones need it (service.md 1.6.2; field case F53).
public struct UserTokenForms: Sendable, Equatable {
    /// The token itself: what stands in `users`.
    public let text: String
    /// The base64 of its bytes: what the extension's code holds, and what stands behind `Bearer `.
    public let base64: String
    /// What a phone may not carry as it is meant, in words.
    public let warnings: [String]

    /// The forms of a token.
    public init(_ text: String) {
        self.text = text
        base64 = BearerAuthorization.credentials(ofUserToken: text).last ?? ""
        var warnings: [String] = []
        if text.utf8.last == 0x0A || text.utf8.last == 0x0D {
            warnings.append("the token ends with a line feed: it belongs to the token on the phone, and fails here")
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        if parts.count == 3, text.hasPrefix("eyJ") {
            warnings.append(
                "the token is a JSON Web Token, which has dots and is no base64: give the phone the base64 below, not the token"
            )
        } else if text.utf8.contains(where: { $0 == 0x2D || $0 == 0x5F }) {
            warnings.append(
                "the token has - or _, as base64url does: iOS decodes standard base64 only, so give it the base64 below")
        }
        if text.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) {
            warnings.append("the token has spaces or characters beyond ASCII: it can be sent as base64 only")
        }
        self.warnings = warnings
    }

    /// A token of 32 random letters and digits, 190 bits.
    public static func random() throws -> String {
        // Letters and digits only, so that nothing has to be escaped anywhere.
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var text: [UInt8] = []
        while text.count < 32 {
            for byte in try secureRandomBytes(64) where byte < 248 && text.count < 32 {
                text.append(alphabet[Int(byte) % alphabet.count])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A signed user token, as the operator's own back end makes them.
    ///
    /// - Parameters:
    ///   - secretFile: the file that `userSources.signingSecret` names.
    ///   - subject: who the user is to the operator, 1 to 256 bytes.
    ///   - expires: seconds since 1970.
    public static func signed(secretFile: String, subject: String, tier: String, expires: Int64) throws -> String {
        try SignedUsers.make(key: try SecretFile.shared(secretFile), subject: subject, tier: tier, expires: expires)
    }
}
