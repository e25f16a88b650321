// What `veilring-bench engine` is asked to measure: read from the command line, checked before anything is allocated.

import BFV
import Foundation
import KeywordPIR

/// The options of a measurement of the engine; two results can be compared if these are the same.
struct EngineOptions: Codable, Equatable {
    /// Rows of the shard.
    var rows = 10_000
    /// Bytes of each value.
    var valueBytes = 40
    /// Name of the parameter set.
    var parameters = "n_4096_logq_27_28_28_logt_5"
    /// Tables.
    var hashFunctions = 2
    /// One or two.
    var dimensions = 2
    /// The rule that chooses the dimensions: `cost`, `uneven` or `even`.
    var plan = DimensionRule.cost.rawValue
    /// Threads that one reply may use.
    var threads = 1
    /// Queries that are measured.
    var repeats = 100

    private enum CodingKeys: String, CodingKey {
        case rows, valueBytes, parameters, hashFunctions, dimensions, plan, threads
        case repeats = "repeat"
    }

    static let names = [
        "--rows", "--value-bytes", "--parameters", "--hash-functions", "--dimensions", "--plan", "--threads", "--repeat",
    ]

    /// The defaults.
    init() {}

    /// Throws `UsageError` for what cannot be measured, here or at all.
    init(_ arguments: BenchArguments) throws {
        rows = try arguments.number("--rows", in: 1...100_000_000, default: rows)
        valueBytes = try arguments.number("--value-bytes", in: 1...65_535, default: valueBytes)
        parameters = arguments.values["--parameters"] ?? parameters
        hashFunctions = try arguments.number("--hash-functions", in: 1...8, default: hashFunctions)
        dimensions = try arguments.number("--dimensions", in: 1...2, default: dimensions)
        plan = arguments.values["--plan"] ?? plan
        guard DimensionRule(rawValue: plan) != nil else {
            throw UsageError("--plan: expected cost, uneven or even, got \(plan)")
        }
        threads = try arguments.number("--threads", in: 1...1024, default: threads)
        repeats = try arguments.number("--repeat", in: 1...100_000, default: repeats)
        try check()
    }

    private func check() throws {
        let set = try parameterSet()
        if dimensions == 2, let reason = set.refusalForTwoDimensions {
            throw UsageError("--parameters \(parameters) with two dimensions: \(reason)")
        }
        // A row of a bucket has ten bytes beside the value; buckets are nine tenths full; residues are wider than payload.
        let wordBytes = ShardContents.wordBytes(set)
        let expansion = Double(set.ciphertextModuliCount * set.degree * wordBytes) / Double(set.bytesPerPlaintext)
        let needed = Double(rows) * Double(valueBytes + 11) / 0.9 * (expansion + 1)
        let memory = Double(ProcessInfo.processInfo.physicalMemory)
        guard needed < memory / 2 else {
            throw UsageError(
                "--rows \(rows) of --value-bytes \(valueBytes) make a shard of about \(Int(needed / 1e6)) MB, more than half of "
                    + "this machine's memory of \(Int(memory / 1e6)) MB: fewer or smaller rows")
        }
    }

    /// The set of this name. Throws `UsageError` with the known names.
    func parameterSet() throws -> ParameterSet {
        guard let set = try? ParameterSet.named(parameters) else {
            throw UsageError(
                "--parameters: unknown set \(parameters); known: \(ParameterSet.secure.map(\.name).joined(separator: " "))")
        }
        return set
    }
}
