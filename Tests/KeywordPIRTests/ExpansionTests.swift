// The fused expansion for every number of outputs and every key strategy (keyword-pir.md 6.3, 6.4, A.7): each output must be
// the constant that stood in its coefficient.

import BFV
import LookupMessages
import RingMath
import Testing

@testable import KeywordPIR

/// One ring and the numbers of outputs to try.
struct ExpansionCase: Sendable, CustomTestStringConvertible {
    let name: String
    let degree: Int
    let moduli: [UInt64]
    let plaintextModulus: UInt64
    let outputs: [Int]
    let compression: KeyCompression
    var testDescription: String { "\(name), N = \(degree), \(compression), \(outputs.count) sizes" }

    static let strategies: [KeyCompression] = [.noCompression, .hybridCompression, .maxCompression]

    static let all: [ExpansionCase] = strategies.flatMap { compression -> [ExpansionCase] in
        let named: [(String, [Int])] = [
            ("insecure_n_8_logq_5x18_logt_5", Array(2...16) + [24, 33]),
            ("insecure_n_512_logq_4x60_logt_20", [2, 3, 5, 33, 64, 100, 511, 512, 513, 1024]),
        ]
        let sets = named.compactMap { name, outputs -> ExpansionCase? in
            guard let set = try? ParameterSet.named(name, allowInsecure: true) else { return nil }
            return ExpansionCase(
                name: name, degree: set.degree, moduli: set.coefficientModuli, plaintextModulus: set.plaintextModulus,
                outputs: outputs, compression: compression)
        }
        // 32-bit words, every size from 2 to 2N.
        let narrow = [16, 32, 64].map { n in
            ExpansionCase(
                name: "three primes of 28 bits", degree: n,
                moduli: transformPrimes(below: 28, degree: n, count: 3, excluding: []), plaintextModulus: 257,
                outputs: Array(2...(2 * n)), compression: compression)
        }
        return sets + narrow
    }
}

@Suite struct ExpansionTests {
    @Test(arguments: ExpansionCase.all) func everyOutputIsItsCoefficient(of run: ExpansionCase) throws {
        let set = try ParameterSet(
            degree: run.degree, plaintextModulus: run.plaintextModulus, coefficientModuli: run.moduli, level: .unchecked)
        if set.fits32Bits { try expand(run, set, UInt32.self) } else { try expand(run, set, UInt64.self) }
    }

    private func expand<Word: ResidueWord>(_ run: ExpansionCase, _ set: ParameterSet, _: Word.Type) throws {
        let context = try BFVContext<Word>(set)
        var source = try SeededRandomSource(seed: [UInt8](repeating: 4, count: 32))
        let key = try context.makeSecretKey(&source)
        let every = Set(run.outputs.flatMap { galoisElements(degree: set.degree, outputs: $0, compression: run.compression) })
        let message = try keyMessage(context, key, elements: every.sorted(), &source)
        for m in run.outputs {
            let elements = galoisElements(degree: set.degree, outputs: m, compression: run.compression)
            let serverKey = try ServerKey(message, context, elements: elements, needsRelinearization: true)
            // Two dimensions where a product is possible, so that both kinds of leaves are met.
            let columns = m >= 4 ? m / 3 : 0
            let shape = try ShardParameters(
                entryCount: 1, entrySize: 1, dimensions: columns > 1 ? [m - columns, columns] : [m], hashFunctionCount: 1,
                set: set)
            let multiplies = Lookup<Word>.multiplies(shape)
            let depth = ceilLog2(min(m, set.degree))
            let selection = SelectionBuffer(context, shape: shape, tables: 1, multiplies: multiplies)
            try Expansion(
                context: context, tables: ExpansionTables(context, depth: depth, elements: elements), key: serverKey,
                work: ExpansionWorkspace(context, depth: depth),
                target: LeafTarget(shape: shape, selection: selection, multiplies: multiplies)
            ).run(query(context, key, m, &source), outputs: m)
            for x in 0..<m {
                let leaf =
                    x < shape.rows
                    ? rows(context, selection, row: x, of: shape.rows) : operand(context, selection, column: x - shape.rows)
                let plain = context.decrypt(leaf, key)
                let isConstant = plain[0] == value(x, set) && plain.dropFirst().allSatisfy { $0 == 0 }
                #expect(isConstant, "output \(x) of \(m), \(run)")
                if !isConstant { return }
            }
        }
    }

    private func value<Word: ResidueWord>(_ x: Int, _ set: ParameterSet) -> Word {
        Word(UInt64(3 * x + 1) % set.plaintextModulus)
    }

    private func keyMessage<Word: ResidueWord>(
        _ context: BFVContext<Word>, _ key: SecretKey<Word>, elements: [Int], _ source: inout SeededRandomSource
    ) throws -> SerializedEvaluationKey {
        let made = try context.makeEvaluationKey(key, elements: elements, relinearization: true, &source)
        var message = SerializedEvaluationKey()
        message.galoisKey = SerializedGaloisKey(
            keySwitchKeys: Dictionary(
                uniqueKeysWithValues: made.galois.map { (UInt64($0), SerializedKeySwitchKey(context.bytes(of: $1))) }))
        message.relinKey = made.relinearization.map {
            SerializedRelinKey(relinKey: SerializedKeySwitchKey(context.bytes(of: $0)))
        }
        return message
    }

    /// Ciphertexts whose coefficients hold the values, divided by what each tree multiplies with.
    private func query<Word: ResidueWord>(
        _ context: BFVContext<Word>, _ key: SecretKey<Word>, _ m: Int, _ source: inout SeededRandomSource
    ) throws -> [Ciphertext<Word>] {
        let t = try Modulus<UInt64>(context.parameters.plaintextModulus)
        return try stride(from: 0, to: m, by: context.degree).map { start in
            let count = min(m - start, context.degree)
            let scale = t.invert(t.power(2, UInt64(ceilLog2(count))))
            let plaintext = (0..<count).map { Word(t.multiply(value(start + $0, context.parameters), scale)) }
            return try context.encrypt(plaintext, key, &source)
        }
    }

    /// A selection of the first dimension, put together from its rows.
    private func rows<Word: ResidueWord>(
        _ context: BFVContext<Word>, _ selection: SelectionBuffer<Word>, row: Int, of count: Int
    ) -> Ciphertext<Word> {
        let (n, stride) = (context.degree, Word.rowStride(degree: context.degree))
        return Ciphertext(
            (0..<2).map { p in
                var out = Polynomial<Word, Evaluation>(rows: context.levels, degree: n)
                for i in 0..<context.levels {
                    let base = selection.first[0] + ((i * count + row) * 2 + p) * stride
                    for k in 0..<n { out[i, k] = base[k] }
                }
                return context.ring.inverse(out)
            })
    }

    /// A selection of the second dimension: the rows of the ciphertext moduli of a lifted operand.
    private func operand<Word: ResidueWord>(
        _ context: BFVContext<Word>, _ selection: SelectionBuffer<Word>, column: Int
    ) -> Ciphertext<Word> {
        let n = context.degree
        let poly = context.products?.polynomialStride ?? 0
        return Ciphertext(
            (0..<2).map { p in
                let start = selection.second[0] + (2 * column + p) * poly
                let words = Array(UnsafeBufferPointer(start: start, count: context.levels * n))
                return context.ring.inverse(Polynomial<Word, Evaluation>(words: words, degree: n))
            })
    }

    /// With the element of a level missing, the expansion says so.
    @Test func missingElementsAreNamed() throws {
        let small = try SmallUseCase()
        for element in small.parameters.galoisElements {
            var message = small.keyMessage
            message.galoisKey?.keySwitchKeys[UInt64(element)] = nil
            #expect(throws: BFVError.missingGaloisKey(element)) { try small.engine.decodeEvaluationKey(message) }
        }
    }
}
