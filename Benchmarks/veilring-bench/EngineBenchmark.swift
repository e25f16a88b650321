// `veilring-bench engine`: lookups in one shard of data made here, every answer decrypted and compared.

import BFV
import CAllocationCount
import Foundation
import KeywordPIR
import LookupMessages
import LookupService
import RingMath
import Synchronization

/// Why there is no result.
enum BenchError: Error, CustomStringConvertible, Equatable {
    /// An answer, decrypted, was not what the shard holds; the row is one of ours and nobody's secret.
    case wrongAnswer(row: Int, isAbsent: Bool)
    /// Anything else, in words.
    case failed(String)

    var description: String {
        switch self {
        case .wrongAnswer(let row, let isAbsent):
            "a wrong answer: " + (isAbsent ? "an absent keyword was found" : "row \(row) gave another value, or none")
        case .failed(let reason): reason
        }
    }
}

/// Measures the engine with some options.
struct EngineBenchmark {
    let options: EngineOptions
    let data: SampleData
    let set: ParameterSet
    /// What is read to measure the memory's bandwidth: more than the caches hold.
    var bandwidthBytes = 256 << 20
    /// Tests damage answers here, to see that it is noticed.
    var damage: (@Sendable (inout PIRResponse) -> Void)?

    init(_ options: EngineOptions) throws {
        self.options = options
        data = SampleData(rows: options.rows, valueBytes: options.valueBytes)
        set = try options.parameterSet()
    }

    /// A shard with the engine and a phone that ask and answer.
    struct Stage {
        var contents: ShardContents
        var parameters: UseCaseParameters
        var engine: PIREngine
        var client: PIRClient
        var keyBytes: [UInt8]
        var key: DecodedEvaluationKey
        var build: EngineResult.Build
    }

    /// Measures everything. Throws `BenchError.wrongAnswer` as soon as there is one.
    func run() throws -> EngineResult {
        let machine = Machine.current
        let stage = try build()
        let buildPeak = Machine.peakBytes
        let canForget = Machine.forgetPeak()
        var measurement = EngineMeasurement(benchmark: self, stage: stage)
        try measurement.run()
        let throughput = try measurement.throughput(threads: max(machine.cores, options.threads))
        let allocations = try measurement.allocations()
        let answeringPeak = Machine.peakBytes
        let operations = try measurement.operations()
        let rate = Machine.readBytesPerSecond(threads: options.threads, bufferBytes: bandwidthBytes)
        let query = measurement.queryResult
        let scanMs = Double(stage.build.shardBytes) / rate * 1000
        let bound = ServiceOptions().decodedKeyBytes
        return EngineResult(
            options: options, machine: machine, instructionSet: KernelChoice.current.rawValue, shape: shape(stage),
            build: stage.build, sizes: measurement.sizes, query: query, request: measurement.requestResult,
            operations: operations, throughput: throughput,
            memory: EngineResult.Memory(
                peakBytes: max(buildPeak, answeringPeak), answeringBytes: canForget ? answeringPeak : nil,
                allocationsPerQuery: allocations?.count, allocatedBytesPerQuery: allocations?.bytes),
            decodedKeyCache: EngineResult.DecodedKeys(
                boundBytes: bound, keyBytes: stage.key.byteCount, keysAtBound: bound / max(stage.key.byteCount, 1)),
            bandwidth: EngineResult.Bandwidth(
                readGBPerSecond: rate / 1e9, scanMs: scanMs, scanShareOfQuery: scanMs / query.medianMs),
            noiseBudgetBits: measurement.leastNoiseBudget, checks: measurement.checks)
    }

    // MARK: Building

    /// The shard and everything around it. The rows go when the shard stands.
    func build() throws -> Stage {
        let (contents, seconds) = try shard()
        let parameters = try UseCaseParameters(
            set: set, shards: [contents.parameters], hashFunctionCount: options.hashFunctions, shardingFunction: .sha256,
            keyCompression: .noCompression)
        let engine = try PIREngine(parameters: parameters)
        let client = try PIRClient(parameters: parameters)
        let keyBytes = try client.makeEvaluationKey().encoded()
        let rawBytes = Double(options.rows * options.valueBytes)
        return Stage(
            contents: contents, parameters: parameters, engine: engine, client: client, keyBytes: keyBytes,
            key: try engine.decodeEvaluationKey(SerializedEvaluationKey(decoding: keyBytes)),
            build: EngineResult.Build(
                seconds: seconds, rowsPerSecond: Double(options.rows) / seconds, rawMBPerSecond: rawBytes / seconds / 1e6,
                shardBytes: contents.layout.words * contents.wordBytes))
    }

    /// The encoded shard, and the seconds from rows in memory to it.
    private func shard() throws -> (ShardContents, Double) {
        var hasher = KeywordHasher()
        var rows = TableRows()
        for row in 0..<options.rows { rows.append(hash: hasher.hash(data.keyword(row)), value: data.value(row)) }
        let choice = CostModel(set).bucketChoice(
            RowSizes(count: options.rows, valueBytes: options.rows * options.valueBytes, longestValue: options.valueBytes),
            hashFunctions: options.hashFunctions, dimensionCount: options.dimensions,
            rule: DimensionRule(rawValue: options.plan) ?? .cost)
        var settings = choice.settings
        settings.hashFunctionCount = options.hashFunctions
        let encoder = try ShardEncoder(set: set)
        let start = ContinuousClock.now
        let table = try CuckooTable(rows, settings: settings)
        let contents = try encoder.encodeInMemory(table, shape: try shape(of: table))
        return (contents, (ContinuousClock.now - start) / .seconds(1))
    }

    private func shape(of table: CuckooTable) throws -> ShardParameters {
        let perPlaintext = max(set.bytesPerPlaintext / table.largestBucketBytes, 1)
        return try ShardParameters(
            entryCount: table.bucketsPerTable, entrySize: table.largestBucketBytes,
            dimensions: CostModel(set).dimensions(
                plaintexts: (table.bucketsPerTable + perPlaintext - 1) / perPlaintext, hashFunctions: options.hashFunctions,
                chunks: max((table.largestBucketBytes + set.bytesPerPlaintext - 1) / set.bytesPerPlaintext, 1),
                dimensionCount: options.dimensions, rule: DimensionRule(rawValue: options.plan) ?? .cost),
            hashFunctionCount: options.hashFunctions, set: set)
    }

    private func shape(_ stage: Stage) -> EngineResult.Shape {
        let shape = stage.contents.parameters
        return EngineResult.Shape(
            dimensions: shape.dimensions, chunks: shape.chunks(set),
            plaintexts: stage.contents.layout.columns.count * shape.rows,
            plaintextsPresent: stage.contents.layout.columns.reduce(0) { $0 + $1.rows.count },
            bucketsPerTable: shape.entryCount, bucketBytes: shape.entrySize)
    }
}
