// Building and publishing: what is stored is found, what did not change is taken over, what fails leaves the old version.

import Foundation
import KeywordPIR
import Testing

@testable import CallerDirectory

@Suite struct DirectoryBuilderTests {
    @Test func storedRowsAreFoundByRealQueries() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(300, bytes: 20))
        let report = try work.build(try work.configuration(pir: "sharding: {shardCount: 3}"))
        let useCase = try #require(report.useCases.first)
        #expect((useCase.rows, useCase.shards, useCase.built, useCase.reused) == (300, 3, 3, 0))
        #expect((3...4).contains(useCase.queries) && (useCase.leastNoiseBudget ?? 0) > 1)
        let database = try LoadedDatabase.load(data: work.data)
        #expect(database.current.name == report.version)
        let phone = try Phone(try #require(database.useCase(named: "test")))
        for row in [0, 7, 299] {
            let value = try phone.value("k\(row)")
            #expect(value == sampleRows(300, bytes: 20)[row].value)
        }
        let absent = try phone.value("k300")
        #expect(absent == nil)
        let json = try report.json()
        #expect(report.text.contains("is current") && json.contains("\"configurationID\""))
    }

    @Test func mixedValueLengthsLoseNoRow() throws {
        // The public reference tool stores 5005 of these 5010 rows (keyword-pir.md 3.4).
        let work = try BuildWorkspace()
        let long = (0..<10).map { ("long\($0)", [UInt8](repeating: UInt8($0 + 1), count: 900)) }
        try work.write(sampleRows(5000, bytes: 40) + long)
        let report = try work.build(
            try work.configuration(
                pir:
                    "sharding: {shardCount: 1}, cuckooTableArguments: {maxSerializedBucketSize: 1024, bucketCount: {allowExpansion: {}}}"
            ))
        #expect(report.useCases.first?.rows == 5010)
        let phone = try Phone(try #require(try LoadedDatabase.load(data: work.data).useCase(named: "test")))
        for row in long.prefix(3) {
            let value = try phone.value(row.0)
            #expect(value == row.1)
        }
    }

    @Test func emptyDatabaseAndEmptyShardsAreServed() throws {
        let work = try BuildWorkspace()
        try work.write([])
        try work.build(try work.configuration(pir: "sharding: {shardCount: 2}"))
        let nothing = try work.lookUp("k0")
        #expect(nothing == nil)
        try work.write(sampleRows(1, bytes: 3))
        let report = try work.build(try work.configuration(pir: "sharding: {shardCount: 4}"))
        #expect(report.useCases.first?.rowsPerShard == [1, 0])
        let one = try work.lookUp("k0")
        #expect(one == sampleRows(1, bytes: 3)[0].value)
    }

    @Test func shortestAndLongestValues() throws {
        let work = try BuildWorkspace()
        let longest = (0..<65_535).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 8) }
        try work.write([("empty", []), ("long", longest)])
        try work.build(try work.configuration())
        let empty = try work.lookUp("empty")
        let long = try work.lookUp("long")
        #expect(empty == [] && long == longest)
    }

    @Test func sameInputGivesTheSameBytesInAnyOrder() throws {
        let (one, two) = (try BuildWorkspace(), try BuildWorkspace())
        let rows = sampleRows(200, bytes: 30)
        try one.write(rows)
        try two.write(rows.reversed())
        let first = try one.build(try one.configuration(pir: "sharding: {shardCount: 2}"))
        let second = try two.build(try two.configuration(pir: "sharding: {shardCount: 2}")) { $0.threads = 1 }
        let (a, b) = (try one.shardFiles(first.version), try two.shardFiles(second.version))
        #expect(a == b && a.count == 2)
    }

    @Test func onlyChangedShardsAreBuiltAndTheConfigurationStays() throws {
        let work = try BuildWorkspace()
        var rows = sampleRows(400, bytes: 20)
        try work.write(rows)
        let configuration = try work.configuration(pir: "sharding: {shardCount: 8}")
        let first = try work.build(configuration)
        rows[5].value[0] ^= 0xff
        rows.append(("new", [1, 2, 3]))
        try work.write(rows)
        let second = try work.build(configuration)
        let useCase = try #require(second.useCases.first)
        #expect(useCase.built >= 1 && useCase.built <= 2 && useCase.reused == 8 - useCase.built)
        #expect(useCase.configurationChanged == false)
        #expect(useCase.configurationID == first.useCases.first?.configurationID)
        let (a, b) = (try work.shardFiles(first.version), try work.shardFiles(second.version))
        #expect(a.filter { b[$0.key] == $0.value }.count == useCase.reused)
        let (changed, added) = (try work.lookUp("k5"), try work.lookUp("new"))
        #expect(changed == rows[5].value && added == [1, 2, 3])
        let third = try work.build(configuration)
        #expect(third.useCases.first?.reused == 8)
        let all = try work.build(configuration) { $0.rebuildAll = true }
        #expect(all.useCases.first?.built == 8)
        let again = try work.shardFiles(all.version)
        #expect(again == b)
    }

    @Test func tablesGrowWhenRowsOutgrowTheirHeadRoom() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(200, bytes: 40))
        let configuration = try work.configuration(pir: "sharding: {shardCount: 1}")
        let first = try work.build(configuration)
        try work.write(sampleRows(208, bytes: 40))
        let second = try work.build(configuration)
        #expect(second.useCases.first?.configurationChanged == false)
        try work.write(sampleRows(1000, bytes: 40))
        let third = try work.build(configuration)
        #expect(third.useCases.first?.configurationChanged == true)
        #expect(third.useCases.first?.notes.contains { $0.contains("grew") } == true)
        #expect(first.useCases.first?.configurationID != third.useCases.first?.configurationID)
        // The old configuration is still answered.
        let database = try LoadedDatabase.load(data: work.data)
        let old = try #require(first.useCases.first?.configurationID.hexBytes)
        let retained = try #require(database.useCase(named: "test", configurationID: old))
        let value = try Phone(retained).value("k7")
        #expect(value == sampleRows(8, bytes: 40)[7].value)
        #expect(database.useCase(named: "test", configurationID: [UInt8](repeating: 1, count: 32)) == nil)
    }

    @Test func damagedShardsAreNotTakenOver() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(100, bytes: 20))
        let configuration = try work.configuration(pir: "sharding: {shardCount: 2}")
        let first = try work.build(configuration)
        let path = BuildManifest.shardPath(folder: work.versions.folder(of: first.version), useCase: "test", shard: 1)
        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        bytes[5000] ^= 4
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let second = try work.build(configuration)
        #expect(second.useCases.first?.built == 1)
    }

    @Test func rejectedRowsAreCountedOnceOverAllSources() throws {
        let work = try BuildWorkspace()
        try work.workspace.write("callers.csv", "number,name,block\n+886912345678,A,no\nnonsense,B,no\n+886912345679,C,yes\n")
        let text = """
            { data: "var", region: "TW", listen: "127.0.0.1:0", authentication: "none", useCases: {
              "app.identity": { kind: "identity", source: "callers.csv", pir: { rlweParameters: "\(BuildWorkspace.insecureSet)" } },
              "app.block": { kind: "block", source: "callers.csv", pir: { rlweParameters: "\(BuildWorkspace.insecureSet)" } } } }
            """
        let configuration = try work.parse(text)
        let error = errorOf { try work.build(configuration) }
        #expect(error?.kind == .rejectedRows && error?.description.contains("callers.csv:3") == true)
        #expect(try work.versions.current() == nil)
        let report = try work.build(configuration) { $0.allowRejects = 1 }
        #expect(report.rejected == 1 && report.useCases.map(\.rows) == [2, 2])
        let (blocked, free) = (
            try work.lookUp("+886912345679", in: "app.block"), try work.lookUp("+886912345678", in: "app.block")
        )
        #expect(blocked == [1] && free == [0])
    }

    @Test func anEmptyListIsSaidToBeOne() throws {
        let work = try BuildWorkspace()
        try work.workspace.write("callers.csv", "number\n")
        let text = """
            { data: "var", region: "TW", listen: "127.0.0.1:0", authentication: "none", useCases: {
              "app.block": { kind: "block", source: "callers.csv", pir: { rlweParameters: "\(BuildWorkspace.insecureSet)" } } } }
            """
        let report = try work.build(try work.parse(text))
        #expect(report.text.contains("app.block (block): 0 rows in 1 shard, 1 built"))
        #expect(report.text.contains("there are no rows"))
        #expect(report.text.contains("1 shard built, 0 taken over, 0 rows rejected"))
    }

    @Test func aDataFolderThatCannotBeMadeSaysWhyInOneLine() throws {
        let work = try BuildWorkspace()
        try work.workspace.write("taken", "")
        for (folder, reason) in [("taken", "got a file of that name"), ("taken/below", "got Not a directory")] {
            let error = errorOf { try DiskFolder.create(work.workspace.path + "/" + folder) }
            #expect(error?.description == "\(work.workspace.path)/\(folder): expected a folder that can be made, \(reason)")
        }
    }

    @Test func impossibleSettingsSayWhy() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(100, bytes: 40))
        let small = errorOf {
            try work.build(
                try work.configuration(
                    pir: "sharding: {shardCount: 1}, cuckooTableArguments: {bucketCount: {fixedSize: {bucketCount: 2}}}"))
        }
        #expect(small?.kind == .table && small?.description.contains("fixedSize") == true)
        let short = errorOf {
            try work.build(try work.configuration(pir: "cuckooTableArguments: {maxSerializedBucketSize: 30}"))
        }
        #expect(short?.kind == .plan && short?.description.contains("51") == true)
        #expect(try work.versions.current() == nil)
        let left = try work.versionFolders()
        #expect(left.isEmpty)
    }

    @Test func literalSettingsAreFollowed() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(120, bytes: 30))
        let report = try work.build(
            try work.configuration(
                pir: """
                    sharding: {entryCountPerShard: 25, requirePowerOfTwoShardCount: true}, dimensionCount: 1, trialsPerShard: 2,
                    keyCompression: "maxCompression", shardingFunction: {doubleMod: 16},
                    cuckooTableArguments: {hashFunctionCount: 3, bucketCount: {fixedSize: {bucketCount: 32}},
                      maxSerializedBucketSize: 600}
                    """))
        let useCase = try #require(report.useCases.first)
        #expect(useCase.shards == 4 && useCase.bucketsPerTable == 11 && useCase.bucketBytes == 600)
        #expect(useCase.dimensions == [6] && useCase.queries == 9)
        let parameters = try #require(try LoadedDatabase.load(data: work.data).useCase(named: "test")).parameters
        #expect(parameters.hashFunctionCount == 3 && parameters.shardingFunction == .doubleMod(otherShardCount: 16))
        let none = try work.build(try work.configuration(pir: "trialsPerShard: 0"))
        #expect(none.useCases.first?.queries == 0 && none.useCases.first?.leastNoiseBudget == nil)
    }
}
