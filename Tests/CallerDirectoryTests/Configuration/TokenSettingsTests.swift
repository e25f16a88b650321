// Users, tiers, tokens in the configuration: defaults, forms, and findings that say where a user token stands and never what it is
// (service.md 1.6.2, 2; field cases F25, F53).

import Foundation
import Testing

@testable import CallerDirectory

@Suite("Users and tokens in the configuration")
struct TokenSettingsTests {
    private static func parse(_ text: String) throws -> VeilringConfiguration {
        let useCases =
            "useCases: { 'a.block': { kind: 'keyword', source: 'r' }, 'b.block': { kind: 'keyword', source: 'r' } }"
        return try VeilringConfiguration.parse(
            Array("{ data: 'd', \(text)\n \(useCases) }".utf8), file: "v.json5", directory: "/e")
    }

    private static func findings(_ text: String) -> [String] {
        do {
            _ = try parse(text)
            return []
        } catch {
            return (error as? ConfigurationError)?.findings.map(\.description) ?? ["\(error)"]
        }
    }

    @Test("tokens are the default, with defaults")
    func defaults() throws {
        let configuration = try Self.parse("")
        #expect(configuration.authentication == .privacyPass)
        #expect(configuration.access == AccessSettings(keys: "/e/d/keys"))
        #expect(configuration.access.defaultTier == "default" && configuration.access.tierNames == ["default"])
    }

    @Test("everything that can be said")
    func everything() throws {
        let access = try Self.parse(
            """
            users: [{ tier: 'tier1', tokens: ['AAAA', 'eyJ.x-y_z'] }, { tier: 'gold', tokens: [] }],
            userSources: { file: 'users.json5', signingSecret: '/s', endpoint: { url: 'https://x/y', cacheSeconds: 0 } },
            tiers: { gold: { tokensPerHour: 3, tokensPerDay: 9, useCases: { 'a.block': 'b.block' } },
                     iron: { useCases: ['a.block'], burst: 7 } },
            tokens: { keys: 'k', passphrase: 'p', rotationDays: 0, challenge: 'enforce', issuerNames: 'i.example',
                      defaultKeyForAll: false, directoryMaxAgeSeconds: 10, lifetimeHours: 24 },
            publicConfig: { serve: false },
            """
        ).access
        #expect(
            access.users == [UserGroup(tier: "tier1", tokens: ["AAAA", "eyJ.x-y_z"]), UserGroup(tier: "gold", tokens: [])])
        #expect(access.tierNames == ["tier1", "gold", "iron"])
        #expect(access.sources.file == "/e/users.json5" && access.sources.signingSecret == "/s")
        #expect(access.sources.endpoint?.url == "https://x/y" && access.sources.endpoint?.cacheSeconds == 0)
        let gold = try #require(access.tiers["gold"])
        // Who says how many an hour means that nobody gets more at once.
        #expect(gold.burst == 3 && gold.tokensPerDay == 9 && gold.useCases == ["a.block": "b.block"])
        #expect(access.tiers["iron"]?.burst == 7 && access.tiers["iron"]?.useCases == ["a.block": "a.block"])
        #expect(access.tokens.keys == "/e/k" && access.tokens.challenge == .enforce && access.tokens.rotationDays == 0)
        #expect(access.tokens.issuerNames == ["i.example"] && !access.publicConfig.serve)
    }

    @Test(
        "every mistake has its place, and no user token is quoted",
        arguments: [
            ("users: 'Zx9Secret',", "1:21: expected users: a list of { tier, tokens }, got a text"),
            ("users: [{ tier: 't', tokens: 'Zx9Secret' }],", "expected users.tokens: a list of user tokens, got a text"),
            ("users: [{ tier: 't', tokens: ['Zx9Secret\\n'] }],", "got a text with a line feed at its end"),
            ("users: [{ tier: 't', tokens: ['Zx9\\tSecret'] }],", "got a text with a control character"),
            ("users: [{ tier: 't', tokens: [''] }],", "got an empty text"),
            ("users: [{ tier: 't', tokens: [7] }],", "got 7"),
            (
                "users: [{ tier: 't1', tokens: ['Zx9Secret'] }, { tier: 't2', tokens: ['Zx9Secret'] }],",
                "expected users.tokens: each user token once (as text, and as the base64 of its bytes), "
                    + "got the one of line 1, column 45 again"
            ),
            // The second is the base64 of the first.
            ("users: [{ tier: 't1', tokens: ['Zx9', 'Wng5'] }],", "got the one of line 1, column 45 again"),
            ("users: [{ tokens: [] }],", "expected users.tier: the name of a tier"),
            ("users: [{ tier: '.x', tokens: [] }],", "got \".x\""),
            ("tiers: { t: { tokensPerHuor: 1 } },", "did you mean \"tokensPerHour\"?"),
            ("tiers: { t: { useCases: ['a.blok'] } },", "did you mean \"a.block\"?"),
            ("tokens: { challenge: 'all' },", "got \"all\""),
            ("userSources: { endpoint: { url: 'ftp://x' } },", "an http or https URL"),
        ])
    func mistakes(text: String, expected: String) {
        let found = Self.findings(text)
        #expect(found.contains { $0.contains(expected) }, "\(found)")
        #expect(!found.contains { $0.contains("Zx9") })
    }

    @Test("a file of users")
    func file() throws {
        let workspace = try Workspace()
        try workspace.write("users.json5", "[{ tier: 'a', tokens: ['one'] }, // a comment\n { tier: 'b', tokens: ['two'] }]")
        let groups = try VeilringConfiguration.loadUsers(path: workspace.path + "/users.json5")
        #expect(groups == [UserGroup(tier: "a", tokens: ["one"]), UserGroup(tier: "b", tokens: ["two"])])
        try workspace.write("users.json5", "[{ tier: 'a', tokens: ['Zx9Secret', Zx9Secret] }]")
        let error = #expect(throws: ConfigurationError.self) {
            try VeilringConfiguration.loadUsers(path: workspace.path + "/users.json5")
        }
        #expect(error?.description.contains("users.json5:1:") == true && error?.description.contains("Zx9") == false)
        #expect(throws: ConfigurationError.self) { try VeilringConfiguration.loadUsers(path: workspace.path + "/absent") }
    }
}
