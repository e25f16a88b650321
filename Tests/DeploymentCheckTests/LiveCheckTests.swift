// `veilring check --url`: a good deployment passes through the whole oblivious path, and each mistake is found.

import Foundation
import HTTPClient
import HTTPCore
import Testing

@testable import DeploymentCheck

@Suite("A check of a running deployment")
struct LiveCheckTests {
    private static func run(_ plan: LivePlan) throws -> CheckReport {
        let running = try RunningDeployment(
            plan.deployment, certificate: plan.certificate, targets: plan.targets, takesTokens: plan.takesTokens,
            servesPublicConfig: plan.servesPublicConfig, intercept: plan.intercept, change: plan.change)
        var target = running.target(throughGateway: plan.throughGateway)
        plan.retarget(&target)
        return withExtendedLifetime(running) { LiveCheck.run(target, options: plan.deployment.options) }
    }

    @Test("a good deployment has neither failures nor warnings, and the sizes of every path are measured")
    func good() throws {
        let report = try Self.run(LivePlan(deployment: Deployment()))
        #expect(report.findings.filter { $0.verdict != .ok } == [])
        for path in ["/config", "/key", "/queries", "/issue"] {
            let size = try #require(report.sizes.first { $0.path == path })
            #expect(size.request > 100 && size.response > 50)
        }
    }

    @Test("without a gateway everything else is looked at")
    func direct() throws {
        var plan = LivePlan(deployment: try Deployment())
        plan.throughGateway = false
        let report = try Self.run(plan)
        #expect(report.findings.filter { $0.verdict != .ok }.map(\.item) == [.gateway])
        #expect(report[.testIdentity].allSatisfy { $0.text.contains("directly") })
    }

    @Test("each mistake is found", arguments: LiveMistake.all)
    func finds(mistake: LiveMistake) throws {
        var plan = LivePlan(deployment: try Deployment())
        try mistake.make(&plan)
        let report = try Self.run(plan)
        let found = report[mistake.item].filter { $0.verdict == mistake.verdict }
        #expect(!found.isEmpty, "\(report.findings.filter { $0.verdict != .ok })")
        #expect(found.allSatisfy { $0.remedy?.isEmpty == false })
        let failed = Set(report.findings.filter { $0.verdict == .failure }.map(\.item))
        let allowed = mistake.also.union(mistake.verdict == .failure ? [mistake.item] : [])
        #expect(failed.subtracting(allowed) == [], "\(report.findings.filter { $0.verdict == .failure })")
        for finding in report.findings { #expect(!finding.text.contains(plan.deployment.options.userToken ?? "-")) }
    }

    @Test("keys at a URL of their own are used for everything that is sealed")
    func ownKeys() throws {
        var plan = LivePlan(deployment: try Deployment())
        plan.intercept = { $0.path == "/.well-known/ohttp-gateway" ? HTTPResponse(status: 404) : nil }
        plan.retarget = { $0.keys = "https://" + Deployment.hosts.gateway + "/ohttp-keys" }
        let report = try Self.run(plan)
        #expect(report.findings.filter { $0.verdict == .failure } == [])
        #expect(report[.encapsulation].map(\.verdict) == [.ok])
    }

    @Test("both checks together declare the larger sizes")
    func largerSizes() throws {
        var both = CheckReport()
        for size in [10, 30, 20] {
            var one = CheckReport()
            one.sizes = [DeclaredSize(path: "/key", request: size, response: 40 - size)]
            both.append(one)
        }
        #expect(both.sizes == [DeclaredSize(path: "/key", request: 30, response: 30)])
    }

    @Test("how long an answer may be kept")
    func cacheRules() {
        for (field, seconds) in [
            ("public, max-age=300", 300), ("max-age=5,public", 5), ("private, no-store, max-age=9", 0), ("no-cache", 0),
            ("public", nil), ("max-age=x", nil), ("Max-Age=7", 7),
        ] as [(String, Int?)] {
            #expect(CacheRule.seconds(field) == seconds, "\(field)")
        }
        #expect(CacheRule.seconds(nil) == nil)
    }

    @Test("the forms of URLs (field case F21)")
    func urls() throws {
        for (text, count) in [
            ("https://example.net/lookup", 2), ("http://example.net:8080", 3), ("https://service.callers.example/", 1),
            ("https://service.callers.example", 0), ("https://localhost", 1), ("https://192.0.2.1", 1),
            ("https://service.callers.example:443", 1), ("https://service.callers.example?a", 1),
            ("https://service.callers.example:0443", 1), ("https://service.callers.example.", 1), ("https://10.1", 1),
            ("https://service.corp", 1), ("https://foo.home.arpa", 1), ("https://[2001:db8::1]", 1),
        ] {
            #expect(LiveCheck.flaws(of: try HTTPURL(text), as: text).count == count, "\(text)")
        }
    }

    @Test("nobody there is said once for each host, and stops nothing")
    func nobody() throws {
        let deployment = try Deployment()
        var target = LiveTarget(service: "https://" + Deployment.hosts.service)
        target.gateway = "https://" + Deployment.hosts.gateway
        target.app = Deployment.app
        // The port of TCP's discard service, where nothing listens.
        target.address = ConnectAddress(host: "127.0.0.1", port: 9)
        let report = LiveCheck.run(target, options: deployment.options)
        #expect(report[.tls].map(\.verdict) == [.failure, .failure])
        #expect(report[.dns].map(\.verdict) == [.ok])
    }

    @Test(
        "what ends TLS: ALPN without h2, h2 promised and not spoken (field case F20), a version missing",
        arguments: [
            (["-alpn", "http/1.1"], CheckItem.alpn), (["-alpn", "h2,http/1.1"], .http2), (["-alpn", "h2", "-no_tls1_3"], .tls),
            (["-alpn", "h2", "-tls1_3"], .tls),
        ])
    func transports(arguments: [String], item: CheckItem) throws {
        let deployment = try Deployment()
        let other = try OpenSSLServer(deployment, arguments)
        var target = LiveTarget(service: "https://" + Deployment.hosts.service)
        target.address = ConnectAddress(host: "127.0.0.1", port: other.port)
        let report = LiveCheck.run(target, options: deployment.options)
        #expect(report[item].contains { $0.verdict == .failure }, "\(report.findings)")
        let transport: [CheckItem] = [.tls, .alpn, .http2]
        // Whoever speaks no HTTP/2 fails that too; nothing else of the transport is held against the server.
        #expect(transport.allSatisfy { $0 == item || $0 == .http2 || report[$0].allSatisfy { $0.verdict == .ok } })
    }
}

/// `openssl s_server`, which speaks HTTP/1.0 whatever it agreed on.
private final class OpenSSLServer {
    let port: UInt16
    private let process = Process()

    init(_ deployment: Deployment, _ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments =
            [
                "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", deployment.path("server.pem"), "-cert_chain",
                deployment.path("middle.pem"), "-key", deployment.path("server.key"),
            ] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // `ACCEPT 127.0.0.1:40123`
        var text = ""
        while !text.contains("ACCEPT") || !text.contains("\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
        }
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT") }),
            let port = line.split(separator: ":").last.flatMap({ UInt16($0) })
        else { throw CocoaError(.fileReadCorruptFile) }
        self.port = port
    }

    deinit {
        // The child inherits what this process blocks, SIGTERM perhaps.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
