// The attester (RFC 9576 section 3.2): decides who may have tokens, and how many.

import Synchronization

/// Knows users and their quotas.
final class Attester: Sendable {
    private let secret: AccountSecret
    private let sources: Mutex<[any UserSource]>
    /// How many tokens users have had.
    let quotas: IssuanceQuotas

    /// An attester that asks the sources in this order.
    init(secret: AccountSecret, sources: [any UserSource], quotas: IssuanceQuotas) {
        self.secret = secret
        self.sources = Mutex(sources)
        self.quotas = quotas
    }

    /// Puts other sources in force.
    func replaceSources(_ fresh: [any UserSource]) { sources.withLock { $0 = fresh } }

    /// Whose credential it is. May wait: for the database, or for the operator's server.
    func find(_ text: String) -> UserFinding {
        guard let hash = try? secret.credentialHash(text) else { return .unavailable }
        let credential = UserCredential(text: text, hash: hash)
        var worst = UserFinding.unknown
        for source in sources.withLock({ $0 }) {
            switch source.find(credential) {
            case .user(let account): return .user(account)
            case .unknown: break
            case .expired: return .expired
            // Another source may know it; if none does, nobody can say that it is unknown.
            case .unavailable: worst = .unavailable
            }
        }
        return worst
    }
}
