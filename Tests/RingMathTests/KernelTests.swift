// Every kernel of both builds against plain 128-bit arithmetic, over the whole of the input ranges that the kernels document.
// Both builds meet the same expectation bit for bit, hence each other.

import Foundation
import Testing

@testable import RingMath

/// What the rows of a run are filled with.
enum Fill: Sendable, CaseIterable {
    /// Random, with edges of the range strewn in.
    case mixed
    /// The greatest value of the range everywhere.
    case greatest
    /// Zero everywhere.
    case zero
}

/// The rows of one run and the moduli it goes over.
struct KernelRun<Word: KernelWord> {
    let n: Int
    let table: NTTTable<Word>
    let fill: Fill
    var numbers: SeededNumbers

    var modulus: Modulus<Word> { table.modulus }
    var q: Word { modulus.value }

    mutating func row(_ count: Int, below bound: Word) -> [Word] {
        switch fill {
        case .mixed: numbers.row(count, below: bound, modulus: q)
        case .greatest: [Word](repeating: bound - 1, count: count)
        case .zero: [Word](repeating: 0, count: count)
        }
    }

    func zeros(_ count: Int? = nil) -> [Word] { [Word](repeating: 0, count: count ?? n) }

    /// What some automorphism does to values.
    mutating func permutation() -> [UInt32] {
        Ring<Word>.permutation(degree: n, element: Int(numbers.next() % UInt64(n)) * 2 + 1)
    }

    /// Runs `body` for each build that this processor has.
    func eachBuild(_ body: (String, KernelSet<Word>) -> Void) {
        for (name, kernels) in Word.builds { body("\(name), n \(n), q \(q), \(fill)", kernels) }
    }
}

@Suite struct KernelTests {
    static let seed = testSeed(ProcessInfo.processInfo.environment)
    static let degrees = [16, 64, 128, 256, 512, 1024, 2048, 4096, 8192]

    private func run<Word: KernelWord>(
        _ n: Int, _: Word.Type, fills: [Fill] = Fill.allCases, _ body: (inout KernelRun<Word>) throws -> Void
    ) throws {
        let widest = transformPrimes(below: Modulus<Word>.greatestBits, degree: n, count: 1, excluding: [])
        let middle = transformPrimes(below: Word.bitWidth == 32 ? 28 : 55, degree: n, count: 1, excluding: [])
        let smallest = transformPrimes(below: 17, degree: n, count: 1, excluding: [])
        for (i, q) in (widest + middle + smallest).enumerated() {
            let table = try NTTTable(degree: n, modulus: Modulus<Word>(q))
            for fill in fills {
                var one = KernelRun(n: n, table: table, fill: fill, numbers: SeededNumbers(Self.seed &+ UInt64(n + i)))
                try body(&one)
            }
        }
    }

    private func both(_ n: Int, _ narrow: (inout KernelRun<UInt32>) -> Void, _ wide: (inout KernelRun<UInt64>) -> Void) throws {
        try run(n, UInt32.self, narrow)
        try run(n, UInt64.self, wide)
    }

    @Test(arguments: degrees) func transforms(n: Int) throws {
        try both(n, Self.transforms, Self.transforms)
    }

    private static func transforms<Word: KernelWord>(_ run: inout KernelRun<Word>) {
        let (n, q) = (run.n, run.q)
        let lazy = run.row(n, below: 4 * q)
        let values = run.row(n, below: 2 * q)
        // The definition, at all points for small degrees and at a few for large ones.
        let bits = n.trailingZeroBitCount
        let points = n <= 512 ? Array(0..<n) : (0..<8).map { _ in Int(run.numbers.next() % UInt64(n)) } + [0, n - 1]
        let expected = points.map { i in
            let x = run.modulus.power(run.table.root, UInt64(2 * reverseBits(i, bits) + 1))
            return lazy.reversed().reduce(Word(0)) { Word((UInt128($0) * UInt128(x) + UInt128($1)) % UInt128(q)) }
        }
        let table = run.table
        let reference = transformed(values.map { $0 % q }) { Word.portable.inverse($0, table) }
        run.eachBuild { name, kernels in
            let forward = transformed(lazy) { kernels.forward($0, table) }
            #expect(points.map { forward[$0] } == expected, "forward \(name)")
            #expect(forward.allSatisfy { $0 < q }, "forward \(name)")
            #expect(transformed(forward) { kernels.inverse($0, table) } == lazy.map { $0 % q }, "inverse \(name)")
            let inverse = transformed(values) { kernels.inverse($0, table) }
            if let inverseInto = kernels.inverseInto {
                let into = transformed(lazy) { inverseInto(values, $0, table) }
                #expect(into == reference, "inverse into another row \(name)")
            }
            #expect(inverse == reference, "inverse of lazy values \(name)")
            #expect(transformed(inverse) { kernels.forward($0, table) } == values.map { $0 % q }, "forward \(name)")
        }
    }

    private static func transformed<Word>(_ x: [Word], _ body: (UnsafeMutablePointer<Word>) -> Void) -> [Word] {
        var out = x
        body(&out)
        return out
    }

    @Test(arguments: degrees) func sumsOfProducts(n: Int) throws {
        try both(n, Self.keySwitch, Self.keySwitch)
        try both(n, Self.innerProduct, Self.innerProduct)
        try both(n, Self.tensor, Self.tensor)
    }

    private static func keySwitch<Word: KernelWord>(_ run: inout KernelRun<Word>) {
        let (n, q) = (run.n, run.q)
        let count = min(7, Modulus<Word>.maximumDigits(of: q))
        let digits = run.row(count * n, below: 2 * q)
        let key = run.row(count * 2 * n, below: q)
        func expected(_ p: Int) -> [Word] {
            (0..<n).map { i in
                Word(
                    (0..<count).reduce(UInt128(0)) {
                        ($0 + UInt128(times(digits[$1 * n + i], key[($1 * 2 + p) * n + i], mod: q))) % UInt128(q)
                    })
            }
        }
        let prepared = key.map { run.modulus.factor($0) }
        let (first, second) = (expected(0), expected(1))
        let (modulus, empty, turn) = (run.modulus, run.zeros(), run.permutation())
        let places = Ring<Word>.places(turn)
        run.eachBuild { name, kernels in
            var (out0, out1) = (empty, empty)
            kernels.keySwitchRow(digits, n, prepared, 2 * n, n, count, nil, &out0, &out1, n, modulus)
            #expect([out0, out1] == [first, second], "keySwitchRow \(name)")
            kernels.keySwitchRow(digits, n, prepared, 2 * n, n, count, places, &out0, &out1, n, modulus)
            #expect(out0 == turn.map { first[Int($0)] }, "keySwitchRow permuted \(name)")
            #expect(out1 == turn.map { second[Int($0)] }, "keySwitchRow permuted \(name)")
        }
    }

    private static func innerProduct<Word: KernelWord>(_ run: inout KernelRun<Word>) {
        let (n, q, tile) = (run.n, run.q, Word.tile)
        // More than one flush where it is affordable; some selections twice, some never.
        let count = n == 16 ? 700 : 11
        let width = 5
        let plaintexts = run.row(count * n, below: q)
        let selection = run.row(width * 2 * n, below: q)
        let indices = (0..<count).map { _ in Int32(run.numbers.next() % UInt64(width)) }
        func expected(_ p: Int) -> [Word] {
            (0..<n).map { i in
                let (t, lane) = (i / tile, i % tile)
                return (0..<count).reduce(Word(0)) { sum, a in
                    let x = plaintexts[(t * count + a) * tile + lane]
                    let y = selection[(Int(indices[a]) * 2 + p) * n + i]
                    return Word((UInt128(sum) + UInt128(x) * UInt128(y)) % UInt128(q))
                }
            }
        }
        let (first, second) = (expected(0), expected(1))
        let (modulus, empty) = (run.modulus, run.zeros())
        run.eachBuild { name, kernels in
            for some in [count, 0] {
                var (out0, out1) = (empty, empty)
                kernels.innerProductRow(
                    plaintexts, indices, some, selection, n, &out0, &out1, n, modulus, modulus.productsPerSum)
                #expect(out0 == (some == 0 ? empty : first), "innerProductRow \(name)")
                #expect(out1 == (some == 0 ? empty : second), "innerProductRow \(name)")
            }
        }
    }

    private static func tensor<Word: KernelWord>(_ run: inout KernelRun<Word>) {
        let (n, q) = (run.n, run.q)
        let count = n == 16 ? 300 : 5
        let a = run.row(count * 2 * n, below: q)
        let b = run.row(count * 2 * n, below: q)
        func sum(_ pairs: [(Int, Int)]) -> [Word] {
            (0..<n).map { i in
                (0..<count).reduce(Word(0)) { sum, j in
                    Word(
                        pairs.reduce(UInt128(sum)) {
                            ($0 + UInt128(a[(2 * j + $1.0) * n + i]) * UInt128(b[(2 * j + $1.1) * n + i])) % UInt128(q)
                        })
                }
            }
        }
        let expected = [sum([(0, 0)]), sum([(0, 1), (1, 0)]), sum([(1, 1)])]
        let (modulus, empty) = (run.modulus, run.zeros())
        run.eachBuild { name, kernels in
            var (out0, out1, out2) = (empty, empty, empty)
            kernels.tensorRow(
                a, 2 * n, n, b, 2 * n, n, count, &out0, &out1, &out2, n, modulus, max(modulus.productsPerSum / 2, 1))
            #expect([out0, out1, out2] == expected, "tensorRow \(name)")
        }
    }

    @Test(arguments: degrees) func treeSteps(n: Int) throws {
        try both(n, Self.treeSteps, Self.treeSteps)
    }

    private static func treeSteps<Word: KernelWord>(_ run: inout KernelRun<Word>) {
        let (n, q, modulus) = (run.n, run.q, run.modulus)
        let (a, b) = (run.row(n, below: q), run.row(n, below: q))
        let permutation = run.permutation()
        let places = Ring<Word>.places(permutation)
        let sum = (0..<n).map { modulus.add(a[$0], b[$0]) }
        let turned = (0..<n).map { modulus.add(a[Int(permutation[$0])], b[$0]) }
        let empty = run.zeros()
        for block in [1, 8, n] {
            let monomial = run.row(n / block, below: q)
            let shoup = monomial.map { modulus.shoup($0) }
            let odds = (0..<n).map { times(modulus.subtract(a[$0], b[$0]), monomial[$0 / block], mod: q) }
            run.eachBuild { name, kernels in
                var (even, odd) = (empty, empty)
                kernels.split(a, b, monomial, shoup, block, &even, &odd, n, modulus)
                #expect([even, odd] == [sum, odds], "split by \(block) \(name)")
                even.withUnsafeMutableBufferPointer { buffer in
                    // In place, as the expansion calls it.
                    guard let base = buffer.baseAddress else { return }
                    base.update(from: a, count: n)
                    kernels.split(base, b, monomial, shoup, block, base, &odd, n, modulus)
                }
                #expect([even, odd] == [sum, odds], "split in place by \(block) \(name)")
            }
        }
        run.eachBuild { name, kernels in
            var out = empty
            kernels.addPermuted(a, b, places, &out, n, modulus)
            #expect(out == turned, "addPermuted \(name)")
            kernels.add(a, b, &out, n, modulus)
            #expect(out == sum, "add \(name)")
        }
    }

    @Test(arguments: degrees) func constantsAndLifting(n: Int) throws {
        try both(n, Self.constants, Self.constants)
        try both(n, Self.lifting, Self.lifting)
        try both(n, Self.conversion, Self.conversion)
    }

    private static func constants<Word: KernelWord>(_ run: inout KernelRun<Word>) {
        let (n, q, modulus) = (run.n, run.q, run.modulus)
        let any = run.row(n, below: .max)
        let (x, y) = (run.row(n, below: 2 * q), run.row(n, below: 2 * q))
        for w in [0, 1, q / 2, q - 1, run.row(1, below: q)[0]] {
            let scaled = any.map { times($0, w, mod: q) }
            let difference = (0..<n).map { times(modulus.subtract(x[$0] % q, y[$0] % q), w, mod: q) }
            let flipped = (0..<n).map { times(modulus.negate(y[$0] % q), w, mod: q) }
            let empty = run.zeros()
            run.eachBuild { name, kernels in
                var out = empty
                kernels.scale(any, &out, n, w, modulus.shoup(w), modulus)
                #expect(out == scaled, "scale \(name)")
                kernels.subtractAndScale(x, y, &out, n, w, modulus.shoup(w), modulus)
                #expect(out == difference, "subtractAndScale \(name)")
                kernels.subtractAndScale(empty, y, &out, n, w, modulus.shoup(w), modulus)
                #expect(out == flipped, "subtractAndScale from zero \(name)")
            }
        }
    }

    private static func lifting<Word: KernelWord>(_ run: inout KernelRun<Word>) {
        let (n, q, modulus) = (run.n, run.q, run.modulus)
        let widest = Word(1) << Word(Modulus<Word>.greatestBits) - 1
        for from in [q, widest, widest / 3 | 1, 65537, 3] {
            var x = run.row(n, below: from)
            for (i, edge) in [0, 1, from / 2, from / 2 + 1, from - 1].enumerated() { x[i] = edge }
            let expected = x.map { v in
                v > from / 2 ? modulus.negate((from - v) % q) : v % q
            }
            let (empty, table) = (run.zeros(), run.table)
            let values = run.row(n, below: 2 * q)
            let w = run.row(1, below: q)[0]
            let transform = transformed(expected) { Word.portable.forward($0, table) }
            let divided = (0..<n).map { times(modulus.subtract(values[$0] % q, transform[$0]), w, mod: q) }
            run.eachBuild { name, kernels in
                var out = empty
                kernels.liftCentered(x, &out, n, from, modulus)
                #expect(out.map { $0 % q } == expected, "liftCentered from \(from) \(name)")
                #expect(out.allSatisfy { $0 < 2 * q }, "liftCentered from \(from) \(name)")
                if let forwardCentered = kernels.forwardCentered {
                    forwardCentered(x, &out, from, table)
                    #expect(out == transform, "forwardCentered from \(from) \(name)")
                }
                if let subtractForwardCentered = kernels.subtractForwardCentered {
                    subtractForwardCentered(values, x, &out, from, w, modulus.shoup(w), table)
                    #expect(out == divided, "subtractForwardCentered from \(from) \(name)")
                }
            }
        }
    }

    private static func conversion<Word: KernelWord>(_ run: inout KernelRun<Word>) {
        let (n, q, modulus) = (run.n, run.q, run.modulus)
        let sources = transformPrimes(below: Modulus<Word>.greatestBits, degree: 8, count: 3, excluding: []) + [40961, 17]
        let from = sources.compactMap { try? Modulus<Word>($0) }
        let count = from.count
        let z = from.flatMap { run.row(n, below: $0.value) }
        let shifts = from.map { Int32(Word.bitWidth - $0.bits) }
        let fractions = from.map { $0.value.dividingFullWidth((Word(1) << Word($0.bits - 1), 0)).quotient }
        let column = run.row(count, below: q)
        let prepared = column.map { modulus.factor($0) }
        // Sums of the first row, the first two and so on.
        let converted = (1...count).map { some in
            (0..<n).map { i in
                (0..<some).reduce(Word(0)) { modulus.add($0, times(z[$1 * n + i], column[$1], mod: q)) }
            }
        }
        // Σ z/s with 64 bits after the point, rounded down by less than `count` units.
        let sums = (0..<n).map { i in
            (0..<count).reduce(UInt128(0)) { $0 + (UInt128(z[$1 * n + i]) << 64) / UInt128(from[$1].value) }
        }
        let slack = UInt128(1) << 39
        let empty = run.zeros()
        run.eachBuild { name, kernels in
            var out = empty
            for some in 1...count {
                kernels.convertRow(z, n, some, prepared, &out, n, modulus)
                #expect(out == converted[some - 1], "convertRow of \(some) \(name)")
            }
            kernels.quotientRow(z, n, count, shifts, fractions, &out, n)
            let near = zip(out, sums).allSatisfy { got, sum in
                let whole = UInt128(got) << 64
                return (whole > sum ? whole - sum : sum - whole) <= UInt128(1) << 63 + slack
            }
            #expect(near, "quotientRow \(name)")
        }
        let answers = Word.builds.map { _, kernels in
            var out = empty
            kernels.quotientRow(z, n, count, shifts, fractions, &out, n)
            return out
        }
        #expect(answers.allSatisfy { $0 == answers[0] }, "quotientRow differs between builds, n \(n)")
    }
}
