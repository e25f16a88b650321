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
        try split(work.nodes[0], helper.nodes[0], tables.levels[0])
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
        Word.forwardCentered(x + j * n, out, from: moduli[j].value, context.ring.tables[i])
    }

    private func expand(depth: Int, _ m: Int, level: Int, height: Int, first: Int, step: Int) throws {
        let node = work.nodes[depth]
        if m == 1 {
            finish(node, index: first, doubled: level <= height)
            return
        }
        if m == 2 {
            // Leaves are written where they will be read.
            let odd = work.nodes[depth + 1]
            let leaves = (even: place(first) ?? inNode(node), odd: place(first + step) ?? inNode(odd))
            try split(node, odd, tables.levels[level - 1], leaves: leaves)
            for (index, leaf) in [(first + step, leaves.odd), (first, leaves.even)] {
                complete(leaf, index: index, doubled: level < height)
            }
            return
        }
        try split(node, work.nodes[depth + 1], tables.levels[level - 1])
        // The odd half is expanded first: it stands in the deeper slot, whose successors are free, while the even half waits.
        try expand(depth: depth + 1, m / 2, level: level + 1, height: height, first: first + step, step: 2 * step)
        try expand(depth: depth, (m + 1) / 2, level: level + 1, height: height, first: first, step: 2 * step)
    }

    /// One step of the tree: `node` becomes the even child, `odd` the odd one (keyword-pir.md 6.3).
    private func split(
        _ node: UnsafeMutablePointer<Word>, _ odd: UnsafeMutablePointer<Word>, _ level: ExpansionLevel<Word>,
        leaves: (even: Leaf, odd: Leaf)? = nil
    ) throws {
        guard let prepared = key.galois[level.element], let action = tables.actions[level.element] else {
            throw BFVError.missingGaloisKey(level.element)
        }
        prepared.words.withUnsafeBufferPointer { k in
            action.places.withUnsafeBufferPointer { places in
                guard let k = k.baseAddress, let places = places.baseAddress else { return }
                var source = UnsafePointer(node)
                for _ in 1..<level.times {
                    turn(source, k, places)
                    source = UnsafePointer(work.spare)
                }
                level.monomial.withUnsafeBufferPointer { mono in
                    level.monomialShoup.withUnsafeBufferPointer { shoup in
                        guard let mono = mono.baseAddress, let shoup = shoup.baseAddress else { return }
                        let monomial = Monomial(values: mono, shoup: shoup, block: level.block, runs: n / level.block)
                        if let leaves {
                            self.leaves(node, leaves.even, leaves.odd, source, k, places, monomial)
                        } else {
                            children(node, odd, source, k, places, monomial)
                        }
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
    func turn(_ source: UnsafePointer<Word>, _ key: UnsafePointer<Word>, _ places: UnsafePointer<UInt32>) {
        switchSpecialRow(source, key, places)
        for i in 0..<l {
            switchRow(i, source, key, places)
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
        _ key: UnsafePointer<Word>, _ places: UnsafePointer<UInt32>, _ monomial: Monomial
    ) {
        switchSpecialRow(source, key, places)
        for i in 0..<l {
            switchRow(i, source, key, places)
            splitRow(i, node + i * s, node + i * s, odd + i * s, monomial)
            Word.inverse(work.sum1 + i * n, context.ring.tables[i])
        }
        divideByP(work.sum1, work.switched)
        for i in 0..<r {
            for j in 0..<l {
                let at = (l + j * r + i) * s
                takeDigit(work.switched, j, i, work.row)
                splitRow(i, node + at, node + at, odd + at, monomial)
            }
        }
    }

    /// The same for children that are not switched again: c_1 itself is all that they need of its digits.
    private func leaves(
        _ node: UnsafePointer<Word>, _ even: Leaf, _ odd: Leaf, _ source: UnsafePointer<Word>,
        _ key: UnsafePointer<Word>, _ places: UnsafePointer<UInt32>, _ monomial: Monomial
    ) {
        switchSpecialRow(source, key, places)
        for i in 0..<l {
            switchRow(i, source, key, places)
            splitRow(i, node + i * s, even.c0 + i * even.distance0, odd.c0 + i * odd.distance0, monomial)
            divide(work.sum1 + i * n, by: work.sum1 + l * n, row: i)
            splitRow(
                i, node + (l + i * r + i) * s, even.c1 + i * even.distance1, odd.c1 + i * odd.distance1, monomial)
        }
    }

    /// The sums of a key switch modulo P, as coefficients: what a division by P takes away from the other rows. Polynomial 0
    /// in `special`, polynomial 1 in its row of `sum1`.
    private func switchSpecialRow(
        _ source: UnsafePointer<Word>, _ key: UnsafePointer<Word>, _ places: UnsafePointer<UInt32>
    ) {
        let sum1 = work.sum1 + l * n
        keySwitchRow(l, source, key, places, work.special, sum1)
        Word.inverse(work.special, context.ring.tables[l])
        Word.inverse(sum1, context.ring.tables[l])
    }

    /// One row of `σ_g(source)`: values of c_0 in `work.row`, and `P·c_1` before its division, values too, in its row of
    /// `sum1`.
    private func switchRow(
        _ i: Int, _ source: UnsafePointer<Word>, _ key: UnsafePointer<Word>, _ places: UnsafePointer<UInt32>
    ) {
        keySwitchRow(i, source, key, places, work.sum0, work.sum1 + i * n)
        divide(work.sum0, by: work.special, row: i)
        Word.addPermuted(source + i * s, work.row, places: places, work.row, n: n, moduli[i])
    }

    /// `σ_g(Σ_j digit_j ∘ K_j,p)` for one row of both polynomials p, values.
    private func keySwitchRow(
        _ i: Int, _ source: UnsafePointer<Word>, _ key: UnsafePointer<Word>, _ places: UnsafePointer<UInt32>,
        _ out0: UnsafeMutablePointer<Word>, _ out1: UnsafeMutablePointer<Word>
    ) {
        Word.keySwitchRow(
            digits: source + (l + i) * s, digitStride: r * s, key: key + i * s, keyStride: 2 * r * s, polyStride: r * s,
            count: l, places: places, out0: out0, out1: out1, n: n, moduli[i])
    }

    /// `work.row ← (values − remainder)/P` for one row, with the remainder given as coefficients modulo P (bfv.md 9.1).
    private func divide(_ values: UnsafePointer<Word>, by remainder: UnsafePointer<Word>, row i: Int) {
        let c = context.specialInverse[i]
        Word.subtractForwardCentered(
            values, remainder, work.row, from: moduli[l].value, by: c.0, c.1, context.ring.tables[i])
    }

    /// `even = a + row`, `odd = (a − row)·monomial` modulo one prime, with the row that `work.row` holds.
    private func splitRow(
        _ i: Int, _ a: UnsafePointer<Word>, _ even: UnsafeMutablePointer<Word>, _ odd: UnsafeMutablePointer<Word>,
        _ monomial: Monomial
    ) {
        Word.split(
            a, work.row, monomial: monomial.values + i * monomial.runs, monomialShoup: monomial.shoup + i * monomial.runs,
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

    /// Where the rows of the ciphertext moduli of a leaf are: those of each polynomial at equal distances.
    private struct Leaf {
        let c0: UnsafeMutablePointer<Word>
        let c1: UnsafeMutablePointer<Word>
        let distance0: Int
        let distance1: Int
    }

    /// A leaf that is a node.
    private func inNode(_ node: UnsafeMutablePointer<Word>) -> Leaf {
        Leaf(c0: node, c1: node + l * s, distance0: s, distance1: (r + 1) * s)
    }

    /// Where the leaf with this number is read; nil if it is not.
    private func place(_ index: Int) -> Leaf? {
        let (table, place) = index.quotientAndRemainder(dividingBy: target.shape.selectionWidth)
        if place < target.shape.rows {
            let c0 = target.selection.first[table] + 2 * place * s
            return Leaf(c0: c0, c1: c0 + s, distance0: 2 * target.shape.rows * s, distance1: 2 * target.shape.rows * s)
        }
        guard target.multiplies, let products = context.products else { return nil }
        let poly = products.polynomialStride
        let c0 = target.selection.second[table] + (place - target.shape.rows) * 2 * poly
        return Leaf(c0: c0, c1: c0 + poly, distance0: n, distance1: n)
    }

    /// A node that is a leaf goes to its place.
    private func finish(_ node: UnsafeMutablePointer<Word>, index: Int, doubled: Bool) {
        guard let leaf = place(index) else { return }
        let source = inNode(node)
        for i in 0..<l {
            (leaf.c0 + i * leaf.distance0).update(from: source.c0 + i * source.distance0, count: n)
            (leaf.c1 + i * leaf.distance1).update(from: source.c1 + i * source.distance1, count: n)
        }
        complete(leaf, index: index, doubled: doubled)
    }

    /// What is still to be done with a leaf in its place.
    private func complete(_ leaf: Leaf, index: Int, doubled: Bool) {
        if doubled {
            for i in 0..<l {
                for row in [leaf.c0 + i * leaf.distance0, leaf.c1 + i * leaf.distance1] {
                    Word.scale(row, row, n: n, by: 2, moduli[i].shoup(2), moduli[i])
                }
            }
        }
        guard index % target.shape.selectionWidth >= target.shape.rows, target.multiplies, let products = context.products
        else { return }
        // Operands of the second dimension get their auxiliary rows.
        for rows in [leaf.c0, leaf.c1] {
            for i in 0..<l {
                Word.inverse(rows + i * n, work.switched + i * n, context.ring.tables[i])
            }
            products.lift(work.switched, rows, scratch: work.scratch)
        }
    }
}
