// Publishing: kills at any point, the lock, retention, damaged manifests.

import Foundation
import KeywordPIR
import Testing

@testable import CallerDirectory

@Suite struct DirectoryVersionsTests {
    @Test(arguments: BuildStage.allCases)
    func killAtAnyPointLeavesAWholeVersion(_ stage: BuildStage) throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(50, bytes: 10))
        let configuration = try work.configuration(pir: "sharding: {shardCount: 2}")
        let first = try work.build(configuration)
        try work.write(sampleRows(50, bytes: 10, salt: 9))
        let error = errorOf { try work.build(configuration) { $0.stopsAt = { $0 == stage } } }
        #expect(error?.kind == .interrupted)
        let isNew = stage == .retiring
        let current = try LoadedDatabase.load(data: work.data).current.name
        #expect((current == first.version) == !isNew)
        let value = try work.lookUp("k3")
        #expect(value == sampleRows(50, bytes: 10, salt: isNew ? 9 : 0)[3].value)
        let next = try work.build(configuration)
        let folders = try work.versionFolders()
        #expect(folders == [current, next.version].sorted(), "what the kill left is gone")
    }

    @Test func oneBuildAtATime() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(5, bytes: 10))
        let configuration = try work.configuration()
        do {
            let lock = try work.versions.lock()
            let error = errorOf { try work.build(configuration) }
            #expect(error?.kind == .busy && error?.description.contains("\(getpid())") == true)
            withExtendedLifetime(lock) {}
        }
        try work.build(configuration)
    }

    @Test func oldVersionsGoButTheServedOneStays() throws {
        let work = try BuildWorkspace()
        let configuration = try work.configuration(
            pir: "sharding: {shardCount: 1}", more: "retention: {versions: 2, hours: 1},")
        var names: [String] = []
        for salt in 0..<4 {
            try work.write(sampleRows(20, bytes: 10, salt: UInt8(salt)))
            names.append(try work.build(configuration).version)
            if salt == 0 { try work.versions.recordServing(ServingRecord(pid: getpid(), version: names[0])) }
        }
        #expect(work.versions.names == [names[0], names[2], names[3]])
        #expect(work.versions.serving()?.version == names[0])
        work.versions.forgetServing()
        let last = try work.build(configuration)
        #expect(work.versions.names == [names[3], last.version] && last.removedVersions.sorted() == [names[0], names[2]])
        try work.versions.recordServing(ServingRecord(pid: Int32.max - 3, version: names[3]))
        #expect(work.versions.serving() == nil, "a dead process serves nothing")
    }

    @Test func anotherVersionCanBeMadeCurrentAgain() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(5, bytes: 10))
        let first = try work.build(try work.configuration())
        try work.write(sampleRows(5, bytes: 10, salt: 1))
        try work.build(try work.configuration())
        try work.versions.publish(first.version)
        let value = try work.lookUp("k1")
        #expect(value == sampleRows(5, bytes: 10)[1].value)
        #expect(errorOf { try work.versions.publish("000009-0123456789abcdef") }?.kind == .noVersion)
    }

    /// A damaged name of the current version neither stops the next build nor costs a version that is whole.
    @Test(arguments: ["", "junk\n", "000001-0123456789abcdef\n", String(repeating: "x", count: 300)])
    func damagedNameOfTheCurrentVersionIsMended(_ text: String) throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(20, bytes: 10))
        let configuration = try work.configuration()
        try work.build(configuration)
        let second = try work.build(configuration).version
        try Data(text.utf8).write(to: URL(fileURLWithPath: work.data + "/current"))
        #expect(errorOf { _ = try LoadedDatabase.load(data: work.data) } != nil)
        let error = errorOf { try work.build(configuration) { $0.stopsAt = { $0 == .publishing } } }
        #expect(error?.kind == .interrupted)
        #expect(work.versions.names.contains(second), "an unfinished build removes no version")
        let third = try work.build(configuration)
        #expect(third.notes.contains { $0.contains("everything is built") })
        let current = try LoadedDatabase.load(data: work.data).current.name
        #expect(current == third.version && current.hasPrefix("000003-"))
    }

    @Test func nothingBuiltIsSaidSo() throws {
        let work = try BuildWorkspace()
        let error = errorOf { _ = try LoadedDatabase.load(data: work.data) }
        #expect(error?.kind == .noVersion && error?.description.contains("veilring build") == true)
    }

    @Test func changedManifestIsRefusedAndMended() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(20, bytes: 10))
        let configuration = try work.configuration(pir: "sharding: {shardCount: 1}")
        let report = try work.build(configuration)
        let path = work.versions.folder(of: report.version) + "/manifest.json"
        let good = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<40 {
            let bad = mutated(good, using: &generator)
            guard bad != good else { continue }
            try Data(bad).write(to: URL(fileURLWithPath: path))
            let error = errorOf { _ = try LoadedDatabase.load(data: work.data) }
            #expect(error?.kind == .manifest)
        }
        let next = try work.build(configuration)
        #expect(next.notes.contains { $0.contains("everything is built") } && next.useCases.first?.built == 1)
        let value = try work.lookUp("k1")
        #expect(value == sampleRows(20, bytes: 10)[1].value)
    }

    /// A manifest whose hash is right but whose numbers are hostile.
    @Test func hostileManifestNumbersGiveTypedErrors() throws {
        let work = try BuildWorkspace()
        try work.write(sampleRows(20, bytes: 10))
        let report = try work.build(try work.configuration(pir: "sharding: {shardCount: 1}"))
        let folder = work.versions.folder(of: report.version)
        let good = try #require(try? BuildManifest.read(folder: folder, name: report.version))
        func refused(_ change: (inout BuildManifest.UseCaseRecord) -> Void) throws {
            var bad = good
            change(&bad.useCases[0])
            let bytes = try bad.encoded()
            let name = BuildManifest.versionName(number: 7, manifest: bytes)
            let copy = work.versions.folder(of: name)
            try FileManager.default.copyItem(atPath: folder, toPath: copy)
            try Data(bytes).write(to: URL(fileURLWithPath: copy + "/manifest.json"))
            let error = errorOf { _ = try LoadedDatabase.load(data: work.data, version: .named(name)) }
            #expect(error != nil)
        }
        try refused { $0.shards[0].shape = 5 }
        try refused { $0.shards[0].shape = -1 }
        try refused { $0.shards[0].rows = -1 }
        try refused { $0.shards[0].rows = .max }
        try refused { $0.shards[0].bytes = .max }
        try refused { $0.shards[0].bytes = -1 }
        try refused { $0.shards[0].digest = "zz" }
        try refused { $0.shards = [] }
        try refused { $0.shapes[0].dimensions = [] }
        try refused { $0.shapes[0].dimensions = [.max, .max] }
        try refused { $0.shapes[0].entryCount = .max }
        try refused { $0.shapes[0].entrySize = 0 }
        try refused { $0.hashFunctionCount = 0 }
        try refused { $0.set.degree = .max }
        try refused { $0.set.degree = -4 }
        try refused { $0.set.coefficientModuli = [] }
        try refused { $0.set.plaintextModulus = 0 }
        try refused { $0.name = "../x" }
        try refused { $0.kind = "phone" }
        try refused { $0.keyCompression = "" }
        try refused { $0.otherShardCount = 0 }
        try refused { $0.configurationID = "" }
    }
}
