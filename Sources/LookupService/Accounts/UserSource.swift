// Who a user token belongs to (service.md 1.6.2, 2.5): several sources are asked in turn. None keeps a user token: what is compared
// and stored are keyed hashes.

import Cryptography

/// The secret under which user tokens become hashes. The same on every node that shares users or counters.
public struct AccountSecret: Sendable {
    private let key: HMACSHA256

    /// The secret in a file, which is made if it is missing.
    ///
    /// - Throws: `IssuerKeyError.secretFile`.
    public init(file: String) throws(IssuerKeyError) {
        let bytes = try SecretFile.own(file)
        do throws(CryptographyError) {
            key = try HMACSHA256(key: bytes)
        } catch {
            throw .secretFile(path: file, reason: "\(error)")
        }
    }

    /// A secret of this process only.
    ///
    /// - Throws: `CryptographyError` without random bytes.
    static func passing() throws -> AccountSecret {
        AccountSecret(key: try HMACSHA256(key: try secureRandomBytes(32)))
    }

    private init(key: HMACSHA256) { self.key = key }

    /// 32 bytes by which a credential is found.
    public func credentialHash(_ credential: String) throws(CryptographyError) -> [UInt8] {
        try key.code(for: Array("veilring credential\0".utf8) + Array(credential.utf8))
    }

    /// 16 bytes by which a user's counters are found; `name` is unique among users.
    func userMark(_ name: String) throws(CryptographyError) -> [UInt8] {
        Array(try key.code(for: Array("veilring user\0".utf8) + Array(name.utf8)).prefix(16))
    }
}

/// What came behind `Bearer `, with the hash that sources compare.
struct UserCredential: Sendable {
    /// As it was received.
    let text: String
    /// Under the account secret.
    let hash: [UInt8]
}

/// A user, as far as the issuer knows one.
struct UserAccount: Sendable, Equatable {
    /// The tier.
    var tier: String
    /// By which counters are found: 16 bytes that tell nobody who it is.
    var mark: [UInt8]
}

/// What a source says of a credential.
enum UserFinding: Sendable, Equatable {
    /// It is this user's.
    case user(UserAccount)
    /// This source does not know it.
    case unknown
    /// It was good once.
    case expired
    /// The source cannot be asked at the moment.
    case unavailable
}

/// A place where users are known.
protocol UserSource: Sendable {
    /// Looks a credential up. Called on a thread that may wait.
    func find(_ credential: UserCredential) -> UserFinding
}
