// The configuration file: the example of issue 2, every error with its place, the environment, the pasted configuration of
// the reference tool (design.md, Configuration; keyword-pir.md 11.3; field case F14).

import Foundation
import Testing

@testable import CallerDirectory

@Suite struct VeilringConfigurationTests {
    private static let example = """
        { data: "var", region: "TW", listen: "127.0.0.1:8080", authentication: "none",   // until tokens exist
          useCases: { "net.example.lookup.identity": { kind: "identity", source: "callers.csv" },
                      "net.example.lookup.block":    { kind: "block",    source: "callers.csv" } } }
        """

    private func parse(
        _ text: String, environment: [String: String] = [:], insecure: Bool = false
    ) throws -> VeilringConfiguration {
        try VeilringConfiguration.parse(
            Array(text.utf8), file: "v.json5", directory: "/etc/veilring", environment: environment,
            allowInsecureParameters: insecure)
    }

    private func errors(_ text: String, environment: [String: String] = [:]) -> [String] {
        do {
            _ = try parse(text, environment: environment)
            return []
        } catch {
            return (error as? ConfigurationError)?.findings.map(\.description) ?? ["\(error)"]
        }
    }

    /// A configuration with one keyword use case and this `pir` object.
    private func withPIR(_ pir: String) -> String {
        "{ data: 'd', authentication: 'none', useCases: { u: { kind: 'keyword', source: 'r.binpb', pir: \(pir) } } }"
    }

    @Test func readsTheExample() throws {
        let configuration = try parse(VeilringConfigurationTests.example)
        #expect(configuration.data == "/etc/veilring/var")
        #expect(configuration.region == "TW")
        #expect(configuration.listen == [ListenerSettings(ListenAddress(host: "127.0.0.1", port: 8080))])
        #expect(configuration.authentication == .none && !configuration.allowUnauthenticated)
        #expect(configuration.useCases.map(\.name) == ["net.example.lookup.identity", "net.example.lookup.block"])
        #expect(configuration.useCases.map(\.kind) == [.identity, .block])
        #expect(configuration.useCases[0].sources == ["/etc/veilring/callers.csv"])
        #expect(configuration.useCases[0].nameFormat == .standard && configuration.useCases[0].pir == PIRSettings())
        #expect(configuration.notices.isEmpty)
        #expect(configuration.limits == LimitSettings() && configuration.retention == RetentionSettings())
    }

    @Test func saysWhatAKindDoesNotUse() throws {
        let configuration = try parse(
            """
            { data: 'd', region: 'TW', authentication: 'none', useCases: {
              a: { kind: 'keyword', source: 'r.binpb', numbers: 'strict' },
              b: { kind: 'block', source: 'r.csv', numbers: 'strict', icons: 'i' } } }
            """)
        #expect(
            configuration.notices == [
                "v.json5:2:53: useCases.a.numbers: has no effect in a use case of kind \"keyword\"",
                "v.json5:3:66: useCases.b.icons: has no effect in a use case of kind \"block\"",
            ])
    }

    @Test func reportsErrorsInTheOrderOfTheFile() {
        let found = errors(
            """
            { data: 'd', listn: 1, authentication: 'none',
              useCases: { a: { kind: 'keyword', source: 'r.binpb', pir: { algorithm: 'x', rlweParameters: 'y' } } },
              limits: { queryThreads: 0 }, region: 'tw' }
            """)
        #expect(
            found.map { String($0.prefix { $0 != " " }) } == [
                "v.json5:1:14:", "v.json5:2:74:", "v.json5:2:95:", "v.json5:3:27:", "v.json5:3:40:",
            ])
        let open = "v.json5:1:11: expected the closing quote on the same line, got the end of the line"
        #expect(errors("{ data: 'd\n' }") == [open])
    }

    @Test func readsFromAFileRelativeToItsFolder() throws {
        let workspace = try Workspace()
        try workspace.write("veilring.json5", VeilringConfigurationTests.example)
        let configuration = try VeilringConfiguration.load(path: "veilring.json5", workingDirectory: workspace.path)
        #expect(configuration.data == workspace.path + "/var")
        let error = #expect(throws: ConfigurationError.self) {
            try VeilringConfiguration.load(path: workspace.path + "/absent")
        }
        #expect(error?.description.contains("No such file") == true)
    }

    @Test(arguments: [
        ("{ dta: 'd' }", "v.json5:1:3: expected a known key (did you mean \"data\"?), got \"dta\""),
        ("{ data: 1 }", "v.json5:1:9: expected data: the path of a folder, got 1"),
        ("{ authentication: 'privacypass' }", "(did you mean \"privacy-pass\"?)"),
        ("{ data: 'd',\n data: 'e' }", "v.json5:2:2: expected each name once, got \"data\" again"),
        ("{ listen: '0.0.0.0:80', authentication: 'none' }", "got a listener on 0.0.0.0:80"),
        ("{ listen: ['127.0.0.1:80', 'x'] }", "v.json5:1:28: expected listen: \"host:port\""),
        ("{ region: 'tw' }", "(did you mean \"TW\"?)"), ("{ useCases: {} }", "expected useCases: 1 to 1000 use cases, got 0"),
        ("{ useCases: { '../x': {} } }", "v.json5:1:15: expected useCases: a name of 1 to 200 letters"),
        ("{ useCases: { u: { kind: 'indentity' } } }", "(did you mean \"identity\"?)"),
        ("{ useCases: { u: { kind: 'block', source: 'a' } } }", "needed by block sources"),
        ("{ useCases: { u: { kind: 'keyword', source: 'a', format: 'csv' } } }", "useCases.u.format: \"keywords\""),
        ("{ useCases: { u: { nameFormat: '{nmae}' } } }", "(did you mean \"name\"?)"),
        ("{ limits: { requestBodyBytes: 1e400 } }", "an integer from 1024"), ("[]", "v.json5:1:1: expected an object"),
        ("{ data: ", "the end of the text"),
        ("{ retention: { versions: Infinity } }", "got Infinity"),
    ])
    func everyErrorHasItsPlace(text: String, expected: String) {
        let found = errors(text)
        #expect(found.contains { $0.contains(expected) }, "\(found)")
    }

    @Test func twentyErrorsAtOnce() throws {
        let text = "{ " + (0..<30).map { "unknown\($0): 1" }.joined(separator: ",\n") + " }"
        let error = #expect(throws: ConfigurationError.self) { try parse(text) }
        #expect(error?.findings.count == 20 && error?.count ?? 0 >= 30)
        #expect(error?.findings[7].position == SourcePosition(file: "v.json5", line: 8, column: 1))
        #expect(error?.description.contains("more") == true)
    }

    @Test func theEnvironmentOverrides() throws {
        let environment = [
            "VEILRING_DATA": "/srv/data", "VEILRING_LISTEN": "127.0.0.1:1, [::1]:2",
            "VEILRING_LIMITS_REQUEST_BODY_BYTES": "2048",
            "VEILRING_RETENTION_HOURS": "3", "VEILRING_REGON": "US", "OTHER": "x", "VEILRING_SHARED": "/s",
        ]
        let configuration = try parse(VeilringConfigurationTests.example, environment: environment)
        #expect(configuration.data == "/srv/data" && configuration.retention.hours == 3)
        #expect(
            configuration.listen.map(\.address) == [
                ListenAddress(host: "127.0.0.1", port: 1), ListenAddress(host: "::1", port: 2),
            ])
        #expect(configuration.limits.requestBodyBytes == 2048)
        #expect(
            configuration.notices == ["environment variable VEILRING_REGON overrides nothing (did you mean VEILRING_REGION?)"])
        let wrong = errors(VeilringConfigurationTests.example, environment: ["VEILRING_LIMITS_CONNECTIONS": "many"])
        #expect(
            wrong == [
                "environment variable VEILRING_LIMITS_CONNECTIONS: expected limits.connections: an integer from 1 to 1000000, got \"many\""
            ])
        let open = errors(VeilringConfigurationTests.example, environment: ["VEILRING_LISTEN": "0.0.0.0:1"])
        #expect(open.count == 1)
        let allowed = try parse(
            VeilringConfigurationTests.example,
            environment: ["VEILRING_LISTEN": "0.0.0.0:1", "VEILRING_ALLOW_UNAUTHENTICATED": "true"])
        #expect(allowed.allowUnauthenticated)
    }

    /// A configuration of the reference tool as an operator has it: trailing commas, path fields, `databaseType`.
    @Test func takesAPastedConfiguration() throws {
        let configuration = try parse(
            withPIR(
                """
                {
                  "inputDatabase": "a.txtpb", "outputDatabase": "b-SHARD_ID.bin", "outputPirParameters": "c-SHARD_ID.txtpb",
                  "outputEvaluationKeyConfig": "d.txtpb", "databaseType": "keyword", "algorithm": "mulPir",
                  "rlweParameters": "n_4096_logq_27_28_28_logt_5",
                  "sharding": {"entryCountPerShard": 1000, "maxShardCount": 64, "requirePowerOfTwoShardCount": true},
                  "shardingFunction": {"sha256": null}, "keyCompression": "hybridCompression", "trialsPerShard": 5,
                  "useMaxSerializedBucketSize": true, "unevenDimensions": false, "encodingEntrySize": false,
                  "cuckooTableArguments": {"hashFunctionCount": 2, "maxEvictionCount": 100, "maxSerializedBucketSize": 1024,
                    "slotCount": 16, "bucketCount": {"allowExpansion": {"expansionFactor": 1.1, "targetLoadFactor": 0.9}},},
                  dimensionCount: 2,
                }
                """))
        let pir = configuration.useCases[0].pir
        var expected = PIRSettings()
        expected.rlweParameters = "n_4096_logq_27_28_28_logt_5"
        expected.sharding = .entryCountPerShard(1000)
        expected.maxShardCount = 64
        expected.requirePowerOfTwoShardCount = true
        expected.shardingFunction = .sha256
        expected.keyCompression = .hybridCompression
        expected.trialsPerShard = 5
        expected.useMaxSerializedBucketSize = true
        expected.unevenDimensions = false
        expected.hashFunctionCount = 2
        expected.maxEvictionCount = 100
        expected.maxSerializedBucketSize = 1024
        expected.slotCount = 16
        expected.bucketCount = .allowExpansion(expansionFactor: 1.1, targetLoadFactor: 0.9)
        expected.dimensionCount = 2
        #expect(pir == expected)
        #expect(configuration.notices.count == 5, "\(configuration.notices)")
        #expect(configuration.notices[0].hasPrefix("v.json5:2:20: useCases.u.pir.inputDatabase: accepted and ignored") == true)
    }

    @Test(arguments: [
        ("{shards: '10'}", "did you mean \"sharding\"?"),
        ("{sharding: {shardCount: '10'}}", "an integer from 1 to 1048576, got \"10\""),
        ("{sharding: {shardCount: 0}}", "got 0"),
        ("{sharding: {}}", "exactly one of shardCount and entryCountPerShard, got none"),
        ("{sharding: {shardCount: 1, entryCountPerShard: 1}}", "got both"), ("{sharding: {entryCountPerShard: 0}}", "got 0"),
        ("{sharding: {shardCount: 8, maxShardCount: 4}}", "at most maxShardCount"),
        ("{sharding: {shardCount: 6, requirePowerOfTwoShardCount: true}}", "a power of two"),
        ("{shardingFunction: {doubleMod: 0}}", "got 0"), ("{shardingFunction: {}}", "got 0 functions"),
        ("{shardingFunction: {sha256: 1}}", "expected useCases.u.pir.shardingFunction.sha256: null"),
        ("{shardingFunction: {sha256: null, doubleMod: 2}}", "got 2 functions"), ("{algorithm: 'aclsPir'}", "\"mulPir\""),
        ("{databaseType: 'index'}", "\"keyword\""), ("{symmetricPirArguments: {}}", "symmetric PIR is not built yet"),
        ("{encodingEntrySize: true}", "expected useCases.u.pir.encodingEntrySize: false"),
        ("{dimensionCount: 3}", "from 1 to 2"),
        ("{rlweParameters: 'n_4096_logq_27_28_28_logt_55'}", "did you mean \"n_4096_logq_27_28_28_logt_5\"?"),
        ("{rlweParameters: 'insecure_n_8_logq_5x18_logt_5'}", "for tests only"),
        ("{rlweParameters: 'n_4096_logq_27_28_28_logt_17', dimensionCount: 2}", "noise budget"),
        ("{cuckooTableArguments: {hashFunctionCount: 9}}", "from 1 to 8"),
        ("{cuckooTableArguments: {hashFunctionCount: 0}}", "from 1 to 8"),
        ("{cuckooTableArguments: {maxEvictionCount: 0}}", "from 1 to 10000"),
        ("{cuckooTableArguments: {slotCount: 256}}", "from 1 to 255"),
        ("{cuckooTableArguments: {maxSerializedBucketSize: 10}}", "from 11"),
        ("{cuckooTableArguments: {bucketCount: {allowExpansion: {expansionFactor: 1}}}}", "a number above 1"),
        ("{cuckooTableArguments: {bucketCount: {allowExpansion: {expansionFactor: Infinity}}}}", "got Infinity"),
        ("{cuckooTableArguments: {bucketCount: {allowExpansion: {targetLoadFactor: 0}}}}", "above 0 and below 1"),
        ("{cuckooTableArguments: {bucketCount: {allowExpansion: {targetLoadFactor: 1.0}}}}", "above 0 and below 1"),
        ("{cuckooTableArguments: {bucketCount: {fixedSize: {}}}}", "the number of buckets"),
        ("{cuckooTableArguments: {bucketCount: {}}}", "exactly one of allowExpansion and fixedSize"),
        ("{trialsPerShard: -1}", "got -1"), ("{keyCompression: 'max'}", "\"maxCompression\""),
        ("{useMaxSerializedBucketSize: 1}", "true or false"),
    ])
    func refusesWrongParameters(pir: String, expected: String) {
        let found = errors(withPIR(pir))
        #expect(found.count == 1 && found[0].contains(expected), "\(found)")
    }

    @Test func insecureParametersNeedTheFlag() throws {
        let text = withPIR("{rlweParameters: 'insecure_n_8_logq_5x18_logt_5', shardingFunction: {doubleMod: 7}}")
        let configuration = try parse(text, insecure: true)
        #expect(configuration.useCases[0].pir.rlweParameters == "insecure_n_8_logq_5x18_logt_5")
        #expect(configuration.useCases[0].pir.shardingFunction == .doubleMod(otherShardCount: 7))
        #expect(try parse(withPIR("{sharding: {shardCount: 6}}")).notices.count == 1)
        let fixed = try parse(withPIR("{cuckooTableArguments: {bucketCount: {fixedSize: {bucketCount: 12}}}}"))
        #expect(fixed.useCases[0].pir.bucketCount == .fixedSize(bucketCount: 12))
    }

    @Test func listenAddresses() {
        #expect(ListenAddress("[::1]:80")?.isLoopback == true)
        #expect(ListenAddress("localhost:0")?.isLoopback == true)
        #expect(ListenAddress("127.1.2.3:1")?.isLoopback == true)
        for open in ["127.evil.example.net:1", "10.0.0.1:1", "[::]:1", "127.0.0.1.nip.io:1"] {
            #expect(ListenAddress(open)?.isLoopback == false)
        }
        for wrong in ["", ":", ":80", "host", "host:", "host:65536", "host:-1", "::1:80", "a b:1", "h:+1", "h:８０"] {
            #expect(ListenAddress(wrong) == nil, "\(wrong)")
        }
        #expect(ListenAddress("[::1]:80")?.description == "[::1]:80")
    }

    @Test func everyCutAndMutationIsAnswered() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let text = Array(VeilringConfigurationTests.example.utf8)
        for round in 0..<(text.count + 3000) {
            let hostile = round < text.count ? Array(text.prefix(round)) : mutated(text, using: &generator)
            do {
                _ = try VeilringConfiguration.parse(hostile, file: "v", directory: "/")
            } catch {
                #expect(!error.findings.isEmpty && error.findings.count <= 20, "seed \(seed)")
            }
        }
    }
}
