// From the expanded selections to reply ciphertexts: the first dimension against the shard, the second by summed ciphertext
// products, relinearization and the switch to one modulus (spec keyword-pir.md 7, bfv.md 8, 9).

import BFV
import RingMath

/// What the columns of one table need; one for each thread.
final class ColumnWorkspace<Word: ResidueWord> {
    private let arena: Arena<Word>
    /// `d_1` column results as lifted operands.
    let operands: UnsafeMutablePointer<Word>
    /// Three polynomials of all rows.
    let tensor: UnsafeMutablePointer<Word>
    /// Three polynomials of L rows.
    let scaled: UnsafeMutablePointer<Word>
    let digits: UnsafeMutablePointer<Word>
    let sum0: UnsafeMutablePointer<Word>
    let sum1: UnsafeMutablePointer<Word>
    let scratch: UnsafeMutablePointer<Word>
    let row: UnsafeMutablePointer<Word>

    init(_ context: BFVContext<Word>, columns: Int) {
        let n = context.degree
        let (l, r) = (context.levels, context.keyRows)
        let rows = context.products?.rows ?? l
        let product = context.products?.scratchWords ?? n
        let scratchWords = max(product, l * n)
        let operand = 2 * (context.products?.polynomialStride ?? 0)
        arena = Arena(words: columns * operand + 3 * rows * n + 3 * l * n + l * r * n + 2 * r * n + n + scratchWords)
        operands = arena.take(columns * operand)
        tensor = arena.take(3 * rows * n)
        scaled = arena.take(3 * l * n)
        digits = arena.take(l * r * n)
        sum0 = arena.take(r * n)
        sum1 = arena.take(r * n)
        row = arena.take(n)
        scratch = arena.take(scratchWords)
    }
}

/// One query's part in the answers for a shard.
struct ColumnQuery<Word: ResidueWord> {
    let selection: SelectionBuffer<Word>
    /// Nil where no ciphertext product is made.
    let relinearization: PreparedKey<Word>?
    let work: ColumnWorkspace<Word>
}

/// Answers for one table and chunk.
struct ColumnEvaluation<Word: ResidueWord> {
    let context: BFVContext<Word>
    let shape: ShardParameters
    let contents: ShardContents
    /// Told where the time goes.
    var phases: PhaseTimes?

    private var n: Int { context.degree }
    private var l: Int { context.levels }
    private var r: Int { context.keyRows }
    private var moduli: [Modulus<Word>] { context.ring.moduli }

    /// The reply ciphertexts of one table and chunk, at level 1, one for each query. The shard is read once for all.
    func replies(table: Int, chunk: Int, chunks: Int, _ queries: [ColumnQuery<Word>]) -> [Ciphertext<Word>] {
        let first = (table * chunks + chunk) * shape.columns
        phases.measure(.firstDimension) {
            firstDimension(contents.layout.columns[first..<(first + shape.columns)], table: table, queries)
        }
        return phases.measure(.secondDimension) { queries.map { finish($0, table: table) } }
    }

    /// From the columns of one query to its reply ciphertext.
    private func finish(_ query: ColumnQuery<Word>, table: Int) -> Ciphertext<Word> {
        let work = query.work
        if let relinearization = query.relinearization, let products = context.products {
            for column in 0..<shape.columns { lift(work.operands + column * 2 * products.polynomialStride, products, work) }
            multiplyAndSum(table: table, products, query.selection, relinearization, work)
        } else {
            for p in 0..<2 {
                for i in 0..<l { Word.inverse(work.scaled + (p * l + i) * n, context.ring.tables[i]) }
            }
        }
        for p in 0..<2 { switchToSingle(work.scaled + p * l * n, work) }
        return Ciphertext(
            (0..<2).map { p in
                Polynomial(words: Array(UnsafeBufferPointer(start: work.scaled + p * l * n, count: n)), degree: n)
            })
    }

    /// Bytes of selections that one pass over the columns keeps at hand: a part of the second-level cache.
    private static var selectionBytes: Int { 64 << 10 }

    /// `Σ_a U[a]·plaintext(a)` of columns that lie one after the other: L rows of values for both polynomials of each, into
    /// the operands of a query that multiplies, else (one column) where its result is scaled.
    ///
    /// A few residues of all selections are used for all columns before the next ones, since all selections of a large shard
    /// together are larger than the shard's column and than any cache. Several queries take turns at each piece of a column,
    /// which only the first of them has to fetch from memory.
    private func firstDimension(_ columns: ArraySlice<ShardLayout.Column>, table: Int, _ queries: [ColumnQuery<Word>]) {
        let (rows, stride) = (2 * shape.rows, Word.rowStride(degree: n))
        let fitting = Self.selectionBytes / (rows * MemoryLayout<Word>.size * Word.tile)
        // A power of two, so that groups divide the row.
        let group = min(n, Word.tile << max(floorLog2(UInt64(max(fitting, 1))), 0))
        for i in 0..<l {
            for start in Swift.stride(from: 0, to: n, by: group) {
                for (number, column) in columns.enumerated() {
                    for query in queries {
                        let selections = query.selection.first[table] + i * rows * stride + start
                        let isOperand = query.relinearization != nil
                        let poly = isOperand ? context.products?.polynomialStride ?? 0 : l * n
                        let place =
                            (isOperand ? query.work.operands + number * 2 * poly : query.work.scaled) + i * n + start
                        sum(column, row: i, start: start, count: group, selections, place, place + poly)
                    }
                }
            }
        }
    }

    /// Residues `start ..< start + count` of one row of one column.
    private func sum(
        _ column: ShardLayout.Column, row: Int, start: Int, count: Int, _ selections: UnsafePointer<Word>,
        _ out0: UnsafeMutablePointer<Word>, _ out1: UnsafeMutablePointer<Word>
    ) {
        let present = column.rows.count
        guard present > 0, let base = contents.base else {
            out0.update(repeating: 0, count: count)
            out1.update(repeating: 0, count: count)
            return
        }
        let words = base.assumingMemoryBound(to: Word.self) + column.start + (row * n + start) * present
        column.rows.withUnsafeBufferPointer { indices in
            guard let indices = indices.baseAddress else { return }
            Word.innerProductRow(
                plaintexts: words, indices: indices, count: present, selection: selections,
                selectionStride: Word.rowStride(degree: n),
                out0: out0, out1: out1, n: count, moduli[row])
        }
    }

    /// Adds the auxiliary rows to a column result.
    func lift(_ operand: UnsafeMutablePointer<Word>, _ products: ProductContext<Word>, _ work: ColumnWorkspace<Word>) {
        for p in 0..<2 {
            let place = operand + p * products.polynomialStride
            for i in 0..<l { Word.inverse(place + i * n, work.scaled + i * n, context.ring.tables[i]) }
            products.lift(work.scaled, place, scratch: work.scratch)
        }
    }

    /// `Σ_j V[j]·y_j`, scaled and relinearized once: two polynomials of L rows in `work.scaled`.
    func multiplyAndSum(
        table: Int, _ products: ProductContext<Word>, _ selection: SelectionBuffer<Word>, _ key: PreparedKey<Word>,
        _ work: ColumnWorkspace<Word>
    ) {
        let poly = products.rows * n
        products.tensorSum(
            selection.second[table], work.operands, stride: 2 * products.polynomialStride, count: shape.columns, work.tensor)
        for p in 0..<3 {
            products.scaleDown(work.tensor + p * poly, work.scaled + p * l * n, scratch: work.scratch)
        }
        for j in 0..<l {
            for i in 0..<r {
                let place = work.digits + (j * r + i) * n
                Word.forwardCentered(
                    work.scaled + (2 * l + j) * n, place, from: moduli[j].value, context.ring.tables[i])
            }
        }
        let stride = Word.rowStride(degree: n)
        key.words.withUnsafeBufferPointer { k in
            guard let k = k.baseAddress else { return }
            for i in 0..<r {
                Word.keySwitchRow(
                    digits: work.digits + i * n, digitStride: r * n, key: k + i * stride, keyStride: 2 * r * stride,
                    polyStride: r * stride,
                    count: l, places: nil, out0: work.sum0 + i * n, out1: work.sum1 + i * n, n: n, moduli[i])
            }
        }
        for (p, sum) in [work.sum0, work.sum1].enumerated() {
            for i in 0..<r { Word.inverse(sum + i * n, context.ring.tables[i]) }
            for i in 0..<l {
                let c = context.specialInverse[i]
                Word.liftCentered(sum + l * n, work.row, n: n, from: moduli[l].value, moduli[i])
                Word.subtractAndScale(sum + i * n, work.row, work.row, n: n, by: c.0, c.1, moduli[i])
                Word.add(work.scaled + (p * l + i) * n, work.row, work.scaled + (p * l + i) * n, n: n, moduli[i])
            }
        }
    }

    /// Rounding division by q_(L−1), …, q_1: the first row is left.
    private func switchToSingle(_ x: UnsafeMutablePointer<Word>, _ work: ColumnWorkspace<Word>) {
        var last = l - 1
        while last > 0 {
            for i in 0..<last {
                let c = context.levelInverse[last][i]
                Word.liftCentered(x + last * n, work.row, n: n, from: moduli[last].value, moduli[i])
                Word.subtractAndScale(x + i * n, work.row, x + i * n, n: n, by: c.0, c.1, moduli[i])
            }
            last -= 1
        }
    }
}
