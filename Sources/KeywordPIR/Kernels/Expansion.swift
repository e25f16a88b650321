// The expansion tree with fewer transforms than one key switch after another takes (spec bfv.md 14.3): the digits of c_1 are
// shared between the two children of a node, and what only has to be divided by P is divided in evaluation form, where the
// row of P alone goes back and forth. So c_0 takes 1 + L transforms in each step, and c_1 of leaves, which need no digits, as
// many: 9·m − 4 for m outputs with L = 2.
//
// A node holds, row after row: c_0 for the ciphertext moduli, then the centered digits of c_1, digit j modulo every modulus.

import BFV
import Dispatch
import RingMath
import Synchronization

/// Where a finished leaf goes.
struct LeafTarget<Word: ResidueWord> {
    let shape: ShardParameters
    let selection: SelectionBuffer<Word>
    let multiplies: Bool
}

/// Expands the ciphertexts of one query.
struct Expansion<Word: ResidueWord> {
    let context: BFVContext<Word>
    let tables: ExpansionTables<Word>
    let key: ServerKey<Word>
    let work: ExpansionWorkspace<Word>
    let target: LeafTarget<Word>

    private var n: Int { context.degree }
    /// Distance of the rows of nodes and keys.
    private var s: Int { work.rowStride }
    private var l: Int { context.levels }
    private var r: Int { context.keyRows }
    private var moduli: [Modulus<Word>] { context.ring.moduli }

    /// Expands ciphertexts that together hold `outputs` selections into the target.
    ///
    /// - `helper`: memory for a second thread, which then takes the odd half of each tree.
    func run(_ ciphertexts: [Ciphertext<Word>], outputs: Int, helper: ExpansionWorkspace<Word>? = nil) throws {
        var done = 0
        for ciphertext in ciphertexts {
            let m = min(outputs - done, n)
            load(ciphertext, work.nodes[0])
            if let helper, m >= 4 {
                try expandHalves(m, first: done, helper)
            } else {
                try expand(depth: 0, m, level: 1, height: ceilLog2(m), first: done, step: 1)
            }
            done += m
        }
    }

    /// The first step of a tree, then both halves side by side; their leaves go to different places.
    private func expandHalves(_ m: Int, first: Int, _ helper: ExpansionWorkspace<Word>) throws {
        let height = ceilLog2(m)
        try split(work.nodes[0], helper.nodes[0], tables.levels[0], leavesOnly: false)
        let other = Expansion(context: context, tables: tables, key: key, work: helper, target: target)
        let failures = Mutex<[any Error]>([])
        // Each half works in a memory of its own.
        nonisolated(unsafe) let run = { (half: Int) in
            do {
                if half == 0 {
                    try expand(depth: 0, (m + 1) / 2, level: 2, height: height, first: first, step: 2)
                } else {
                    try other.expand(depth: 0, m / 2, level: 2, height: height, first: first + 1, step: 2)
                }
            } catch {
                failures.withLock { $0.append(error) }
            }
        }
        DispatchQueue.concurrentPerform(iterations: 2) { run($0) }
        if let failure = failures.withLock({ $0.first }) { throw failure }
    }

    /// The root node: `c_0` transformed, digits of `c_1`.
    private func load(_ c: Ciphertext<Word>, _ node: UnsafeMutablePointer<Word>) {
        c.polynomials[0].words.withUnsafeBufferPointer { source in
            guard let source = source.baseAddress else { return }
            for i in 0..<l {
                (node + i * s).update(from: source + i * n, count: n)
                Word.forward(node + i * s, context.ring.tables[i])
            }
        }
        c.polynomials[1].words.withUnsafeBufferPointer { source in
            guard let source = source.baseAddress else { return }
            takeDigits(source, node + l * s)
        }
    }

    /// Centered digits of L rows of coefficients, transformed: digit j modulo row i at row `j·R + i`.
    private func takeDigits(_ x: UnsafePointer<Word>, _ out: UnsafeMutablePointer<Word>) {
        for i in 0..<r {
            for j in 0..<l { takeDigit(x, j, i, out + (j * r + i) * s) }
        }
    }

    /// One row of one digit.
    private func takeDigit(_ x: UnsafePointer<Word>, _ j: Int, _ i: Int, _ out: UnsafeMutablePointer<Word>) {
        Word.liftCentered(x + j * n, out, n: n, from: moduli[j].value, moduli[i])
        Word.forward(out, context.ring.tables[i])
    }

    private func expand(depth: Int, _ m: Int, level: Int, height: Int, first: Int, step: Int) throws {
        let node = work.nodes[depth]
        if m == 1 {
            finish(node, index: first, doubled: level <= height)
            return
        }
        try split(node, work.nodes[depth + 1], tables.levels[level - 1], leavesOnly: m == 2)
        // The odd half is expanded first: it stands in the deeper slot, whose successors are free, while the even half waits.
        try expand(depth: depth + 1, m / 2, level: level + 1, height: height, first: first + step, step: 2 * step)
        try expand(depth: depth, (m + 1) / 2, level: level + 1, height: height, first: first, step: 2 * step)
    }

    /// One step of the tree: `node` becomes the even child, `odd` the odd one (keyword-pir.md 6.3).
    private func split(
        _ node: UnsafeMutablePointer<Word>, _ odd: UnsafeMutablePointer<Word>, _ level: ExpansionLevel<Word>, leavesOnly: Bool
    ) throws {
        guard let prepared = key.galois[level.element], let action = tables.actions[level.element] else {
            throw BFVError.missingGaloisKey(level.element)
        }
        prepared.words.withUnsafeBufferPointer { k in
            action.values.withUnsafeBufferPointer { permutation in
                guard let k = k.baseAddress, let permutation = permutation.baseAddress else { return }
                var source = UnsafePointer(node)
                for _ in 1..<level.times {
                    turn(source, k, permutation)
                    source = UnsafePointer(work.spare)
                }
                level.monomial.withUnsafeBufferPointer { mono in
                    level.monomialShoup.withUnsafeBufferPointer { shoup in
                        guard let mono = mono.baseAddress, let shoup = shoup.baseAddress else { return }
                        let monomial = Monomial(values: mono, shoup: shoup, block: level.block, runs: n / level.block)
                        children(node, odd, source, k, permutation, monomial, leavesOnly: leavesOnly)
                    }
                }
            }
        }
    }

    /// Values of a monomial for every modulus, one for each run of `block` places.
    private struct Monomial {
        let values: UnsafePointer<Word>
        let shoup: UnsafePointer<Word>
        let block: Int
        let runs: Int
    }

    /// `spare ← σ_g(source)`, where one automorphism stands for several.
    func turn(_ source: UnsafePointer<Word>, _ key: UnsafePointer<Word>, _ permutation: UnsafePointer<UInt32>) {
        switchSpecialRow(source, key, permutation)
        for i in 0..<l {
            switchRow(i, source, key, permutation)
            (work.spare + i * s).update(from: work.row, count: n)
            Word.inverse(work.sum1 + i * n, context.ring.tables[i])
        }
        divideByP(work.sum1, work.switched)
        takeDigits(work.switched, work.spare + l * s)
    }

    /// Both children: `a ± σ_g(a)`, the odd one times the monomial. What a row needs is worked out while it is at hand in the
    /// first-level cache: the sums of a row are used before those of the next one, and so is each digit.
    private func children(
        _ node: UnsafeMutablePointer<Word>, _ odd: UnsafeMutablePointer<Word>, _ source: UnsafePointer<Word>,
        _ key: UnsafePointer<Word>, _ permutation: UnsafePointer<UInt32>, _ monomial: Monomial, leavesOnly: Bool
    ) {
        switchSpecialRow(source, key, permutation)
        for i in 0..<l {
            switchRow(i, source, key, permutation)
            splitRow(i, node + i * s, odd + i * s, monomial)
            let sum1 = work.sum1 + i * n
            if leavesOnly {
                // Leaves are not switched again: c_1 itself is all that they need of its digits.
                divide(sum1, by: work.sum1 + l * n, row: i)
                let at = (l + i * r + i) * s
                splitRow(i, node + at, odd + at, monomial)
            } else {
                Word.inverse(sum1, context.ring.tables[i])
            }
        }
        if leavesOnly { return }
        divideByP(work.sum1, work.switched)
        for i in 0..<r {
            for j in 0..<l {
                let at = (l + j * r + i) * s
                takeDigit(work.switched, j, i, work.row)
                splitRow(i, node + at, odd + at, monomial)
            }
        }
    }

    /// The sums of a key switch modulo P, as coefficients: what a division by P takes away from the other rows. Polynomial 0
    /// in `special`, polynomial 1 in its row of `sum1`.
    private func switchSpecialRow(
        _ source: UnsafePointer<Word>, _ key: UnsafePointer<Word>, _ permutation: UnsafePointer<UInt32>
    ) {
        let sum1 = work.sum1 + l * n
        keySwitchRow(l, source, key, permutation, work.special, sum1)
        Word.inverse(work.special, context.ring.tables[l])
        Word.inverse(sum1, context.ring.tables[l])
    }

    /// One row of `σ_g(source)`: values of c_0 in `work.row`, and `P·c_1` before its division, values too, in its row of
    /// `sum1`.
    private func switchRow(
        _ i: Int, _ source: UnsafePointer<Word>, _ key: UnsafePointer<Word>, _ permutation: UnsafePointer<UInt32>
    ) {
        keySwitchRow(i, source, key, permutation, work.sum0, work.sum1 + i * n)
        divide(work.sum0, by: work.special, row: i)
        Word.addPermuted(source + i * s, work.row, permutation: permutation, work.row, n: n, moduli[i])
    }

    /// `σ_g(Σ_j digit_j ∘ K_j,p)` for one row of both polynomials p, values.
    private func keySwitchRow(
        _ i: Int, _ source: UnsafePointer<Word>, _ key: UnsafePointer<Word>, _ permutation: UnsafePointer<UInt32>,
        _ out0: UnsafeMutablePointer<Word>, _ out1: UnsafeMutablePointer<Word>
    ) {
        Word.keySwitchRow(
            digits: source + (l + i) * s, digitStride: r * s, key: key + i * s, keyStride: 2 * r * s, polyStride: r * s,
            count: l, permutation: permutation, out0: out0, out1: out1, n: n, moduli[i])
    }

    /// `work.row ← (values − remainder)/P` for one row, with the remainder given as coefficients modulo P (bfv.md 9.1).
    private func divide(_ values: UnsafePointer<Word>, by remainder: UnsafePointer<Word>, row i: Int) {
        let c = context.specialInverse[i]
        Word.liftCentered(remainder, work.row, n: n, from: moduli[l].value, moduli[i])
        Word.forward(work.row, context.ring.tables[i])
        Word.subtractAndScale(values, work.row, work.row, n: n, by: c.0, c.1, moduli[i])
    }

    /// `even = a + row`, `odd = (a − row)·monomial` modulo one prime, with the row that `work.row` holds.
    private func splitRow(
        _ i: Int, _ even: UnsafeMutablePointer<Word>, _ odd: UnsafeMutablePointer<Word>, _ monomial: Monomial
    ) {
        Word.split(
            even, work.row, monomial: monomial.values + i * monomial.runs, monomialShoup: monomial.shoup + i * monomial.runs,
            block: monomial.block, even: even, odd: odd, n: n, moduli[i])
    }

    /// Rounding division by P of R rows of coefficients (bfv.md 9.1).
    private func divideByP(_ x: UnsafePointer<Word>, _ out: UnsafeMutablePointer<Word>) {
        for i in 0..<l {
            let c = context.specialInverse[i]
            Word.liftCentered(x + l * n, work.row, n: n, from: moduli[l].value, moduli[i])
            Word.subtractAndScale(x + i * n, work.row, out + i * n, n: n, by: c.0, c.1, moduli[i])
        }
    }

    /// A leaf goes to its place.
    private func finish(_ node: UnsafeMutablePointer<Word>, index: Int, doubled: Bool) {
        let (table, place) = index.quotientAndRemainder(dividingBy: target.shape.selectionWidth)
        if place >= target.shape.rows, !target.multiplies { return }
        if doubled {
            for i in 0..<l {
                let c1 = node + (l + i * r + i) * s
                Word.scale(node + i * s, node + i * s, n: n, by: 2, moduli[i].shoup(2), moduli[i])
                Word.scale(c1, c1, n: n, by: 2, moduli[i].shoup(2), moduli[i])
            }
        }
        if place < target.shape.rows {
            storeTiles(node, table: table, row: place)
        } else {
            storeOperand(node, table: table, column: place - target.shape.rows)
        }
    }

    private func storeTiles(_ node: UnsafePointer<Word>, table: Int, row: Int) {
        let tile = Word.tile
        let count = target.shape.rows
        for i in 0..<l {
            let base = target.selection.first[table] + i * count * 2 * n
            let c0 = node + i * s
            let c1 = node + (l + i * r + i) * s
            for t in 0..<(n / tile) {
                let place = base + (t * count + row) * 2 * tile
                place.update(from: c0 + t * tile, count: tile)
                (place + tile).update(from: c1 + t * tile, count: tile)
            }
        }
    }

    private func storeOperand(_ node: UnsafePointer<Word>, table: Int, column: Int) {
        guard let products = context.products else { return }
        let poly = products.polynomialStride
        let place = target.selection.second[table] + column * 2 * poly
        for p in 0..<2 {
            for i in 0..<l {
                let source = p == 0 ? node + i * s : node + (l + i * r + i) * s
                (place + p * poly + i * n).update(from: source, count: n)
                (work.switched + i * n).update(from: source, count: n)
                Word.inverse(work.switched + i * n, context.ring.tables[i])
            }
            products.lift(work.switched, place + p * poly, scratch: work.scratch)
        }
    }
}
