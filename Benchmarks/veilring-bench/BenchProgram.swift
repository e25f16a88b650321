// The commands of `veilring-bench` and their exit statuses: 0 done, 1 failed (a wrong answer is a failure), 2 bad usage.

import BFV
import Foundation
import KeywordPIR

/// The program: finds the command, runs it, writes the result to standard output and everything else to standard error.
struct BenchProgram {
    /// Where results go.
    var result: (String) -> Void = { print($0) }
    /// Where everything else goes.
    var remark: (String) -> Void = { FileHandle.standardError.write(Data(($0 + "\n").utf8)) }

    static let usage = """
        usage: veilring-bench engine [options]
               veilring-bench build [options]
               veilring-bench tokens [options]
               veilring-bench gateway [options]
               veilring-bench costs
               veilring-bench compare [--json] FIRST.json SECOND.json
               veilring-bench compare --against PROGRAM [--rounds N] [--json] engine|build [options]

        engine   private lookups in one shard of data made here: every phase, single operations, memory, throughput
          --rows N             rows (default 10000)
          --value-bytes B      bytes of each value (default 40)
          --parameters NAME    parameter set (default n_4096_logq_27_28_28_logt_5)
          --hash-functions H   tables (default 2)
          --dimensions D       1 or 2 (default 2)
          --plan RULE          how two dimensions are chosen: cost, uneven or even (default cost)
          --threads T          threads for one reply (default 1)
          --repeat R           queries (default 100)
        build    a keyword database on disk becomes shards, the checks before publishing included
          --rows N             rows (default 1000000)
          --value-bytes B      bytes of each value (default 1)
          --rows-per-shard N   rows in a shard, on average (default 50000)
          --threads T          threads (default 2)
          --repeat R           builds, of which the median counts (default 1)
        tokens   blind signatures and verifications beside `openssl speed rsa2048`, spends
          --rounds N           rounds, of which the medians count (default 5)
          --spent N            tokens that are spent already (default 100000)
        gateway  the processor time that the gateway adds: the same query directly and sealed, in turn
          --pairs N            pairs, of which the medians count (default 1000)
        costs    what the operations cost here that the rule `cost` weighs, for two parameter sets
        compare  two results of the same options side by side; or another program, for example an older build of this one,
                 and this one in turn, N times each (default 5)

        engine, build, tokens and gateway also take
          --json               the result as JSON, to keep and to compare
          --commit ID          written into the JSON

        VEILRING_KERNELS=portable measures without the instructions that not every processor has.
        Exit status 0; 1 if something failed, also a wrong answer; 2 if the command line makes no sense.
        """

    /// Runs a command line without the program's name.
    func run(_ words: [String]) -> Int32 {
        if words.contains("--help") || words.contains("-h") || words.first == "help" {
            result(Self.usage)
            return 0
        }
        do {
            switch words.first {
            case "engine"?: try engine(Array(words.dropFirst()))
            case "build"?: try build(Array(words.dropFirst()))
            case "tokens"?: try tokens(Array(words.dropFirst()))
            case "gateway"?: try gateway(Array(words.dropFirst()))
            case "costs"?: try costs(Array(words.dropFirst()))
            case "compare"?: try compare(Array(words.dropFirst()))
            case let other?: throw UsageError("unknown command \(other); known: engine build tokens gateway costs compare")
            case nil: throw UsageError("a command is needed: engine, build, tokens, gateway, costs or compare")
            }
            return 0
        } catch let error as UsageError {
            remark("veilring-bench: \(error)\n`veilring-bench --help` says more")
            return 2
        } catch {
            remark("veilring-bench: \(error)")
            return 1
        }
    }

    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "infinity", negativeInfinity: "-infinity", nan: "none")
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private static func arguments(_ words: [String], _ names: [String]) throws -> BenchArguments {
        let arguments = try BenchArguments(words, options: names + ["--commit"], switches: ["--json"])
        guard arguments.rest.isEmpty else { throw UsageError("options only; what is \(arguments.rest[0])?") }
        return arguments
    }

    private func engine(_ words: [String]) throws {
        let arguments = try Self.arguments(words, EngineOptions.names)
        var measured = try EngineBenchmark(EngineOptions(arguments)).run()
        measured.commit = arguments.values["--commit"]
        result(arguments.switches.contains("--json") ? try Self.json(measured) : measured.text)
    }

    private func build(_ words: [String]) throws {
        let arguments = try Self.arguments(words, BuildBenchOptions.names)
        var measured = try BuildBenchmark(options: BuildBenchOptions(arguments)).run()
        measured.commit = arguments.values["--commit"]
        result(arguments.switches.contains("--json") ? try Self.json(measured) : measured.text)
    }

    private func tokens(_ words: [String]) throws {
        let arguments = try Self.arguments(words, TokenBenchOptions.names)
        var measured = try TokenBenchmark(options: TokenBenchOptions(arguments)).run()
        measured.commit = arguments.values["--commit"]
        result(arguments.switches.contains("--json") ? try Self.json(measured) : measured.text)
    }

    private func gateway(_ words: [String]) throws {
        let arguments = try Self.arguments(words, GatewayBenchOptions.names)
        var measured = try GatewayBenchmark(options: GatewayBenchOptions(arguments)).run()
        measured.commit = arguments.values["--commit"]
        result(arguments.switches.contains("--json") ? try Self.json(measured) : measured.text)
    }

    private func costs(_ words: [String]) throws {
        guard words.isEmpty else { throw UsageError("costs takes no options") }
        for name in [EngineOptions().parameters, "n_8192_logq_3x55_logt_24"] {
            result("\(name) \(try OperationCosts.measured(ParameterSet.named(name)))")
        }
    }

    private func compare(_ words: [String]) throws {
        let command = words.firstIndex { $0 == "engine" || $0 == "build" } ?? words.endIndex
        let arguments = try BenchArguments(
            Array(words[..<command]), options: ["--against", "--rounds"], switches: ["--json"])
        let figures: [ComparedFigure]
        var names: (String, String)
        if let other = arguments.values["--against"] {
            let rounds = try arguments.number("--rounds", in: 1...1000, default: 5)
            guard command < words.endIndex, arguments.rest.isEmpty else {
                throw UsageError("compare --against PROGRAM needs engine or build, and nothing between them")
            }
            let measured = Array(words[command...])
            let isEngine = measured[0] == "engine"
            let own = try Self.arguments(
                Array(measured.dropFirst()), isEngine ? EngineOptions.names : BuildBenchOptions.names)
            if isEngine { _ = try EngineOptions(own) } else { _ = try BuildBenchOptions(own) }
            figures = try PairedRuns(other: other, rounds: rounds, words: measured.filter { $0 != "--json" }).run()
            names = (other.split(separator: "/").suffix(3).joined(separator: "/"), "this program")
        } else {
            guard command == words.endIndex, arguments.rest.count == 2, arguments.values.isEmpty else {
                throw UsageError("compare needs two files of results, or --against PROGRAM and what to run")
            }
            let (first, second) = (try MeasuredResult(path: arguments.rest[0]), try MeasuredResult(path: arguments.rest[1]))
            figures = try ResultComparison.compare(first, second)
            for doubt in first.doubts(against: second) { remark("veilring-bench: \(doubt)") }
            names = (first.commit ?? "first", second.commit ?? "second")
        }
        result(
            arguments.switches.contains("--json")
                ? try Self.json(figures) : ResultComparison.text(figures, names.0, names.1))
    }
}
