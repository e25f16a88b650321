// The rows of a use case from its sources: which file is what, what may stand where, one reading for use cases that share
// their sources (issue 2, item 5).

import LookupMessages
import Protobuf

/// What the sources of one use case came to.
public struct UseCaseRows: Sendable {
    /// The rows for the table builder; keywords are unique.
    public var rows: KeywordRows
    /// What was found while reading the sources.
    public var reading: SourceReport
    /// What was found while making rows of them; `rowsRead` and `rowsKept` count rows of the use case.
    public var conversion: SourceReport
    /// Another use case had read the same sources before, so `reading` was reported already.
    public var isReadingShared: Bool

    /// Rows that are not in the result, each once.
    public var rejectedCount: Int { reading.rejected.count + conversion.rejected.count }
}

/// Makes rows of sources and remembers the last reading, so that the identity and the block use case of one list read it
/// once.
public struct UseCaseRowReader {
    private struct Key: Equatable {
        var sources: [CallerSource]
        var region: String?
        var policy: NumberPolicy
    }

    private let region: String?
    private let normalizer: (String?, NumberPolicy) -> any PhoneNumberNormalizer
    private var last: (key: Key, table: CallerTable, report: SourceReport)?

    /// A reader for numbers as dialled in `region`, normalised by the library.
    public init(region: String?) {
        self.init(region: region) { LibraryPhoneNumberNormalizer(region: $0, policy: $1) }
    }

    /// A reader with another normaliser.
    public init(region: String?, normalizer: @escaping (String?, NumberPolicy) -> any PhoneNumberNormalizer) {
        self.region = region
        self.normalizer = normalizer
    }

    /// Forgets the last reading and frees its memory.
    public mutating func forget() { last = nil }

    /// Reads the sources of `useCase`.
    /// - Throws: `SourceError`: a file that cannot be read or told, a wrong header, malformed protobuf, or a keyword that
    ///   appears twice in keyword databases.
    public mutating func rows(of useCase: UseCaseConfiguration) throws -> UseCaseRows {
        var callers: [CallerSource] = []
        var databases: [String] = []
        for path in useCase.sources {
            let format = try UseCaseRowReader.format(of: path, useCase: useCase)
            if format == .keywords { databases.append(path) } else { callers.append(CallerSource(path: path, format: format)) }
        }
        var result = UseCaseRows(
            rows: KeywordRows(), reading: SourceReport(), conversion: SourceReport(), isReadingShared: false)
        if !callers.isEmpty { try convert(callers, of: useCase, into: &result) }
        if !databases.isEmpty {
            var reading = KeywordDatabaseReading(kind: useCase.kind, rows: result.rows)
            result.rows = KeywordRows()
            for path in databases { try reading.read(path) }
            result.rows = try reading.finish()
            result.reading.append(reading.report)
        }
        result.conversion.rowsRead = result.reading.rowsKept
        result.conversion.rowsKept = result.rows.count
        return result
    }

    private mutating func convert(_ callers: [CallerSource], of useCase: UseCaseConfiguration, into result: inout UseCaseRows)
        throws
    {
        let key = Key(sources: callers, region: region, policy: useCase.numbers)
        let table: CallerTable
        if let last, last.key == key {
            (table, result.reading, result.isReadingShared) = (last.table, last.report, true)
        } else {
            last = nil
            (table, result.reading) = try CallerSource.read(callers, normalizer: normalizer(region, useCase.numbers))
            last = (key, table, result.reading)
        }
        guard useCase.kind == .identity else {
            result.rows = CallerConversion.blockRows(of: table)
            return
        }
        var icons: IconFolder?
        if let path = useCase.icons {
            do {
                icons = try IconFolder(path: path)
            } catch {
                let position = SourcePosition(file: FilePathText.shown(path), line: 0)
                throw SourceError([SourceFinding(position: position, expected: "a folder of icons", came: error.description)])
            }
        }
        let files = callers.map { FilePathText.shown($0.path) }
        let conversion = CallerConversion(nameFormat: useCase.nameFormat, iconPolicy: useCase.iconPolicy, icons: icons) {
            index in
            let origin = table.origin(at: index)
            return SourcePosition(file: files[Int(origin.file)], line: Int(origin.line))
        }
        result.rows = conversion.identityRows(of: table, report: &result.conversion)
    }

    /// The format of a source: what the use case says, else by suffix and, for `.txtpb`, by the first field.
    static func format(of path: String, useCase: UseCaseConfiguration) throws(SourceError) -> SourceFormat {
        let file = FilePathText.shown(path)
        let found: SourceFormat
        if let format = useCase.format {
            found = format
        } else if path.hasSuffix(".csv") {
            found = .csv
        } else if path.hasSuffix(".jsonl") || path.hasSuffix(".ndjson") {
            found = .jsonl
        } else if path.hasSuffix(".binpb") {
            found = .keywords
        } else if path.hasSuffix(".txtpb") {
            found = try textFormat(of: path, file: file, kind: useCase.kind)
        } else {
            let expected = "a suffix .csv, .jsonl, .txtpb or .binpb, or \"format\" in the use case"
            throw SourceError([
                SourceFinding(
                    position: SourcePosition(file: file, line: 0), expected: expected, came: FilePathText.name(of: path))
            ])
        }
        guard useCase.kind == .keyword, found != .keywords else { return found }
        let expected = "a keyword database (kind \"keyword\" takes no callers)"
        throw SourceError([
            SourceFinding(position: SourcePosition(file: file, line: 0), expected: expected, came: "format \(found.rawValue)")
        ])
    }

    private static func textFormat(of path: String, file: String, kind: UseCaseKind) throws(SourceError) -> SourceFormat {
        switch try RecordFiles.firstFieldName(path: path, file: file) {
        case "identities": return .identities
        case "rows": return .keywords
        case nil: return kind == .keyword ? .keywords : .identities
        case let name?:
            throw SourceError([
                SourceFinding(
                    position: SourcePosition(file: file, line: 1), expected: "a first field \"identities\" or \"rows\"",
                    came: "\"\(name)\"")
            ])
        }
    }
}

extension SourceReport {
    /// Adds counts and findings of another report.
    public mutating func append(_ other: SourceReport) {
        rowsRead += other.rowsRead
        rowsKept += other.rowsKept
        rejected.append(contentsOf: other.rejected)
        warnings.append(contentsOf: other.warnings)
        merged.append(contentsOf: other.merged)
    }
}
