// What `veilring-bench engine` measured. The names are the keys of the JSON; docs/benchmarks.md explains them.

/// A result of `veilring-bench engine`.
struct EngineResult: Codable {
    struct Times: Codable {
        var medianMs: Double
        var p99Ms: Double

        init(_ sample: Sample) {
            medianMs = sample.median
            p99Ms = sample.percentile(99)
        }
    }

    struct Shape: Codable {
        var dimensions: [Int]
        /// Plaintexts that one entry spans.
        var chunks: Int
        /// Plaintexts of all tables and chunks, and those of them that hold anything.
        var plaintexts: Int
        var plaintextsPresent: Int
        var bucketsPerTable: Int
        var bucketBytes: Int
    }

    struct Build: Codable {
        var seconds: Double
        var rowsPerSecond: Double
        var rawMBPerSecond: Double
        var shardBytes: Int
    }

    struct Sizes: Codable {
        var evaluationKey: Int
        var query: Int
        var response: Int
    }

    struct Phases: Codable {
        var expand: Times
        var firstDimension: Times
        var secondDimension: Times
    }

    struct Query: Codable {
        var medianMs: Double
        var p99Ms: Double
        /// Processor time of all threads: steadier than the clock where others use the machine too.
        var cpuMedianMs: Double
        var phases: Phases
    }

    struct Request: Codable {
        var medianMs: Double
        var p99Ms: Double
        var firstMs: Double
        var decodeKeyMs: Double
    }

    /// Nanoseconds; null where the measured shard needs no such operation.
    struct Operations: Codable {
        var forwardNTT: Double
        var inverseNTT: Double
        var keySwitch: Double?
        var plainMultiplyAccumulate: Double
        var multiplyRelinearize: Double?

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(forwardNTT, forKey: .forwardNTT)
            try container.encode(inverseNTT, forKey: .inverseNTT)
            try container.encode(keySwitch, forKey: .keySwitch)
            try container.encode(plainMultiplyAccumulate, forKey: .plainMultiplyAccumulate)
            try container.encode(multiplyRelinearize, forKey: .multiplyRelinearize)
        }
    }

    struct Throughput: Codable {
        var threads: Int
        var queriesPerSecond: Double
        var rawGBPerSecond: Double
    }

    struct Memory: Codable {
        var peakBytes: Int
        /// Most that was in memory while queries were answered, the shard included; null where the system does not say.
        var answeringBytes: Int?
        /// Null where allocations cannot be counted.
        var allocationsPerQuery: Double?
        var allocatedBytesPerQuery: Double?

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(peakBytes, forKey: .peakBytes)
            try container.encode(answeringBytes, forKey: .answeringBytes)
            try container.encode(allocationsPerQuery, forKey: .allocationsPerQuery)
            try container.encode(allocatedBytesPerQuery, forKey: .allocatedBytesPerQuery)
        }
    }

    struct DecodedKeys: Codable {
        /// What the service's cache of decoded keys may hold.
        var boundBytes: Int
        var keyBytes: Int
        var keysAtBound: Int
    }

    struct Bandwidth: Codable {
        var readGBPerSecond: Double
        /// What reading the shard once takes at that rate.
        var scanMs: Double
        /// That, over the median of a reply.
        var scanShareOfQuery: Double
    }

    struct Checks: Codable {
        /// Answers that were decrypted and compared, all of them right.
        var answers: Int
        /// Those of keywords that are not in the shard.
        var absent: Int
    }

    var benchmark = "engine"
    var commit: String?
    var options: EngineOptions
    var machine: Machine
    var instructionSet: String
    var shape: Shape
    var build: Build
    var sizes: Sizes
    var query: Query
    var request: Request
    var operations: Operations
    var throughput: Throughput
    var memory: Memory
    var decodedKeyCache: DecodedKeys
    var bandwidth: Bandwidth
    var noiseBudgetBits: Double
    var checks: Checks
}
