// The operations that an answer is made of, one at a time and as the engine runs them, on residues that mean nothing: so that
// they can be measured alone (spec bfv.md 14).

import BFV
import RingMath

/// Single operations of an engine, to be measured. Holds memory that they write to, so not to be shared between threads.
public final class EngineOperations {
    private let operations: any SingleOperations

    /// Takes the operations of an engine, with the key of a client.
    ///
    /// Throws `PIRError.invalid` for a key of another engine.
    public init(_ engine: PIREngine, key: DecodedEvaluationKey) throws {
        switch (engine.width, key.width) {
        case (.narrow(let lookup), .narrow(let key)): operations = try Operations(lookup, key)
        case (.wide(let lookup), .wide(let key)): operations = try Operations(lookup, key)
        default: throw PIRError.invalid("key was read by another engine")
        }
    }

    /// One forward transform of N residues of one modulus.
    public func forwardTransform() { operations.forwardTransform() }

    /// One inverse transform of N residues of one modulus.
    public func inverseTransform() { operations.inverseTransform() }

    /// One key switch as the expansion does it: both sums over the digits with the automorphism, their division by P, and the new
    /// digits transformed for all moduli. False where queries are not expanded.
    public func keySwitch() -> Bool { operations.keySwitch() }

    /// One product of two ciphertexts in evaluation form as the second dimension does it: both lifted, multiplied, scaled and
    /// relinearized. False where no product is made.
    public func multiplyAndRelinearize() -> Bool { operations.multiplyAndRelinearize() }
}

private protocol SingleOperations {
    func forwardTransform()
    func inverseTransform()
    func keySwitch() -> Bool
    func multiplyAndRelinearize() -> Bool
}

private final class Operations<Word: ResidueWord>: SingleOperations {
    private let lookup: Lookup<Word>
    private let key: ServerKey<Word>
    private let expansion: Expansion<Word>
    private let evaluation: ColumnEvaluation<Word>
    private let work: ExpansionWorkspace<Word>
    private let columns: ColumnWorkspace<Word>
    private let selection: SelectionBuffer<Word>

    init(_ lookup: Lookup<Word>, _ key: ServerKey<Word>) throws {
        self.lookup = lookup
        self.key = key
        let set = lookup.parameters.set
        // One plaintext in one column: as small as a shard can be. The products are the same in all shards.
        let shape = try ShardParameters(entryCount: 1, entrySize: 1, dimensions: [1, 1], hashFunctionCount: 1, set: set)
        let multiplies = key.relinearization != nil
        work = ExpansionWorkspace(lookup.context, depth: 1)
        columns = ColumnWorkspace(lookup.context, columns: multiplies ? 2 : 0)
        selection = SelectionBuffer(lookup.context, shape: shape, tables: 1, multiplies: multiplies)
        expansion = Expansion(
            context: lookup.context, tables: lookup.tables, key: key, work: work,
            target: LeafTarget(shape: shape, selection: selection, multiplies: multiplies))
        let layout = ShardLayout(present: [[]], wordsPerPlaintext: set.ciphertextModuliCount * set.degree)
        evaluation = ColumnEvaluation(
            context: lookup.context, shape: shape,
            contents: try ShardContents(
                parameters: shape, set: set, layout: layout, bytes: UnsafeRawBufferPointer(start: nil, count: 0), owner: nil))
        fill(work.nodes[0], rows: Array(0..<lookup.context.levels))
        for j in 0..<lookup.context.levels {
            fill(
                work.nodes[0] + (lookup.context.levels + j * lookup.context.keyRows) * work.rowStride,
                rows: Array(0..<lookup.context.keyRows))
        }
    }

    /// Residues that look like any others.
    private func fill(_ place: UnsafeMutablePointer<Word>, rows: [Int]) {
        var state: UInt64 = 0x9e37_79b9_7f4a_7c15
        for (number, row) in rows.enumerated() {
            for i in 0..<lookup.context.degree {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                place[number * work.rowStride + i] = lookup.context.ring.moduli[row].reduce(state >> 2)
            }
        }
    }

    func forwardTransform() { Word.forward(work.nodes[0], lookup.context.ring.tables[0]) }

    func inverseTransform() { Word.inverse(work.nodes[0], lookup.context.ring.tables[0]) }

    func keySwitch() -> Bool {
        guard let level = lookup.tables.levels.first, let prepared = key.galois[level.element],
            let action = lookup.tables.actions[level.element]
        else { return false }
        prepared.words.withUnsafeBufferPointer { k in
            action.places.withUnsafeBufferPointer { places in
                guard let k = k.baseAddress, let places = places.baseAddress else { return }
                expansion.turn(work.nodes[0], k, places)
            }
        }
        return true
    }

    func multiplyAndRelinearize() -> Bool {
        let context = lookup.context
        guard let products = context.products, let relinearization = key.relinearization else { return false }
        let operand = 2 * products.polynomialStride
        for place in [columns.operands, columns.operands + operand] {
            // The rows of the ciphertext moduli of both polynomials; the others follow from them.
            for p in 0..<2 {
                (place + p * products.polynomialStride).update(
                    from: work.nodes[0], count: context.levels * context.degree)
            }
            evaluation.lift(place, products, columns)
        }
        selection.second[0].update(from: columns.operands + operand, count: operand)
        evaluation.multiplyAndSum(table: 0, products, selection, relinearization, columns)
        return true
    }
}
