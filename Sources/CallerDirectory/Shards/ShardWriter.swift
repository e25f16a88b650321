// Writes a shard file front to back as its columns are encoded: one column in memory, checksums on the way, the header last
// (format: ShardHeader.swift).

import BFV
import Cryptography
import KeywordPIR

/// What the manifest keeps of a shard file.
struct WrittenShard: Sendable, Equatable {
    /// Bytes of the file.
    let bytes: Int
    /// SHA-256 of header and index.
    let digest: [UInt8]
}

/// A shard file under way.
final class ShardWriter {
    private let file: DiskFile
    private var written = 0
    private var hasher = SHA256()
    private var inBlock = 0
    private var checksums: [UInt8] = []

    /// Makes the file; it must not exist.
    init(path: String) throws { file = try DiskFile.creating(path) }

    /// Adds the residues of one column.
    func append(_ column: UnsafeRawBufferPointer) throws {
        try file.write(column, at: ShardHeader.size + written)
        written += column.count
        var rest = column
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(ShardHeader.blockBytes - inBlock))
            hasher.update(buffer: part)
            inBlock += part.count
            if inBlock == ShardHeader.blockBytes { endBlock() }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
        }
    }

    private func endBlock() {
        checksums += hasher.finish().prefix(ShardHeader.checksumBytes)
        inBlock = 0
    }

    /// Writes index and header, and waits for the disk.
    func finish(set: ParameterSet, parameters: ShardParameters, rows: Int, layout: ShardLayout) throws -> WrittenShard {
        if inBlock > 0 { endBlock() }
        let index = ShardIndex.bytes(layout: layout, parameters: parameters, checksums: checksums)
        let header = ShardHeader(
            identity: try ShardHeader.identity(set: set, parameters: parameters, rows: rows), payloadBytes: written,
            indexBytes: index.count)
        let (bytes, digest) = header.bytes(index: index)
        try file.write(index, at: ShardHeader.size + written)
        try file.write(bytes, at: 0)
        try file.synchronize()
        return WrittenShard(bytes: ShardHeader.size + written + index.count, digest: digest)
    }
}
