// From buckets to a shard's residues, column by column in file order (spec keyword-pir.md 4.3, 4.4, 5.2, 5.3).

import BFV
import RingMath

/// Entries of one table, as the encoder asks for them.
public protocol ShardTables {
    /// Appends the bytes of an entry without padding: at most E of them.
    func appendEntry(table: Int, index: Int, to out: inout [UInt8])
}

/// Encodes shards of one shape. Immutable; several threads may share it.
public struct ShardEncoder: Sendable {
    private enum Width: Sendable {
        case narrow(BFVContext<UInt32>)
        case wide(BFVContext<UInt64>)
    }

    /// The set that shards are encoded for.
    public let set: ParameterSet
    private let width: Width

    /// Throws `RingError` if the set does not work.
    public init(set: ParameterSet) throws {
        self.set = set
        if set.fits32Bits {
            width = .narrow(try BFVContext(set))
        } else {
            width = .wide(try BFVContext(set))
        }
    }

    /// Bytes of one encoded plaintext.
    public var plaintextBytes: Int { self.set.ciphertextModuliCount * self.set.degree * ShardContents.wordBytes(self.set) }

    /// Encodes all columns in file order.
    ///
    /// - `write`: takes the bytes of one column; not called for an empty one.
    /// - Returns the layout. Throws what `write` throws.
    public func encode(
        _ tables: any ShardTables, shape: ShardParameters, write: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> ShardLayout {
        switch width {
        case .narrow(let context): try encode(tables, shape: shape, context, write: write)
        case .wide(let context): try encode(tables, shape: shape, context, write: write)
        }
    }

    /// Encodes a shard into memory.
    public func encodeInMemory(_ tables: any ShardTables, shape: ShardParameters) throws -> ShardContents {
        var all: [UInt8] = []
        let layout = try encode(tables, shape: shape) { all.append(contentsOf: $0) }
        let memory = ShardMemory(byteCount: all.count)
        memory.bytes.copyBytes(from: all)
        return try ShardContents(
            parameters: shape, set: set, layout: layout,
            bytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory.bytes)[0..<all.count]), owner: memory)
    }

    /// Payload of the plaintext with row-major number `number`: its entries back to back, or one piece of a long entry.
    private func payload(
        _ tables: any ShardTables, _ shape: ShardParameters, table: Int, chunk: Int, number: Int, into bytes: inout [UInt8]
    ) {
        bytes.removeAll(keepingCapacity: true)
        guard number < shape.plaintextCount(set) else { return }
        if shape.chunks(set) > 1 {
            tables.appendEntry(table: table, index: number, to: &bytes)
            let start = chunk * set.bytesPerPlaintext
            bytes = start < bytes.count ? Array(bytes[start..<min(start + set.bytesPerPlaintext, bytes.count)]) : []
            return
        }
        let perPlaintext = shape.entriesPerPlaintext(set)
        for place in 0..<perPlaintext {
            let index = number * perPlaintext + place
            guard index < shape.entryCount else { break }
            tables.appendEntry(table: table, index: index, to: &bytes)
            let padding = (place + 1) * shape.entrySize - bytes.count
            if padding > 0 { bytes.append(contentsOf: repeatElement(0, count: padding)) }
        }
    }

    private func encode<Word: ResidueWord>(
        _ tables: any ShardTables, shape: ShardParameters, _ context: BFVContext<Word>,
        write: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> ShardLayout {
        let chunks = shape.chunks(set)
        let l = context.levels
        var present: [[Int32]] = []
        var bytes: [UInt8] = []
        var column: [Word] = []
        var out: [Word] = []
        for table in 0..<shape.hashFunctionCount {
            for chunk in 0..<chunks {
                for c in 0..<shape.columns {
                    var rows: [Int32] = []
                    column.removeAll(keepingCapacity: true)
                    for row in 0..<shape.rows {
                        payload(
                            tables, shape, table: table, chunk: chunk, number: row * shape.columns + c, into: &bytes)
                        guard bytes.contains(where: { $0 != 0 }) else { continue }
                        rows.append(Int32(row))
                        context.appendEvaluation(ofPayload: bytes, to: &column)
                    }
                    present.append(rows)
                    guard !rows.isEmpty else { continue }
                    tile(column, count: rows.count, rows: l, n: context.degree, into: &out)
                    try out.withUnsafeBytes(write)
                }
            }
        }
        return ShardLayout(present: present, wordsPerPlaintext: l * context.degree)
    }

    /// Plaintext after plaintext to row after row, tile after tile.
    private func tile<Word: ResidueWord>(_ column: [Word], count: Int, rows: Int, n: Int, into out: inout [Word]) {
        let size = Word.tile
        if out.count != column.count { out = [Word](repeating: 0, count: column.count) }
        column.withUnsafeBufferPointer { source in
            out.withUnsafeMutableBufferPointer { target in
                guard let source = source.baseAddress, let target = target.baseAddress else { return }
                for a in 0..<count {
                    for i in 0..<rows {
                        for t in 0..<(n / size) {
                            (target + i * count * n + (t * count + a) * size)
                                .update(from: source + (a * rows + i) * n + t * size, count: size)
                        }
                    }
                }
            }
        }
    }
}

/// Shards that are already plaintexts, as the public reference tool writes them (keyword-pir.md 5.4).
public enum ProcessedFile {
    /// Reads such a file into a shard in memory.
    ///
    /// Throws `PIRError.invalid` or `FormatError` for a file that is cut, too long, or not of this shape.
    public static func read(_ bytes: [UInt8], shape: ShardParameters, set: ParameterSet) throws -> ShardContents {
        if set.fits32Bits { return try read(bytes, shape, set, try BFVContext<UInt32>(set)) }
        return try read(bytes, shape, set, try BFVContext<UInt64>(set))
    }

    private static func read<Word: ResidueWord>(
        _ bytes: [UInt8], _ shape: ShardParameters, _ set: ParameterSet, _ context: BFVContext<Word>
    ) throws -> ShardContents {
        guard bytes.count >= 5, bytes[0] == 1 else { throw PIRError.invalid("processed file must begin with version 1") }
        let count = (0..<4).reduce(0) { $0 | Int(bytes[1 + $1]) << (8 * $1) }
        let columns = shape.hashFunctionCount * shape.chunks(set) * shape.columns
        guard count == columns * shape.rows else { throw PIRError.invalid("processed file has another number of plaintexts") }
        let (l, n) = (context.levels, context.degree)
        let record = context.ring.packedBytes(rows: l)
        var rest = bytes[5...]
        var present: [[Int32]] = []
        var words: [Word] = []
        for _ in 0..<columns {
            var rows: [Int32] = []
            var column: [Word] = []
            for row in 0..<shape.rows {
                guard let tag = rest.popFirst(), tag <= 1 else { throw PIRError.invalid("processed file is cut or damaged") }
                if tag == 0 { continue }
                guard rest.count >= record else { throw PIRError.invalid("processed file is cut") }
                let p: Polynomial<Word, Evaluation> = try context.ring.unpack(rest.prefix(record), rows: l)
                rest = rest.dropFirst(record)
                rows.append(Int32(row))
                column += p.words
            }
            present.append(rows)
            for i in 0..<l {
                for t in 0..<(n / Word.tile) {
                    for a in rows.indices {
                        let start = (a * l + i) * n + t * Word.tile
                        words += column[start..<(start + Word.tile)]
                    }
                }
            }
        }
        guard rest.isEmpty else { throw PIRError.invalid("processed file has bytes behind its last plaintext") }
        let size = words.count * MemoryLayout<Word>.size
        let memory = ShardMemory(byteCount: size)
        words.withUnsafeBytes { memory.bytes.copyMemory(from: $0) }
        return try ShardContents(
            parameters: shape, set: set, layout: ShardLayout(present: present, wordsPerPlaintext: l * n),
            bytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory.bytes)[0..<size]), owner: memory)
    }
}
