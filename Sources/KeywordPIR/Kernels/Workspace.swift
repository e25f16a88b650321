// The memory of one query, allocated once and used again: no allocation happens inside the expansion tree.

import BFV
import RingMath

#if canImport(Glibc)
    import Glibc
#endif

/// Words from one allocation.
final class Arena<Word: ResidueWord> {
    let base: UnsafeMutablePointer<Word>
    let capacity: Int
    private var used = 0
    private static var largePage: Int { 2 << 20 }

    init(words: Int) {
        capacity = max(words, 1)
        let bytes = capacity * MemoryLayout<Word>.stride
        let large = bytes >= Self.largePage
        let raw = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: large ? Self.largePage : 64)
        // A little of each of many rows is read in turn: with pages of 4 KiB each is on a page of its own. Where the system has
        // no large pages this changes nothing.
        if large { madvise(raw, bytes, MADV_HUGEPAGE) }
        base = raw.bindMemory(to: Word.self, capacity: capacity)
        base.initialize(repeating: 0, count: capacity)
    }

    deinit { UnsafeMutableRawPointer(base).deallocate() }

    /// The next words. Sizes are added up by the same formulas before, so that they fit.
    func take(_ words: Int) -> UnsafeMutablePointer<Word> {
        defer { used += words }
        return base + used
    }
}

/// What the expansion of one query needs.
final class ExpansionWorkspace<Word: ResidueWord> {
    private let arena: Arena<Word>
    /// Distance of the rows of a node.
    let rowStride: Int
    /// Nodes of the tree, one for each depth and one beside it.
    let nodes: [UnsafeMutablePointer<Word>]
    /// Node for repeated automorphisms.
    let spare: UnsafeMutablePointer<Word>
    let sum0: UnsafeMutablePointer<Word>
    let sum1: UnsafeMutablePointer<Word>
    /// Coefficients modulo P of polynomial 0.
    let special: UnsafeMutablePointer<Word>
    let switched: UnsafeMutablePointer<Word>
    let scratch: UnsafeMutablePointer<Word>
    let row: UnsafeMutablePointer<Word>

    init(_ context: BFVContext<Word>, depth: Int) {
        let n = context.degree
        let (l, r) = (context.levels, context.keyRows)
        rowStride = Word.rowStride(degree: n)
        let node = (l + l * r) * rowStride
        let product = context.products?.scratchWords ?? 0
        arena = Arena(words: node * (depth + 3) + 2 * n + r * n + l * n + n + max(n, product))
        var list: [UnsafeMutablePointer<Word>] = []
        for _ in 0..<(depth + 2) { list.append(arena.take(node)) }
        nodes = list
        spare = arena.take(node)
        sum0 = arena.take(n)
        sum1 = arena.take(r * n)
        special = arena.take(n)
        switched = arena.take(l * n)
        row = arena.take(n)
        scratch = arena.take(max(n, product))
    }
}

/// The expanded query of one shard: selections of the first dimension, and those of the second as lifted operands.
final class SelectionBuffer<Word: ResidueWord> {
    private let arena: Arena<Word>
    /// For each table, for each of the ciphertext moduli: the rows of both polynomials of `d_0` selections,
    /// `ResidueWord.rowStride` words apart.
    let first: [UnsafeMutablePointer<Word>]
    /// For each table: `d_1` operands of two polynomials of all rows (`polynomialStride`); empty if there is no second dimension.
    let second: [UnsafeMutablePointer<Word>]

    init(_ context: BFVContext<Word>, shape: ShardParameters, tables: Int, multiplies: Bool) {
        let n = context.degree
        let one = context.levels * shape.rows * 2 * Word.rowStride(degree: n)
        let two = multiplies ? shape.columns * 2 * (context.products?.polynomialStride ?? 0) : 0
        arena = Arena(words: tables * (one + two))
        var firsts: [UnsafeMutablePointer<Word>] = []
        var seconds: [UnsafeMutablePointer<Word>] = []
        for _ in 0..<tables {
            firsts.append(arena.take(one))
            seconds.append(arena.take(two))
        }
        first = firsts
        second = seconds
    }
}
