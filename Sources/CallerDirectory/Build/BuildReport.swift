// What a build is told and what it says: options, progress, and the report as text and as JSON (issue 2, item 5).

import FoundationEssentials

/// How a build runs, beside what the configuration says.
public struct BuildOptions: Sendable {
    /// Rejected rows, over all sources, that do not make the build fail.
    public var allowRejects = 0
    /// Shards that are built at once; nil: one for each core.
    public var threads: Int?
    /// Build every shard, also those whose rows did not change.
    public var rebuildAll = false
    /// Accept parameter sets without security. Only tests do.
    public var allowInsecureParameters = false
    /// Written into the manifest.
    public var tool = "veilring"
    /// Called now and then, from several threads.
    public var progress: (@Sendable (BuildProgress) -> Void)?
    /// Tests: true stops the build here as a kill would, leaving everything as it is.
    var stopsAt: (@Sendable (BuildStage) -> Bool)?

    /// The defaults.
    public init() {}
}

/// Steps of a build.
public enum BuildStage: String, Sendable, Equatable, Codable, CaseIterable {
    /// Sources are read.
    case reading
    /// Sizes are chosen.
    case planning
    /// Shards are written.
    case building
    /// Real queries.
    case trying
    /// The load check, then the renames.
    case publishing
    /// The version has its name but is not current yet (tests stop here).
    case named
    /// The version is current; old ones are removed.
    case retiring
}

/// Where a build is.
public struct BuildProgress: Sendable, Equatable {
    /// Its step.
    public let stage: BuildStage
    /// The use case at hand, empty where none is.
    public let useCase: String
    /// Shards done, for `.building`.
    public let done: Int
    /// Shards in all, for `.building`.
    public let total: Int
}

/// Bytes of messages as they were really encoded by a trial.
public struct WireSizes: Codable, Sendable, Equatable {
    /// `ConfigResponse` with this use case alone, before compression.
    public var configuration: Int
    /// `EvaluationKeys` with one key.
    public var evaluationKey: Int
    /// `Requests` with one query.
    public var query: Int
    /// `Responses` with one response.
    public var response: Int
}

/// What a build did with one use case.
public struct UseCaseReport: Codable, Sendable, Equatable {
    /// Its name.
    public var name: String
    /// Its kind.
    public var kind: String
    /// Rows stored.
    public var rows: Int
    /// Rows in the fullest and the emptiest shard.
    public var rowsPerShard: [Int]
    /// Shards.
    public var shards: Int
    /// Shards that were built.
    public var built: Int
    /// Shards that were taken over from the version before.
    public var reused: Int
    /// Bytes of all shard files.
    public var bytes: Int
    /// Name of the parameter set.
    public var parameterSet: String
    /// Buckets of each table, of the largest shard.
    public var bucketsPerTable: Int
    /// Bytes of a bucket, of the largest shard.
    public var bucketBytes: Int
    /// Dimensions of the largest shard.
    public var dimensions: [Int]
    /// Configuration id, in hex.
    public var configurationID: String
    /// Whether the configuration id is another than that of the version before; nil if there was none.
    public var configurationChanged: Bool?
    /// Real queries that were made.
    public var queries: Int
    /// Least noise budget that was seen, in bits, here or when the reused shards were built.
    public var leastNoiseBudget: Double?
    /// Sizes on the wire; nil if no query was made.
    public var wire: WireSizes?
    /// Milliseconds that the server's part of a trial query took, least.
    public var queryMilliseconds: Double?
    /// What was chosen or changed, in words.
    public var notes: [String]
    /// Rows read, rejected and merged, and warnings.
    public var read: Int
    /// See `read`.
    public var rejected: Int
    /// See `read`.
    public var merged: Int
    /// See `read`.
    public var warnings: Int
}

/// What a build did.
public struct BuildReport: Codable, Sendable, Equatable {
    /// Name of the version that is current now.
    public var version: String
    /// Name of the version that was current before.
    public var previousVersion: String?
    /// Its use cases.
    public var useCases: [UseCaseReport]
    /// Rejected rows over all sources, each once.
    public var rejected: Int
    /// The first 1000 of them, one line each. May quote private text: for the operator's terminal.
    public var rejectedLines: [String]
    /// Warnings, likewise.
    public var warningLines: [String]
    /// Merged rows, likewise.
    public var mergedLines: [String]
    /// Old versions that were removed.
    public var removedVersions: [String]
    /// Other remarks.
    public var notes: [String]
    /// Wall time.
    public var seconds: Double

    /// The report for a terminal.
    public var text: String {
        var lines: [String] = []
        func list(_ title: String, _ more: [String], atMost limit: Int = .max) {
            guard !more.isEmpty else { return }
            lines.append(title)
            lines += more.prefix(limit).map { "  " + $0 }
            if more.count > limit { lines.append("  … and more: --json lists them") }
        }
        // What is not served is listed in full; what is served all the same only begins.
        list("rejected:", rejectedLines)
        list("warnings:", warningLines, atMost: SourceFindings.printedAtMost)
        list("merged:", mergedLines, atMost: SourceFindings.printedAtMost)
        for useCase in useCases { lines += useCase.lines }
        lines += notes
        if !removedVersions.isEmpty { lines.append("removed old versions: " + removedVersions.joined(separator: ", ")) }
        let built = useCases.reduce(0) { $0 + $1.built }
        let reused = useCases.reduce(0) { $0 + $1.reused }
        lines.append(
            "version \(version) is current: \(built.counted("shard")) built, \(reused) taken over, "
                + "\(rejected.counted("row")) rejected, \(seconds.short) s")
        return lines.joined(separator: "\n")
    }

    /// The report for a script.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        } catch {
            throw DirectoryError(.fileSystem, "report", error)
        }
    }
}

extension UseCaseReport {
    fileprivate var lines: [String] {
        var result = [
            "\(name) (\(kind)): \(rows.counted("row")) in \(shards.counted("shard")), \(built) built, \(reused) taken over, "
                + "\(bytes) bytes"
        ]
        if rowsPerShard.count == 2, shards > 1 {
            result.append(
                "  \(rowsPerShard[1]) to \(rowsPerShard[0]) numbers share a shard: that much the server does not learn")
        }
        result.append(
            "  \(parameterSet), \(bucketsPerTable) buckets a table of \(bucketBytes) bytes, dimensions "
                + dimensions.map(String.init).joined(separator: " x "))
        if let wire {
            result.append(
                "  on the wire: configuration \(wire.configuration), key \(wire.evaluationKey), query \(wire.query), "
                    + "response \(wire.response) bytes")
        }
        if let leastNoiseBudget {
            let time = queryMilliseconds.map { ", a query took \($0.short) ms of computing" } ?? ""
            result.append("  \(queries) real queries answered right, least noise budget \(leastNoiseBudget.short) bits" + time)
        }
        switch configurationChanged {
        case true?: result.append("  the configuration changed: devices fetch it again (\(configurationID.prefix(16))…)")
        case false?: result.append("  the configuration is the same as before")
        case nil: break
        }
        return result + notes.map { "  " + $0 }
    }
}

extension Int {
    /// "1 shard", "2 shards".
    func counted(_ noun: String) -> String { self == 1 ? "1 \(noun)" : "\(self) \(noun)s" }
}

extension Double {
    /// One digit behind the point.
    fileprivate var short: String {
        guard isFinite, magnitude < 1e15 else { return "\(self)" }
        let tenths = Int((self * 10).rounded())
        return (tenths < 0 ? "-" : "") + "\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}
