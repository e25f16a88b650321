// The reference's ciphertexts and keys: what is deterministic bit for bit, the rest by plaintext and noise budget (bfv.md 5 – 11).

import LookupMessages
import Protobuf
import RingMath
import Testing

@testable import BFV

@Suite struct BFVVectorTests {
    @Test(arguments: FolderCase.all) func secretKeyFollowsFromItsCoefficients(folder: FolderCase) throws {
        try run(folder, Self.secretKey, Self.secretKey)
    }

    @Test(arguments: FolderCase.all) func everyCiphertextDecrypts(folder: FolderCase) throws {
        try run(folder, Self.decryption, Self.decryption)
    }

    @Test(arguments: FolderCase.all) func bytesComeOutAsTheyWentIn(folder: FolderCase) throws {
        try run(folder, Self.serialization, Self.serialization)
    }

    @Test(arguments: FolderCase.all) func encryptionsRepeatGivenTheirErrors(folder: FolderCase) throws {
        try run(folder, Self.encryption, Self.encryption)
    }

    @Test(arguments: FolderCase.all) func linearOperationsAreExact(folder: FolderCase) throws {
        try run(folder, Self.linear, Self.linear)
    }

    @Test(arguments: FolderCase.all) func keySwitchesAreExact(folder: FolderCase) throws {
        try run(folder, Self.keySwitches, Self.keySwitches)
    }

    @Test(arguments: FolderCase.all) func productsDecryptWithTheSameBudget(folder: FolderCase) throws {
        try run(folder, Self.products, Self.products)
    }

    @Test(arguments: FolderCase.all) func expansionsAreExact(folder: FolderCase) throws {
        try run(folder, Self.expansion, Self.expansion)
    }

    private func run(
        _ folder: FolderCase, _ narrow: (BFVFolder<UInt32>) throws -> Void, _ wide: (BFVFolder<UInt64>) throws -> Void
    ) throws {
        if folder.narrow { try narrow(BFVFolder(folder.name)) } else { try wide(BFVFolder(folder.name)) }
    }

    private static func secretKey<Word>(_ f: BFVFolder<Word>) throws {
        let made = f.context.ring.forward(
            f.context.ring.polynomial(signed: f.secretCoefficients, rows: f.context.keyRows))
        #expect(made == f.key.polynomial)
        let bytes = try f.bytes("secret-key.binpb")
        #expect(SerializedSecretKey(polys: f.context.bytes(of: f.key)[...]).encoded() == bytes)
    }

    /// Within what the index says; our meter ends at about 120 bits.
    private static func budget<Word>(
        _ f: BFVFolder<Word>, _ ciphertext: Ciphertext<Word>, _ item: BFVIndex.Item, slack: Double
    ) {
        let budget = f.context.noiseBudget(ciphertext, f.key)
        if item.noiseBudgetBits > 116 {
            #expect(budget > 114, "\(f.name) \(item.name)")
        } else {
            #expect(abs(budget - item.noiseBudgetBits) <= slack, "\(f.name) \(item.name): \(budget)")
        }
    }

    private static func decryption<Word>(_ f: BFVFolder<Word>) throws {
        for item in f.index.items {
            guard let ciphertext = try f.ciphertext(item.name) else { continue }
            #expect(ciphertext.polynomials.count == item.polyCount)
            #expect(ciphertext.level == item.moduliCount)
            #expect(f.context.decrypt(ciphertext, f.key) == (try f.plaintext(item.plaintext)), "\(f.name) \(item.name)")
            if let polys = item.polys, (item.skipLSBs ?? []).allSatisfy({ $0 == 0 }) {
                #expect(ciphertext.polynomials.map { $0.words.map { UInt64($0) } } == polys.map { $0.flatMap { $0 } })
            }
            // The index gives the budget of a reply before its low bits went.
            if !item.name.hasSuffix("-reply") { budget(f, ciphertext, item, slack: 0.11) }
        }
    }

    private static func serialization<Word>(_ f: BFVFolder<Word>) throws {
        for item in f.index.items {
            guard let file = item.file, let ciphertext = try f.ciphertext(item.name) else { continue }
            let skip = (item.skipLSBs ?? []).map { Int($0) }
            let made = item.seed == nil ? f.context.fullBytes(of: ciphertext, skip: skip) : f.context.bytes(of: ciphertext)
            #expect(message(made).encoded() == (try f.bytes(file)), "\(f.name) \(item.name)")
            if let seed = item.seed { #expect(ciphertext.seed.map { hex($0) } == seed) }
        }
        // Seeded and full form are the same ciphertext.
        if let full = try f.ciphertext("ct-a-full"), let seeded = try f.ciphertext("ct-a-seeded") {
            #expect(full.polynomials == seeded.polynomials)
            #expect(message(f.context.fullBytes(of: seeded)).encoded() == (try f.bytes("ct-a-full.binpb")))
        }
        let bits = ceilLog2(Int(f.set.plaintextModulus))
        for name in ["a", "b"] {
            var packed: [UInt8] = []
            pack(try f.plaintext(name)[...], bits: bits, skip: 0, into: &packed)
            #expect(packed == (try f.bytes("plaintext-\(name).coeff.bin")), "\(f.name)")
        }
        var values: [UInt8] = []
        f.context.ring.pack(f.context.evaluationPlaintext(try f.plaintext("b"), rows: f.context.levels), into: &values)
        #expect(values == (try f.bytes("plaintext-b.eval.bin")), "\(f.name)")
    }

    private static func encryption<Word>(_ f: BFVFolder<Word>) throws {
        let q = f.context.ring.moduli[0]
        for (name, of) in [("ct-a-seeded", "a"), ("ct-b-seeded", "b")] {
            let ciphertext = try #require(try f.ciphertext(name))
            let plaintext = try f.plaintext(of)
            let scaled = f.context.scaled(plaintext, rows: f.context.levels)
            let noise = f.context.ring.subtract(scaled, f.context.phase(ciphertext, f.key))
            let error = noise.words.prefix(f.set.degree).map { $0 > q.value / 2 ? -Int(q.value - $0) : Int($0) }
            #expect(error.allSatisfy { abs($0) <= 21 }, "\(f.name) \(name)")
            let again = try f.context.encrypt(plaintext, f.key, seed: #require(ciphertext.seed), error: error)
            #expect(again == ciphertext, "\(f.name) \(name)")
        }
    }

    private static func equal<Word>(_ f: BFVFolder<Word>, _ name: String, _ ciphertext: Ciphertext<Word>) throws {
        guard let item = f.item(name) else { return }
        if let expected = try f.ciphertext(name) {
            #expect(ciphertext.polynomials == expected.polynomials, "\(f.name) \(name)")
        }
        #expect(f.context.decrypt(ciphertext, f.key) == (try f.plaintext(item.plaintext)), "\(f.name) \(name)")
        budget(f, ciphertext, item, slack: 1.5)
    }

    private static func reply<Word>(_ f: BFVFolder<Word>, _ name: String, _ ciphertext: Ciphertext<Word>) throws {
        guard let file = f.item(name)?.file else { return }
        #expect(message(f.context.replyBytes(of: ciphertext)).encoded() == (try f.bytes(file)), "\(f.name) \(name)")
    }

    private static func linear<Word>(_ f: BFVFolder<Word>) throws {
        let a = try #require(try f.ciphertext("ct-a-seeded"))
        let b = try #require(try f.ciphertext("ct-b-seeded"))
        let sum = try f.context.add(a, b)
        try equal(f, "ct-a-plus-b", sum)
        #expect(try f.context.subtract(sum, b).polynomials == a.polynomials)
        try equal(f, "ct-a-times-x-minus-3", f.context.multiplyByMonomial(a, power: -3))
        try equal(f, "ct-a-times-plain-b", f.context.multiply(a, plaintext: f.plaintext("b")))
        let single = f.context.modSwitchDownToSingle(sum)
        try equal(f, "ct-a-plus-b-single", single)
        try reply(f, "ct-a-plus-b-reply", single)
        #expect(f.context.modSwitchDown(single) == single)
        let shifted = try f.context.add(a, plaintext: f.plaintext("b"))
        #expect(f.context.decrypt(shifted, f.key) == (try f.plaintext("a-plus-b")))
        #expect(shifted.seed == a.seed)
    }

    private static func keySwitches<Word>(_ f: BFVFolder<Word>) throws {
        guard let keys = try f.evaluationKey(), let config = f.index.evaluationKeyConfig else { return }
        #expect(keys.galois.keys.sorted() == config.galoisElements)
        let a = try #require(try f.ciphertext("ct-a-seeded"))
        for (element, key) in keys.galois {
            try equal(
                f, "ct-a-galois-\(element)", f.context.applyGalois(a, element: element, key: PreparedKey(key, f.context)))
            try checkKey(f, key, from: f.context.galoisTarget(f.key, element))
        }
        let relin = try #require(keys.relinearization)
        try checkKey(f, relin, from: f.context.ring.multiply(f.key.polynomial, f.key.polynomial))
        // From the reference's own intermediate results, bit for bit.
        if let product = try f.ciphertext("ct-a-times-ct-b") {
            try equal(f, "ct-a-times-ct-b-relin", f.context.relinearize(product, key: PreparedKey(relin, f.context)))
        }
        if let product = try f.ciphertext("ct-a-times-ct-b-relin") {
            let single = f.context.modSwitchDownToSingle(product)
            try equal(f, "ct-a-times-ct-b-single", single)
            try reply(f, "ct-a-times-ct-b-reply", single)
        }
    }

    /// Every key ciphertext is `P·s'` in its own row, zero in the others, plus an error in range (bfv.md 6.1).
    private static func checkKey<Word>(
        _ f: BFVFolder<Word>, _ key: KeySwitchKey<Word>, from target: Polynomial<Word, Evaluation>
    ) throws {
        let ring = f.context.ring
        let special = ring.moduli[f.context.specialRow].value
        for (i, (c0, c1)) in key.pairs.enumerated() {
            var phase = ring.add(c0, ring.multiply(c1, f.key.polynomial))
            let m = ring.moduli[i]
            for j in 0..<f.set.degree {
                phase[i, j] = m.subtract(phase[i, j], m.multiply(special % m.value, target[i, j]))
            }
            let q = ring.moduli[0].value
            let error = ring.inverse(phase)
            let small = error.words.prefix(f.set.degree).map { $0 > q / 2 ? -Int(q - $0) : Int($0) }
            #expect(small.allSatisfy { abs($0) <= 21 }, "\(f.name), digit \(i)")
            #expect(ring.polynomial(signed: small, rows: f.context.keyRows) == error, "\(f.name), digit \(i)")
        }
    }

    private static func products<Word>(_ f: BFVFolder<Word>) throws {
        guard let config = f.index.evaluationKeyConfig else {
            let a = try #require(try f.ciphertext("ct-a-seeded"))
            #expect(throws: BFVError.noEvaluationKeys) { try f.context.multiply(a, a) }
            return
        }
        let a = try #require(try f.ciphertext("ct-a-seeded"))
        let b = try #require(try f.ciphertext("ct-b-seeded"))
        var source = try SeededRandomSource(seed: [UInt8](repeating: 5, count: 32))
        let keys =
            try f.evaluationKey()
            ?? f.context.makeEvaluationKey(
                f.key, elements: config.galoisElements, relinearization: config.hasRelinearizationKey, &source)
        let product = try f.context.multiply(a, b)
        let relin = try f.context.relinearize(product, key: PreparedKey(#require(keys.relinearization), f.context))
        let single = f.context.modSwitchDownToSingle(relin)
        for (name, c) in [("ct-a-times-ct-b", product), ("ct-a-times-ct-b-relin", relin), ("ct-a-times-ct-b-single", single)] {
            guard let item = f.item(name) else { continue }
            #expect(f.context.decrypt(c, f.key) == (try f.plaintext("a-times-b")), "\(f.name) \(name)")
            budget(f, c, item, slack: 1.5)
        }
        let reply = try f.context.readReplyCiphertext(f.context.replyBytes(of: single))
        #expect(f.context.decrypt(reply, f.key) == (try f.plaintext("a-times-b")), "\(f.name)")
        for element in config.galoisElements {
            guard let item = f.item("ct-a-galois-\(element)"), let key = keys.galois[element] else { continue }
            let turned = try f.context.applyGalois(a, element: element, key: PreparedKey(key, f.context))
            #expect(f.context.decrypt(turned, f.key) == (try f.plaintext(item.plaintext)), "\(f.name) \(element)")
            budget(f, turned, item, slack: 1.5)
        }
    }

    private static func expansion<Word>(_ f: BFVFolder<Word>) throws {
        guard let keys = try f.evaluationKey(), let input = try f.ciphertext("expand-input") else { return }
        let count = f.index.items.count { $0.name.hasPrefix("expand-output-") }
        let prepared = keys.galois.mapValues { PreparedKey($0, f.context) }
        let outputs = try expand(f.context, input, count, level: 1, height: ceilLog2(count), prepared)
        #expect(outputs.count == count)
        for (i, output) in outputs.enumerated() { try equal(f, "expand-output-\(i)", output) }
    }

    /// The tree as keyword-pir.md 6.3 words it, on the plain operations.
    private static func expand<Word>(
        _ context: BFVContext<Word>, _ c: Ciphertext<Word>, _ m: Int, level: Int, height: Int, _ keys: [Int: PreparedKey<Word>]
    ) throws -> [Ciphertext<Word>] {
        if m == 1 { return level > height ? [c] : [try context.add(c, c)] }
        let power = context.degree.trailingZeroBitCount - level + 1
        let element = try #require(keys.keys.filter { $0 <= 1 << power + 1 && ($0 - 1) & ($0 - 2) == 0 }.max())
        let key = try #require(keys[element])
        var turned = c
        for _ in 0..<(1 << (power - (element - 1).trailingZeroBitCount)) {
            turned = try context.applyGalois(turned, element: element, key: key)
        }
        let even = try context.add(c, turned)
        let odd = context.multiplyByMonomial(try context.subtract(c, turned), power: -(1 << (level - 1)))
        let first = try expand(context, even, (m + 1) / 2, level: level + 1, height: height, keys)
        let second = try expand(context, odd, m / 2, level: level + 1, height: height, keys)
        return first.indices.flatMap { $0 < second.count ? [first[$0], second[$0]] : [first[$0]] }
    }
}
