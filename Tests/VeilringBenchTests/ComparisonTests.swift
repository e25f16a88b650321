// Comparing results: ratios, refusals, and pairs of runs in turn.

import Foundation
import Testing

@testable import veilring_bench

@Suite("Comparing results")
struct ComparisonTests {
    private func result(
        rows: Int = 10, median: Double = 4, benchmark: String = "engine", name: String = "a"
    ) throws -> MeasuredResult {
        let text = """
            { "benchmark": "\(benchmark)", "commit": "c0ffee", "options": { "rows": \(rows) }, "machine": { "cores": 2 },
              "query": { "medianMs": \(median), "phases": { "expand": { "medianMs": 1 } } }, "instructionSet": "avx2",
              "operations": { "keySwitch": null } }
            """
        return try MeasuredResult(Data(text.utf8), name: name)
    }

    @Test("figures stand side by side with the ratio of the second to the first")
    func ratios() throws {
        let figures = try ResultComparison.compare(try result(), try result(median: 3, name: "b"))
        #expect(
            figures == [
                ComparedFigure(figure: "query.medianMs", first: 4, second: 3, ratio: 0.75),
                ComparedFigure(figure: "query.phases.expand.medianMs", first: 1, second: 1, ratio: 1),
            ])
        #expect(ResultComparison.text(figures, "x", "y").contains("0.750"))
    }

    @Test("other options, another benchmark and other files are refused")
    func refusals() throws {
        let first = try result()
        #expect {
            try ResultComparison.compare(first, try result(rows: 11, name: "b"))
        } throws: {
            "\($0)" == "a and b were measured with different options: rows"
        }
        #expect(throws: BenchError.self) { try ResultComparison.compare(first, try result(benchmark: "build")) }
        for text in ["", "[]", "{}", "{\"benchmark\": \"engine\"}", "not JSON"] {
            #expect(throws: BenchError.self, "\(text)") { try MeasuredResult(Data(text.utf8), name: "x") }
        }
        #expect(throws: BenchError.self) { try MeasuredResult(path: "/no/such/file") }
    }

    @Test("pairs of runs alternate, and the median of their ratios counts")
    func pairs() throws {
        var calls: [String] = []
        var medians: [Double] = [4, 2, 8, 8, 10, 30]
        var runs = PairedRuns(other: "before", rounds: 3, words: ["engine", "--rows", "10"])
        runs.launch = { program, arguments in
            #expect(arguments == ["engine", "--rows", "10", "--json"])
            calls.append(program == "before" ? "before" : "this")
            let median = medians.removeFirst()
            return Data(
                "{ \"benchmark\": \"engine\", \"options\": { \"rows\": 10 }, \"query\": { \"medianMs\": \(median) } }".utf8)
        }
        let figures = try runs.run()
        #expect(calls == ["before", "this", "before", "this", "before", "this"])
        #expect(
            figures == [ComparedFigure(figure: "query.medianMs", first: 8, second: 8, ratio: 1, least: 0.5, greatest: 3)])
    }

    @Test("what a program writes is compared with what it writes again")
    func launch() throws {
        let text = "{ \"benchmark\": \"engine\", \"options\": {}, \"x\": 2 }"
        let runs = PairedRuns(other: "/bin/echo", rounds: 1, words: [text])
        // `--json` at the end is not JSON.
        #expect(throws: BenchError.failed("/bin/echo is no JSON result of veilring-bench")) { try runs.run() }
        #expect(throws: BenchError.failed("/bin/false engine --json: exit status 1")) {
            try PairedRuns(other: "/bin/false", rounds: 1, words: ["engine"]).run()
        }
        #expect(throws: BenchError.failed("cannot run /no/such/program")) {
            try PairedRuns(other: "/no/such/program", rounds: 1, words: ["engine"]).run()
        }
    }
}
