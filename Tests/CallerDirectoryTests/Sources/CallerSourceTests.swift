// Sources of callers end to end: the example of issue 2, every field's accepted and refused values, duplicates, hostile
// files (field cases F14, F26, F43).

import Foundation
import Testing

@testable import CallerDirectory

@Suite struct CallerSourceTests {
    static let example = """
        number,name,company,title,category,block,cache_minutes
        +14085551212,Johnny Appleseed,,,person,no,60
        0912-345-678,黃先生,某某科技,業務經理,person,no,1440
        +886 2 2700 1234 #567,Example Ltd.,,,business,no,1440
        +1 650 555 0199,,,,,yes,

        """
    private let normalizer = LibraryPhoneNumberNormalizer(region: "TW")

    private func read(_ name: String, _ text: String) throws -> (table: CallerTable, report: SourceReport) {
        let workspace = try Workspace()
        let path = try workspace.write(name, text)
        let format: SourceFormat = name.hasSuffix(".csv") ? .csv : name.hasSuffix(".jsonl") ? .jsonl : .identities
        return try CallerSource.read([CallerSource(path: path, format: format)], normalizer: normalizer)
    }

    private func places(_ findings: SourceFindings) -> [Int] { findings.kept.map(\.position.line) }

    @Test(arguments: ["\n", "\r\n"], ["", "\u{feff}"])
    func readsTheExample(lineEnd: String, mark: String) throws {
        let text = mark + CallerSourceTests.example.split(separator: "\n").joined(separator: lineEnd)
        let (table, report) = try read("callers.csv", text)
        #expect(table.map(\.number.description) == ["+14085551212", "+886912345678", "+886227001234", "+16505550199"])
        #expect(table.map(\.name) == ["Johnny Appleseed", "黃先生", "Example Ltd.", ""])
        #expect(table.map(\.category) == [.person, .person, .business, .unspecified])
        #expect(table.map(\.cacheMinutes) == [60, 1440, 1440, 0])
        #expect(table.map(\.block) == [false, false, false, true])
        #expect(table[1].company == "某某科技" && table[1].title == "業務經理")
        #expect(report.rowsRead == 4 && report.rowsKept == 4)
        #expect(report.rejected.count == 0 && report.merged.count == 0, "\(report.rejected.lines)")
        #expect(report.warnings.count == 0, "\(report.warnings.lines)")
    }

    @Test func listsRejectedRowsWithPlaceAndReason() throws {
        let (table, report) = try read(
            "callers.csv",
            """
            number,category,block,cache_minutes
            110,,,
            +1900*,,,
            0912345678,persn,,
            0912345678,,maybe,
            0912345678,,,-1
            0912345678,,,4294967296
            0912345678,,,10081
            0912345679,,,10080
            0912345680,,
            "0912345681,,,
            """)
        #expect(places(report.rejected) == [2, 3, 4, 5, 6, 7, 10, 11], "\(report.rejected.lines)")
        #expect(report.rejected.kept[1].expected.contains("phone checks"))
        #expect(report.rejected.kept[3].expected == CellValues.blockExpected)
        #expect(places(report.warnings) == [8])
        #expect(table.count == 2 && report.rowsRead == 10)
        #expect(
            report.rejected.kept[2].description.hasSuffix(
                "callers.csv:4: expected \(CellValues.categoryExpected), got \"persn\""))
    }

    /// What a disk leaves of a file after a power cut is no database without rows.
    @Test func aFileOfZerosIsRefused() throws {
        let workspace = try Workspace()
        let path = try workspace.write("rows.binpb", String(repeating: "\0", count: 5000))
        defer { withExtendedLifetime(workspace) {} }
        let error = #expect(throws: SourceError.self) {
            var reading = KeywordDatabaseReading(kind: .keyword, rows: KeywordRows())
            try reading.read(path)
        }
        #expect(error?.description.contains("number 0") == true, "\(String(describing: error))")
    }

    @Test func mergesDuplicatesByTheStatedRule() throws {
        let (table, report) = try read(
            "callers.csv",
            """
            number,name,company,block,cache_minutes,category
            0912345678,First,,no,0,
            +886912345678,Second,Acme,yes,60,person
            +886 912 345 678,Third,Other,no,30,business
            """)
        #expect(table.count == 1)
        let row = table[0]
        #expect(row.name == "First" && row.company == "Acme" && row.block && row.cacheMinutes == 30 && row.category == .person)
        #expect(places(report.merged) == [3, 4])
        #expect(report.merged.kept[0].expected.contains("callers.csv:2)"))
    }

    @Test func lastOfEqualIdentitiesWins() throws {
        let entry = { (name: String) in "identities { key: \"+886912345678\" value { name: \"\(name)\" } }\n" }
        let (table, report) = try read("callers.txtpb", entry("A") + entry("B"))
        #expect(table.map(\.name) == ["B"] && report.merged.count == 1)
        #expect(places(report.merged) == [2])
    }

    @Test(arguments: [
        ("number,nmae\n", "did you mean \"name\"?"), ("name\n", "a column \"number\""),
        ("number,name,name\n", "each column once"),
        ("number;name\n", "separated by commas"), ("", "a column \"number\""),
    ])
    func refusesWrongHeaders(text: String, expected: String) throws {
        let error = #expect(throws: SourceError.self) { _ = try read("callers.csv", text) }
        #expect(error?.description.contains(expected) == true, "\(String(describing: error))")
    }

    @Test func readsJSONLines() throws {
        let (table, report) = try read(
            "callers.jsonl",
            """
            {"number":"+14085551212","name":"Johnny Appleseed","cache_minutes":60}
            {"number":912345678,"block":true}
            {"number":"+886912345678","nmae":"X"}
            {"number":1.65E10}

            {"number":"+88691234
            {"number":"0912345679","cache_minutes":"8"}
            {"number":"0912345670","cache_minutes":-1}
            {"number":"0912345671","name":"a","name":"b"}
            {"number":"0912345672","cache_minutes":4294967295,"title":null}
            {"name":"nobody"}
            []
            """)
        #expect(table.map(\.number.description) == ["+14085551212", "+886912345678", "+886912345672"])
        #expect(table[1].block)
        #expect(places(report.rejected) == [3, 4, 6, 7, 8, 9, 11, 12], "\(report.rejected.lines)")
        #expect(
            report.rejected.kept[0].description.contains("callers.jsonl:3:27: expected a known name (did you mean \"name\"?)"))
        #expect(places(report.warnings) == [10])
    }

    @Test func quotedFieldsMayHoldAnything() throws {
        let (table, report) = try read(
            "callers.csv",
            "name,number\r\n\"a \"\"b\"\", c\r\nd\",0912345678\r\n\r\nplain, 0912345679 \r\nx\"y,0912345670\r\n\"x\"y,0912345671"
        )
        #expect(table.map(\.name) == ["a \"b\", c\r\nd", "plain"])
        #expect(places(report.rejected) == [6, 7])
    }

    @Test func piecesDoNotMatter() throws {
        let bytes = Array(("\u{feff}" + CallerSourceTests.example.replacing("\n", with: "\r\n")).utf8)
        var expected: [[UInt8]] = []
        for size in [bytes.count, 1, 2, 3, 7, 64] {
            var reader = CSVReader(source: pieces(bytes, of: size))
            var records: [[UInt8]] = []
            while let record = try reader.next() { records.append(record.bytes) }
            if expected.isEmpty { expected = records }
            #expect(records == expected && records.count == 5)
        }
    }

    @Test func aQuoteNeverClosedIsBounded() throws {
        let text = "number,name\n0912345678,\"" + String(repeating: "a", count: 3 << 20) + "\n0912345679,b\n"
        let (table, report) = try read("callers.csv", text)
        #expect(places(report.rejected) == [2])
        #expect(table.map(\.name) == ["b"])
    }

    @Test func everyCutAndMutationIsAnswered() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let csv = Array(CallerSourceTests.example.utf8)
        let jsonl = Array(
            "{\"number\":\"+14085551212\",\"name\":\"J \\u00e9\",\"cache_minutes\":60,\"block\":false}\n{\"number\":912345678}\n"
                .utf8)
        func rows(_ bytes: [UInt8], isCSV: Bool) -> Int {
            var count = 0
            do {
                if isCSV {
                    var reader = try CSVCallerReader(file: "f", source: pieces(bytes, of: 50))
                    while try reader.next() != nil { count += 1 }
                } else {
                    var reader = JSONLinesReader(file: "f", source: pieces(bytes, of: 50))
                    while try reader.next() != nil { count += 1 }
                }
            } catch {
                #expect(error is SourceError, "seed \(seed)")
            }
            return count
        }
        for length in 0...csv.count { #expect(rows(Array(csv.prefix(length)), isCSV: true) <= 4) }
        for length in 0...jsonl.count { #expect(rows(Array(jsonl.prefix(length)), isCSV: false) <= 2) }
        for _ in 0..<3000 {
            #expect(rows(mutated(csv, using: &generator), isCSV: true) < 200, "seed \(seed)")
            #expect(rows(mutated(jsonl, using: &generator), isCSV: false) < 200, "seed \(seed)")
        }
    }

    @Test func countsExactlyAndPrintsTwenty() throws {
        let (_, report) = try read("callers.csv", "number\n" + String(repeating: "110\n", count: 1500))
        #expect(report.rejected.count == 1500 && report.rejected.kept.count == 1000)
        #expect(report.rejected.lines.count == 1001 && report.rejected.lines[1000] == "… and 500 more")
    }

    /// What a spreadsheet calls "Unicode text".
    @Test func aHeaderThatIsNotUTF8IsNamed() throws {
        let workspace = try Workspace()
        let path = try workspace.write("callers.csv", "")
        try Data([0xff, 0xfe, 0x6e, 0, 0x75, 0, 0x0a, 0]).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: SourceError.self) {
            _ = try CallerSource.read([CallerSource(path: path, format: .csv)], normalizer: normalizer)
        }
        #expect(error?.description == path + ":1: expected UTF-8 text, got other bytes (save the file as \"CSV UTF-8\")")
    }

    @Test func missingFilesAreNamed() {
        let error = #expect(throws: SourceError.self) {
            _ = try CallerSource.read([CallerSource(path: "/nonexistent/x.csv", format: .csv)], normalizer: normalizer)
        }
        #expect(error?.description == "/nonexistent/x.csv: expected a readable file, got No such file or directory")
    }
}
