// The shard file: round trip, truncation at every length, flips of every header and index bit, bad blocks.

import BFV
import Foundation
import KeywordPIR
import Testing

@testable import CallerDirectory

/// A written shard of the small insecure set, and what the manifest would say of it.
private struct SampleShard {
    let workspace: Workspace
    let path: String
    let expectation: ShardExpectation
    let bytes: [UInt8]

    /// - `payload`: values of this many bytes in 40 rows.
    init(valueBytes: Int = 30) throws {
        workspace = try Workspace()
        path = workspace.path + "/0.shard"
        let set = try ParameterSet.named(BuildWorkspace.insecureSet, allowInsecure: true)
        var rows = TableRows()
        for row in 0..<40 {
            rows.append(hash: UInt64(row) &* 0x9e37_79b9_7f4a_7c15, value: [UInt8](repeating: 7, count: valueBytes))
        }
        let table = try CuckooTable(rows, settings: TableSettings(maxSerializedBucketSize: valueBytes * 4 + 100))
        let shape = try ShardParameters(
            entryCount: table.bucketsPerTable, entrySize: table.largestBucketBytes,
            dimensions: dimensions(plaintexts: table.bucketsPerTable, hashFunctions: 2, dimensionCount: 2, uneven: true),
            hashFunctionCount: 2, set: set)
        let writer = try ShardWriter(path: path)
        let layout = try ShardEncoder(set: set).encode(table, shape: shape) { try writer.append($0) }
        let written = try writer.finish(set: set, parameters: shape, rows: 40, layout: layout)
        expectation = ShardExpectation(set: set, parameters: shape, rows: 40, bytes: written.bytes, digest: written.digest)
        bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        #expect(bytes.count == written.bytes)
    }

    func rewrite(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

    func open() -> DirectoryError? { errorOf { _ = try MappedShard.open(path: path, expecting: expectation) } }
}

@Suite struct MappedShardTests {
    @Test func opensWithTheLayoutThatWasWritten() throws {
        let shard = try SampleShard()
        let mapped = try MappedShard.open(path: shard.path, expecting: shard.expectation)
        #expect(mapped.contents.parameters == shard.expectation.parameters)
        #expect(mapped.payloadBytes == mapped.contents.layout.words * 8)
        let bad = try mapped.verifyPayload()
        #expect(bad.isEmpty && mapped.payloadBytes > 0)
    }

    @Test func forgottenPagesComeBackFromTheFile() throws {
        let shard = try SampleShard()
        let mapped = try MappedShard.open(path: shard.path, expecting: shard.expectation)
        let mapping = try DiskFile.reading(shard.path).map(shard.bytes.count)
        #expect(Array(mapping.bytes) == shard.bytes)
        mapping.forgetPages()
        mapped.forgetPages()
        #expect(Array(mapping.bytes) == shard.bytes)
        #expect(try mapped.verifyPayload().isEmpty)
    }

    @Test func anyOtherLengthIsRefused() throws {
        let shard = try SampleShard()
        let all = shard.bytes
        for count in [0, 1, 8, 151, 4095, 4096, 4097, all.count / 2, all.count - 1] {
            try shard.rewrite(Array(all.prefix(count)))
            #expect(shard.open()?.kind == .shardFile, "\(count) bytes")
        }
        try shard.rewrite(all + [0])
        #expect(shard.open()?.kind == .shardFile)
        try shard.rewrite(all)
        #expect(shard.open() == nil)
    }

    @Test func everyFlipInHeaderAndIndexIsSeen() throws {
        let shard = try SampleShard()
        var bytes = shard.bytes
        let payload = try MappedShard.open(path: shard.path, expecting: shard.expectation).payloadBytes
        let places = Array(0..<256) + Array(4000..<4096) + Array((4096 + payload)..<bytes.count)
        for place in places {
            bytes[place] ^= 1 << UInt8(place % 8)
            try shard.rewrite(bytes)
            #expect(shard.open()?.kind == .shardFile, "byte \(place)")
            bytes[place] ^= 1 << UInt8(place % 8)
        }
    }

    /// Headers that lie about sizes, with a manifest that believes them.
    @Test func hostileSizesGiveTypedErrors() throws {
        let shard = try SampleShard()
        for (offset, value) in [(152, UInt64.max), (160, .max), (152, 1 << 62), (160, 0), (152, 0), (168, 0), (152, 1)] {
            var bytes = shard.bytes
            for k in 0..<8 { bytes[offset + k] = UInt8(truncatingIfNeeded: value >> UInt64(8 * k)) }
            let header = Array(bytes[..<4096])
            let digest = ShardHeader.digest(header: header, index: Array(bytes[4096...]))
            bytes.replaceSubrange(4064..<4096, with: digest)
            try shard.rewrite(bytes)
            let error = errorOf {
                _ = try MappedShard.open(
                    path: shard.path,
                    expecting: ShardExpectation(
                        set: shard.expectation.set, parameters: shard.expectation.parameters, rows: 40, bytes: bytes.count,
                        digest: digest))
            }
            #expect(error?.kind == .shardFile, "\(offset) \(value)")
        }
    }

    @Test func flipsInThePayloadAreFoundByBlock() throws {
        let shard = try SampleShard(valueBytes: 8000)
        let payload = try MappedShard.open(path: shard.path, expecting: shard.expectation).payloadBytes
        #expect(payload > 2 << 20)
        var bytes = shard.bytes
        for (place, block) in [(0, 0), ((1 << 20) - 1, 0), (1 << 20, 1), (payload - 1, (payload - 1) >> 20)] {
            bytes[4096 + place] ^= 0x10
            try shard.rewrite(bytes)
            // Header and index are sound, so it opens at once.
            let bad = try MappedShard.open(path: shard.path, expecting: shard.expectation).verifyPayload()
            #expect(bad == [block])
            bytes[4096 + place] ^= 0x10
        }
    }

    @Test func otherFilesAreRefused() throws {
        let shard = try SampleShard()
        let missing = errorOf { _ = try MappedShard.open(path: shard.path + "x", expecting: shard.expectation) }
        #expect(missing?.kind == .fileSystem)
        let folder = errorOf { _ = try MappedShard.open(path: shard.workspace.path, expecting: shard.expectation) }
        #expect(folder?.kind == .fileSystem)
        try shard.rewrite([UInt8](repeating: 0x41, count: shard.bytes.count))
        #expect(shard.open()?.kind == .shardFile)
        var newer = shard.bytes
        newer[8] = 2
        try shard.rewrite(newer)
        #expect(shard.open()?.description.contains("version 1, got 2") == true)
    }
}
