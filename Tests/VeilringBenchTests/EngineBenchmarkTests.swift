// The engine's benchmark on shards of a few plaintexts: what the JSON holds, that a wrong answer ends it, and that what a
// query allocates does not depend on the number of rows.

import Foundation
import LookupMessages
import Testing

@testable import veilring_bench

@Suite("The engine's benchmark")
struct EngineBenchmarkTests {
    private func benchmark(_ options: EngineOptions) throws -> EngineBenchmark {
        var benchmark = try EngineBenchmark(options)
        benchmark.bandwidthBytes = 1 << 20
        return benchmark
    }

    private func options(rows: Int, valueBytes: Int = 3, dimensions: Int = 2, repeats: Int = 4) -> EngineOptions {
        var options = EngineOptions()
        options.rows = rows
        options.valueBytes = valueBytes
        options.dimensions = dimensions
        options.repeats = repeats
        return options
    }

    @Test("the JSON has every figure that is promised, and each is plausible")
    func figures() throws {
        let result = try benchmark(options(rows: 600)).run()
        let tree = try JSONDecoder().decode(JSONTree.self, from: Data(try BenchProgram.json(result).utf8))
        let numbers = tree.numbers
        let promised = [
            "machine.cores", "machine.memoryBytes", "build.seconds", "build.rowsPerSecond", "build.rawMBPerSecond",
            "build.shardBytes", "sizes.evaluationKey", "sizes.query", "sizes.response", "query.medianMs", "query.p99Ms",
            "query.phases.expand.medianMs", "query.phases.firstDimension.medianMs", "query.phases.secondDimension.medianMs",
            "query.phases.expand.p99Ms", "query.phases.firstDimension.p99Ms", "query.phases.secondDimension.p99Ms",
            "request.medianMs", "request.p99Ms", "request.firstMs", "operations.forwardNTT", "operations.inverseNTT",
            "operations.keySwitch", "operations.plainMultiplyAccumulate", "operations.multiplyRelinearize",
            "throughput.queriesPerSecond", "throughput.rawGBPerSecond", "memory.peakBytes", "memory.allocationsPerQuery",
            "decodedKeyCache.boundBytes", "decodedKeyCache.keyBytes", "bandwidth.readGBPerSecond", "noiseBudgetBits",
        ]
        for path in promised { #expect((numbers[path] ?? 0) > 0, "\(path)") }
        for path in ["machine.cpu", "machine.os", "instructionSet", "options.parameters"] {
            let member = path.split(separator: ".").reduce(Optional(tree)) { $0?[String($1)] }
            guard case .text(let text)? = member else {
                Issue.record("\(path) is missing")
                continue
            }
            #expect(!text.isEmpty)
        }
        #expect(tree["instructionSet"] == .text("avx2") || tree["instructionSet"] == .text("portable"))
        #expect(result.request.medianMs >= result.query.medianMs)
        #expect(result.query.p99Ms >= result.query.medianMs)
        // Absent keywords were asked too, and everything was checked: warm ones, those after an upload, and the rest.
        #expect(result.checks.absent >= 1)
        #expect(result.checks.answers > 6)
        #expect(result.text.contains("multiply and relinearize"))
    }

    @Test("phases are parts of the whole")
    func phases() throws {
        let phases = try benchmark(options(rows: 600, repeats: 1)).run()
        let parts = phases.query.phases
        let sum = parts.expand.medianMs + parts.firstDimension.medianMs + parts.secondDimension.medianMs
        #expect(sum > 0)
        #expect(sum <= phases.query.medianMs)
    }

    @Test("one dimension, one table and long values are measured too")
    func otherShapes() throws {
        var options = options(rows: 9, valueBytes: 5000, dimensions: 1, repeats: 2)
        options.hashFunctions = 1
        let result = try benchmark(options).run()
        #expect(result.shape.dimensions.count == 1)
        #expect(result.shape.chunks == 3)
    }

    @Test("a damaged answer ends the run, and so does an answer that is another question's")
    func wrongAnswer() throws {
        var damaged = try benchmark(options(rows: 50))
        // Only the lowest bytes: still a valid message and a ciphertext, but of something else.
        damaged.damage = { response in
            for table in response.replies.indices {
                for chunk in response.replies[table].ciphertexts.indices {
                    guard case .full(var full)? = response.replies[table].ciphertexts[chunk].kind else { continue }
                    full.polys = ArraySlice(full.polys.map { $0 ^ 0x55 })
                    response.replies[table].ciphertexts[chunk].kind = .full(full)
                }
            }
        }
        #expect(throws: BenchError.wrongAnswer(row: 0, isAbsent: false)) { try damaged.run() }

        // Rows enough that the two stand in different buckets.
        let whole = try benchmark(options(rows: 3000))
        let stage = try whole.build()
        var measurement = EngineMeasurement(benchmark: whole, stage: stage)
        let (first, second) = (try measurement.question(0), try measurement.question(1))
        let query = try stage.engine.decodeQuery(second.query.indices, shard: 0)
        let replies = try stage.engine.answer(query, key: stage.key, shard: stage.contents, threads: 1)
        let encoded = PIRResponse(replies: replies).encoded()
        try measurement.check(encoded, of: second)
        #expect(throws: BenchError.self) { try measurement.check(encoded, of: first) }
        var absent = second
        absent.isAbsent = true
        #expect(throws: BenchError.wrongAnswer(row: second.row, isAbsent: true)) {
            try measurement.check(encoded, of: absent)
        }
    }

    @Test("what a query allocates does not grow with the rows")
    func allocations() throws {
        func allocated(rows: Int) throws -> (count: Double, bytes: Double)? {
            let measured = try benchmark(options(rows: rows))
            let stage = try measured.build()
            var measurement = EngineMeasurement(benchmark: measured, stage: stage)
            return try measurement.allocations()
        }
        // Both have two dimensions of more than one.
        let (few, many) = (3000, 30_000)
        guard let small = try allocated(rows: few), let large = try allocated(rows: many) else { return }
        #expect(small.count > 0)
        #expect(small.bytes > 1000)
        #expect(large.count < small.count + 10)
        // Arrays take what malloc gives, so that bytes differ a little from run to run; something for each row would show.
        #expect(large.bytes - small.bytes < Double(2 * (many - few)), "\(small.bytes) and \(large.bytes) bytes")
    }
}
