// `veilring build`: sources to shards to a published version (issue 2, items 5 and 6).

import CLinux
import Cryptography
import Glibc
import KeywordPIR
import Synchronization

/// Builds the directory of a configuration and publishes it.
public struct DirectoryBuilder: Sendable {
    private let configuration: VeilringConfiguration
    private let options: BuildOptions
    private let versions: DirectoryVersions
    private let threads: Int

    /// Reads and writes nothing yet.
    public init(configuration: VeilringConfiguration, options: BuildOptions = BuildOptions()) {
        self.configuration = configuration
        self.options = options
        versions = DirectoryVersions(data: configuration.data)
        threads = max(1, options.threads ?? Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    }

    /// Builds, checks and publishes. When it throws, the version that was current still is, and what was written is gone (or
    /// goes with the next build if the process was killed).
    ///
    /// Throws `DirectoryError` only.
    public func run() throws -> BuildReport {
        let clock = ContinuousClock()
        let start = clock.now
        do {
            try DiskFolder.create(configuration.data)
            let lock = try versions.lock()
            defer { withExtendedLifetime(lock) {} }
            var notes: [String] = []
            let leftovers = try versions.removeLeftovers()
            if !leftovers.isEmpty {
                notes.append("removed what an unfinished build left: \(leftovers.joined(separator: ", "))")
            }
            do {
                var report = try build(notes: notes)
                report.seconds = (clock.now - start) / .seconds(1)
                return report
            } catch let error as DirectoryError where error.kind == .interrupted {
                throw error
            } catch {
                _ = try? versions.removeLeftovers()
                throw error
            }
        } catch {
            throw DirectoryError(.fileSystem, "", error)
        }
    }

    /// The version before, as far as it can be read.
    private struct Before {
        var name: String?
        var manifest: BuildManifest?
        var folder = ""
    }

    /// A use case with its rows and plan.
    private struct Prepared {
        var plan: UseCasePlan
        var rows: UseCaseRows
    }

    private func reached(_ stage: BuildStage, useCase: String = "", done: Int = 0, total: Int = 0) throws {
        options.progress?(BuildProgress(stage: stage, useCase: useCase, done: done, total: total))
        if options.stopsAt?(stage) == true { throw DirectoryError(.interrupted, "stopped at \(stage.rawValue)") }
    }

    private func build(notes: [String]) throws -> BuildReport {
        var report = BuildReport(
            version: "", previousVersion: nil, useCases: [], rejected: 0, rejectedLines: [], warningLines: [], mergedLines: [],
            removedVersions: [], notes: notes, seconds: 0)
        let before = before(&report)
        report.previousVersion = before.name
        var prepared = try prepare(before, &report)

        try DiskFolder.create(versions.draftFolder)
        var manifest = BuildManifest(
            number: nextNumber(), created: clinux_unix_time(), tool: options.tool, useCases: [])
        var engines = EngineCache()
        while !prepared.isEmpty {
            // Rows are let go as soon as their shards stand.
            var one = prepared.removeFirst()
            let old = before.manifest?.useCases.first { $0.name == one.plan.name }
            let (record, useCase) = try build(&one, old: old, oldFolder: before.folder, engines: &engines)
            manifest.useCases.append(record)
            report.useCases.append(useCase)
        }
        try reached(.publishing)
        report.version = try publish(manifest, engines: &engines)
        try reached(.retiring)
        report.removedVersions = try versions.retire(
            keeping: configuration.retention.versions, hours: configuration.retention.hours, now: manifest.created)
        return report
    }

    private func before(_ report: inout BuildReport) -> Before {
        do {
            guard let name = try versions.current() else { return Before() }
            let folder = versions.folder(of: name)
            return Before(name: name, manifest: try BuildManifest.read(folder: folder, name: name), folder: folder)
        } catch {
            report.notes.append(
                "the version before cannot be read, so everything is built: \(DirectoryError(.manifest, "", error))")
            return Before()
        }
    }

    private func nextNumber() -> Int { (versions.names.compactMap { BuildManifest.number(ofVersion: $0) }.max() ?? 0) + 1 }

    // MARK: Rows and plans

    private func prepare(_ before: Before, _ report: inout BuildReport) throws -> [Prepared] {
        var reader = UseCaseRowReader(region: configuration.region)
        var read: [UseCaseRows] = []
        var rejected = SourceFindings()
        var warnings = SourceFindings()
        var merged = SourceFindings()
        for useCase in configuration.useCases {
            try reached(.reading, useCase: useCase.name)
            do {
                let rows = try reader.rows(of: useCase)
                for part in (rows.isReadingShared ? [] : [rows.reading]) + [rows.conversion] {
                    rejected.append(contentsOf: part.rejected)
                    warnings.append(contentsOf: part.warnings)
                    merged.append(contentsOf: part.merged)
                }
                read.append(rows)
            } catch {
                // Findings begin their lines, so that what prints them need not look for them.
                throw DirectoryError(
                    .source, "\(error)\nuse case \(useCase.name): a source cannot be used; nothing was published")
            }
        }
        reader.forget()
        report.rejected = rejected.count
        report.rejectedLines = rejected.lines
        report.warningLines = warnings.lines
        report.mergedLines = merged.lines
        guard rejected.count <= options.allowRejects else {
            throw DirectoryError(
                .rejectedRows,
                (rejected.lines + [
                    "\(rejected.count.counted("row")) rejected, \(options.allowRejects) allowed (--allow-rejects N); nothing was "
                        + "published"
                ]).joined(separator: "\n"))
        }
        try reached(.planning)
        var plans = try zip(configuration.useCases, read).map { useCase, rows in
            try UseCasePlan(
                useCase, RowStatistics(rows.rows), previous: before.manifest?.useCases.first { $0.name == useCase.name },
                allowInsecure: options.allowInsecureParameters)
        }
        UseCasePlan.alignPartners(&plans)
        return zip(plans, read).map { Prepared(plan: $0, rows: $1) }
    }

    // MARK: Shards

    /// What turns buckets into residues, and what turns them back.
    private typealias Coding = (encoder: ShardEncoder, reading: PlaintextReading)

    private func build(
        _ one: inout Prepared, old: BuildManifest.UseCaseRecord?, oldFolder: String, engines: inout EngineCache
    ) throws -> (BuildManifest.UseCaseRecord, UseCaseReport) {
        var plan = one.plan
        try reached(.building, useCase: plan.name, done: 0, total: plan.shardCount)
        let rowCount = one.rows.rows.count
        let (shards, buckets, questions) = try build(&one, &plan, old: old, oldFolder: oldFolder)
        var record = try record(of: plan, rows: rowCount, shards, buckets: buckets)

        try reached(.trying, useCase: plan.name)
        let loaded = try LoadedUseCase.load(record, folder: versions.draftFolder, engines: &engines)
        var trials = try LookupTrials(useCase: loaded, threads: threads)
        let outcome = try trials.run(questions)
        let kept = shards.contains { $0.isReused } ? old?.leastNoiseBudget : nil
        record.leastNoiseBudget = [outcome.leastNoiseBudget, kept].compactMap { $0 }.min()
        return (record, useCaseReport(one, plan, record, shards, outcome, old: old))
    }

    /// The shards, the buckets of their tables if we sized them, and what to ask them. Takes the rows: what follows needs
    /// memory of its own.
    private func build(
        _ one: inout Prepared, _ plan: inout UseCasePlan, old: BuildManifest.UseCaseRecord?, oldFolder: String
    ) throws -> ([BuiltShard], Int?, [TrialQuestion]) {
        let rows = try ShardedRows(one.rows.rows, function: plan.function, shardCount: plan.shardCount, threads: threads)
        one.rows.rows = KeywordRows()
        let coding: Coding
        do {
            coding = (try ShardEncoder(set: plan.set), try PlaintextReading(set: plan.set))
        } catch {
            throw DirectoryError(.plan, "use case \(plan.name)", error)
        }
        let previous = options.rebuildAll ? nil : old.flatMap { PreviousShards($0, folder: oldFolder) }
        let (shards, buckets) = try buildSized(&plan, rows, previous, coding, oldShardCount: old?.shards.count)
        let built = shards.indices.filter { !shards[$0].isReused }
        return (shards, buckets, TrialQuestions.chosen(rows, plan: plan, built: built))
    }

    /// Builds all shards, with tables as the plan fixes them or of a size that is found here and grown where it does not do.
    private func buildSized(
        _ plan: inout UseCasePlan, _ rows: ShardedRows, _ previous: PreviousShards?, _ coding: Coding,
        oldShardCount: Int?
    ) throws -> ([BuiltShard], Int?) {
        func building(_ plan: UseCasePlan) -> ShardBuilding {
            ShardBuilding(
                plan: plan, rows: rows, folder: versions.draftFolder, previous: previous, threads: threads,
                encoder: coding.encoder, reading: coding.reading)
        }
        let total = plan.shardCount
        let name = plan.name
        let progress = options.progress
        let tell: @Sendable (Int) -> Void = { done in
            progress?(BuildProgress(stage: .building, useCase: name, done: done, total: total))
        }
        guard plan.sizesTables else { return (try building(plan).run(progress: tell), nil) }
        var buckets = 0
        if let kept = plan.keptBuckets, oldShardCount == plan.shardCount {
            buckets = kept
        } else {
            buckets = try plan.bucketsWithHeadRoom(needed: try needed(building(plan)))
        }
        // Each round adds a sixth; what 24 of them do not hold is beyond all bounds.
        for round in 0..<24 {
            plan.table.bucketCount = .fixedSize(buckets)
            do {
                let shards = try building(plan).run(progress: tell)
                if round > 0 {
                    plan.notes.append("tables grew to \(buckets) buckets a shard, so the configuration is a new one")
                }
                return (shards, buckets)
            } catch PIRError.tableTooSmall {
                try DiskFolder.remove("\(versions.draftFolder)/\(plan.name)")
                let grown = round == 0 ? try needed(building(plan)) : buckets
                buckets = try plan.bucketsWithHeadRoom(needed: max(grown, buckets + 1))
            }
        }
        throw DirectoryError(.table, "use case \(plan.name): no table size holds its rows; use more shards")
    }

    private func needed(_ building: ShardBuilding) throws -> Int {
        do {
            return try building.neededBuckets()
        } catch {
            throw DirectoryError(.table, "use case \(building.plan.name)", error)
        }
    }

    private func record(
        of plan: UseCasePlan, rows: Int, _ shards: [BuiltShard], buckets: Int?
    ) throws -> BuildManifest.UseCaseRecord {
        var shapes: [BuildManifest.ShapeRecord] = []
        var known: [BuildManifest.ShapeRecord: Int] = [:]
        let files = shards.map { shard in
            let shape = BuildManifest.ShapeRecord(shard.parameters)
            let index = known[shape] ?? shapes.count
            if index == shapes.count {
                known[shape] = index
                shapes.append(shape)
            }
            return BuildManifest.ShardRecord(
                shape: index, rows: shard.rows, bytes: shard.file.bytes, digest: shard.file.digest.hexadecimal,
                content: shard.content)
        }
        let parameters: UseCaseParameters
        do {
            parameters = try UseCaseParameters(
                set: plan.set, shards: shards.map(\.parameters), hashFunctionCount: plan.table.hashFunctionCount,
                shardingFunction: plan.function, keyCompression: plan.compression)
        } catch {
            throw DirectoryError(.plan, "use case \(plan.name)", error)
        }
        var other: Int?
        if case .doubleMod(let count) = plan.function { other = count }
        return BuildManifest.UseCaseRecord(
            name: plan.name, kind: plan.kind.rawValue, rows: rows, set: BuildManifest.SetRecord(plan.set),
            hashFunctionCount: plan.table.hashFunctionCount, otherShardCount: other,
            keyCompression: plan.compression.rawValue, configurationID: parameters.configurationID.hexadecimal,
            leastNoiseBudget: nil,
            sizing: BuildManifest.SizingRecord(
                shardCount: plan.choosesShardCount ? plan.shardCount : nil, buckets: buckets,
                bucketSize: plan.table.maxSerializedBucketSize, parameterSet: plan.setName),
            shapes: shapes, shards: files)
    }

    private func useCaseReport(
        _ one: Prepared, _ plan: UseCasePlan, _ record: BuildManifest.UseCaseRecord, _ shards: [BuiltShard],
        _ outcome: TrialOutcome, old: BuildManifest.UseCaseRecord?
    ) -> UseCaseReport {
        let largest = shards.max { $0.file.bytes < $1.file.bytes }?.parameters
        let counts = shards.map(\.rows)
        return UseCaseReport(
            name: plan.name, kind: plan.kind.rawValue, rows: record.rows,
            rowsPerShard: [counts.max() ?? 0, counts.min() ?? 0], shards: shards.count,
            built: shards.count { !$0.isReused }, reused: shards.count { $0.isReused },
            bytes: shards.reduce(0) { $0 + $1.file.bytes }, parameterSet: plan.setName,
            bucketsPerTable: largest?.entryCount ?? 0, bucketBytes: largest?.entrySize ?? 0,
            dimensions: largest?.dimensions ?? [], configurationID: record.configurationID,
            configurationChanged: old.map { $0.configurationID != record.configurationID }, queries: outcome.queries,
            leastNoiseBudget: record.leastNoiseBudget, wire: outcome.wire, queryMilliseconds: outcome.milliseconds,
            notes: plan.notes + (record.rows == 0 ? ["there are no rows: every lookup will find nothing"] : []),
            read: one.rows.reading.rowsRead, rejected: one.rows.rejectedCount,
            merged: one.rows.reading.merged.count + one.rows.conversion.merged.count,
            warnings: one.rows.reading.warnings.count + one.rows.conversion.warnings.count)
    }

    // MARK: Publishing

    /// The load check of `serve`, then the two renames: the version gets its name, and becomes the current one.
    private func publish(_ manifest: BuildManifest, engines: inout EngineCache) throws -> String {
        let bytes = try manifest.encoded()
        let name = BuildManifest.versionName(number: manifest.number, manifest: bytes)
        let draft = versions.draftFolder
        let file = try DiskFile.creating(draft + "/" + BuildManifest.fileName)
        try file.write(bytes, at: 0)
        try file.synchronize()
        try DiskFolder.synchronize(draft)
        do {
            _ = try LoadedVersion.load(folder: draft, name: nil, engines: &engines)
        } catch {
            throw DirectoryError(.check, "the new version does not load; nothing was published", error)
        }
        try DiskFolder.move(draft, to: versions.folder(of: name))
        try DiskFolder.synchronize(versions.versionsFolder)
        try reached(.named)
        try versions.publish(name)
        return name
    }
}
