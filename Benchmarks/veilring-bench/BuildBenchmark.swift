// `veilring-bench build`: a keyword database on disk becomes shards, by the same code as `veilring build`, with the checks
// before publishing.

import BFV
import CallerDirectory
import Foundation
import Glibc
import LookupMessages
import RingMath

/// The options of a measurement of the build; two results can be compared if these are the same.
struct BuildBenchOptions: Codable, Equatable {
    /// Rows of the source.
    var rows = 1_000_000
    /// Bytes of each value.
    var valueBytes = 1
    /// Rows in a shard, on average.
    var rowsPerShard = 50_000
    /// Threads that the build may use.
    var threads = 2
    /// Builds that are measured.
    var repeats = 1

    private enum CodingKeys: String, CodingKey {
        case rows, valueBytes, rowsPerShard, threads
        case repeats = "repeat"
    }

    static let names = ["--rows", "--value-bytes", "--rows-per-shard", "--threads", "--repeat"]

    /// The defaults.
    init() {}

    /// Throws `UsageError` for what cannot be measured, here or at all.
    init(_ arguments: BenchArguments) throws {
        rows = try arguments.number("--rows", in: 1...100_000_000, default: rows)
        valueBytes = try arguments.number("--value-bytes", in: 1...65_000, default: valueBytes)
        rowsPerShard = try arguments.number("--rows-per-shard", in: 1...10_000_000, default: rowsPerShard)
        threads = try arguments.number("--threads", in: 1...1024, default: threads)
        repeats = try arguments.number("--repeat", in: 1...1000, default: repeats)
        guard rows / rowsPerShard <= 1 << 20 else {
            throw UsageError("--rows-per-shard \(rowsPerShard) of --rows \(rows) make more than \(1 << 20) shards")
        }
        // Residues are eight times as wide as payload in the widest case; the source stands on disk beside them.
        let needed = Double(rows) * Double(valueBytes + 11) * 20
        let free = BuildBenchmark.freeBytes
        guard needed < free else {
            throw UsageError(
                "--rows \(rows) of --value-bytes \(valueBytes) need about \(Int(needed / 1e6)) MB below "
                    + "\(FileManager.default.temporaryDirectory.path), where \(Int(free / 1e6)) MB are free (TMPDIR names "
                    + "another folder)")
        }
    }
}

/// A result of `veilring-bench build`. Seconds are medians where there are several builds.
struct BuildResult: Codable {
    var benchmark = "build"
    var commit: String?
    var options: BuildBenchOptions
    var machine: Machine
    var instructionSet: String
    var seconds: Double
    var cpuSeconds: Double
    var rowsPerSecond: Double
    var rowsPerCPUSecond: Double
    var shards: Int
    var shardBytes: Int
    /// Most that the process had in memory while it built; making the source comes before and is not in it.
    var peakBytes: Int
    /// Queries that the build itself made before it published, all answered right.
    var trialQueries: Int
    var noiseBudgetBits: Double?
}

/// Measures the build with some options.
struct BuildBenchmark {
    let options: BuildBenchOptions

    /// Bytes that may be written to the temporary folder.
    static var freeBytes: Double {
        let attributes = try? FileManager.default.attributesOfFileSystem(
            forPath: FileManager.default.temporaryDirectory.path)
        return (attributes?[.systemFreeSize] as? NSNumber)?.doubleValue ?? .infinity
    }

    /// Writes the source, builds, and removes both. Throws `BenchError` and what the build throws.
    func run() throws -> BuildResult {
        let machine = Machine.current
        let folder = FileManager.default.temporaryDirectory.appending(path: "veilring-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try writeSource(to: folder.path + "/rows.binpb")
        let configuration = try VeilringConfiguration.parse(
            Array(Self.configuration(rowsPerShard: options.rowsPerShard).utf8), file: "veilring.json5", directory: folder.path)
        var buildOptions = BuildOptions()
        buildOptions.threads = options.threads
        buildOptions.tool = "veilring-bench"
        _ = Machine.forgetPeak()
        var seconds = Sample()
        var cpuSeconds = Sample()
        var last: UseCaseReport?
        for _ in 0..<options.repeats {
            try? FileManager.default.removeItem(atPath: folder.path + "/data")
            let cpu = Machine.cpuSeconds
            let start = ContinuousClock.now
            let report = try DirectoryBuilder(configuration: configuration, options: buildOptions).run()
            seconds.append((ContinuousClock.now - start) / .seconds(1))
            cpuSeconds.append(Machine.cpuSeconds - cpu)
            last = report.useCases.first
            guard last?.rows == options.rows else { throw BenchError.failed("the build stored another number of rows") }
        }
        guard let last else { throw BenchError.failed("the build reported no use case") }
        return BuildResult(
            options: options, machine: machine, instructionSet: KernelChoice.current.rawValue, seconds: seconds.median,
            cpuSeconds: cpuSeconds.median, rowsPerSecond: Double(options.rows) / seconds.median,
            rowsPerCPUSecond: Double(options.rows) / cpuSeconds.median, shards: last.shards, shardBytes: last.bytes,
            peakBytes: Machine.peakBytes, trialQueries: last.queries, noiseBudgetBits: last.leastNoiseBudget)
    }

    /// What a data engineer would write.
    static func configuration(rowsPerShard: Int) -> String {
        """
        { data: "data", listen: "127.0.0.1:8080", authentication: "none",
          useCases: { "net.example.bench": { kind: "keyword", source: "rows.binpb",
                                             pir: { sharding: { entryCountPerShard: \(rowsPerShard) } } } } }
        """
    }

    /// A `KeywordDatabase`, written in pieces, so that it never stands in memory.
    func writeSource(to path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path) else {
            throw BenchError.failed("cannot write \(path)")
        }
        defer { try? file.close() }
        let data = SampleData(rows: options.rows, valueBytes: options.valueBytes)
        var piece: [UInt8] = []
        for row in 0..<options.rows {
            let database = KeywordDatabase(
                rows: [KeywordDatabaseRow(keyword: data.keyword(row)[...], value: data.value(row)[...])])
            // Messages may be written one behind the other: their lists are joined.
            piece += database.encoded()
            if piece.count > 1 << 18 {
                try file.write(contentsOf: piece)
                piece.removeAll(keepingCapacity: true)
            }
        }
        try file.write(contentsOf: piece)
    }
}
