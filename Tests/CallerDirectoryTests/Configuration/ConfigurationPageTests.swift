// docs/configuration.md against the reader: every key that is known stands in its tables, and no other (design.md,
// Configuration).

import Foundation
import Testing

@testable import CallerDirectory

@Suite("The page of all configuration keys")
struct ConfigurationPageTests {
    /// Names in backquotes in the first column of each table, by the section's title; dotted names by their parts.
    private static func keys() throws -> [String: Set<String>] {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        let page = try String(contentsOf: folder.appendingPathComponent("docs/configuration.md"), encoding: .utf8)
        var result: [String: Set<String>] = [:]
        var section = ""
        for line in page.split(separator: "\n") {
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
    }
}
