// Single plaintexts of a shard file, back to the bytes that they carry: the check after writing (issue 2, item 5;
// keyword-pir.md 4.3, 5.3; the order of residues is that of KeywordPIR/ShardContents.swift).

import BFV
import KeywordPIR
import RingMath

/// Reads plaintexts of shard files of one parameter set.
struct PlaintextReading: Sendable {
    private enum Width: Sendable {
        case narrow(BFVContext<UInt32>)
        case wide(BFVContext<UInt64>)
    }

    private let set: ParameterSet
    private let width: Width

    /// Throws `RingError` if the set does not work.
    init(set: ParameterSet) throws {
        self.set = set
        width = set.fits32Bits ? .narrow(try BFVContext(set)) : .wide(try BFVContext(set))
    }

    /// The payload of the plaintext at `position` among those present in `column`.
    func payload(of path: String, _ column: ShardLayout.Column, position: Int) throws -> [UInt8] {
        let file = try DiskFile.reading(path)
        switch width {
        case .narrow(let context): return try payload(file, column, position, context)
        case .wide(let context): return try payload(file, column, position, context)
        }
    }

    /// The first row of residues is enough: its modulus is far above t.
    private func payload<Word: ResidueWord>(
        _ file: DiskFile, _ column: ShardLayout.Column, _ position: Int, _ context: BFVContext<Word>
    ) throws -> [UInt8] {
        let size = MemoryLayout<Word>.size
        var words: [Word] = []
        words.reserveCapacity(context.degree)
        for tile in 0..<(context.degree / Word.tile) {
            let word = column.start + (tile * column.rows.count + position) * Word.tile
            let bytes = try file.read(Word.tile * size, at: ShardHeader.size + word * size)
            for k in 0..<Word.tile { words.append(Word(truncatingIfNeeded: bytes.littleEndian(at: k * size, bytes: size))) }
        }
        let q = context.ring.moduli[0].value
        guard words.allSatisfy({ $0 < q }) else { throw DirectoryError(.shardFile, "\(file.path): a residue is out of range") }
        let t = Word(truncatingIfNeeded: set.plaintextModulus)
        let values: Polynomial<Word, Coefficient> = context.ring.inverse(
            Polynomial<Word, Evaluation>(words: words, degree: context.degree))
        return try BFV.payload(of: values.words.map { $0 > q / 2 ? $0 - (q - t) : $0 }, bits: set.bitsPerCoefficient)
    }
}

extension CuckooTable {
    /// What the plaintext at a place of the shard must carry, without the padding behind it (keyword-pir.md 4.4, 5.1).
    func payload(_ shape: ShardParameters, _ set: ParameterSet, column: Int, row: Int) -> [UInt8] {
        let chunks = shape.chunks(set)
        let (table, chunk) = (column / (chunks * shape.columns), column / shape.columns % chunks)
        let number = row * shape.columns + column % shape.columns
        var bytes: [UInt8] = []
        if chunks > 1 {
            appendEntry(table: table, index: number, to: &bytes)
            return Array(bytes.dropFirst(chunk * set.bytesPerPlaintext).prefix(set.bytesPerPlaintext))
        }
        let count = shape.entriesPerPlaintext(set)
        for place in 0..<count where number * count + place < shape.entryCount {
            bytes.append(contentsOf: repeatElement(0, count: place * shape.entrySize - bytes.count))
            appendEntry(table: table, index: number * count + place, to: &bytes)
        }
        return bytes
    }
}
