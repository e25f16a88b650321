// Rows of use cases: the example of issue 2, the reference's identity vectors, icons, keyword databases (keyword-pir.md
// 11.1, 11.2; field case F31).

import Foundation
import LookupMessages
import Testing

@testable import CallerDirectory

@Suite struct UseCaseRowsTests {
    private func useCase(_ kind: UseCaseKind, _ sources: [String], icons: String? = nil) -> UseCaseConfiguration {
        UseCaseConfiguration(
            name: "u", kind: kind, sources: sources, format: nil, numbers: .lenient, nameFormat: .standard, icons: icons,
            iconPolicy: .refuse, pir: PIRSettings())
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func theExampleGivesItsRows() throws {
        let workspace = try Workspace()
        let path = try workspace.write("callers.csv", CallerSourceTests.example)
        var reader = UseCaseRowReader(region: "TW")
        let identity = try reader.rows(of: useCase(.identity, [path]))
        let decoded = try identity.rows.map { (text($0.keyword), try CallIdentity(decoding: $0.value)) }
        #expect(decoded.map(\.0) == ["+14085551212", "+886912345678", "+886227001234"])
        #expect(decoded.map(\.1.name) == ["Johnny Appleseed", "黃先生｜某某科技｜業務經理", "Example Ltd."])
        #expect(decoded.map(\.1.category) == [.person, .person, .business])
        #expect(decoded.map(\.1.cacheExpiryMinutes) == [60, 1440, 1440])
        #expect(!identity.isReadingShared)

        let block = try reader.rows(of: useCase(.block, [path]))
        #expect(block.isReadingShared && block.reading == identity.reading)
        #expect(block.rows.map { text($0.keyword) } == ["+14085551212", "+886912345678", "+886227001234", "+16505550199"])
        #expect(block.rows.map(\.value) == [[0], [0], [0], [1]])
    }

    @Test(.enabled(if: sharedFolder != nil, "shared/vectors is absent"), arguments: ["input.txtpb", "input.binpb"])
    func theReferencesVectors(name: String) throws {
        let folder = try #require(sharedFolder) + "/vectors/identity"
        var reader = UseCaseRowReader(region: "US")
        for (kind, expectedName) in [(UseCaseKind.identity, "identity"), (.block, "block")] {
            var asked = useCase(kind, [folder + "/" + name], icons: kind == .identity ? folder + "/icons" : nil)
            asked.format = .identities
            let made = try reader.rows(of: asked)
            #expect(made.rejectedCount == 0, "\(made.reading.rejected.lines)")
            for suffix in ["binpb", "txtpb"] {
                let expected = try reader.rows(of: useCase(.keyword, ["\(folder)/\(expectedName).\(suffix)"]))
                #expect(Set(made.rows.map { [$0.keyword, $0.value] }) == Set(expected.rows.map { [$0.keyword, $0.value] }))
                #expect(made.rows.count == expected.rows.count && made.rows.count > 5)
            }
            // A database that the reference made can be served as what it is.
            let same = try reader.rows(of: useCase(kind, ["\(folder)/\(expectedName).binpb"]))
            #expect(same.rows.count == made.rows.count && same.rejectedCount == 0)
        }
    }

    @Test(.enabled(if: sharedFolder != nil, "shared/vectors is absent"))
    func theReferencesEncodings() throws {
        struct File: Decodable {
            struct Entry: Decodable {
                var number: String
                var blockValue: String
                var identityValue: String?
            }
            var identities: [Entry]
        }
        let folder = try #require(sharedFolder) + "/vectors/identity"
        let file = try JSONDecoder().decode(File.self, from: Data(contentsOf: URL(fileURLWithPath: folder + "/encodings.json")))
        var reader = UseCaseRowReader(region: "US")
        func values(_ kind: UseCaseKind) throws -> [String: String] {
            let rows = try reader.rows(of: useCase(kind, [folder + "/input.txtpb"], icons: folder + "/icons")).rows
            return Dictionary(
                uniqueKeysWithValues: rows.map { row in
                    (text(row.keyword), row.value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
                })
        }
        let (identities, blocks) = (try values(.identity), try values(.block))
        for entry in file.identities {
            #expect(identities[entry.number] == entry.identityValue)
            #expect(blocks[entry.number] == entry.blockValue)
        }
    }

    @Test func iconsFollowThePolicy() throws {
        let workspace = try Workspace()
        let icons = workspace.path + "/icons"
        try FileManager.default.createDirectory(atPath: icons, withIntermediateDirectories: true)
        try workspace.write("secret", "s")
        try workspace.write("icons/a.heic", [1, 2, 3])
        try workspace.write("icons/+886912345671.heic", [4])
        try workspace.write("icons/fits.heic", [UInt8](repeating: 7, count: 65_535 - 13))
        try workspace.write("icons/large.heic", [UInt8](repeating: 7, count: 65_535 - 12))
        try workspace.write("icons/huge.heic", [UInt8](repeating: 7, count: 1 << 20))
        try FileManager.default.createSymbolicLink(
            atPath: icons + "/link.heic", withDestinationPath: workspace.path + "/secret")
        let names = ["a.heic", "", "fits.heic", "large.heic", "huge.heic", "link.heic", "../secret", "..", "absent.heic"]
        let rows = names.enumerated().map { "091234567\($0.offset),n,\($0.element)" }
        let path = try workspace.write("callers.csv", "number,name,icon\n" + rows.joined(separator: "\n"))
        var reader = UseCaseRowReader(region: "TW")
        var asked = useCase(.identity, [path], icons: icons)
        let refused = try reader.rows(of: asked)
        #expect(
            refused.conversion.rejected.kept.map(\.position.line) == [5, 6, 7, 8, 9, 10], "\(refused.conversion.rejected.lines)"
        )
        let images = try refused.rows.map { try CallIdentity(decoding: $0.value).icon?.image.count }
        #expect(images == [3, 1, 65_535 - 13])
        #expect(refused.rows.last?.value.count == 65_535)

        asked.iconPolicy = .dropIcon
        let dropped = try reader.rows(of: asked)
        #expect(dropped.rows.count == 9 && dropped.conversion.warnings.count == 6 && dropped.conversion.rejected.count == 0)
        asked.icons = nil
        #expect(try reader.rows(of: asked).conversion.warnings.count == 8)
    }

    @Test func keywordDatabasesAreTakenAsTheyAre() throws {
        let workspace = try Workspace()
        let text = "# rows\nrows { keyword: \"www.apple.com/url-filter-test\" value: \"1\" }\nrows: [{ keyword: \"b\" }]\n"
        let path = try workspace.write("rows.txtpb", text)
        var reader = UseCaseRowReader(region: nil)
        let result = try reader.rows(of: useCase(.keyword, [path]))
        #expect(result.rows.map { self.text($0.keyword) } == ["www.apple.com/url-filter-test", "b"])
        #expect(result.rows.map(\.value) == [[0x31], []])
        // Concatenated files are a valid file.
        let row = KeywordDatabaseRow(keyword: Array("c".utf8)[...], value: [9]).recordBytes()
        let other = KeywordDatabaseRow(keyword: Array("d".utf8)[...], value: []).recordBytes()
        let binary = try workspace.write("rows.binpb", row + [0x10, 0x05, 0x1a, 0x01, 0x00] + other)
        #expect(try reader.rows(of: useCase(.keyword, [path, binary])).rows.count == 4)
    }

    @Test func aKeywordTwiceIsAnErrorThatDoesNotShowIt() throws {
        let workspace = try Workspace()
        let path = try workspace.write(
            "rows.txtpb", "rows { keyword: \"secret\" }\nrows { keyword: \"x\" }\nrows { keyword: \"secret\" value: \"1\" }\n")
        var reader = UseCaseRowReader(region: nil)
        let error = #expect(throws: SourceError.self) { _ = try reader.rows(of: useCase(.keyword, [path])) }
        let message = try #require(error?.description)
        #expect(message.contains("rows.txtpb:3: expected each keyword once") && message.contains("rows.txtpb:1"))
        #expect(!message.contains("secret"))
    }

    @Test func valuesBeyondSixteenBitsAreRejected() throws {
        let workspace = try Workspace()
        let fits = KeywordDatabaseRow(keyword: [1], value: [UInt8](repeating: 0, count: 65_535)[...]).recordBytes()
        let long = KeywordDatabaseRow(keyword: [2], value: [UInt8](repeating: 0, count: 65_536)[...]).recordBytes()
        let path = try workspace.write("rows.binpb", fits + long)
        var reader = UseCaseRowReader(region: nil)
        let result = try reader.rows(of: useCase(.keyword, [path]))
        #expect(result.rows.count == 1 && result.reading.rejected.count == 1 && result.rejectedCount == 1)
    }

    @Test func kindsAndFormatsMustFit() throws {
        let workspace = try Workspace()
        let csv = try workspace.write("callers.csv", "number\n")
        let identities = try workspace.write("callers.txtpb", "identities { key: \"+123\" }\n")
        let other = try workspace.write("callers.dat", "number\n+886912345678\n")
        let strange = try workspace.write("strange.txtpb", "things { }\n")
        let rows = try workspace.write(
            "rows.txtpb", "rows { keyword: \"b\" value: \"1\" }\nrows { keyword: \"+123\" value: \"\\001\" }\n")
        var reader = UseCaseRowReader(region: "TW")
        for (kind, path) in [(UseCaseKind.keyword, csv), (.keyword, identities), (.block, other), (.identity, strange)] {
            #expect(throws: SourceError.self) { _ = try reader.rows(of: useCase(kind, [path])) }
        }
        var asked = useCase(.block, [other])
        asked.format = .csv
        #expect(try reader.rows(of: asked).rows.count == 1)
        let blocks = try reader.rows(of: useCase(.block, [rows]))
        #expect(blocks.rows.map { text($0.keyword) } == ["+123"] && blocks.rejectedCount == 1)
    }

    @Test func everyCutOfABinaryFileIsAnswered() throws {
        let workspace = try Workspace()
        let bytes = (0..<3).flatMap { KeywordDatabaseRow(keyword: [UInt8($0)], value: [1, 2, 3]).recordBytes() }
        var reader = UseCaseRowReader(region: nil)
        for length in 0...bytes.count {
            let path = try workspace.write("rows.binpb", Array(bytes.prefix(length)))
            do {
                #expect(try reader.rows(of: useCase(.keyword, [path])).rows.count * 10 == length)
            } catch {
                #expect(error is SourceError && length % 10 != 0)
            }
        }
    }
}
