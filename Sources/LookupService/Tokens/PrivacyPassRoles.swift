// Issuer, attester and origin of Privacy Pass in one process (RFC 9576 section 3), put together from the configuration, and their
// upkeep: rotation, files of users, counters, expired tokens (service.md 2, 8.4, 9).

import CallerDirectory
import Cryptography
import PrivacyPass
import StateStore
import Synchronization

/// Everything about users and tokens that a server needs.
public final class PrivacyPassRoles: Sendable {
    let keys: IssuerKeys
    let attester: Attester
    let redemption: TokenRedemption
    private let useCases: Mutex<TierUseCases>
    private let users: UserSources
    private let spent: any SpentTokenStore
    private let counters: SQLiteQuotaStore?
    private let lastForgetting = Mutex<Int64?>(nil)
    /// The keys whose spent tokens were last said to be needed.
    private let keptSpent = Mutex<Set<String>>([])

    /// What tiers see.
    var tiers: TierUseCases { useCases.withLock { $0 } }

    /// Opens keys, users, counters and spent tokens under the data folder; keys that are missing are made.
    ///
    /// - Parameters:
    ///   - access: users and tokens of the configuration.
    ///   - data: the data folder.
    ///   - issuerNames: names of the issuer, the first of which is in the challenge of a 401.
    ///   - now: seconds since 1970; nil: the system's clock.
    /// - Throws: `IssuerKeyError`, `StateStoreError`, `ConfigurationError` (a file of users).
    public init(
        access: AccessSettings, data: String, issuerNames: [String], now: (@Sendable () -> Int64)? = nil
    ) throws {
        let now = now ?? { Int64(secondsSince1970()) }
        let state = data + "/state"
        let secret = try AccountSecret(file: state + "/accounts.secret")
        let rule = ChallengeRule(
            policy: ChallengeRule.Policy(access.tokens.challenge),
            issuerNames: access.tokens.issuerNames.isEmpty ? issuerNames : access.tokens.issuerNames)
        let users = try UserSources(access: access, state: state, secret: secret, now: now)
        self.users = users
        keys = try IssuerKeys(folder: IssuerKeyFolder(access), tiers: users.tierNames, rule: rule, now: now)
        let counters = try SQLiteQuotaStore(path: state + "/quotas.sqlite")
        self.counters = counters
        attester = Attester(
            secret: secret, sources: users.all,
            quotas: IssuanceQuotas(
                quotas: access.tiers.mapValues { IssuanceQuota($0) }, standard: IssuanceQuota(TierSettings()), store: counters))
        spent = try SQLiteSpentTokenStore(folder: state + "/spent")
        // Reads what was spent before, so that the first token does not wait for that.
        let names = keys.names
        try spent.keep(only: names)
        keptSpent.withLock { $0 = names }
        redemption = TokenRedemption(keys: keys, rule: rule, spent: spent)
        useCases = Mutex(TierUseCases(access))
    }

    /// Puts users, tiers and quotas of another configuration in force. Keys, spent tokens and the challenge need a restart.
    ///
    /// - Throws: `ConfigurationError`, `StateStoreError`, `IssuerKeyError`; everything stays as it was then.
    public func reload(_ access: AccessSettings) throws {
        try users.reload(access)
        attester.replaceSources(users.all)
        attester.quotas.replace(
            quotas: access.tiers.mapValues { IssuanceQuota($0) }, standard: IssuanceQuota(TierSettings()))
        useCases.withLock { $0 = TierUseCases(access) }
        keys.replaceTiers(users.tierNames)
    }

    /// What has to be done every second; what fails is said, and tried again the next time.
    func maintain(log: any LogWriter) {
        attempt(log) {
            for name in try keys.refresh() { log.note(.issuerKeyInForce(key: name)) }
            let names = keys.names
            guard keptSpent.withLock({ $0 }) != names else { return }
            try spent.keep(only: names)
            keptSpent.withLock { $0 = names }
        }
        attempt(log) { try attester.quotas.flush() }
        attempt(log) {
            let now = keys.now()
            // Once an hour is often enough for what is days old.
            guard lastForgetting.withLock({ $0.map { now - $0 >= 3600 } ?? true }) else { return }
            try attester.quotas.forgetIdle(at: now)
            lastForgetting.withLock { $0 = now }
        }
        attempt(log) {
            guard try users.refresh() else { return }
            attester.replaceSources(users.all)
            keys.replaceTiers(users.tierNames)
            log.note(.usersLoaded)
        }
    }

    private func attempt(_ log: any LogWriter, _ work: () throws -> Void) {
        do {
            try work()
        } catch {
            // Texts hold paths, places and codes, never what a file says.
            log.note(.tokenUpkeepFailed(reason: "\(error)"))
        }
    }

    /// Writes down what is in memory only, and closes the files.
    func close(log: any LogWriter) {
        attempt(log) { try attester.quotas.flush() }
        attempt(log) { try spent.close() }
        counters?.close()
        users.close()
    }

    /// How much is kept of spent tokens; nil if that cannot be read.
    func spentTokens() -> SpentTokenStatistics? { try? spent.statistics() }
}

extension SQLiteQuotaStore: QuotaStore {}

extension ChallengeRule.Policy {
    init(_ policy: ChallengePolicy) {
        switch policy {
        case .any: self = .any
        case .report: self = .report
        case .enforce: self = .enforce
        }
    }
}

extension IssuanceQuota {
    /// What a tier's settings say.
    init(_ settings: TierSettings) {
        self.init(perHour: settings.tokensPerHour, perDay: settings.tokensPerDay, burst: settings.burst)
    }
}

extension TierUseCases {
    /// What the tiers' settings say.
    init(_ access: AccessSettings) {
        self.init(
            access.tiers.mapValues { UseCaseNames(hostedByAsked: $0.useCases) }, defaultTier: access.defaultTier)
    }
}

extension IssuerKeyFolder {
    /// The folder of a configuration.
    ///
    /// - Throws: `IssuerKeyError.secretFile` when the passphrase cannot be read.
    public init(_ access: AccessSettings) throws(IssuerKeyError) {
        let tokens = access.tokens
        var passphrase: [UInt8]?
        if let file = tokens.passphrase { passphrase = try SecretFile.passphrase(file) }
        self.init(
            path: tokens.keys, passphrase: passphrase,
            rules: RotationRules(
                directoryMaxAge: Int64(tokens.directoryMaxAgeSeconds), tokenLifetime: Int64(tokens.lifetimeHours) * 3600,
                period: Int64(max(1, tokens.rotationDays)) * 86_400),
            defaultTier: access.defaultTier, isDefaultForAll: tokens.defaultKeyForAll, isScheduled: tokens.rotationDays > 0)
    }
}
