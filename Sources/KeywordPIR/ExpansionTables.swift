// What the expansion tree of one parameter set needs beside the keys: automorphisms and monomials for each level
// (spec bfv.md 7, keyword-pir.md 6.3).

import BFV
import RingMath

/// How one Galois element acts on values.
struct GaloisAction: Sendable {
    /// Where `σ_g` takes values, as `Ring.places` gives it.
    let places: [UInt32]

    init(degree: Int, element: Int) {
        places = Ring<UInt64>.places(Ring<UInt64>.permutation(degree: degree, element: element))
    }
}

/// One level of the tree.
struct ExpansionLevel<Word: ResidueWord>: Sendable {
    /// Element of the key that is applied, and how often.
    let element: Int
    let times: Int
    /// Values of `X^(−2^(s−1))` for every modulus, row after row, and their Shoup companions. A value depends on the high bits
    /// of its place only: runs of `block` equal ones are kept once.
    let monomial: [Word]
    let monomialShoup: [Word]
    let block: Int
}

/// Tables of all levels down to the deepest that any shard of a use case needs.
final class ExpansionTables<Word: ResidueWord>: Sendable {
    let levels: [ExpansionLevel<Word>]
    let actions: [Int: GaloisAction]

    /// - `elements`: what the published key configuration holds.
    ///
    /// Throws `PIRError.invalid` if the elements do not reach that deep.
    init(_ context: BFVContext<Word>, depth: Int, elements: [Int]) throws {
        let n = context.degree
        let log = n.trailingZeroBitCount
        var levels: [ExpansionLevel<Word>] = []
        var actions: [Int: GaloisAction] = [:]
        for s in 1..<(depth + 1) {
            guard let plan = automorphismPlan(power: log - s + 1, elements: elements, degree: n) else {
                throw PIRError.invalid("the Galois elements of the key configuration do not allow the expansion")
            }
            if actions[plan.element] == nil { actions[plan.element] = GaloisAction(degree: n, element: plan.element) }
            var monomial: [Word] = []
            var shoup: [Word] = []
            // Shorter runs than a vector are not worth the loop over them.
            let block = 1 << (s - 1) < 8 ? 1 : min(1 << (s - 1), n)
            for row in 0..<context.keyRows {
                let all = context.ring.monomialValues(power: -(1 << (s - 1)), modulus: row)
                let values = stride(from: 0, to: n, by: block).map { all[$0] }
                monomial += values
                shoup += values.map { context.ring.moduli[row].shoup($0) }
            }
            levels.append(
                ExpansionLevel(element: plan.element, times: plan.times, monomial: monomial, monomialShoup: shoup, block: block)
            )
        }
        self.levels = levels
        self.actions = actions
    }
}
