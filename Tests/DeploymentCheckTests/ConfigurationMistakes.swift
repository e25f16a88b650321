// The mistakes that `veilring check --config` finds, one at a time. docs/check.md lists them under the same names.

import Foundation
import LookupService
import Testing

@testable import DeploymentCheck

/// A mistake in a deployment.
struct Mistake: Sendable, CustomTestStringConvertible {
    /// As docs/check.md names it.
    var name: String
    /// Under which item it is found.
    var item: CheckItem
    var verdict = CheckVerdict.failure
    /// Items that may fail with it.
    var also: Set<CheckItem> = []
    var make: @Sendable (Deployment) throws -> Void

    init(
        _ name: String, _ item: CheckItem, _ verdict: CheckVerdict = .failure, also: Set<CheckItem> = [],
        make: @escaping @Sendable (Deployment) throws -> Void
    ) {
        (self.name, self.item, self.verdict, self.also, self.make) = (name, item, verdict, also, make)
    }

    var testDescription: String { name }

    static let ofConfigurations = network + access + data + machine

    private static let network: [Mistake] = [
        Mistake("the configuration has an unknown key", .configuration) { try $0.add("dta: 1") },
        Mistake("no host names", .hosts) { try $0.dropHosts() },
        Mistake("a role without a name", .hosts) { try $0.change(", gateway: \"gateway.callers.example\"", "") },
        Mistake("a host that only the own network knows", .hosts, also: [.certificate]) {
            try $0.change("\"gateway.callers.example\"", "\"gateway.lan\"")
        },
        Mistake("an address as a host name", .hosts, also: [.certificate]) {
            try $0.change("\"gateway.callers.example\"", "\"192.0.2.7\"")
        },
        Mistake("a host name out of the documentation", .hosts, also: [.certificate]) {
            try $0.change("\"gateway.callers.example\"", "\"gateway.example.net\"")
        },
        Mistake("one host for all three roles", .hosts, .warning) {
            try $0.change("issuer.callers.example", "service.callers.example")
            try $0.change("gateway.callers.example", "service.callers.example")
        },
        Mistake("cleartext beyond loopback", .listeners) {
            try $0.change("listen: \"0.0.0.0:443\"", "listen: { address: \"0.0.0.0:80\", tls: false }")
        },
        Mistake("cleartext beyond loopback beside TLS", .listeners) {
            try $0.change("listen: \"0.0.0.0:443\"", "listen: [\"0.0.0.0:443\", { address: \"0.0.0.0:80\", tls: false }]")
        },
        Mistake("metrics for everybody", .adminListener, .warning) { try $0.add("admin: \"0.0.0.0:9090\"") },
        Mistake("a certificate for another name", .certificate) {
            try $0.change("full.pem", "other.pem")
            try $0.change("server.key", "other.key")
        },
        Mistake("an expired certificate", .certificate) { $0.shiftClock(days: 91) },
        Mistake("a certificate that expires soon", .certificate, .warning) { $0.shiftClock(days: 80) },
        Mistake("a certificate that is not valid yet", .certificate, also: [.issuerKeys]) { $0.shiftClock(days: -2) },
        Mistake("a chain without its authority", .certificate) { try $0.change("full.pem", "server.pem") },
        Mistake("a certificate that is signed by itself", .certificate) {
            try $0.change("full.pem", "alone.pem")
            try $0.change("server.key", "alone.key")
        },
        Mistake("the key of another certificate", .certificate) { try $0.change("server.key", "other.key") },
        Mistake("a certificate's key that everybody can read", .certificate) { try $0.mode("server.key", 0o644) },
        Mistake("the relay limited like a phone", .relayConnections, .warning) {
            try $0.change("limits: { exemptPrefixes: [\"192.0.2.0/24\"] },", "")
        },
        Mistake("no TXT record", .dns) { try $0.write("dns", "# nothing\n") },
        Mistake("a TXT record for another app", .dns) { try $0.change("net.callers.lookup", "net.callers.other", in: "dns") },
        Mistake("the TXT record at the gateway's host", .dns) {
            try $0.change("service.callers", "gateway.callers", in: "dns")
        },
        Mistake("a resolver that does not answer", .dns, .warning) { $0.options.textRecords = .file($0.path("nowhere")) },
    ]

    private static let access: [Mistake] = [
        Mistake("no tokens needed", .authentication) {
            try $0.add("authentication: \"none\", allowUnauthenticated: true")
        },
        Mistake("another issuer name enforced than the issuer's host", .authentication) {
            try $0.add("tokens: { challenge: \"enforce\", issuerNames: [\"other.callers.example\"] }")
        },
        Mistake("a tier without the app's use cases", .tiers, .warning) {
            try $0.add("tiers: { tier1: { useCases: [\"net.callers.lookup.block\"] } }")
        },
        Mistake("nobody has a user token", .users, also: [.userToken]) {
            try $0.change("users: [{ tier: \"tier1\", tokens: [\"k3v0Zq8Lr2Yx7Wd5\"] }],", "tiers: { tier1: {} },")
        },
        Mistake("user tokens that can be guessed", .users, .warning, also: [.userToken]) {
            try $0.change("k3v0Zq8Lr2Yx7Wd5", "1234")
        },
        Mistake("a test user token that nobody knows", .userToken) { $0.options.userToken = "k3v0Zq8Lr2Yx7Wd6" },
        Mistake("a test user token with `Bearer ` before it", .userToken) { $0.options.userToken = "Bearer k3v0Zq8Lr2Yx7Wd5" },
        Mistake("a test user token with a line feed", .userToken) { $0.options.userToken = "k3v0Zq8Lr2Yx7Wd5\n" },
        Mistake("a quota below a phone's batch", .quotas, .warning) { try $0.add("tiers: { tier1: { burst: 100 } }") },
        Mistake("several tiers", .tiers, .warning, also: [.issuerKeys]) { try $0.add("tiers: { gold: {} }") },
        Mistake("a tier without a key", .issuerKeys) { try $0.add("tiers: { gold: {} }") },
        Mistake("a folder of keys that is open to others", .issuerKeys, also: [.gatewayKeys, .fileModes]) {
            try $0.mode("var/keys", 0o755)
        },
        Mistake("a damaged issuer key", .issuerKeys, also: [.gatewayKeys]) {
            let file = try $0.file(in: "var/keys", from: "issuer-", to: ".json")
            try $0.write(file, "{")
        },
        Mistake("an issuer key whose PEM is damaged", .issuerKeys) {
            let file = try $0.file(in: "var/keys", from: "issuer-", to: ".json")
            try $0.change("BEGIN PRIVATE KEY", "BEGIN PRIVATE KEX", in: file)
        },
        Mistake("another passphrase than the keys were made with", .issuerKeys) {
            try $0.write("passphrase", "one\n", mode: 0o600)
            try $0.add("tokens: { passphrase: \"passphrase\" }")
            try $0.replaceIssuerKeys()
            try $0.write("passphrase", "another\n", mode: 0o600)
        },
        Mistake("the gateway switched off", .gateway) { try $0.add("gateway: { serve: false }") },
        Mistake("a gateway without AES-128-GCM", .gateway, .warning) {
            try $0.add("gateway: { aeads: [\"chacha20-poly1305\"] }")
        },
        Mistake("a damaged gateway key", .gatewayKeys) {
            let file = try $0.file(in: "var/keys", from: "gateway-", to: ".json")
            try $0.change("\"privateKey\" : \"", "\"privateKey\" : \"!", in: file)
        },
        Mistake("configurations for tokens only", .publicConfig, .warning) { try $0.add("publicConfig: { serve: false }") },
    ]

    private static let data: [Mistake] = [
        Mistake("nothing is built", .data) { try FileManager.default.removeItem(atPath: $0.path("var/current")) },
        Mistake("a use case that is not built", .data, also: [.dns]) {
            try $0.change(
                "useCases: {",
                "useCases: { \"net.callers.lookup.url.filtering\": { kind: \"keyword\", source: \"urls.txtpb\" },")
        },
        Mistake("a damaged shard", .data) {
            let file = try $0.file(in: "var/versions", from: "0", to: ".shard")
            try $0.write(file, "no shard")
        },
        Mistake("damage in the middle of a shard", .data, also: [.testIdentity, .sizes]) {
            let file = try $0.file(in: "var/versions", from: "0", to: ".shard")
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: $0.path(file)))
            try handle.seek(toOffset: try handle.seekToEnd() / 2)
            try handle.write(contentsOf: Data(repeating: 0x5A, count: 64))
            try handle.close()
        },
        Mistake("sources newer than the data", .freshness, .warning) {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: 60)], ofItemAtPath: $0.path("callers.csv"))
        },
        Mistake("a source that is gone", .freshness, .warning) {
            try FileManager.default.removeItem(atPath: $0.path("callers.csv"))
        },
        Mistake("no block use case", .useCaseNames) {
            try $0.change("\"net.callers.lookup.block\":    { kind: \"block\",    source: \"callers.csv\" }", "")
            try $0.rebuild()
        },
        Mistake("use cases without a bundle identifier", .useCaseNames, also: [.dns]) {
            try $0.change("net.callers.lookup.", "lookup.")
            try $0.rebuild()
        },
        Mistake("a use case that no phone asks for", .useCaseNames, .warning) {
            try $0.change(
                "useCases: {", "useCases: { \"net.callers.lookup.names\": { kind: \"identity\", source: \"callers.csv\" },")
            try $0.rebuild()
        },
        Mistake("kinds exchanged", .useCaseNames, also: [.testIdentity]) {
            try $0.change("kind: \"identity\"", "kind: \"x\"")
            try $0.change("kind: \"block\"", "kind: \"identity\"")
            try $0.change("kind: \"x\"", "kind: \"block\"")
            try $0.rebuild()
        },
        Mistake("three shards", .shardCount) {
            try $0.change(
                "kind: \"block\",    source: \"callers.csv\"",
                "kind: \"block\", source: \"callers.csv\", pir: { sharding: { shardCount: 3 } }")
            try $0.rebuild()
        },
        Mistake("no test identity", .testIdentity) {
            try $0.rebuild(callers: Deployment.callers.replacingOccurrences(of: "+14085551212", with: "+14085551213"))
        },
        Mistake("the test identity with a company", .testIdentity) {
            try $0.rebuild(callers: Deployment.callers.replacingOccurrences(of: "Appleseed,,", with: "Appleseed,Apple,"))
        },
        Mistake("the test number blocked", .testIdentity) {
            try $0.rebuild(callers: Deployment.callers.replacingOccurrences(of: "Appleseed,,,no", with: "Appleseed,,,yes"))
        },
        Mistake("a body limit below an evaluation key", .limits) {
            try $0.change("limits: {", "limits: { requestBodyBytes: 200000,")
        },
        Mistake("one version kept only", .retention, .warning) { try $0.add("retention: { versions: 1, hours: 0 }") },
    ]

    private static let machine: [Mistake] = [
        Mistake("user tokens in a file that everybody can read", .fileModes) { try $0.mode("veilring.json5", 0o644) },
        Mistake("a signing secret that everybody can read", .fileModes, also: [.userToken]) {
            try $0.write("secret", String(repeating: "s", count: 32), mode: 0o644)
            try $0.add("userSources: { signingSecret: \"secret\" }")
        },
        Mistake("a secret of the state that everybody can read", .fileModes, also: [.userToken]) {
            try FileManager.default.createDirectory(
                atPath: $0.path("var/state"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try $0.write("var/state/accounts.secret", String(repeating: "s", count: 32), mode: 0o644)
        },
        Mistake("a state folder that others can enter", .fileModes) {
            try FileManager.default.createDirectory(
                atPath: $0.path("var/state"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        },
        Mistake("a data folder that everybody can write", .fileModes) { try $0.mode("var", 0o777) },
        Mistake("no room for a build", .disk) { $0.options.machine.freeBytes = { _ in 1 << 20 } },
        Mistake("little room", .disk, .warning) { $0.options.machine.freeBytes = { _ in 500 << 20 } },
        Mistake("fewer files than connections", .openFiles, .warning) { $0.options.machine.openFiles = 1024 },
        Mistake("no time service", .clock, .warning) { $0.options.machine.isClockDisciplined = false },
        Mistake("a clock in the past", .clock, also: [.certificate, .issuerKeys]) {
            $0.options.machine.now = { 1_500_000_000 }
        },
        Mistake("an old library", .versions) {
            $0.options.machine.libraries = [.init(name: "nghttp2", version: [1, 18, 1], least: [1, 41, 0])]
        },
    ]
}

extension Deployment {
    func shiftClock(days: Double) {
        options.machine.earliestTime = 0
        options.machine.now = { Date().timeIntervalSince1970 + days * 86_400 }
    }

    func dropHosts() throws {
        try change(
            "hosts: { service: \"service.callers.example\", issuer: \"issuer.callers.example\", gateway: \"gateway.callers.example\" },",
            "")
    }

    /// Makes the issuer's keys anew under the configuration's passphrase.
    func replaceIssuerKeys() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: path("var/keys")) where name.hasPrefix("issuer-") {
            try FileManager.default.removeItem(atPath: path("var/keys/" + name))
        }
        let configuration = try load()
        _ = try IssuerKeyFolder(configuration.access).maintain(tiers: configuration.access.tierNames, at: Int64(time(nil)))
    }
}
