// Times the operations of a query on this machine, for fitting the cost model (CostModel.swift says when and how).

import BFV
import RingMath

extension OperationCosts {
    /// What the operations take here, each in the least of `rounds` measurements of about a tenth of a millisecond.
    ///
    /// Throws `RingError` if the set does not work, `PIRError.invalid` if it has no key-switching modulus.
    public static func measured(_ set: ParameterSet, rounds: Int = 200) throws -> OperationCosts {
        if set.fits32Bits { return try OperationTiming<UInt32>(set, rounds: rounds).run() }
        return try OperationTiming<UInt64>(set, rounds: rounds).run()
    }
}

/// Rows of random residues, and the operations on them.
private struct OperationTiming<Word: ResidueWord> {
    let context: BFVContext<Word>
    let products: ProductContext<Word>
    let rounds: Int
    let arena: Arena<Word>
    /// Plaintexts of a column, terms of a tensor sum.
    let terms = 32

    private var n: Int { context.degree }
    private var l: Int { context.levels }

    init(_ set: ParameterSet, rounds: Int) throws {
        context = try BFVContext(set)
        guard let products = context.products else { throw PIRError.invalid("the parameter set has a single modulus") }
        self.products = products
        self.rounds = max(rounds, 1)
        arena = Arena(words: 12 * terms * context.degree + products.scratchWords)
        let q = context.ring.moduli[0].value
        var state: UInt64 = 88_172_645_463_325_252
        for i in 0..<arena.capacity {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            // Below every modulus: the least has at least as many bits, less one, as the first.
            arena.base[i] = Word(truncatingIfNeeded: state) % (q / 4)
        }
    }

    /// Least nanoseconds of one call.
    private func time(_ body: () -> Void) -> Double {
        let clock = ContinuousClock()
        func once(_ calls: Int) -> Double {
            let start = clock.now
            for _ in 0..<calls { body() }
            return Double((clock.now - start).nanoseconds) / Double(calls)
        }
        let calls = max(1, Int(100_000 / max(once(2), 1)))
        return (0..<rounds).reduce(.infinity) { least, _ in min(least, once(calls)) }
    }

    func run() -> OperationCosts {
        let m = context.ring.moduli[0]
        let table = context.ring.tables[0]
        let (size, butterflies) = (Double(n), Double(n / 2 * n.trailingZeroBitCount))
        let row = arena.base
        let next = (0..<9).map { row + $0 * n }
        let q = m.value
        let c = (Word(3), m.shoup(3))
        let action = GaloisAction(degree: n, element: 2 * n - 1 - n / 2 | 1)
        var costs = OperationCosts.fitted(context.parameters)
        costs.forward = time { Word.forward(next[1], table) } / butterflies
        costs.inverse = time { Word.inverse(next[1], table) } / butterflies
        costs.keySwitchTerm =
            time {
                Word.keySwitchRow(
                    digits: row, digitStride: n, key: row + 2 * n, keyStride: 2 * n, polyStride: n, count: l,
                    places: action.places, out0: next[7], out1: next[8], n: n, m)
            } / size / Double(l)
        action.places.withUnsafeBufferPointer { places in
            guard let places = places.baseAddress else { return }
            costs.addPermuted =
                time { Word.addPermuted(row, next[1], places: places, next[2], n: n, m) } / size
        }
        costs.split =
            time {
                Word.split(
                    row, next[1], monomial: next[2], monomialShoup: next[3], block: 64, even: next[4], odd: next[5], n: n, m)
            } / size
        costs.liftCentered =
            time { Word.liftCentered(row, next[1], n: n, from: q, context.ring.moduli[context.specialRow]) } / size
        costs.subtractAndScale =
            time { Word.subtractAndScale(row, next[1], next[2], n: n, by: c.0, c.1, m) } / size
        sums(&costs, m)
        conversion(&costs)
        return costs
    }

    /// Terms and ends of the sums of both dimensions, from sums of two lengths.
    private func sums(_ costs: inout OperationCosts, _ m: Modulus<Word>) {
        let row = arena.base
        let indices = (0..<Int32(terms)).map { $0 }
        func column(_ count: Int) -> Double {
            indices.withUnsafeBufferPointer { indices in
                guard let indices = indices.baseAddress else { return 0 }
                return time {
                    Word.innerProductRow(
                        plaintexts: row, indices: indices, count: count, selection: row + terms * n, selectionStride: n,
                        out0: row + 4 * terms * n, out1: row + (4 * terms + 1) * n, n: n, m)
                }
            }
        }
        func tensor(_ count: Int) -> Double {
            time {
                Word.tensorRow(
                    a: row, aStride: 2 * n, aPoly: n, b: row + 4 * terms * n, bStride: 2 * n, bPoly: n, count: count,
                    out: (row + 8 * terms * n, row + (8 * terms + 1) * n, row + (8 * terms + 2) * n), n: n, m)
            }
        }
        func fit(_ cost: (Int) -> Double) -> (term: Double, ends: Double) {
            let (short, long) = (cost(terms / 4) / Double(n), cost(terms) / Double(n))
            let term = (long - short) / Double(terms - terms / 4)
            return (term, max(short - term * Double(terms / 4), 0))
        }
        (costs.multiplyAccumulate, costs.columnEnds) = fit(column)
        (costs.tensorTerm, costs.tensorEnds) = fit(tensor)
    }

    /// A lift of two rows to the auxiliary primes, without its transforms.
    private func conversion(_ costs: inout OperationCosts) {
        let out = arena.base + 2 * terms * n
        let scratch = arena.base + 12 * terms * n
        let auxiliary = products.rows - l
        let whole = time { products.lift(arena.base, out, scratch: scratch) }
        let transforms = (l..<products.rows).reduce(0.0) { sum, i in
            sum + time { Word.forward(out + i * n, products.tables[i]) }
        }
        costs.convert = max(whole - transforms, 0) / Double(n * l * auxiliary)
    }
}

extension Duration {
    /// Whole nanoseconds of a time below a few hundred years.
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
