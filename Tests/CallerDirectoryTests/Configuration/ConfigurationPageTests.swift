// docs/configuration.md against the reader: every key that is known stands in its tables, and no other (design.md,
// Configuration).

import Foundation
import Testing

@testable import CallerDirectory

@Suite("The page of all configuration keys")
struct ConfigurationPageTests {
    private static func page() throws -> String {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        return try String(contentsOf: folder.appendingPathComponent("docs/configuration.md"), encoding: .utf8)
    }

    /// Names in backquotes in the first column of each table, by the section's title; dotted names by their parts.
    private static func keys() throws -> [String: Set<String>] {
        var result: [String: Set<String>] = [:]
        var section = ""
        for line in try page().split(separator: "\n") {
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            guard line.hasPrefix("| `") else { continue }
            let cell = line.dropFirst(2).prefix { $0 != "|" }
            for (index, part) in cell.split(separator: "`").enumerated() where index % 2 == 0 && part != " " {
                result[section, default: []].formUnion(part.split(separator: ".").map(String.init))
            }
        }
        return result
    }

    @Test("every known key is there, and no other")
    func complete() throws {
        let keys = try Self.keys()
        let inside = [
            "shardCount", "entryCountPerShard", "maxShardCount", "requirePowerOfTwoShardCount", "hashFunctionCount",
            "maxEvictionCount", "maxSerializedBucketSize", "slotCount", "bucketCount", "fixedSize", "allowExpansion",
            "expansionFactor", "targetLoadFactor",
        ]
        #expect(keys["Whole deployment"] == Set(ConfigurationReader.known))
        #expect(keys["`useCases.<name>`"] == Set(ConfigurationReader.knownInUseCase))
        #expect(keys["`useCases.<name>.pir`"] == Set(PIRSettingsReader.known + PIRSettingsReader.ignored + inside))
        #expect(keys["`retention`"] == Set(RetentionSettings.keys))
        #expect(keys["`limits`"] == Set(LimitSettings.keys))
        #expect(keys["`limits.http`"] == Set(HTTPLimitSettings.keys))
        #expect(keys["`userSources`"] == Set(UserSourceSettings.keys))
        #expect(keys["`userSources.endpoint`"] == Set(UserEndpointSettings.keys))
        #expect(keys["`tiers.<name>`"] == Set(TierSettings.keys))
        #expect(keys["`tokens`"] == Set(TokenSettings.keys))
        #expect(keys["`gateway`"] == Set(GatewaySettings.keys))
        #expect(keys["`publicConfig`"] == Set(PublicConfigSettings.keys))
        #expect(keys["`tls`"] == ["names", "certificate", "key"])
        #expect(keys["`hosts`"] == Set(HostSettings.keys))
        #expect(keys["`log`"] == Set(LogSettings.keys))
    }

    /// Bounds and default of each row of a section's table, by key.
    private static func limits(_ wanted: String) throws -> [String: [String]] {
        var result: [String: [String]] = [:]
        var section = Substring("")
        for line in try page().split(separator: "\n") {
            if line.hasPrefix("## ") { section = line.dropFirst(3) }
            guard section == wanted, line.hasPrefix("| `") else { continue }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4 else { continue }
            result[cells[0].filter { $0 != "`" }] = [cells[1], cells[2]]
        }
        return result
    }

    /// Large powers of two are written as such.
    private static func text(_ bound: Int) -> String {
        guard bound >= 1 << 16, bound & (bound - 1) == 0 else { return "\(bound)" }
        let digits = Array("⁰¹²³⁴⁵⁶⁷⁸⁹")
        return "2" + String("\(bound.trailingZeroBitCount)".compactMap { $0.wholeNumberValue }.map { digits[$0] })
    }

    private func compare<Root>(_ fields: [LimitField<Root>], _ root: Root, with table: [String: [String]]) {
        for field in fields {
            let row = table[field.name] ?? []
            #expect(row.first == "\(Self.text(field.range.lowerBound))…\(Self.text(field.range.upperBound))", "\(field.name)")
            let number = row.last.flatMap { Int($0.prefix { $0.isNumber }) }
            // "4 for each thread" and "512 MiB or …" are chosen by the machine.
            guard let value = field.value(in: root) else { continue }
            #expect(number == value, "\(field.name)")
        }
    }

    @Test("bounds and defaults of the limits are those of the code")
    func limitTables() throws {
        compare(LimitSettings.fields, LimitSettings(), with: try Self.limits("`limits`"))
        compare(HTTPLimitSettings.fields, HTTPLimitSettings(), with: try Self.limits("`limits.http`"))
    }
}
