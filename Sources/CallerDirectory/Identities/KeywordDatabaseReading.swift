// Keyword databases taken as they are (keyword-pir.md 11.1; field case F31): values are checked, keywords are unique.

import LookupMessages
import Protobuf

/// Reads `KeywordDatabase` files into rows.
struct KeywordDatabaseReading {
    let kind: UseCaseKind
    private(set) var rows: KeywordRows
    private(set) var report = SourceReport()
    /// Where each row of the databases stood: file and line or number; the rows before `firstOwn` came from elsewhere.
    private var places: [CallerTable.Origin] = []
    private let firstOwn: Int
    private var files: [String] = []

    /// `rows` are those of the use case's other sources.
    init(kind: UseCaseKind, rows: KeywordRows) {
        self.kind = kind
        self.rows = rows
        self.firstOwn = rows.count
    }

    mutating func read(_ path: String) throws(SourceError) {
        let file = FilePathText.shown(path)
        files.append(file)
        var records = try RecordFile<KeywordDatabaseRow>(path: path, file: file)
        while let (record, line) = try records.next() {
            report.rowsRead += 1
            let position = SourcePosition(file: file, line: line)
            if let problem = problem(with: record) {
                report.rejected.append(SourceFinding(position: position, expected: problem.expected, came: problem.came))
                continue
            }
            rows.append(keyword: record.keyword, value: record.value)
            places.append(
                CallerTable.Origin(
                    file: UInt16(truncatingIfNeeded: files.count - 1), line: UInt32(truncatingIfNeeded: line)))
            report.rowsKept += 1
        }
    }

    /// A binary list of identities looks like a keyword database at first sight.
    private let hint = " (a list of identities needs format \"identities\" in the use case)"

    /// Why a row cannot be served.
    private func problem(with record: KeywordDatabaseRow) -> (expected: String, came: String)? {
        guard record.value.count <= KeywordRows.valueBytesAtMost else {
            return ("a value of at most 65535 bytes", "\(record.value.count) bytes (keyword digest \(digest(record.keyword)))")
        }
        guard record.keyword.count <= KeywordRows.keywordBytesAtMost else {
            return ("a keyword of at most 65535 bytes", "\(record.keyword.count) bytes")
        }
        guard kind != .keyword else { return nil }
        guard E164Number(keyword: record.keyword) != nil else {
            return ("a keyword of \"+\" and 1 to 15 digits", "another (digest \(digest(record.keyword)))")
        }
        switch kind {
        case .block where record.value.count != 1 || record.value.first ?? 2 > 1:
            return ("a block value 00 or 01\(hint)", "another")
        case .identity:
            do {
                if try CallIdentity(decoding: record.value) == CallIdentity() { return ("an identity", "an empty one") }
            } catch {
                return ("a serialised CallIdentity\(hint)", "\(error)")
            }
        default: break
        }
        return nil
    }

    /// The rows, if no keyword stands twice.
    func finish() throws(SourceError) -> KeywordRows {
        var findings: [SourceFinding] = []
        var count = 0
        var size = 64
        while size < rows.count * 2 { size *= 2 }
        var slots = [UInt32](repeating: 0, count: size)
        let mask = slots.count - 1
        // Hashes some way ahead: then one row's way to memory does not wait for another's hash.
        var hashes: [Int] = []
        for index in rows.indices {
            let keyword = rows.keyword(at: index)
            if index % 256 == 0 {
                hashes.removeAll(keepingCapacity: true)
                for ahead in index..<min(index + 256, rows.count) { hashes.append(hash(rows.keyword(at: ahead))) }
            }
            var slot = hashes[index % 256] & mask
            while slots[slot] != 0, rows.keyword(at: Int(slots[slot]) - 1) != keyword { slot = (slot + 1) & mask }
            guard slots[slot] != 0 else {
                slots[slot] = UInt32(truncatingIfNeeded: index + 1)
                continue
            }
            count += 1
            guard findings.count < SourceFindings.printedAtMost else { continue }
            let first = place(of: Int(slots[slot]) - 1).map { "at \($0)" } ?? "in another source"
            findings.append(
                SourceFinding(
                    position: place(of: index) ?? SourcePosition(file: "", line: 0),
                    expected: "each keyword once (first \(first))",
                    came: "the keyword with digest \(digest(keyword)) again"))
        }
        guard findings.isEmpty else { throw SourceError(findings, count: count) }
        return rows
    }

    private func hash(_ keyword: ArraySlice<UInt8>) -> Int {
        var hasher = Hasher()
        keyword.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    private func place(of row: Int) -> SourcePosition? {
        guard row >= firstOwn, row - firstOwn < places.count else { return nil }
        let origin = places[row - firstOwn]
        return SourcePosition(file: files[Int(origin.file)], line: Int(origin.line))
    }

    /// Names a keyword without showing it: FNV-1a, 64 bits, in hex.
    private func digest(_ keyword: ArraySlice<UInt8>) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in keyword { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let text = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
