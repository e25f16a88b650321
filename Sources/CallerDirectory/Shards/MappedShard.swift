// Opens a shard file for serving: header, index and sizes are checked at once, the payload is mapped and checked block by
// block later, so that opening takes the same time at any size (issue 2, item 5; field case F34).

import BFV
import Cryptography
import KeywordPIR

/// What the manifest says about a shard file.
public struct ShardExpectation: Sendable, Equatable {
    /// BFV parameters.
    public let set: ParameterSet
    /// Its shape.
    public let parameters: ShardParameters
    /// Rows that it holds.
    public let rows: Int
    /// Bytes of the file.
    public let bytes: Int
    /// SHA-256 of header and index.
    public let digest: [UInt8]
}

/// A shard file, mapped.
public struct MappedShard: Sendable {
    /// The file.
    public let path: String
    /// What a query reads.
    public let contents: ShardContents
    /// Bytes of the payload.
    public let payloadBytes: Int
    private let checksums: [UInt8]
    private let mapping: FileMapping

    /// Lets go of the memory that queries made the mapping take; the next one reads the file again.
    func forgetPages() { mapping.forgetPages() }

    /// Opens a file. Takes time by the size of the index only, a thousandth of the payload's.
    ///
    /// Throws `DirectoryError` of kind `.shardFile` for a file that is not exactly what the manifest says (header and index
    /// bit for bit), `.fileSystem` if the system refuses.
    public static func open(path: String, expecting: ShardExpectation) throws -> MappedShard {
        func bad(_ reason: String) -> DirectoryError { DirectoryError(.shardFile, "\(path): \(reason)") }
        let file = try DiskFile.reading(path)
        let size = try file.size()
        guard size == expecting.bytes, size >= ShardHeader.size else {
            throw bad("expected \(expecting.bytes) bytes, got \(size)")
        }
        let head = try file.read(ShardHeader.size, at: 0)
        let identity = try ShardHeader.identity(
            set: expecting.set, parameters: expecting.parameters, rows: expecting.rows)
        let header = try ShardHeader(head, identity: identity, fileBytes: size, path: path)
        // Before anything of that size is allocated: the sizes must be those that the parameters ask for.
        guard
            header.indexBytes
                == ShardIndex.expectedBytes(expecting.parameters, expecting.set, payloadBytes: header.payloadBytes)
        else { throw bad("its index has another size than its parameters ask for") }
        let bytes = try file.read(header.indexBytes, at: ShardHeader.size + header.payloadBytes)
        let digest = ShardHeader.digest(header: head, index: bytes)
        guard digest == ShardHeader.storedDigest(head) else { throw bad("header or index is damaged") }
        guard digest == expecting.digest else { throw bad("it is not the file of the manifest") }
        let index = try ShardIndex(
            bytes, parameters: expecting.parameters, set: expecting.set, payloadBytes: header.payloadBytes, path: path)
        let mapping = try file.map(ShardHeader.size + header.payloadBytes)
        do {
            let contents = try ShardContents(
                parameters: expecting.parameters, set: expecting.set, layout: index.layout,
                bytes: mapping.slice(ShardHeader.size, header.payloadBytes), owner: mapping)
            return MappedShard(
                path: path, contents: contents, payloadBytes: header.payloadBytes, checksums: index.checksums,
                mapping: mapping)
        } catch {
            throw DirectoryError(.shardFile, path, error)
        }
    }

    /// Reads the payload from the disk and compares the checksums of its blocks of 1 MiB.
    ///
    /// Reads rather than touches the mapping, so that a failing disk gives an error and not a signal.
    /// - `shouldStop`: asked before each block; true ends the check early.
    /// - Returns the numbers of the bad blocks, an unreadable one among them.
    public func verifyPayload(shouldStop: () -> Bool = { false }) throws -> [Int] {
        let file = try DiskFile.reading(path)
        var bad: [Int] = []
        var hasher = SHA256()
        for block in 0..<ShardIndex.blocks(payloadBytes) {
            if shouldStop() { return bad }
            let start = block * ShardHeader.blockBytes
            let count = min(ShardHeader.blockBytes, payloadBytes - start)
            guard let bytes = try? file.read(count, at: ShardHeader.size + start) else {
                bad.append(block)
                continue
            }
            hasher.update(bytes)
            let expected = checksums[(block * ShardHeader.checksumBytes)...].prefix(ShardHeader.checksumBytes)
            if !hasher.finish().prefix(ShardHeader.checksumBytes).elementsEqual(expected) { bad.append(block) }
        }
        return bad
    }
}
