// Whose a user token is, asked without a server and without making a file: for `veilring check`.

import CallerDirectory
import Cryptography
import Glibc
import StateStore

/// What the sources of users say of a user token.
public enum UserTokenFinding: Sendable, Equatable {
    /// It is good, and its user is of this tier.
    case tier(String)
    /// No source knows it.
    case unknown
    /// It was good once.
    case expired
    /// The operator's endpoint decides, and was not asked.
    case decidedElsewhere
    /// A source could not be read.
    case unavailable

    /// Asks the configuration, the file of users, the database and the signing secret.
    ///
    /// - Parameters:
    ///   - credential: what stands behind `Bearer `.
    ///   - data: the data folder.
    ///   - now: seconds since 1970.
    /// - Throws: `ConfigurationError` (a file of users), `IssuerKeyError` (a secret's file), `CryptographyError`, `StateStoreError`.
    public init(of credential: String, access: AccessSettings, data: String, now: Int64) throws {
        let (stateSecret, database) = (data + "/state/accounts.secret", data + "/state/users.sqlite")
        let hasSecret = Glibc.access(stateSecret, F_OK) == 0
        let secret = hasSecret ? try AccountSecret(file: stateSecret) : try AccountSecret.passing()
        let groups = try access.sources.file.map { try VeilringConfiguration.loadUsers(path: $0) } ?? []
        var sources: [any UserSource] = [try ListedUsers(access.users + groups, secret: secret)]
        var store: SQLiteUserStore?
        defer { store?.close() }
        if UserRegister.exists(data: data) {
            let opened = try SQLiteUserStore(lookingAt: database)
            store = opened
            sources.append(StoredUsers(store: opened, secret: secret, now: { now }))
        }
        if let file = access.sources.signingSecret {
            let tiers = Set(access.tierNames + groups.map(\.tier))
            sources.append(
                try SignedUsers(key: try SecretFile.shared(file), secret: secret, tiers: tiers, now: { now }))
        }
        let attested = UserCredential(text: credential, hash: try secret.credentialHash(credential))
        var result = UserTokenFinding.unknown
        for source in sources {
            switch source.find(attested) {
            case .user(let account):
                self = .tier(account.tier)
                return
            case .expired:
                self = .expired
                return
            case .unavailable: result = .unavailable
            case .unknown: break
            }
        }
        if result == .unknown, access.sources.endpoint != nil { result = .decidedElsewhere }
        self = result
    }
}
