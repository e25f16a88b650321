// What the expansion tree of one parameter set needs beside the keys: permutations and monomials for each level
// (spec bfv.md 7, keyword-pir.md 6.3).

import BFV
import RingMath

/// How one Galois element acts: on values and on coefficients.
struct GaloisAction: Sendable {
    /// `σ_g` on values: entry i comes from `values[i]`.
    let values: [UInt32]
    /// `σ_g` on coefficients: entry i comes from the low 31 bits, negated if the top bit is set.
    let coefficients: [UInt32]

    init(degree: Int, element: Int) {
        values = Ring<UInt64>.permutation(degree: degree, element: element)
        var source = [UInt32](repeating: 0, count: degree)
        for j in 0..<degree {
            let place = (j * element) & (2 * degree - 1)
            if place < degree { source[place] = UInt32(j) } else { source[place - degree] = UInt32(j) | 0x8000_0000 }
        }
        coefficients = source
    }
}

/// One level of the tree.
struct ExpansionLevel<Word: ResidueWord>: Sendable {
    /// Element of the key that is applied, and how often.
    let element: Int
    let times: Int
    /// Values of `X^(−2^(s−1))` for every modulus, row after row, and their Shoup companions.
    let monomial: [Word]
    let monomialShoup: [Word]
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
            for row in 0..<context.keyRows {
                let values = context.ring.monomialValues(power: -(1 << (s - 1)), modulus: row)
                monomial += values
                shoup += values.map { context.ring.moduli[row].shoup($0) }
            }
            levels.append(
                ExpansionLevel(element: plan.element, times: plan.times, monomial: monomial, monomialShoup: shoup))
        }
        self.levels = levels
        self.actions = actions
    }
}
