// Which use cases a tier sees, and under which names (service.md 2.7): a device asks by the names of its extension, and a tier may
// get other data under them.

/// The use cases that somebody may ask for.
public struct UseCaseNames: Sendable, Equatable {
    /// Hosted names by the names that are asked for; nil: all, each under its own.
    private let hostedByAsked: [String: String]?

    /// Every use case under its own name.
    public static let all = UseCaseNames(hostedByAsked: nil)

    /// Names of hosted use cases by the names that devices ask for; nil: all under their own.
    public init(hostedByAsked: [String: String]?) { self.hostedByAsked = hostedByAsked }

    /// The hosted use case behind a name; nil: there is none for this asker.
    func hosted(_ asked: String) -> String? {
        guard let hostedByAsked else { return asked }
        return hostedByAsked[asked]
    }

    /// All of `hosted` that may be asked for, by the name that is asked for.
    func pairs(of hosted: [String]) -> [(asked: String, hosted: String)] {
        guard let hostedByAsked else { return hosted.map { ($0, $0) } }
        return hostedByAsked.filter { hosted.contains($0.value) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

/// The use cases of all tiers.
public struct TierUseCases: Sendable, Equatable {
    private let names: [String: UseCaseNames]
    private let defaultTier: String

    /// Use cases by tier; a tier that is not here sees all.
    public init(_ names: [String: UseCaseNames] = [:], defaultTier: String = "default") {
        self.names = names
        self.defaultTier = defaultTier
    }

    /// What a tier sees.
    subscript(tier: String) -> UseCaseNames { names[tier] ?? .all }

    /// What somebody without a token sees.
    var ofEverybody: UseCaseNames { self[defaultTier] }
}
