// The build's benchmark on a few rows: what is built is what was asked for, and nothing is left behind.

import Foundation
import LookupMessages
import Testing

@testable import veilring_bench

@Suite("The build's benchmark")
struct BuildBenchmarkTests {
    @Test("shards are built, asked and measured")
    func figures() throws {
        var options = BuildBenchOptions()
        options.rows = 900
        options.rowsPerShard = 300
        options.repeats = 2
        let result = try BuildBenchmark(options: options).run()
        #expect(result.shards == 3)
        #expect(result.shardBytes > 3 * 4096)
        #expect(result.trialQueries > 0)
        let numbers = try JSONDecoder().decode(JSONTree.self, from: Data(try BenchProgram.json(result).utf8)).numbers
        for path in ["seconds", "cpuSeconds", "rowsPerSecond", "rowsPerCPUSecond", "shards", "shardBytes", "peakBytes"] {
            #expect((numbers[path] ?? 0) > 0, "\(path)")
        }
    }

    @Test("the source holds every row once")
    func source() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "veilring-bench-test-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var options = BuildBenchOptions()
        options.rows = 20_000
        options.valueBytes = 2
        try BuildBenchmark(options: options).writeSource(to: path)
        let bytes = Array(try #require(FileManager.default.contents(atPath: path)))
        let database = try KeywordDatabase(decoding: bytes, limits: .file)
        let data = SampleData(rows: options.rows, valueBytes: 2)
        #expect(database.rows.count == options.rows)
        #expect(Set(database.rows.map { Array($0.keyword) }).count == options.rows)
        #expect(database.rows.last.map { Array($0.value) } == data.value(options.rows - 1))
    }
}
