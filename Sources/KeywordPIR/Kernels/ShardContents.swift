// A shard in memory, laid out in the order in which a query reads it: table after table, chunk after chunk, column after
// column; within a column row after row of the moduli, and within a row tiles of one cache line, one for each plaintext that
// is present (spec keyword-pir.md 5.2 for the order, 4.4 for nil plaintexts; the tiling is ours).

import BFV
import RingMath

/// Where the columns of a shard are.
public struct ShardLayout: Sendable, Equatable {
    /// One column of one chunk of one table.
    public struct Column: Sendable, Equatable {
        /// Rows (first coordinates) of the plaintexts that are present, ascending.
        public let rows: [Int32]
        /// Where its residues start, in words.
        public let start: Int
    }

    /// Columns in order (table, chunk, column).
    public let columns: [Column]
    /// Words of all residues.
    public let words: Int

    /// - `present`: for each column, in order, the rows that are not nil.
    public init(present: [[Int32]], wordsPerPlaintext: Int) {
        var start = 0
        columns = present.map { rows in
            defer { start += rows.count * wordsPerPlaintext }
            return Column(rows: rows, start: start)
        }
        words = start
    }
}

/// A shard's residues, mapped from a file or held in memory.
public final class ShardContents: @unchecked Sendable {
    /// Its shape.
    public let parameters: ShardParameters
    /// Where its columns are.
    public let layout: ShardLayout
    /// Bytes of a residue: 4 or 8.
    public let wordBytes: Int
    /// Bytes of all residues.
    public var byteCount: Int { layout.words * wordBytes }
    let base: UnsafeRawPointer?
    private let owner: AnyObject?

    /// Words are 4 bytes wide exactly for the sets that fit (`ParameterSet.fits32Bits`).
    public static func wordBytes(_ set: ParameterSet) -> Int { set.fits32Bits ? 4 : 8 }

    /// Takes bytes that stay valid as long as `owner` lives and are not written meanwhile; aligned to 64.
    ///
    /// Throws `PIRError.invalid` if shape, layout and size do not belong together.
    public init(
        parameters: ShardParameters, set: ParameterSet, layout: ShardLayout, bytes: UnsafeRawBufferPointer, owner: AnyObject?
    ) throws {
        let expected = parameters.hashFunctionCount * parameters.chunks(set) * parameters.columns
        guard layout.columns.count == expected else { throw PIRError.invalid("shard has another number of columns") }
        guard layout.columns.allSatisfy({ $0.rows.allSatisfy { $0 >= 0 && Int($0) < parameters.rows } }) else {
            throw PIRError.invalid("shard names a plaintext outside its dimensions")
        }
        wordBytes = Self.wordBytes(set)
        guard bytes.count == layout.words * wordBytes else { throw PIRError.invalid("shard has another size than its layout") }
        guard Int(bitPattern: bytes.baseAddress) % 64 == 0 || bytes.count == 0 else {
            throw PIRError.invalid("shard is not aligned")
        }
        self.parameters = parameters
        self.layout = layout
        base = bytes.baseAddress
        self.owner = owner
    }
}

/// Memory of a shard that was built in this process, for checks and tests.
public final class ShardMemory: @unchecked Sendable {
    /// The bytes, aligned to 64.
    public let bytes: UnsafeMutableRawBufferPointer

    /// Zeroed memory.
    public init(byteCount: Int) {
        bytes = .allocate(byteCount: max(byteCount, 1), alignment: 64)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }
}
