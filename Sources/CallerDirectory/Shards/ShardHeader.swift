// The shard file (our own format, version 1), little-endian throughout:
//
//     offset        bytes   content
//     0             4096    header, see below; the rest of it zero
//     4096          …       payload: the residues as a query reads them (KeywordPIR/ShardContents.swift), mapped as they are
//     4096+payload  …       index: for each column in order (table, chunk, column) a bitmap of ceil(d_0/8) bytes, bit r%8 of
//                           byte r/8 set if the plaintext of row r is present; then 16 bytes of SHA-256 for each block of
//                           1 MiB of the payload
//
//     header: 0 magic "VLRSHARD", 8 version u32, 12 bytes of a word u32, 16 N u64, 24 t u64, 32 moduli u32, 36 level u32,
//     40 q_0…q_7 u64, 104 B u64, 112 E u64, 120 dimensions u32, 124 H u32, 128 d_0 u64, 136 d_1 u64, 144 rows u64,
//     152 payload bytes u64, 160 index bytes u64, 168 block bytes u64,
//     4064 SHA-256 of the header with this field zero, followed by the index

import BFV
import Cryptography
import KeywordPIR

/// Numbers in the header of a shard file.
struct ShardHeader: Sendable, Equatable {
    static let size = 4096
    static let magic = Array("VLRSHARD".utf8)
    static let version: UInt64 = 1
    static let blockBytes = 1 << 20
    static let checksumBytes = 16
    private static let digestOffset = 4064
    private static let moduliAtMost = 8

    /// What a reader knows from the manifest, as it stands in the first 152 bytes.
    let identity: [UInt8]
    let payloadBytes: Int
    let indexBytes: Int

    /// The part of a header that follows from the parameters and the number of rows.
    static func identity(set: ParameterSet, parameters: ShardParameters, rows: Int) throws -> [UInt8] {
        guard set.coefficientModuli.count <= moduliAtMost else {
            throw DirectoryError(.shardFile, "a shard file holds at most \(moduliAtMost) moduli")
        }
        var out = magic
        out.append(littleEndian: version, bytes: 4)
        out.append(littleEndian: UInt64(ShardContents.wordBytes(set)), bytes: 4)
        out.append(littleEndian: UInt64(set.degree), bytes: 8)
        out.append(littleEndian: set.plaintextModulus, bytes: 8)
        out.append(littleEndian: UInt64(set.coefficientModuli.count), bytes: 4)
        out.append(littleEndian: set.level == .quantum128 ? 1 : 0, bytes: 4)
        for i in 0..<moduliAtMost {
            out.append(littleEndian: i < set.coefficientModuli.count ? set.coefficientModuli[i] : 0, bytes: 8)
        }
        out.append(littleEndian: UInt64(parameters.entryCount), bytes: 8)
        out.append(littleEndian: UInt64(parameters.entrySize), bytes: 8)
        out.append(littleEndian: UInt64(parameters.dimensions.count), bytes: 4)
        out.append(littleEndian: UInt64(parameters.hashFunctionCount), bytes: 4)
        out.append(littleEndian: UInt64(parameters.rows), bytes: 8)
        out.append(littleEndian: UInt64(parameters.columns), bytes: 8)
        out.append(littleEndian: UInt64(rows), bytes: 8)
        return out
    }

    /// Header bytes with the digest over them and the index.
    func bytes(index: [UInt8]) -> (header: [UInt8], digest: [UInt8]) {
        var out = identity
        for value in [payloadBytes, indexBytes, ShardHeader.blockBytes] { out.append(littleEndian: UInt64(value), bytes: 8) }
        out.append(contentsOf: repeatElement(0, count: ShardHeader.size - out.count))
        let digest = ShardHeader.digest(header: out, index: index)
        out.replaceSubrange(ShardHeader.digestOffset..<ShardHeader.size, with: digest)
        return (out, digest)
    }

    /// SHA-256 of a header whose own digest is taken as zero, and an index.
    static func digest(header: [UInt8], index: [UInt8]) -> [UInt8] {
        var hasher = SHA256()
        hasher.update(header[..<digestOffset])
        hasher.update(repeatElement(0, count: size - digestOffset))
        hasher.update(index)
        return hasher.finish()
    }

    /// Reads a header and says what is wrong with it: not a shard file, another version, other parameters than expected,
    /// sizes that do not make up the file.
    init(_ bytes: [UInt8], identity expected: [UInt8], fileBytes: Int, path: String) throws {
        func bad(_ reason: String) -> DirectoryError { DirectoryError(.shardFile, "\(path): \(reason)") }
        guard bytes.count == ShardHeader.size, bytes.starts(with: ShardHeader.magic) else {
            throw bad("expected a shard file, got something else")
        }
        let version = bytes.littleEndian(at: 8, bytes: 4)
        guard version == ShardHeader.version else {
            throw bad("expected shard file version \(ShardHeader.version), got \(version): build again")
        }
        guard bytes.starts(with: expected) else { throw bad("its parameters or rows are not those of the manifest") }
        let payload = bytes.littleEndian(at: 152, bytes: 8)
        let index = bytes.littleEndian(at: 160, bytes: 8)
        guard bytes.littleEndian(at: 168, bytes: 8) == UInt64(ShardHeader.blockBytes) else { throw bad("unknown block size") }
        let rest = UInt64(fileBytes - ShardHeader.size)
        guard payload <= rest, index == rest - payload else {
            throw bad("expected payload and index of \(payload) and \(index) bytes, got \(rest) in all: cut or grown")
        }
        identity = expected
        payloadBytes = Int(payload)
        indexBytes = Int(index)
    }

    init(identity: [UInt8], payloadBytes: Int, indexBytes: Int) {
        self.identity = identity
        self.payloadBytes = payloadBytes
        self.indexBytes = indexBytes
    }

    /// The digest as the header holds it.
    static func storedDigest(_ bytes: [UInt8]) -> [UInt8] { Array(bytes[digestOffset..<size]) }
}

/// The index of a shard file.
struct ShardIndex: Sendable, Equatable {
    let layout: ShardLayout
    /// 16 bytes for each block of the payload.
    let checksums: [UInt8]

    static func blocks(_ payloadBytes: Int) -> Int {
        payloadBytes / ShardHeader.blockBytes + (payloadBytes % ShardHeader.blockBytes == 0 ? 0 : 1)
    }

    /// Index bytes of a layout.
    static func bytes(layout: ShardLayout, parameters: ShardParameters, checksums: [UInt8]) -> [UInt8] {
        let width = (parameters.rows + 7) / 8
        var out: [UInt8] = []
        for column in layout.columns {
            var bitmap = [UInt8](repeating: 0, count: width)
            for row in column.rows { bitmap[Int(row) / 8] |= 1 << UInt8(row % 8) }
            out += bitmap
        }
        return out + checksums
    }

    /// Bytes that an index must have, or nil if that is beyond all bounds.
    static func expectedBytes(_ parameters: ShardParameters, _ set: ParameterSet, payloadBytes: Int) -> Int? {
        let columns = parameters.hashFunctionCount.multipliedReportingOverflow(by: parameters.chunks(set))
        let all = columns.partialValue.multipliedReportingOverflow(by: parameters.columns)
        let maps = all.partialValue.multipliedReportingOverflow(by: (parameters.rows + 7) / 8)
        let sum = maps.partialValue.addingReportingOverflow(blocks(payloadBytes) * ShardHeader.checksumBytes)
        return columns.overflow || all.overflow || maps.overflow || sum.overflow ? nil : sum.partialValue
    }

    /// Reads an index of the right size.
    init(_ bytes: [UInt8], parameters: ShardParameters, set: ParameterSet, payloadBytes: Int, path: String) throws {
        func bad(_ reason: String) -> DirectoryError { DirectoryError(.shardFile, "\(path): \(reason)") }
        guard let expected = ShardIndex.expectedBytes(parameters, set, payloadBytes: payloadBytes), expected == bytes.count
        else {
            throw bad("its index has another size than its parameters ask for")
        }
        let width = (parameters.rows + 7) / 8
        let mapBytes = expected - ShardIndex.blocks(payloadBytes) * ShardHeader.checksumBytes
        var present: [[Int32]] = []
        present.reserveCapacity(mapBytes / width)
        var at = 0
        while at < mapBytes {
            var rows: [Int32] = []
            for byte in 0..<width {
                var bits = bytes[at + byte]
                while bits != 0 {
                    let row = byte * 8 + bits.trailingZeroBitCount
                    guard row < parameters.rows else { throw bad("its index names a plaintext outside the dimensions") }
                    rows.append(Int32(row))
                    bits &= bits - 1
                }
            }
            present.append(rows)
            at += width
        }
        layout = ShardLayout(present: present, wordsPerPlaintext: set.ciphertextModuliCount * set.degree)
        guard layout.words * ShardContents.wordBytes(set) == payloadBytes else {
            throw bad("its payload has another size than its index asks for")
        }
        checksums = Array(bytes[mapBytes...])
    }
}

extension [UInt8] {
    /// Appends the low `bytes` bytes of a number, lowest first.
    mutating func append(littleEndian value: UInt64, bytes: Int) {
        for k in 0..<bytes { append(UInt8(truncatingIfNeeded: value >> UInt64(8 * k))) }
    }

    /// The number of `bytes` bytes at `offset`, which must lie inside.
    func littleEndian(at offset: Int, bytes: Int) -> UInt64 {
        (0..<bytes).reduce(0) { $0 | UInt64(self[offset + $1]) << UInt64(8 * $1) }
    }
}
