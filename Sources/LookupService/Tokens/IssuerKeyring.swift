// The issuer's keys as they lie in the folder, ready to sign and to verify, and what is public about them (service.md 2.2 to 2.6).

import Cryptography
import HTTPCore
import PrivacyPass
import StateStore

/// Keys of one moment. A change of the folder makes another keyring.
struct IssuerKeyring: Sendable {
    /// A key with its times.
    struct Key: Sendable {
        /// The id in hexadecimal.
        let name: String
        let tier: String
        let times: IssuerKeyTimes
        let signing: TokenIssuerKey

        /// What may be logged.
        var shortName: String { signing.publicKey.id.shortText }
    }

    let schedule: KeySchedule<String>
    private let keys: [String: Key]
    private let byID: [TokenKeyID: Key]

    /// Reads private keys; one that cannot be read is an error of the whole.
    ///
    /// - Throws: `IssuerKeyError`.
    init(
        _ stored: [StoredKey], schedule: KeySchedule<String>, passphrase: [UInt8]?, defaultTier: String,
        known: IssuerKeyring? = nil
    ) throws(IssuerKeyError) {
        var keys: [String: Key] = [:]
        for record in stored where record.kind == .issuer {
            // Decrypting and checking takes a while; what is the same is not done again.
            let signing: TokenIssuerKey
            if let same = known?.keys[record.name]?.signing {
                signing = same
            } else {
                signing = try Self.read(record, passphrase: passphrase)
            }
            keys[record.name] = Key(
                name: record.name, tier: record.tier ?? defaultTier, times: IssuerKeyTimes(record), signing: signing)
        }
        self.keys = keys
        byID = Dictionary(keys.values.map { ($0.signing.publicKey.id, $0) }, uniquingKeysWith: { first, _ in first })
        self.schedule = schedule
    }

    private static func read(_ record: StoredKey, passphrase: [UInt8]?) throws(IssuerKeyError) -> TokenIssuerKey {
        let key: TokenIssuerKey
        do {
            key = try TokenIssuerKey(RSAPrivateKey(pem: record.privateKey, passphrase: passphrase))
        } catch {
            throw .unreadable(name: String(record.name.prefix(8)), reason: "\(error)")
        }
        guard key.publicKey.id.bytes.hexadecimal == record.name else {
            throw .unreadable(name: String(record.name.prefix(8)), reason: "its name is not the id of the key inside")
        }
        return key
    }

    /// All of them, by age.
    var all: [Key] { keys.values.sorted { ($0.times.created, $0.name) < ($1.times.created, $1.name) } }

    /// The key whose tokens with this id are accepted now.
    func verifying(_ id: TokenKeyID, at now: Int64) -> Key? {
        guard let key = byID[id], schedule.verifies(key.name, at: now) else { return nil }
        return key
    }

    /// The key that a tier's users get now.
    func issuing(tier: String, at now: Int64) -> Key? {
        schedule.currentKey(forTier: tier, at: now).flatMap { keys[$0.id] }
    }

    /// The key that a request of a tier's user names by one byte.
    func issuing(tier: String, truncated: UInt8, at now: Int64) -> Key? {
        schedule.issuingKey(forTier: tier, truncatedID: truncated, at: now).flatMap { keys[$0.id] }
    }

    /// The names of the keys in the directory, in its order.
    func directoryNames(at now: Int64) -> [String] { schedule.directory(at: now).map(\.id) }

    /// The directory's JSON.
    func directory(of names: [String]) throws(PrivacyPassError) -> [UInt8] {
        let entries = names.compactMap { keys[$0] }.map {
            IssuerDirectory.Entry(key: $0.signing.publicKey, notBefore: $0.times.notBefore)
        }
        return try IssuerDirectory(requestURI: "/issue", keys: entries).json
    }
}

extension IssuerKeyTimes {
    /// The times of a record.
    init(_ record: StoredKey) {
        self.init(
            created: record.created, notBefore: record.notBefore, leavesDirectoryAt: record.leavesDirectory,
            issueUntil: record.issueUntil, verifyUntil: record.verifyUntil)
    }
}

extension StoredKey {
    /// The record with other times.
    func with(_ times: IssuerKeyTimes) -> StoredKey {
        var record = self
        record.created = times.created
        record.notBefore = times.notBefore
        record.leavesDirectory = times.leavesDirectoryAt
        record.issueUntil = times.issueUntil
        record.verifyUntil = times.verifyUntil
        return record
    }
}

/// What can be wrong with the issuer's keys. No text holds anything secret.
public enum IssuerKeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A private key cannot be used; the name is the beginning of its id.
    case unreadable(name: String, reason: String)
    /// The folder cannot be used.
    case folder(StateStoreError)
    /// A new key could not be made.
    case cannotMake(reason: String)
    /// No key has this name, or several.
    case noSuchKey(String)
    /// The file of the passphrase, or of a secret, cannot be used.
    case secretFile(path: String, reason: String)

    /// One line.
    public var description: String {
        switch self {
        case .unreadable(let name, let reason): "issuer key \(name)…: \(reason)"
        case .folder(let error): "\(error)"
        case .cannotMake(let reason): "a new issuer key could not be made: \(reason)"
        case .noSuchKey(let name):
            "\(name): exactly one issuer key whose id begins so is needed; `veilring keys list` shows them"
        case .secretFile(let path, let reason): "\(path): \(reason)"
        }
    }
}
