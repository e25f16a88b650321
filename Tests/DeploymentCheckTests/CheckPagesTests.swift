// docs/check.md lists the mistakes that the tests make, and docs/device-errors.md names items that exist (field case F23).

import Foundation
import Testing

@testable import DeploymentCheck

@Suite("The pages about the check")
struct CheckPagesTests {
    private static func page(_ name: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("docs/" + name), encoding: .utf8)
    }

    /// Rows of a page's tables whose second cell begins with an item.
    private static func rows(_ page: String) -> [(first: String, cells: [String])] {
        page.split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return cells.count >= 2 && cells[1].hasPrefix("`") ? (cells[0], Array(cells.dropFirst())) : nil
        }
    }

    @Test("every mistake is listed with its item, and nothing else")
    func mistakes() throws {
        let rows = Self.rows(try Self.page("check.md")).map { "\($0.first): \($0.cells[0])" }
        func row(_ name: String, _ item: CheckItem, _ verdict: CheckVerdict) -> String {
            "\(name): `\(item.rawValue)`" + (verdict == .warning ? ", a warning" : "")
        }
        let made =
            Mistake.ofConfigurations.map { row($0.name, $0.item, $0.verdict) }
            + LiveMistake.all.map { row($0.name, $0.item, $0.verdict) }
        #expect(rows == made)
    }

    @Test("each device error names items that exist, and says what to do")
    func deviceErrors() throws {
        let rows = Self.rows(try Self.page("device-errors.md"))
        #expect(rows.count >= 12)
        for row in rows {
            let items = row.cells[0].split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
            #expect(!items.isEmpty && items.allSatisfy { CheckItem(rawValue: $0) != nil }, "\(row.first)")
            #expect((row.cells.last ?? "").count > 40, "\(row.first)")
        }
    }

    @Test("every item is looked at by one of the two checks")
    func items() throws {
        let seen = Set(
            try Deployment().check().findings.map(\.item) + Mistake.ofConfigurations.map(\.item) + LiveMistake.all.map(\.item))
        let others: Set<CheckItem> = [.http1, .http2, .tls, .alpn, .olderSystems]
        #expect(Set(CheckItem.allCases).subtracting(seen) == others)
    }
}
