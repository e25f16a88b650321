// Who may ask, and how often: users by tier, where users are kept, issuer keys, quotas (service.md 1.6.2, 2, 8.4). Reading
// them is in TokenSettingsReader.swift.

/// Users of one tier that the configuration names itself.
public struct UserGroup: Sendable, Equatable {
    /// The tier.
    public var tier: String
    /// Their user tokens: what stands behind `Bearer `.
    public var tokens: [String]

    /// A group.
    public init(tier: String, tokens: [String]) {
        self.tier = tier
        self.tokens = tokens
    }
}

/// The operator's own server that is asked about user tokens.
public struct UserEndpointSettings: Sendable, Equatable {
    static let keys = ["url", "certificates", "timeoutMilliseconds", "cacheSeconds"]
    /// Scheme, host, port and path.
    public var url: String
    /// Absolute path of a PEM file with the only certificates that are trusted; nil: the system's.
    public var certificates: String?
    /// After which the endpoint counts as unreachable.
    public var timeoutMilliseconds = 2000
    /// How long an answer is kept.
    public var cacheSeconds = 300

    /// An endpoint with default times.
    public init(url: String) { self.url = url }
}

/// Where users are found besides the configuration and the database.
public struct UserSourceSettings: Sendable, Equatable {
    static let keys = ["file", "signingSecret", "endpoint"]
    /// Absolute path of a file with groups like those of `users`, read again when it changes.
    public var file: String?
    /// Absolute path of the secret of signed user tokens.
    public var signingSecret: String?
    /// Who is asked about user tokens that nobody else knows.
    public var endpoint: UserEndpointSettings?

    /// None.
    public init() {}
}

/// What a tier may do (service.md 2.7, 8.4).
public struct TierSettings: Sendable, Equatable {
    static let keys = ["tokensPerHour", "tokensPerDay", "burst", "useCases"]
    /// Tokens that a user gets back every hour.
    public var tokensPerHour = 100
    /// Tokens that a user gets in a day (UTC) at most; nil: no such bound.
    public var tokensPerDay: Int?
    /// Tokens that a user who asked for none may get at once.
    public var burst = 600
    /// Use cases by the name that a device asks for; nil: all, under their own names.
    public var useCases: [String: String]?

    /// The defaults: the largest batch of a phone (512) and some (service.md 1.4).
    public init() {}
}

/// What is done with tokens for another challenge than ours (service.md 2.8).
public enum ChallengePolicy: String, Sendable, Equatable, CaseIterable {
    /// They are as good as others.
    case any
    /// They are accepted, and counted.
    case report
    /// They are refused.
    case enforce
}

/// Issuer keys and tokens.
public struct TokenSettings: Sendable, Equatable {
    static let keys = [
        "keys", "passphrase", "directoryMaxAgeSeconds", "lifetimeHours", "rotationDays", "challenge", "issuerNames",
        "defaultKeyForAll",
    ]
    /// Absolute path of the folder of the issuer's keys.
    public var keys: String
    /// Absolute path of the file whose first line encrypts the keys; nil: they are not encrypted.
    public var passphrase: String?
    /// How long the directory may be cached.
    public var directoryMaxAgeSeconds = 86_400
    /// How long a device keeps a token.
    public var lifetimeHours = 168
    /// Days after which a tier gets a new key; 0: only by `veilring keys rotate`.
    public var rotationDays = 30
    /// What is done with tokens for another challenge.
    public var challenge = ChallengePolicy.any
    /// Issuer names that a device's challenge may have; empty: the issuer's host, else the addresses in `listen`.
    public var issuerNames: [String] = []
    /// Users of every tier may have tokens of the default tier's key (service.md 2.7).
    public var defaultKeyForAll = true

    /// The defaults, with keys in this folder.
    public init(keys: String) { self.keys = keys }
}

/// `GET /config` without a token (service.md 1.11.1).
public struct PublicConfigSettings: Sendable, Equatable {
    static let keys = ["serve", "maxAgeSeconds"]
    /// Whether it is answered.
    public var serve = true
    /// How long the answer may be cached.
    public var maxAgeSeconds = 300

    /// The defaults.
    public init() {}
}

/// Everything about users and tokens.
public struct AccessSettings: Sendable, Equatable {
    /// Users that the configuration names, in its order.
    public var users: [UserGroup] = []
    /// Where else users are found.
    public var sources = UserSourceSettings()
    /// What tiers may do, by name; a tier that is not here has the defaults.
    public var tiers: [String: TierSettings] = [:]
    /// The tier whose key is first in the directory: the first one named by `users`, else by `tiers`, else `default`.
    public var defaultTier = "default"
    /// Issuer keys and tokens.
    public var tokens: TokenSettings
    /// `GET /config` without a token.
    public var publicConfig = PublicConfigSettings()

    /// No users; keys in this folder.
    public init(keys: String) { tokens = TokenSettings(keys: keys) }

    /// Every tier that the configuration names, the default tier first.
    public var tierNames: [String] {
        var names = [defaultTier]
        for name in users.map(\.tier) + tiers.keys.sorted() where !names.contains(name) { names.append(name) }
        return names
    }
}
