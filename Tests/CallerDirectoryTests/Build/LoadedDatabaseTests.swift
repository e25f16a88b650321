// Loading: fast with many shards, engines shared, bad payloads reported by use case and shard.

import Foundation
import KeywordPIR
import Synchronization
import Testing

@testable import CallerDirectory

@Suite struct LoadedDatabaseTests {
    @Test func badPayloadsAreReported() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(60, bytes: 20))
        let report = try work.build(try work.configuration(pir: "sharding: {shardCount: 4}"))
        let database = try LoadedDatabase.load(data: work.data)
        var bad: [BadShard] = []
        database.verifyPayloads { bad.append($0) }
        #expect(bad.isEmpty)
        for shard in [1, 3] {
            let path = BuildManifest.shardPath(folder: work.versions.folder(of: report.version), useCase: "test", shard: shard)
            var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            bytes[4096] ^= 1
            try Data(bytes).write(to: URL(fileURLWithPath: path))
        }
        let again = try LoadedDatabase.load(data: work.data)
        again.verifyPayloads { bad.append($0) }
        #expect(bad.map(\.shard) == [1, 3] && bad.allSatisfy { $0.useCase == "test" && $0.blocks == [0] })
        let asked = Mutex(0)
        bad = []
        again.verifyPayloads(
            shouldStop: {
                asked.withLock {
                    $0 += 1; return $0 > 2
                }
            }, onBad: { bad.append($0) })
        #expect(bad.isEmpty, "stopped before the second shard")
    }

    @Test func missingShardFailsTheLoad() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(60, bytes: 20))
        let report = try work.build(try work.configuration(pir: "sharding: {shardCount: 2}"))
        try FileManager.default.removeItem(
            atPath: BuildManifest.shardPath(folder: work.versions.folder(of: report.version), useCase: "test", shard: 1))
        let error = errorOf { _ = try LoadedDatabase.load(data: work.data) }
        #expect(error?.description.contains("use case test") == true && error?.description.contains("1.shard") == true)
    }

    @Test func enginesAreSharedByEqualParametersAndReused() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(30, bytes: 5))
        let one = "{ kind: \"keyword\", source: \"rows.binpb\", pir: { rlweParameters: \"\(BuildWorkspace.insecureSet)\" } }"
        let configuration = try work.parse(
            "{ data: \"var\", listen: \"127.0.0.1:0\", authentication: \"none\", useCases: { a: \(one), b: \(one) } }")
        try work.build(configuration)
        let database = try LoadedDatabase.load(data: work.data)
        let engines = database.current.useCases.map(\.engine)
        #expect(engines.count == 2 && engines[0] === engines[1])
        try work.build(configuration)
        let next = try LoadedDatabase.load(data: work.data, reusing: database)
        #expect(next.current.useCases[0].engine === engines[0])
        #expect(next.retained.isEmpty, "an equal configuration is answered by the newer version")
    }

    @Test func twoThousandShardsLoadFast() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(4000, bytes: 5))
        try work.build(try work.configuration(pir: "sharding: {shardCount: 2000}"))
        let clock = ContinuousClock()
        var least = Duration.seconds(1000)
        // The least of three: other work on the machine is not what is measured.
        for _ in 0..<3 {
            let time = try clock.measure { _ = try LoadedDatabase.load(data: work.data) }
            least = min(least, time)
        }
        print("2000 shards: \(least)")
        #expect(least < .seconds(1))
    }

    @Test(.enabled(if: ProcessInfo.processInfo.environment["VEILRING_BENCH"] != nil))
    func aMillionRows() throws {
        let work = try BuildWorkspace()
        try work.write((0..<1_000_000).map { ("+8869\(10_000_000 + $0)", [UInt8($0 & 1)]) })
        let configuration = try work.parse(
            """
            { data: "var", listen: "127.0.0.1:0", authentication: "none", useCases: {
              "test": { kind: "keyword", source: "rows.binpb", pir: { sharding: {entryCountPerShard: 50000} } } } }
            """)
        let clock = ContinuousClock()
        let start = clock.now
        let report = try work.build(configuration) {
            $0.progress = { print("\($0.stage) \($0.done)/\($0.total) \(clock.now - start)") }
        }
        print(report.text)
        let again = try work.build(configuration)
        print(again.text)
        var usage = rusage()
        getrusage(0, &usage)
        print("peak \(usage.ru_maxrss / 1024) MB")
        #expect(report.useCases.first?.rows == 1_000_000)
    }
}
