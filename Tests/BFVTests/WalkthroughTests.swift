// The walk through bfv.md A.6, bit for bit: every step from a secret key to a reply.

import Cryptography
import RingMath
import Testing

@testable import BFV

private func seed(_ value: UInt8) -> [UInt8] { [UInt8](repeating: value, count: 32) }

@Suite struct WalkthroughTests {
    let context: BFVContext<UInt32>
    let key: SecretKey<UInt32>
    let counting = [UInt8](0..<32)

    init() throws {
        context = try BFVContext(ParameterSet.named("n_4096_logq_27_28_28_logt_5"))
        var source = try SeededRandomSource(seed: seed(1))
        key = try context.makeSecretKey(&source)
    }

    private func error(_ value: UInt8) throws -> [Int] {
        var source = try SeededRandomSource(seed: seed(value))
        return try centeredBinomial(4096, from: &source)
    }

    private func poly0(_ bytes: CiphertextBytes) -> [UInt8] {
        switch bytes {
        case .seeded(let poly0, _): Array(poly0)
        case .full(let polys, _, _): Array(polys)
        }
    }

    private func keyHashes(_ target: Polynomial<UInt32, Evaluation>, _ s: [UInt8], _ e: [UInt8]) throws -> (
        KeySwitchKey<UInt32>, [String]
    ) {
        let made = try context.makeKeySwitchKey(target, key, seeds: s.map { seed($0) }, errors: e.map { try error($0) })
        return (made, context.bytes(of: made).map { hex(SHA256.hash(poly0($0))) })
    }

    @Test func reproducesTheWholeWalk() throws {
        #expect(try error(2).prefix(16) == [1, 2, 3, 2, -1, -3, 3, 3, -1, 1, 0, -4, -2, -2, 0, 1])
        let plaintext = (0..<4096).map { UInt32($0 % 17) }
        let ciphertext = try context.encrypt(plaintext, key, seed: counting, error: error(2))
        #expect(Array(ciphertext.polynomials[0].words.prefix(2)) == [126_385_730, 111_362_261])
        #expect(
            hex(SHA256.hash(poly0(context.bytes(of: ciphertext))))
                == "449ccaeb595f49624c3ef8c3da927ada48f2802246fcea2ea571ae0e79100d19")

        let (_, relin) = try keyHashes(context.ring.multiply(key.polynomial, key.polynomial), [0x10, 0x11], [0x20, 0x21])
        #expect(
            relin == [
                "0a4f79e11a3bc255e2ba2b7fa834551dfe6c62c7606448cf3378e222cd8cc080",
                "a0e72d399b6e679e7bae5cf4aeb012e3be5dc3c7c5498064e203f03503855d90",
            ])
        let (galois, hashes) = try keyHashes(context.galoisTarget(key, 4097), [0x30, 0x31], [0x40, 0x41])
        #expect(
            hashes == [
                "28567a4a538a02de5aac45fa31078a03a26eae6b13a25a99569977dc678b2e64",
                "dbbe9200f64cde9757b4231e1ed0f9505cc1a0e5e289304e9fc592d5bf400467",
            ])

        let turned = try context.applyGalois(ciphertext, element: 4097, key: PreparedKey(galois, context))
        #expect(
            hex(SHA256.hash(poly0(context.fullBytes(of: turned))))
                == "67365a13ad8c3a76ed31424decfb749fede17472ef9d6acd2ac317834165e870")
        let single = context.modSwitchDownToSingle(turned)
        #expect(
            hex(SHA256.hash(poly0(context.fullBytes(of: single))))
                == "008b961d8b57af48b4fdd428d14baf6b7f48503e90b62576f13502272dc69c85")
        let reply = context.replyBytes(of: single)
        #expect(
            hex(SHA256.hash(poly0(reply))) == "884a27828bb6920c9692b9ecf58fef0574b3d5771c042225f2917a3e09534793")
        let read = try context.readReplyCiphertext(reply)
        let expected = (0..<4096).map { (j: Int) -> UInt32 in
            let m = j % 17
            return UInt32(j % 2 == 0 ? m : (17 - m) % 17)
        }
        #expect(context.decrypt(read, key) == expected)
        #expect(context.noiseBudget(ciphertext, key) > 45)
        #expect(context.noiseBudget(read, key) > 1.5)
    }

    @Test func secretKeyBytes() throws {
        var source = try SeededRandomSource(seed: seed(1))
        let first = try ternary(4096, from: &source)
        #expect(first.prefix(16) == [0, 0, 1, -1, -1, 0, -1, -1, -1, 0, 1, 0, -1, 1, -1, 1])
        let bytes = context.bytes(of: key)
        #expect(bytes.count == 42498)
        #expect(hex(SHA256.hash(bytes)) == "02fb7a2ecbdaff0d2df554d33b86af6fa5c5fd506496624be87f07a460dc9f4e")
        #expect(try context.readSecretKey(bytes[...]).polynomial == key.polynomial)
    }

    @Test func uniformPolynomials() throws {
        let a = try context.uniform(seed: counting, rows: 3)
        #expect(Array(a.words.prefix(4)) == [73_819_633, 25_439_711, 90_574_784, 62_867_527])
        #expect(Array(a.words[8192..<8196]) == [254_978_311, 12_109_159, 8_885_482, 124_820_463])
        var packed: [UInt8] = []
        context.ring.pack(context.ring.inverse(a.prefix(rows: 2)), into: &packed)
        #expect(hex(SHA256.hash(packed)) == "2febb07c37e3632861bdb6a6da2b447668c13fec4a02cf3e4f8470660e9490d9")
    }

    @Test func productsDecrypt() throws {
        var source = try SeededRandomSource(seed: seed(9))
        let a = (0..<4096).map { UInt32($0 % 17) }
        let b = (0..<4096).map { UInt32($0 == 1 ? 1 : 0) }
        let x = try context.encrypt(a, key, &source)
        let y = try context.encrypt(b, key, &source)
        let product = try context.multiply(x, y)
        let expected = (0..<4096).map { (j: Int) -> UInt32 in j == 0 ? UInt32(17 - 4095 % 17) : UInt32((j - 1) % 17) }
        #expect(context.decrypt(product, key) == expected)
        let relin = try context.makeEvaluationKey(key, elements: [], relinearization: true, &source).relinearization
        let short = try context.relinearize(product, key: PreparedKey(#require(relin), context))
        #expect(context.decrypt(short, key) == expected)
        #expect(context.noiseBudget(short, key) > 15)
        #expect(context.decrypt(context.modSwitchDownToSingle(short), key) == expected)
    }
}
