// Users, tokens, issuer keys and the gateway's keys (service.md 1.6.2, 2, 3.1, 3.2, 8.4).

import CallerDirectory
import LookupService
import ObliviousHTTP
import PrivacyPass

extension ConfigurationCheck {
    /// The largest batch of tokens that a phone fetches (service.md 1.4).
    static let largestBatch = 512

    mutating func checkAuthentication() {
        if configuration.authentication == .privacyPass {
            report.ok(.authentication, "privacy-pass")
        } else {
            report.fail(
                .authentication, "\"none\": whoever reaches the server asks as often as they like",
                mend: "remove `authentication`; it is for tests")
        }
        if configuration.access.publicConfig.serve {
            report.ok(.publicConfig, "GET /config, cached for \(configuration.access.publicConfig.maxAgeSeconds) s")
        } else {
            report.warn(
                .publicConfig, "switched off: phones from 27.3 fetch configurations without a token",
                mend: "publicConfig: { serve: true }")
        }
    }

    mutating func checkUsers() {
        guard configuration.authentication == .privacyPass else { return }
        let access = configuration.access
        var sources: [String] = []
        var texts: [String] = access.users.flatMap(\.tokens)
        if !texts.isEmpty { sources.append(Self.counted(texts.count, "user token") + " in the configuration") }
        if let file = access.sources.file {
            do {
                let groups = try VeilringConfiguration.loadUsers(path: file)
                let listed = groups.flatMap(\.tokens)
                texts += listed
                if !listed.isEmpty { sources.append(Self.counted(listed.count, "user token") + " in \(file)") }
            } catch {
                // The text would quote what stands there, which may be a user token; its place does not.
                let places = "\(error)".split(separator: "\n").compactMap { line in
                    line.split(separator: " ").first.map { String($0.prefix { $0 != " " }) }
                }
                report.fail(
                    .users, "the file of users cannot be used: \(places.prefix(5).joined(separator: " "))",
                    mend: "correct it there: groups as in `users`")
            }
        }
        if UserRegister.exists(data: configuration.data) {
            do {
                let stored = try UserRegister.count(data: configuration.data)
                if stored > 0 { sources.append(Self.counted(stored, "user") + " in the database") }
            } catch {
                report.fail(.users, "the database of users cannot be read: \(error)", mend: "restore it from a copy")
                return
            }
        }
        if access.sources.signingSecret != nil { sources.append("signed user tokens") }
        if access.sources.endpoint != nil { sources.append("an endpoint") }
        guard !sources.isEmpty else {
            return report.fail(
                .users, "nobody has a user token, so no phone gets tokens",
                mend: "`veilring users add`, or `users`, or `userSources` in the configuration")
        }
        // As long as what nobody guesses in a million years at a thousand tries a second: 11 letters and digits, generously.
        let short = texts.count { $0.utf8.count < 16 }
        if short > 0 {
            report.warn(
                .users, "\(short) of \(texts.count) listed user tokens have fewer than 16 characters, and can be guessed",
                mend: "`veilring users mint` makes ones that cannot")
        } else {
            report.ok(.users, sources.joined(separator: ", "))
        }
    }

    mutating func checkUserToken() {
        guard configuration.authentication == .privacyPass else { return }
        guard let token = options.userToken else {
            return report.skip(.userToken, "not given", mend: "--user-token TEXT: what you will give the vendor for its test")
        }
        if let flaw = Self.flaw(ofUserToken: token) {
            return report.fail(.userToken, flaw, mend: "`veilring users mint` prints what stands behind `Bearer `")
        }
        do {
            let finding = try UserTokenFinding(of: token, access: configuration.access, data: configuration.data, now: now)
            switch finding {
            case .tier(let tier): report.ok(.userToken, "known, of tier \(tier)")
            case .unknown:
                report.fail(
                    .userToken, "no source of users knows it: the phone would be told 401",
                    mend: "`veilring users add`; mind the two forms, text and base64 (docs/users.md)")
            case .expired: report.fail(.userToken, "it has expired", mend: "make another one")
            case .decidedElsewhere: report.skip(.userToken, "your endpoint decides, and was not asked")
            case .unavailable:
                report.fail(.userToken, "a source of users cannot be read", mend: "look at the data folder's state")
            }
        } catch {
            report.fail(.userToken, "a source of users cannot be read: \(error)", mend: "correct what is named")
        }
    }

    /// Why a text cannot stand behind `Bearer ` (RFC 6750 section 2.1); nil: nothing. Does not repeat the text.
    static func flaw(ofUserToken token: String) -> String? {
        if token.hasPrefix("Bearer") { return "it begins with `Bearer`, which the phone puts in front by itself" }
        guard (1...BearerAuthorization.longestCredential).contains(token.utf8.count) else {
            return "it must have 1 to \(BearerAuthorization.longestCredential) bytes"
        }
        guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return "it has a space, a line feed or a character beyond ASCII"
        }
        guard BearerAuthorization.credential(in: "Bearer " + token) != nil else {
            return "it has a character that cannot stand in a field of this kind"
        }
        return nil
    }

    mutating func checkQuotasAndTiers() {
        guard configuration.authentication == .privacyPass else { return }
        let access = configuration.access
        var isEnough = true
        for tier in access.tierNames {
            let settings = access.tiers[tier] ?? TierSettings()
            let most = min(settings.burst, settings.tokensPerDay ?? .max)
            guard most < Self.largestBatch else { continue }
            isEnough = false
            report.warn(
                .quotas, "tier \(tier): \(most) tokens at once, and a phone may fetch \(Self.largestBatch)",
                mend: "tiers: { \"\(tier)\": { burst: 600 } }, and as many tokensPerDay")
        }
        if isEnough { report.ok(.quotas, "a batch of \(Self.largestBatch) fits") }
        if access.tierNames.count > 1 {
            report.warn(
                .tiers,
                "\(access.tierNames.count) tiers: phones from 27.3 use the first key of the directory, tier \(access.defaultTier)'s",
                mend: access.tokens.defaultKeyForAll
                    ? "give the default tier what everybody may have" : "tokens: { defaultKeyForAll: true }")
        } else {
            report.ok(.tiers, "one tier")
        }
        for (tier, settings) in access.tiers.sorted(by: { $0.key < $1.key }) {
            guard let names = settings.useCases else { continue }
            let wanted = apps.flatMap { [$0.block, $0.identity, $0.filter].compactMap { $0 } }
            let missing = wanted.filter { names[$0] == nil }
            guard !missing.isEmpty else { continue }
            report.warn(
                .tiers, "tier \(tier) is not given \(missing.joined(separator: ", ")): its phones get 404",
                mend: "name them under tiers.\(tier).useCases, or remove that list")
        }
        if access.tokens.challenge == .enforce, !access.tokens.issuerNames.isEmpty, let host = configuration.hosts?.issuer,
            !access.tokens.issuerNames.contains(host)
        {
            report.fail(
                .authentication, "tokens.challenge is \"enforce\", and \(host) is not among tokens.issuerNames",
                mend: "phones' tokens are for the issuer's host: add it")
        }
    }

    mutating func checkIssuerKeys() {
        guard configuration.authentication == .privacyPass else { return }
        do throws(IssuerKeyError) {
            let folder = try IssuerKeyFolder(configuration.access)
            let keys = try folder.list(at: now)
            guard !keys.isEmpty else {
                return report.warn(
                    .issuerKeys, "\(configuration.access.tokens.keys) has none yet",
                    mend: "`veilring keys create`, or the first `veilring serve`; then keep copies of the folder")
            }
            _ = try folder.openAll()
            var isComplete = true
            for tier in configuration.access.tierNames where !keys.contains(where: { $0.tier == tier && $0.phase == .issuing })
            {
                isComplete = false
                report.fail(.issuerKeys, "tier \(tier) has no key that signs", mend: "`veilring keys create`")
            }
            if let late = keys.first(where: { $0.times.created > now + 300 }) {
                isComplete = false
                report.fail(
                    .issuerKeys, "key \(late.name.prefix(8)) was made in the future", mend: "look at the clock of this machine")
            }
            if isComplete {
                report.ok(
                    .issuerKeys, "\(Self.counted(keys.count, "key")), \(keys.count { $0.phase == .issuing }) of them signing")
            }
        } catch {
            report.fail(
                .issuerKeys, "\(error)", mend: "restore the folder from a copy, or give the file its owner and mode 0600")
        }
    }

    mutating func checkGateway() {
        let settings = configuration.gateway
        guard settings.serve else {
            return report.fail(
                .gateway, "switched off: phones from the store come through the relay only",
                mend: "remove `gateway.serve`, or look at the other gateway by `veilring check --gateway …`")
        }
        let aeads = GatewayRules(settings).aeads
        if aeads.contains(.aes128GCM) {
            report.ok(.gateway, "on, with \(settings.aeads.joined(separator: ", "))")
        } else {
            report.warn(
                .gateway, "AES-128-GCM is not offered, and nobody has said which of them phones use",
                mend: "remove `gateway.aeads`: all three are offered then")
        }
        do throws(IssuerKeyError) {
            let keys = try GatewayKeyFolder(configuration).published(aeads: aeads, at: now)
            guard let first = keys.first else {
                return report.warn(
                    .gatewayKeys, "\(configuration.access.tokens.keys) has none yet",
                    mend: "the first `veilring serve` makes one")
            }
            report.ok(.gatewayKeys, "\(Self.counted(keys.count, "key")), first \(first.id): X25519, HKDF-SHA256")
        } catch {
            report.fail(
                .gatewayKeys, "\(error)", mend: "restore the folder from a copy, or remove the file: a new key is made then")
        }
    }
}
