// Command lines that make no sense get a reason and exit status 2 before anything is measured.

import Testing

@testable import veilring_bench

@Suite("The benchmark's command line")
struct CommandLineTests {
    private final class Lines {
        var results: [String] = []
        var remarks: [String] = []
    }

    private func run(_ line: String) -> (status: Int32, lines: Lines) {
        let lines = Lines()
        let program = BenchProgram(result: { lines.results.append($0) }, remark: { lines.remarks.append($0) })
        return (program.run(line.split(separator: " ").map(String.init)), lines)
    }

    @Test(
        "bad usage",
        arguments: [
            ("", "a command is needed"),
            ("load", "unknown command load; known: engine build tokens gateway costs compare"),
            ("engine --rows", "--rows needs a value"),
            ("engine --rows --json", "--rows needs a value"),
            ("engine --rows 0", "--rows: expected a whole number from 1 to 100000000, got 0"),
            ("engine --rows -1", "--rows: expected a whole number"),
            ("engine --rows ten", "--rows: expected a whole number"),
            ("engine --rows 1e3", "--rows: expected a whole number"),
            ("engine --rows 99999999999999999999", "--rows: expected a whole number"),
            ("engine --rows 1 --rows 2", "--rows was given twice"),
            ("engine --json=yes", "--json takes no value"),
            ("engine --value-bytes 65536", "--value-bytes: expected a whole number from 1 to 65535"),
            ("engine --rows 100000000 --value-bytes 65535", "memory"),
            ("engine --hash-functions 9", "--hash-functions: expected a whole number from 1 to 8"),
            ("engine --dimensions 3", "--dimensions: expected a whole number from 1 to 2"),
            ("engine --plan fast", "--plan: expected cost, uneven or even, got fast"),
            ("costs 1", "costs takes no options"),
            ("engine --threads 0", "--threads: expected"),
            ("engine --repeat 0", "--repeat: expected"),
            ("engine --parameters n_5", "unknown set n_5; known: n_4096_logq_27_28_28_logt_4"),
            ("engine --parameters insecure_n_512_logq_4x60_logt_20", "unknown set"),
            ("engine --parameters n_4096_logq_27_28_28_logt_17", "use one dimension"),
            ("engine --speed 3", "unknown option --speed; known: --rows"),
            ("engine rows", "options only; what is rows?"),
            ("build --rows 0", "--rows: expected"),
            ("build --rows-per-shard 0", "--rows-per-shard: expected"),
            ("build --rows 100000000 --value-bytes 65000", "are free"),
            ("build --rows 100000000 --rows-per-shard 1", "shards"),
            ("build --parameters x", "unknown option --parameters"),
            ("gateway --pairs 3", "--pairs: expected a whole number from 4"),
            ("compare", "compare needs two files"),
            ("compare one.json", "compare needs two files"),
            ("compare --against x", "needs engine or build"),
            ("compare --against x --rounds 0 engine", "--rounds: expected"),
            ("compare --against x engine --rows 0", "--rows: expected"),
        ])
    func badUsage(line: String, reason: String) throws {
        let (status, lines) = run(line)
        #expect(status == 2)
        #expect(lines.results.isEmpty)
        let remark = try #require(lines.remarks.first)
        #expect(remark.contains(reason), "\(remark)")
    }

    @Test("help is a result, a failure is not bad usage")
    func others() {
        for line in ["--help", "help", "engine --help", "build -h"] {
            let (status, lines) = run(line)
            #expect(status == 0)
            #expect(lines.results.first?.hasPrefix("usage: veilring-bench engine") == true)
        }
        let (status, lines) = run("compare no.json such.json")
        #expect(status == 1)
        #expect(lines.remarks == ["veilring-bench: cannot read no.json"])
    }

    @Test("values are taken in both forms")
    func values() throws {
        let arguments = try BenchArguments(
            ["--rows=12", "--threads", "2", "--json"], options: EngineOptions.names, switches: ["--json"])
        let options = try EngineOptions(arguments)
        #expect(options.rows == 12)
        #expect(options.threads == 2)
        #expect(options.valueBytes == 40)
        #expect(arguments.switches == ["--json"])
    }
}
