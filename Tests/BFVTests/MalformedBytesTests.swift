// Every item of bfv.md 13 that concerns reading or using ciphertexts and keys: a typed error, never a trap.
// Items 14, 17 – 21, 24 and 27 are the messages' and stand in KeywordPIRTests; 26 stands in ParameterSetTests.

import RingMath
import Testing

@testable import BFV

@Suite struct MalformedBytesTests {
    let context: BFVContext<UInt64>
    let key: SecretKey<UInt64>
    let ciphertext: Ciphertext<UInt64>
    let poly0: [UInt8]
    let polys: [UInt8]
    let seed = [UInt8](0..<32)

    init() throws {
        context = try BFVContext(ParameterSet.named("insecure_n_8_logq_5x18_logt_5", allowInsecure: true))
        var source = try SeededRandomSource(seed: seed)
        key = try context.makeSecretKey(&source)
        ciphertext = try context.encrypt([1, 2, 3], key, &source)
        var packed: [UInt8] = []
        context.ring.pack(ciphertext.polynomials[0], into: &packed)
        poly0 = packed
        guard case .full(let bytes, _, _) = context.fullBytes(of: ciphertext) else { throw FormatError.rule("not full") }
        polys = Array(bytes)
    }

    private func full(_ polys: [UInt8], _ skips: [UInt32] = [0, 0], factor: UInt64 = 1) -> CiphertextBytes {
        .full(polys: polys[...], skipLSBs: skips, correctionFactor: factor)
    }

    private func seeded(_ poly0: [UInt8], _ seed: [UInt8]) -> CiphertextBytes { .seeded(poly0: poly0[...], seed: seed[...]) }

    /// Refused wherever a ciphertext can stand: in a query, and in every place of a key.
    private func refused(_ bytes: CiphertextBytes, _ why: Comment) throws {
        #expect(throws: FormatError.self, why) { try context.readQueryCiphertext(bytes) }
        #expect(throws: FormatError.self, why) { try context.readReplyCiphertext(bytes) }
        var source = try SeededRandomSource(seed: seed)
        let good = try #require(
            try context.makeEvaluationKey(key, elements: [], relinearization: true, &source).relinearization)
        for place in 0..<4 {
            var list = context.bytes(of: good)
            list[place] = bytes
            #expect(throws: FormatError.self, why) { try context.readKeySwitchKey(list) }
        }
    }

    @Test func goodOnesAreRead() throws {
        let again = try context.readQueryCiphertext(seeded(poly0, try #require(ciphertext.seed)))
        #expect(again == ciphertext)
        #expect(try context.readQueryCiphertext(full(polys)).polynomials == ciphertext.polynomials)
        #expect(try context.readQueryCiphertext(full(polys, [])).polynomials == ciphertext.polynomials)
        // Slices that do not start at 0, as a message hands them over.
        let padded = [9, 9, 9] + polys + [9]
        let slice = CiphertextBytes.full(polys: padded[3..<(3 + polys.count)], skipLSBs: [], correctionFactor: 1)
        #expect(try context.readQueryCiphertext(slice).polynomials == ciphertext.polynomials)
    }

    @Test func residuesThatAreNotReduced() throws {
        var row: [UInt8] = []
        pack(([context.ring.moduli[0].value] + [UInt64](repeating: 0, count: 7))[...], bits: 18, skip: 0, into: &row)
        let large = row + poly0[18...]
        #expect(throws: FormatError.residueTooLarge(row: 0)) { try context.readQueryCiphertext(seeded(large, seed)) }
        #expect(throws: FormatError.residueTooLarge(row: 0)) {
            try context.readQueryCiphertext(full([2, 0] + large + polys[(2 + poly0.count)...]))
        }
        #expect(throws: FormatError.residueTooLarge(row: 0)) {
            try context.readQueryCiphertext(full(polys[..<(2 + poly0.count)] + large))
        }
        let every = [UInt8](repeating: 0xff, count: poly0.count)
        #expect(throws: FormatError.residueTooLarge(row: 0)) { try context.readQueryCiphertext(seeded(every, seed)) }
        try refused(full([2, 0] + every + every), "all bits set")
        // A reply has one row; its dropped bits come back as zeros, so only the rest can be too large.
        #expect(throws: FormatError.residueTooLarge(row: 0)) {
            try context.readReplyCiphertext(full([2, 0] + [UInt8](repeating: 0xff, count: 9 + 13), [9, 5]))
        }
    }

    @Test func lengths() throws {
        for count in [0, 1, 2, 17, poly0.count - 1, poly0.count + 1, poly0.count + 19] {
            let cut = count <= poly0.count ? Array(poly0[..<count]) : poly0 + [UInt8](repeating: 0, count: count - poly0.count)
            try refused(seeded(cut, seed), "\(count) bytes of poly0")
        }
        for count in [0, 1, 2, 3, polys.count - 1, polys.count + 1, polys.count + 72] {
            let cut = count <= polys.count ? Array(polys[..<count]) : polys + [UInt8](repeating: 0, count: count - polys.count)
            try refused(full(cut), "\(count) bytes of polys")
        }
        for length in [0, 16, 31, 33, 64] {
            try refused(seeded(poly0, [UInt8](repeating: 1, count: length)), "seed of \(length)")
        }
    }

    @Test func polynomialCounts() throws {
        for count in [0, 1, 3, 4, 255, 256, 258, 65535] as [UInt16] {
            let prefix = [UInt8(count & 0xff), UInt8(count >> 8)]
            try refused(full(prefix + polys[2...]), "count \(count)")
            try refused(full(prefix, [UInt32](repeating: 0, count: Int(count))), "count \(count) with nothing behind it")
        }
        try refused(full([3, 0] + polys[2...] + poly0, [0, 0, 0]), "three polynomials, well formed otherwise")
        try refused(full([1, 0] + poly0, [0]), "one polynomial, well formed otherwise")
    }

    @Test func droppedBits() throws {
        for skips in [[0], [0, 0, 0], [18, 0], [0, 18], [19, 0], [0, 19], [.max, .max], [1 << 31, 0], [64, 0]] as [[UInt32]] {
            try refused(full(polys, skips), "skip_lsbs \(skips)")
        }
        // Dropped bits are only for replies, however well the length fits.
        var dropped: [UInt8] = [2, 0]
        for p in ciphertext.polynomials { context.ring.pack(p, skip: 1, into: &dropped) }
        #expect(throws: FormatError.self) { try context.readQueryCiphertext(full(dropped, [1, 1])) }
        let single = context.modSwitchDownToSingle(ciphertext)
        let reply = context.replyBytes(of: single)
        #expect(context.decrypt(try context.readReplyCiphertext(reply), key) == [1, 2, 3, 0, 0, 0, 0, 0])
        guard case .full(let bytes, let skips, _) = reply else { return }
        #expect(skips == [9, 5])
        #expect(throws: FormatError.self) { try context.readReplyCiphertext(full(Array(bytes), [8, 5])) }
        #expect(throws: FormatError.self) { try context.readReplyCiphertext(full(Array(bytes), [5, 9, 0])) }
    }

    @Test func correctionFactors() throws {
        for factor in [0, 2, 1 << 32, .max] as [UInt64] { try refused(full(polys, factor: factor), "factor \(factor)") }
    }

    @Test func keysOfAnotherLength() throws {
        var source = try SeededRandomSource(seed: seed)
        let keys = try context.makeEvaluationKey(key, elements: [3], relinearization: true, &source)
        let list = context.bytes(of: try #require(keys.galois[3]))
        #expect(list.count == 4)
        #expect(try context.readKeySwitchKey(list).pairs.count == 4)
        for count in [0, 1, 3] {
            #expect(throws: FormatError.self, "\(count)") { try context.readKeySwitchKey(Array(list.prefix(count))) }
        }
        for extra in [1, 4, 1000] {
            #expect(throws: FormatError.self, "\(extra) more") {
                try context.readKeySwitchKey(list + [CiphertextBytes](repeating: list[0], count: extra))
            }
        }
        // A query ciphertext in place of a key ciphertext has a row too few.
        #expect(throws: FormatError.self) { try context.readKeySwitchKey([seeded(poly0, seed)] + list.dropFirst()) }
        let plain = try BFVContext<UInt64>(ParameterSet.named("insecure_n_16_logq_60_logt_15", allowInsecure: true))
        #expect(throws: FormatError.self) { try plain.readKeySwitchKey([]) }
        #expect(throws: FormatError.self) { try plain.readKeySwitchKey(list) }
        // Full form of a key, as other clients may send it.
        let unseeded = KeySwitchKey(pairs: try #require(keys.galois[3]).pairs)
        let read = try context.readKeySwitchKey(context.bytes(of: unseeded))
        #expect(zip(read.pairs, unseeded.pairs).allSatisfy { $0.0 == $1.0 && $0.1 == $1.1 })
    }

    @Test func secretKeys() throws {
        let good = context.bytes(of: key)
        #expect(try context.readSecretKey(good[...]).polynomial == key.polynomial)
        for count in 0..<good.count { #expect(throws: FormatError.self) { try context.readSecretKey(good[..<count]) } }
        #expect(throws: FormatError.self) { try context.readSecretKey((good + [0])[...]) }
        #expect(throws: FormatError.self) { try context.readSecretKey(([2, 0] + good[2...])[...]) }
        #expect(throws: FormatError.self) { try context.readSecretKey(([1, 1] + good[2...])[...]) }
    }

    /// Items 25, 28, 30 and 31: operands that do not belong together.
    @Test func operandsThatDoNotMatch() throws {
        var source = try SeededRandomSource(seed: seed)
        let lower = context.modSwitchDown(ciphertext)
        let product = try context.multiply(ciphertext, ciphertext)
        for other in [lower, product] {
            #expect(throws: BFVError.self) { try context.add(ciphertext, other) }
            #expect(throws: BFVError.self) { try context.subtract(other, ciphertext) }
            #expect(throws: BFVError.self) { try context.multiply(other, ciphertext) }
            #expect(throws: BFVError.self) { try context.multiply(ciphertext, other) }
        }
        let keys = try context.makeEvaluationKey(key, elements: [3], relinearization: true, &source)
        let relin = PreparedKey(try #require(keys.relinearization), context)
        #expect(throws: BFVError.self) { try context.relinearize(ciphertext, key: relin) }
        #expect(throws: BFVError.self) { try context.applyGalois(product, element: 3, key: relin) }
        for element in [-3, 0, 1, 2, 16, 17, 19, Int.max, Int.min] {
            #expect(throws: BFVError.self, "\(element)") {
                try context.makeEvaluationKey(key, elements: [element], relinearization: false, &source)
            }
            #expect(throws: BFVError.self, "\(element)") { try context.applyGalois(ciphertext, element: element, key: relin) }
        }
        for bad in [[UInt64](repeating: 0, count: 9), [17], [.max]] {
            #expect(throws: BFVError.badPlaintext) { try context.encrypt(bad, key, &source) }
            #expect(throws: BFVError.badPlaintext) { try context.add(ciphertext, plaintext: bad) }
            #expect(throws: BFVError.badPlaintext) { try context.multiply(ciphertext, plaintext: bad) }
        }
        let plain = try BFVContext<UInt64>(ParameterSet.named("insecure_n_16_logq_60_logt_15", allowInsecure: true))
        let plainKey = try plain.makeSecretKey(&source)
        #expect(throws: BFVError.noEvaluationKeys) {
            try plain.makeEvaluationKey(plainKey, elements: [], relinearization: true, &source)
        }
    }

    /// Seeded damage: whatever the bytes, an error or a ciphertext whose residues are all reduced.
    @Test func randomDamage() throws {
        let source = try SeededRandomSource(seed: [UInt8](repeating: 3, count: 32))
        var read = 0
        for _ in 0..<3000 {
            let draw = try source.next(8)
            var bytes = draw[0] & 1 == 0 ? polys : poly0
            for k in 0..<Int(draw[1] % 3 + 1) { bytes[(Int(draw[2 + k]) * 3 + k) % bytes.count] ^= 1 << (draw[5] % 8) }
            if draw[6] < 40 { bytes.removeLast(Int(draw[7]) % bytes.count) }
            let damaged = draw[0] & 1 == 0 ? full(bytes) : seeded(bytes, seed)
            guard let c = try? context.readQueryCiphertext(damaged) else { continue }
            read += 1
            for p in c.polynomials {
                for (row, m) in context.ring.moduli.prefix(4).enumerated() {
                    for i in 0..<8 { #expect(p[row, i] < m.value) }
                }
            }
        }
        #expect(read > 100 && read < 3000, "both outcomes are met: \(read)")
    }
}
