// Users that the configuration or a file of users names, by tier and user token (service.md 1.6.2).

import CallerDirectory
import Cryptography
import PrivacyPass

/// Users whose tokens are listed.
struct ListedUsers: UserSource {
    private let users: [[UInt8]: UserAccount]

    /// Takes groups without two equal credentials, as the configuration's reader makes sure.
    init(_ groups: [UserGroup], secret: AccountSecret) throws(CryptographyError) {
        var users: [[UInt8]: UserAccount] = [:]
        for group in groups {
            for token in group.tokens {
                let account = UserAccount(tier: group.tier, mark: try secret.userMark("listed " + token))
                for credential in BearerAuthorization.credentials(ofUserToken: token) {
                    users[try secret.credentialHash(credential)] = account
                }
            }
        }
        self.users = users
    }

    /// Looks a credential up by its hash, so that the time tells nothing of how much of a guess was right.
    func find(_ credential: UserCredential) -> UserFinding { users[credential.hash].map { .user($0) } ?? .unknown }
}
