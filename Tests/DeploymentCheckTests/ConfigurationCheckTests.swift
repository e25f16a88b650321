// `veilring check --config`: a good deployment passes, and each mistake is found by its item and nothing else.

import Foundation
import Testing

@testable import DeploymentCheck

@Suite("A check of a configuration")
struct ConfigurationCheckTests {
    @Test("a good deployment has neither failures nor warnings, and its sizes are measured")
    func good() throws {
        let report = try Deployment().check()
        #expect(report.findings.filter { $0.verdict != .ok } == [])
        #expect(report.sizes.map(\.path).contains("/key"))
        let key = try #require(report.sizes.first { $0.path == "/key" })
        #expect(key.request > 200_000 && key.response < 1000)
    }

    @Test("each mistake is found, and nothing private is repeated", arguments: Mistake.ofConfigurations)
    func finds(mistake: Mistake) throws {
        let deployment = try Deployment()
        try mistake.make(deployment)
        let report = deployment.check()
        let found = report[mistake.item].filter { $0.verdict == mistake.verdict }
        #expect(!found.isEmpty, "\(report.findings.filter { $0.verdict != .ok })")
        #expect(found.allSatisfy { $0.remedy?.isEmpty == false })
        let failed = Set(report.findings.filter { $0.verdict == .failure }.map(\.item))
        let allowed = mistake.also.union(mistake.verdict == .failure ? [mistake.item] : [])
        #expect(failed.subtracting(allowed) == [], "\(report.findings.filter { $0.verdict == .failure })")
        #expect(report.hasFailures == !failed.isEmpty)
        // No finding repeats a user token or a key.
        for text in report.findings.map({ $0.text + ($0.remedy ?? "") }) {
            #expect([Deployment.userToken, "k3v0Zq8Lr2Yx7Wd6", "PRIVATE KE"].allSatisfy { !text.contains($0) })
        }
    }

    @Test("a URL filter's test entry is looked for")
    func urlFilter() throws {
        for (rows, verdict) in [
            ("rows { keyword: \"www.apple.com/url-filter-test\" value: \"1\" }", CheckVerdict.ok),
            ("rows { keyword: \"www.apple.com/url-filter-test\" value: \"0\" }", .failure),
            ("rows { keyword: \"www.example.com\" value: \"1\" }", .failure),
        ] {
            let deployment = try Deployment()
            try deployment.write("urls.txtpb", rows + "\n")
            try deployment.change(
                "useCases: {", "useCases: { \"net.callers.app.url.filtering\": { kind: \"keyword\", source: \"urls.txtpb\" },")
            try deployment.rebuild()
            let report = deployment.check()
            #expect(report[.testIdentity].contains { $0.text.contains("url.filtering") && $0.verdict == verdict })
            #expect(report[.dns].contains { $0.text.contains("apple-url-filter=net.callers.app") && $0.verdict == .failure })
        }
    }

    @Test("every shard count but powers of two up to 65536 fails")
    func shardCounts() {
        for count in [1, 2, 8, 65_536] { #expect(Self.verdict(shards: count) == .ok) }
        for count in [3, 6, 100, 131_072] { #expect(Self.verdict(shards: count) == .failure) }
    }

    private static func verdict(shards: Int) -> CheckVerdict? {
        var report = CheckReport()
        report.judgeShards("x", count: shards)
        return report.findings.first?.verdict
    }

    @Test("mistakes have names of their own")
    func names() {
        let names = Mistake.ofConfigurations.map(\.name)
        #expect(Set(names).count == names.count && names.count >= 25)
    }
}
