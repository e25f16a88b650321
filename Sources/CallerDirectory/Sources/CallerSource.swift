// Reads callers from files of any format into one table: normalises numbers, merges duplicates, reports what it did
// (issue 2, item 5; design.md, Data in).

import Dispatch
import LookupMessages
import Protobuf
import Synchronization

/// A file of callers and how it is written.
public struct CallerSource: Sendable, Equatable, Hashable {
    /// Absolute path.
    public var path: String
    /// How it is written; never `.keywords`.
    public var format: SourceFormat

    /// Makes a source.
    public init(path: String, format: SourceFormat) {
        self.path = path
        self.format = format
    }

    /// Reads all callers of `sources`.
    ///
    /// Several rows of one number become one, in the order of the sources: the earlier row keeps the texts (name, company,
    /// title), category and icon that it has, the later one fills those that are empty; the number is blocked if any row
    /// says so; of the cache times that are not zero the shortest counts. Within one `identities` file a later row replaces
    /// an earlier one. Every merge is listed in the report.
    /// - Parameters:
    ///   - sources: files, in order.
    ///   - normalizer: what makes keywords of numbers; called from several threads.
    /// - Throws: `SourceError` when a file cannot be read, its header is wrong, or it is not protobuf.
    public static func read(
        _ sources: [CallerSource], normalizer: any PhoneNumberNormalizer
    ) throws -> (table: CallerTable, report: SourceReport) {
        var reading = CallerReading(normalizer: normalizer)
        for source in sources { try reading.read(source) }
        reading.report.rowsKept = reading.table.count
        return (reading.table, reading.report)
    }
}

/// A reading under way.
struct CallerReading {
    /// Rows whose numbers are normalised at once, on all cores.
    static let batchSize = 8192

    let normalizer: any PhoneNumberNormalizer
    var table = CallerTable()
    var report = SourceReport()
    private var files: [String] = []
    private var batch: [Result<RawCaller, SourceFinding>] = []

    init(normalizer: any PhoneNumberNormalizer) { self.normalizer = normalizer }

    mutating func read(_ source: CallerSource) throws {
        let file = FilePathText.shown(source.path)
        files.append(file)
        let rule: CallerTable.MergeRule = source.format == .identities ? .replace : .fillGaps
        do {
            switch source.format {
            case .csv:
                let opened = try ChunkedFile(source.path)
                var reader = try CSVCallerReader(file: file) { () throws(FileReadError) in try opened.next() }
                while let row = try reader.next() { take(row, rule: rule) }
            case .jsonl:
                let opened = try ChunkedFile(source.path)
                var reader = JSONLinesReader(file: file) { () throws(FileReadError) in try opened.next() }
                while let row = try reader.next() { take(row, rule: rule) }
            case .identities:
                var reader = try RecordFile<InputIdentityEntry>(path: source.path, file: file)
                while let (entry, line) = try reader.next() { take(caller(entry, file: file, line: line), rule: rule) }
            case .keywords:
                let position = SourcePosition(file: file, line: 0)
                throw SourceError([SourceFinding(position: position, expected: "callers", came: "a keyword database")])
            }
        } catch let error as FileReadError {
            throw RecordFiles.unreadable(file, error)
        }
        flush(rule: rule)
    }

    private func caller(_ entry: InputIdentityEntry, file: String, line: Int) -> Result<RawCaller, SourceFinding> {
        var caller = RawCaller(line: line)
        caller.number = Array(entry.number.utf8)
        caller.name = entry.identity.name
        caller.block = entry.identity.block
        caller.cacheMinutes = entry.identity.cacheExpiryMinutes
        let position = SourcePosition(file: file, line: line)
        guard let value = UInt8(exactly: entry.identity.category.rawValue), let category = CallerCategory(rawValue: value)
        else {
            return .failure(
                SourceFinding(position: position, expected: "category 0, 1 or 2", came: "\(entry.identity.category.rawValue)"))
        }
        guard caller.name.utf8.count <= CallerTable.textBytesAtMost else {
            return .failure(
                SourceFinding(position: position, expected: CellValues.textExpected, came: "\(caller.name.utf8.count) bytes"))
        }
        caller.category = category
        return .success(caller)
    }

    private mutating func take(_ row: Result<RawCaller, SourceFinding>, rule: CallerTable.MergeRule) {
        report.rowsRead += 1
        batch.append(row)
        if batch.count == CallerReading.batchSize { flush(rule: rule) }
    }

    /// Normalises what was gathered, and takes it in the order of the file.
    private mutating func flush(rule: CallerTable.MergeRule) {
        let outcomes = CallerReading.normalize(batch, with: normalizer)
        let rows = batch
        batch.removeAll(keepingCapacity: true)
        for (row, outcome) in zip(rows, outcomes) {
            switch row {
            case .failure(let finding): report.rejected.append(finding)
            case .success(let caller): add(caller, outcome, rule: rule)
            }
        }
    }

    private mutating func add(_ caller: RawCaller, _ outcome: NumberOutcome, rule: CallerTable.MergeRule) {
        let file = files.last ?? ""
        let position = SourcePosition(file: file, line: caller.line, column: caller.column)
        func written() -> String { SourceFinding.quoted(String(decoding: caller.number, as: UTF8.self)) }
        switch outcome {
        case .rejected(let issue):
            report.rejected.append(SourceFinding(position: position, expected: issue.expected, came: written()))
        case .kept(let number, let warning):
            if let warning {
                let came = "\(written()), kept as \(number)"
                report.warnings.append(SourceFinding(position: position, expected: warning.expected, came: came))
            }
            if caller.cacheMinutes > cacheMinutesWithoutWarning {
                let expected = "cache_minutes of at most \(cacheMinutesWithoutWarning), a week"
                report.warnings.append(SourceFinding(position: position, expected: expected, came: "\(caller.cacheMinutes)"))
            }
            var row = CallerRow(number: number)
            (row.name, row.company, row.title, row.icon) = (caller.name, caller.company, caller.title, caller.icon)
            (row.category, row.block, row.cacheMinutes) = (caller.category, caller.block, caller.cacheMinutes)
            let origin = CallerTable.Origin(
                file: UInt16(truncatingIfNeeded: files.count - 1), line: UInt32(truncatingIfNeeded: caller.line))
            if let first = table.add(row, from: origin, rule: rule) {
                let place = SourcePosition(file: files[Int(first.file)], line: Int(first.line))
                let verb = rule == .replace && first.file == origin.file ? "replaces" : "merged into"
                report.merged.append(
                    SourceFinding(
                        position: position, expected: "each number once (\(verb) the row at \(place))", came: "\(number) again")
                )
            }
        }
    }

    /// The outcomes of all numbers, worked out on all cores: the library takes some 3 to 30 µs for each.
    static func normalize(
        _ callers: [Result<RawCaller, SourceFinding>], with normalizer: any PhoneNumberNormalizer
    ) -> [NumberOutcome] {
        @Sendable func outcome(_ row: Result<RawCaller, SourceFinding>) -> NumberOutcome {
            guard case .success(let caller) = row else { return .rejected(.empty) }
            if let issue = caller.numberIssue { return .rejected(issue) }
            return normalizer.normalize(caller.number)
        }
        let partSize = 256
        guard callers.count > partSize else { return callers.map(outcome) }
        let partCount = (callers.count + partSize - 1) / partSize
        let parts = Mutex([[NumberOutcome]](repeating: [], count: partCount))
        DispatchQueue.concurrentPerform(iterations: partCount) { part in
            let range = (part * partSize)..<min(callers.count, (part + 1) * partSize)
            let outcomes = callers[range].map(outcome)
            parts.withLock { $0[part] = outcomes }
        }
        return parts.withLock { $0.flatMap { $0 } }
    }
}
