// Users in the database that `veilring users` keeps.

import Cryptography
import StateStore

/// Users in a database.
struct StoredUsers: UserSource {
    let store: SQLiteUserStore
    let secret: AccountSecret
    let now: @Sendable () -> Int64

    func find(_ credential: UserCredential) -> UserFinding {
        do {
            guard let user = try store.user(credentialHash: credential.hash) else { return .unknown }
            if user.revoked != nil { return .unknown }
            if let expires = user.expires, expires <= now() { return .expired }
            return .user(UserAccount(tier: user.tier, mark: try secret.userMark("stored \(user.id)")))
        } catch {
            return .unavailable
        }
    }
}
