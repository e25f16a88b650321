// Reads `users`, `userSources`, `tiers`, `tokens` and `publicConfig` (docs/configuration.md). User tokens are secrets: a finding
// says where one stands, and never what it is.

import FoundationEssentials
import PrivacyPass

/// Reads groups of users, out of the configuration or a file of their own, and sees to it that no two have one credential.
struct UserGroupsReader {
    static let groupsAtMost = 10_000
    static let tokensAtMost = 1_000_000
    private static let expected = "a list of { tier, tokens }"

    let log: SettingsLog
    /// Where a credential stands that was read already.
    private var places: [String: TextPosition] = [:]
    private var count = 0

    init(log: SettingsLog) { self.log = log }

    mutating func read(_ value: JSON5Value, path: String) -> [UserGroup] {
        guard case .array(let items) = value.kind, items.count <= Self.groupsAtMost else {
            log.report(path, value.position, expected: Self.expected, came: summary(value))
            return []
        }
        var groups: [UserGroup] = []
        for item in items {
            guard case .object = item.kind else {
                log.report(path, item.position, expected: "{ tier, tokens }", came: summary(item))
                continue
            }
            guard let section = SettingsSection(item, path: path, known: ["tier", "tokens"], log: log) else { continue }
            guard let tier = TierName.read(section) else { continue }
            groups.append(UserGroup(tier: tier, tokens: readTokens(section)))
        }
        return groups
    }

    private mutating func readTokens(_ section: SettingsSection) -> [String] {
        guard let value = section.value("tokens"), case .array(let items) = value.kind else {
            let came = section.value("tokens").map(summary) ?? "nothing"
            section.report("tokens", expected: "a list of user tokens", came: came)
            return []
        }
        var tokens: [String] = []
        for item in items {
            guard let token = readToken(item, path: section.path(of: "tokens")) else { continue }
            tokens.append(token)
        }
        return tokens
    }

    private mutating func readToken(_ item: JSON5Value, path: String) -> String? {
        let expected = "a user token: 1 to 3072 bytes of text without control characters, as it stands behind `Bearer `"
        guard case .string(let text) = item.kind else {
            log.report(path, item.position, expected: expected, came: summary(item))
            return nil
        }
        if let problem = Self.problem(of: text) {
            log.report(path, item.position, expected: expected, came: problem)
            return nil
        }
        count += 1
        guard count <= Self.tokensAtMost else {
            if count == Self.tokensAtMost + 1 {
                log.report(
                    path, item.position, expected: "at most \(Self.tokensAtMost) user tokens (more belong into the database)",
                    came: "more")
            }
            return nil
        }
        for credential in BearerAuthorization.credentials(ofUserToken: text) {
            if let place = places[credential] {
                log.report(
                    path, item.position,
                    expected: "each user token once (as text, and as the base64 of its bytes)",
                    came: "the one of line \(place.line), column \(place.column) again")
                return nil
            }
            places[credential] = item.position
        }
        return text
    }

    /// What is wrong with a user token; nil: nothing.
    static func problem(of text: String) -> String? {
        if text.isEmpty { return "an empty text" }
        if text.utf8.count > 3072 { return "\(text.utf8.count) bytes" }
        if text.utf8.last == 0x0A || text.utf8.last == 0x0D { return "a text with a line feed at its end" }
        if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return "a text with a control character" }
        return nil
    }

    /// What came, without saying it.
    private func summary(_ value: JSON5Value) -> String {
        switch value.kind {
        case .string: "a text"
        case .array(let items): "a list of \(items.count)"
        default: value.summary
        }
    }
}

/// Names of tiers.
enum TierName {
    static let expected = "the name of a tier: 1 to 64 letters, digits, dots, hyphens and underscores, no dot first"

    static func isValid(_ text: String) -> Bool { text.utf8.count <= 64 && ConfigurationReader.isUseCaseName(text) }

    static func read(_ section: SettingsSection) -> String? {
        guard let value = section.value("tier") else {
            section.report("tier", expected: expected, came: "nothing")
            return nil
        }
        guard case .string(let name) = value.kind, isValid(name) else {
            section.report("tier", expected: expected, came: value.summary)
            return nil
        }
        return name
    }
}

extension VeilringConfiguration {
    /// Longest file of users, in bytes.
    public static let usersFileSizeLimit = 64 << 20

    /// Reads a file of users: JSON5, a list of `{ tier, tokens }`.
    /// - Parameter path: absolute.
    /// - Throws: `ConfigurationError` with up to twenty findings, none of which quotes a user token.
    public static func loadUsers(path: String) throws(ConfigurationError) -> [UserGroup] {
        let log = SettingsLog(file: path)
        var groups: [UserGroup] = []
        do {
            let text = try ChunkedFile.readWhole(path, limit: usersFileSizeLimit)
            var reader = UserGroupsReader(log: log)
            groups = reader.read(try JSON5Reader.read(text), path: "")
        } catch let error as JSON5SyntaxError {
            // What came may be a piece of a user token.
            log.report("", error.position, expected: error.expected, came: "something else")
        } catch {
            log.report("", TextPosition(line: 0, column: 0), expected: "a readable file of users", came: "\(error)")
        }
        guard log.count == 0 else { throw log.error }
        return groups
    }
}

extension ConfigurationReader {
    func readAccess(data: String, useCases: [UseCaseConfiguration]) -> AccessSettings {
        var access = AccessSettings(keys: data + "/keys")
        if let value = section.value("users") {
            var reader = UserGroupsReader(log: section.log)
            access.users = reader.read(value, path: "users")
        }
        access.sources = readUserSources()
        access.tiers = readTiers(useCases: useCases)
        if let first = access.users.first?.tier ?? firstTier { access.defaultTier = first }
        readTokens(into: &access.tokens)
        if let publicConfig = section.section("publicConfig", known: PublicConfigSettings.keys) {
            access.publicConfig.serve = publicConfig.bool("serve") ?? true
            access.publicConfig.maxAgeSeconds = publicConfig.integer("maxAgeSeconds", in: 0...86_400) ?? 300
        }
        return access
    }

    /// The first name under `tiers`.
    private var firstTier: String? {
        guard case .object(let members)? = section.value("tiers")?.kind else { return nil }
        return members.first?.name
    }

    private func readUserSources() -> UserSourceSettings {
        var sources = UserSourceSettings()
        guard let inner = section.section("userSources", known: UserSourceSettings.keys) else { return sources }
        sources.file = path(inner, "file")
        sources.signingSecret = path(inner, "signingSecret")
        guard let endpoint = inner.section("endpoint", known: UserEndpointSettings.keys) else { return sources }
        let expected = "an http or https URL"
        guard let url = endpoint.string("url", expected: expected), url.hasPrefix("http://") || url.hasPrefix("https://")
        else {
            endpoint.report("url", expected: expected, came: endpoint.value("url")?.summary ?? "nothing")
            return sources
        }
        var settings = UserEndpointSettings(url: url)
        settings.certificates = path(endpoint, "certificates")
        settings.timeoutMilliseconds = endpoint.integer("timeoutMilliseconds", in: 10...60_000) ?? 2000
        settings.cacheSeconds = endpoint.integer("cacheSeconds", in: 0...86_400) ?? 300
        sources.endpoint = settings
        return sources
    }

    private func path(_ section: SettingsSection, _ name: String) -> String? {
        section.string(name, expected: "the path of a file").map { FilePathText.resolve($0, in: directory) }
    }

    private func readTiers(useCases: [UseCaseConfiguration]) -> [String: TierSettings] {
        guard let tiers = section.section("tiers", known: nil) else { return [:] }
        var result: [String: TierSettings] = [:]
        for member in tiers.members {
            guard TierName.isValid(member.name) else {
                tiers.log.report(
                    tiers.path, member.namePosition, expected: TierName.expected, came: "\"\(member.name)\"")
                continue
            }
            let path = tiers.path(of: member.name)
            guard let tier = SettingsSection(member.value, path: path, known: TierSettings.keys, log: tiers.log) else {
                continue
            }
            var settings = TierSettings()
            let perHour = tier.integer("tokensPerHour", in: 1...1_000_000)
            settings.tokensPerHour = perHour ?? settings.tokensPerHour
            settings.tokensPerDay = tier.integer("tokensPerDay", in: 1...10_000_000)
            // Who says how many an hour and nothing else means that nobody gets more at once.
            settings.burst = tier.integer("burst", in: 1...1_000_000) ?? perHour ?? settings.burst
            settings.useCases = readUseCaseNames(tier, hosted: useCases.map(\.name))
            result[member.name] = settings
        }
        return result
    }

    /// A list of names, or an object from the name that is asked for to the one that answers.
    private func readUseCaseNames(_ tier: SettingsSection, hosted: [String]) -> [String: String]? {
        guard let value = tier.value("useCases") else { return nil }
        var result: [String: String] = [:]
        func take(_ asked: String, _ answering: JSON5Value) {
            guard case .string(let name) = answering.kind, hosted.contains(name) else {
                var expected = "the name of a use case"
                if case .string(let name) = answering.kind, let nearest = NearestName.of(name, among: hosted) {
                    expected += " (did you mean \"\(nearest)\"?)"
                }
                return tier.report("useCases", expected: expected, came: answering.summary, at: answering)
            }
            result[asked.isEmpty ? name : asked] = name
        }
        switch value.kind {
        case .array(let items): for item in items { take("", item) }
        case .object(let members): for member in members { take(member.name, member.value) }
        default:
            tier.report(
                "useCases", expected: "a list of use cases, or an object from asked to answering use case", came: value.summary)
        }
        return result
    }

    private func readTokens(into settings: inout TokenSettings) {
        guard let tokens = section.section("tokens", known: TokenSettings.keys) else { return }
        if let keys = tokens.string("keys", expected: "the path of a folder") {
            settings.keys = FilePathText.resolve(keys, in: directory)
        }
        settings.passphrase = path(tokens, "passphrase")
        settings.directoryMaxAgeSeconds =
            tokens.integer("directoryMaxAgeSeconds", in: 0...2_592_000) ?? settings.directoryMaxAgeSeconds
        settings.lifetimeHours = tokens.integer("lifetimeHours", in: 1...8784) ?? settings.lifetimeHours
        settings.rotationDays = tokens.integer("rotationDays", in: 0...3660) ?? settings.rotationDays
        settings.challenge =
            tokens.choice("challenge", ChallengePolicy.allCases.map { ($0.rawValue, $0) }) ?? settings.challenge
        settings.defaultKeyForAll = tokens.bool("defaultKeyForAll") ?? settings.defaultKeyForAll
        guard let names = tokens.strings("issuerNames", expected: "a host name, with a port if it is not 443, or a list") else {
            return
        }
        for (text, value) in names {
            guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x2F }) else {
                tokens.report(
                    "issuerNames", expected: "a host name, with a port if it is not 443", came: value.summary, at: value)
                continue
            }
            settings.issuerNames.append(text)
        }
    }
}
