// From the rows of a use case to its shard files: tables, encoding, the check of every row, and reuse of files whose rows did
// not change (issue 2, item 5; keyword-pir.md 3, 4, 5).

import BFV
import KeywordPIR
import Synchronization

/// One shard of the new version.
struct BuiltShard: Sendable {
    let parameters: ShardParameters
    let rows: Int
    let file: WrittenShard
    let content: String
    let isReused: Bool
}

/// Files of the version before, by content.
struct PreviousShards: Sendable {
    let folder: String
    let useCase: String
    let set: ParameterSet
    let parameters: [ShardParameters]
    let records: [BuildManifest.ShardRecord]

    /// Nil if nothing of the version before can be used.
    init?(_ record: BuildManifest.UseCaseRecord, folder: String) {
        guard let known = try? record.parameters() else { return nil }
        self.folder = folder
        useCase = record.name
        set = known.set
        parameters = known.shards
        records = record.shards
    }

    /// The shard with this index if its content is the same and its file is sound, linked to `path`.
    func take(_ shard: Int, content: String, to path: String) throws -> BuiltShard? {
        guard shard < records.count, records[shard].content == content, let digest = records[shard].digest.hexBytes else {
            return nil
        }
        let old = BuildManifest.shardPath(folder: folder, useCase: useCase, shard: shard)
        let record = records[shard]
        let expectation = ShardExpectation(
            set: set, parameters: parameters[shard], rows: record.rows, bytes: record.bytes, digest: digest)
        // A damaged file is built again.
        guard let mapped = try? MappedShard.open(path: old, expecting: expectation),
            (try? mapped.verifyPayload())?.isEmpty == true
        else { return nil }
        try DiskFolder.link(old, to: path)
        return BuiltShard(
            parameters: parameters[shard], rows: record.rows, file: WrittenShard(bytes: record.bytes, digest: digest),
            content: content, isReused: true)
    }
}

/// Builds the shards of one use case.
struct ShardBuilding: Sendable {
    let plan: UseCasePlan
    let rows: ShardedRows
    let folder: String
    let previous: PreviousShards?
    let threads: Int
    let encoder: ShardEncoder
    let reading: PlaintextReading

    /// Buckets of all tables that the fullest shards need at least, by trying (for tables that we size).
    func neededBuckets() throws -> Int {
        var settings = plan.table
        settings.bucketCount = .allowExpansion(
            expansionFactor: BucketChoice.expansionFactor, targetLoadFactor: plan.firstLoad)
        let sizes = (0..<rows.shardCount).map { (bytes: rows.bucketBytes(ofShard: $0), shard: $0) }
        let fullest = sizes.sorted { ($0.bytes, $1.shard) > ($1.bytes, $0.shard) }.prefix(2).map(\.shard)
        let sized = settings
        let needs = try ParallelWork.map(fullest.count, threads: threads) { index in
            let list = try rows.sortedRows(ofShard: fullest[index])
            return try CuckooTable(rows.tableRows(list), settings: sized).bucketsPerTable * sized.hashFunctionCount
        }
        return needs.max() ?? sized.hashFunctionCount
    }

    /// All shards, in order.
    ///
    /// Throws `PIRError.tableTooSmall` as it is, for the caller to choose another size.
    func run(progress: @Sendable (Int) -> Void) throws -> [BuiltShard] {
        try DiskFolder.create("\(folder)/\(plan.name)")
        let done = Mutex(0)
        let built = try ParallelWork.map(rows.shardCount, threads: threads) { shard in
            let result = try build(shard)
            let count = done.withLock { value in
                value += 1
                return value
            }
            progress(count)
            return result
        }
        try DiskFolder.synchronize("\(folder)/\(plan.name)")
        return built
    }

    private func build(_ shard: Int) throws -> BuiltShard {
        let list = try rows.sortedRows(ofShard: shard)
        let content = rows.contentHash(list, fingerprint: plan.fingerprint)
        let path = BuildManifest.shardPath(folder: folder, useCase: plan.name, shard: shard)
        if let reused = try previous?.take(shard, content: content, to: path) { return reused }
        do {
            let table = try CuckooTable(rows.tableRows(list), settings: plan.table)
            try checkEveryRow(list, table)
            let shape = try plan.shape(of: table)
            let writer = try ShardWriter(path: path)
            let layout = try encoder.encode(table, shape: shape) { try writer.append($0) }
            let file = try writer.finish(set: plan.set, parameters: shape, rows: list.rows.count, layout: layout)
            try checkFile(path, shape, file, rows: list.rows.count, table)
            return BuiltShard(parameters: shape, rows: list.rows.count, file: file, content: content, isReused: false)
        } catch let error as PIRError {
            if case .tableTooSmall = error, plan.sizesTables { throw error }
            throw DirectoryError(.table, "use case \(plan.name), shard \(shard)", error)
        } catch {
            throw DirectoryError(.fileSystem, "use case \(plan.name), shard \(shard)", error)
        }
    }

    /// Every row is found again in the serialized buckets, in the one where a client looks for it. Each bucket is serialized
    /// and read once: asking `CuckooTable.value(ofHash:)` for every row would read full buckets a hundred times.
    private func checkEveryRow(_ list: SortedRows, _ table: CuckooTable) throws {
        let functions = plan.table.hashFunctionCount
        var isFound = [Bool](repeating: false, count: list.rows.count)
        var hasher = KeywordHasher()
        var bytes: [UInt8] = []
        for function in 0..<functions {
            for bucket in 0..<table.bucketsPerTable {
                bytes.removeAll(keepingCapacity: true)
                table.appendEntry(table: function, index: bucket, to: &bytes)
                try HashBucket.visit(bytes) { hash, value in
                    let candidate = hasher.candidate(function, hash: hash, buckets: table.bucketsPerTable)
                    guard candidate == bucket, let place = list.place(of: hash),
                        rows.rows.isValue(at: Int(list.rows[place]), equalTo: bytes, value)
                    else { throw DirectoryError(.check, "a bucket holds a row that does not belong there") }
                    isFound[place] = true
                }
            }
        }
        guard let lost = isFound.firstIndex(of: false) else { return }
        throw DirectoryError(.check, "row \(list.rows[lost] + 1) is not found again in its table; nothing was published")
    }

    /// The written file opens, its payload is what was encoded, and a few plaintexts hold the buckets they should.
    private func checkFile(
        _ path: String, _ shape: ShardParameters, _ file: WrittenShard, rows count: Int, _ table: CuckooTable
    ) throws {
        let mapped = try MappedShard.open(
            path: path,
            expecting: ShardExpectation(
                set: plan.set, parameters: shape, rows: count, bytes: file.bytes, digest: file.digest))
        guard try mapped.verifyPayload().isEmpty else {
            throw DirectoryError(.check, "the file does not read back as it was written: the disk may be failing")
        }
        let filled = mapped.contents.layout.columns.enumerated().filter { !$0.element.rows.isEmpty }
        let chosen: Set = [0, filled.count / 2, filled.count - 1]
        for (index, column) in chosen.sorted().filter({ filled.indices.contains($0) }).map({ filled[$0] }) {
            let position = column.rows.count / 2
            let expected = table.payload(shape, plan.set, column: index, row: Int(column.rows[position]))
            let read = try reading.payload(of: path, column, position: position)
            guard read.starts(with: expected), read.dropFirst(expected.count).allSatisfy({ $0 == 0 }) else {
                throw DirectoryError(.check, "a plaintext of the file does not hold its buckets; nothing was published")
            }
        }
    }
}
