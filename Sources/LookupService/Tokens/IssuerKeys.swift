// The issuer's keys of a running server: read again when the folder changes, rotated when it is time (service.md 2.4 to 2.6).

import HTTPCore
import PrivacyPass
import StateStore
import Synchronization

/// The keys in force, and what everybody may read of them.
public final class IssuerKeys: Sendable {
    private struct State {
        var keyring: IssuerKeyring
        var stamp: KeyFolderStamp
        /// Keys that failed while signing: nothing more is signed with them.
        var withdrawn: Set<String> = []
        /// The directory for a list of keys.
        var directory: (names: [String], body: CacheableBody)?
    }

    private let folder: IssuerKeyFolder
    private let rule: ChallengeRule
    private let tiers: Mutex<[String]>
    private let state: Mutex<State>
    /// Seconds since 1970; tests have a clock of their own.
    let now: @Sendable () -> Int64

    /// Reads the folder; tiers without a key get one.
    ///
    /// - Throws: `IssuerKeyError`.
    init(
        folder: IssuerKeyFolder, tiers: [String], rule: ChallengeRule, now: @escaping @Sendable () -> Int64
    ) throws(IssuerKeyError) {
        try folder.maintain(tiers: tiers, at: now())
        self.folder = folder
        self.rule = rule
        self.now = now
        self.tiers = Mutex(tiers)
        let stamp = try folder.folder.stampOfKeys()
        state = Mutex(State(keyring: try folder.load(), stamp: stamp))
    }

    /// Looks at the folder and the clock: new keys come into force, keys whose time has come get successors.
    ///
    /// - Returns: short names of keys that are new; empty if nothing changed.
    func refresh() throws(IssuerKeyError) -> [String] {
        try folder.maintain(tiers: tiers.withLock { $0 }, at: now())
        // Taken first: what changes while the keys are read is noticed the next time.
        let stamp = try folder.folder.stampOfKeys()
        let (known, isSame) = state.withLock { ($0.keyring, $0.stamp == stamp) }
        if isSame { return [] }
        let fresh = try folder.load(known: known)
        let old = Set(known.all.map(\.name))
        state.withLock { state in
            state.keyring = fresh
            state.stamp = stamp
            state.directory = nil
        }
        return fresh.all.filter { !old.contains($0.name) }.map(\.shortName)
    }

    /// From now on these tiers have keys of their own.
    func replaceTiers(_ names: [String]) { tiers.withLock { $0 = names } }

    /// The names of all keys: spent tokens of others may be forgotten.
    var names: Set<String> { Set(state.withLock { $0.keyring.all }.map(\.name)) }

    /// Keys by phase, for metrics.
    func counts() -> [IssuerKeyPhase: Int] {
        let now = now()
        let keyring = state.withLock { $0.keyring }
        return Dictionary(keyring.all.compactMap { keyring.schedule.phase(of: $0.name, at: now) }.map { ($0, 1) }) { $0 + $1 }
    }

    /// The key whose tokens with this id are accepted now.
    func verifying(_ id: TokenKeyID) -> IssuerKeyring.Key? { state.withLock { $0.keyring.verifying(id, at: now()) } }

    /// The key that a tier's users get now.
    func issuing(tier: String) -> IssuerKeyring.Key? {
        state.withLock { state in
            state.keyring.issuing(tier: tier, at: now()).flatMap { state.withdrawn.contains($0.name) ? nil : $0 }
        }
    }

    /// The key that a request of a tier's user names by one byte.
    func issuing(tier: String, truncated: UInt8) -> IssuerKeyring.Key? {
        state.withLock { state in
            state.keyring.issuing(tier: tier, truncated: truncated, at: now()).flatMap {
                state.withdrawn.contains($0.name) ? nil : $0
            }
        }
    }

    /// Signs nothing more with a key, because it gave a wrong result.
    func withdraw(_ name: String) { _ = state.withLock { $0.withdrawn.insert(name) } }

    /// GET /.well-known/private-token-issuer-directory: the same for everybody (RFC 9578 section 4).
    func directoryAnswer(_ head: HTTPRequestHead) -> HTTPResponse {
        let now = now()
        let body = state.withLock { state -> CacheableBody? in
            let names = state.keyring.directoryNames(at: now)
            if let directory = state.directory, directory.names == names { return directory.body }
            guard let json = try? state.keyring.directory(of: names) else { return nil }
            let body = CacheableBody(json, type: IssuerDirectory.mediaType)
            state.directory = (names, body)
            return body
        }
        guard let body else { return ServiceFailure.internalError.response }
        return body.answer(head, maxAge: Int(folder.rules.directoryMaxAge))
    }

    /// The value of `WWW-Authenticate` for requests without a good token (RFC 9577 section 2.1).
    var challenge: String? {
        guard let challenge = rule.challenge else { return nil }
        let key = state.withLock { $0.keyring.issuing(tier: folder.defaultTier, at: now()) }
        return PrivateTokenChallenge(challenge, key: key?.signing.publicKey).fieldValue
    }
}
