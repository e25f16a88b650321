// Blind RSA against RFC 9474 appendix A (a key of 4096 bits), and what a signer must not release.

import TestVectors
import Testing

@testable import Cryptography

private struct BlindVectors: Decodable {
    struct Vector: Decodable {
        let variant: String
        let p, q, n, e, d: String
        let preparedMsg, salt, encodedMsg, inv, blindedMsg, blindSig, sig: String
        let msg, msgPrefix: String

        enum CodingKeys: String, CodingKey {
            case variant, p, q, n, e, d, salt, inv, sig, msg
            case preparedMsg = "prepared_msg"
            case encodedMsg = "encoded_msg"
            case blindedMsg = "blinded_msg"
            case blindSig = "blind_sig"
            case msgPrefix = "msg_prefix"
        }

        func privateKey(changing: [UInt8] = [], isChecked: Bool = true) throws -> RSAPrivateKey {
            try RSAPrivateKey(
                modulus: bytes(hex: n), exponent: bytes(hex: e), privateExponent: changing.isEmpty ? bytes(hex: d) : changing,
                prime1: bytes(hex: p), prime2: bytes(hex: q), isChecked: isChecked)
        }
    }

    let vectors: [Vector]

    static let all: [Vector] = (try? VectorFiles.json("rsabssa/rfc9474.json", as: BlindVectors.self).vectors) ?? []
}

@Suite struct RSABlindSignatureTests {
    @Test func allFourVariantsAreHere() { #expect(Set(BlindVectors.all.map(\.variant)).count == 4) }

    @Test(arguments: 0..<4) func vectors(index: Int) throws {
        let vector = BlindVectors.all[index]
        let privateKey = try vector.privateKey()
        let key = privateKey.publicKey
        #expect(key.bits == 4096)
        let message = bytes(hex: vector.preparedMsg)
        #expect(message == bytes(hex: vector.msgPrefix) + bytes(hex: vector.msg))
        let salt = bytes(hex: vector.salt)
        let encoded = try key.pssEncoding(of: message, salt: salt)
        #expect(hex(encoded) == vector.encodedMsg)

        let scratch = try #require(BigNumberScratch())
        let modulus = try #require(BigNumber(key.modulus))
        let inverse = try #require(BigNumber(bytes(hex: vector.inv)))
        let factor = try #require(scratch.inverse(inverse, modulo: modulus))
        let blinded = try key.blind(encodedMessage: encoded, factor: factor.bytes)
        #expect(hex(blinded.bytes) == vector.blindedMsg)
        #expect(hex(blinded.inverse) == vector.inv)
        let blindSignature = try privateKey.rawSign(blinded.bytes)
        #expect(hex(blindSignature) == vector.blindSig)
        let signature = try key.finalise(blindSignature, of: blinded, message: message, saltLength: salt.count)
        #expect(hex(signature) == vector.sig)

        #expect(key.verifyPSS(message: message, signature: signature) == (salt.count == 48), "the salt's length is exact")
        for other in [0, 20, 32, 47, 48, 49] {
            #expect(key.verifyPSS(message: message, signature: signature, saltLength: other) == (other == salt.count))
        }
    }

    @Test func randomBlindingIsUndoneAndDiffersEachTime() throws {
        let privateKey = try RSATestKey.key
        let key = privateKey.publicKey
        let message = Array("a message".utf8)
        var seen: Set<[UInt8]> = []
        for _ in 0..<20 {
            let encoded = try key.pssEncoding(of: message)
            let blinded = try key.blind(encodedMessage: encoded)
            seen.insert(encoded)
            seen.insert(blinded.bytes)
            seen.insert(blinded.inverse)
            let signature = try key.finalise(privateKey.rawSign(blinded.bytes), of: blinded, message: message)
            #expect(key.verifyPSS(message: message, signature: signature))
            #expect(!key.verifyPSS(message: message + [0], signature: signature))
        }
        #expect(seen.count == 60)
    }

    @Test func finishingRefusesWhatTheSignerMadeUp() throws {
        let privateKey = try RSATestKey.key
        let key = privateKey.publicKey
        let message = Array("a message".utf8)
        let blinded = try key.blind(encodedMessage: key.pssEncoding(of: message))
        var answer = try privateKey.rawSign(blinded.bytes)
        #expect(throws: RSAError.invalidSignature) { try key.finalise(answer, of: blinded, message: message + [1]) }
        #expect(throws: RSAError.wrongLength(expected: 256, got: 255)) {
            try key.finalise(Array(answer.dropLast()), of: blinded, message: message)
        }
        #expect(throws: RSAError.notBelowModulus) { try key.finalise(key.modulus, of: blinded, message: message) }
        answer[200] ^= 1
        #expect(throws: RSAError.invalidSignature) { try key.finalise(answer, of: blinded, message: message) }
        #expect(throws: RSAError.invalidSignature) {
            try key.finalise([UInt8](repeating: 0, count: 256), of: blinded, message: message)
        }
    }

    @Test func blindingRefusesBadFactorsAndMessages() throws {
        let vector = try #require(BlindVectors.all.first)
        let key = try vector.privateKey().publicKey
        let encoded = bytes(hex: vector.encodedMsg)
        let zeros = [UInt8](repeating: 0, count: 512)
        let prime = bytes(hex: vector.p)
        for factor in [[], [0], zeros, key.modulus, [1] + zeros, prime] {
            #expect(throws: RSAError.badBlindingFactor) { try key.blind(encodedMessage: encoded, factor: factor) }
        }
        #expect(try key.blind(encodedMessage: encoded, factor: [1]).bytes == encoded)
        #expect(throws: RSAError.notBelowModulus) { try key.blind(encodedMessage: key.modulus) }
        #expect(throws: RSAError.wrongLength(expected: 512, got: 511)) {
            try key.blind(encodedMessage: Array(encoded.dropLast()))
        }
        #expect(throws: RSAError.keyCheckFailed) { try key.blind(encodedMessage: zeros) }
        let multipleOfAPrime = [UInt8](repeating: 0, count: 512 - prime.count) + prime
        #expect(throws: RSAError.keyCheckFailed) { try key.blind(encodedMessage: multipleOfAPrime) }
    }

    /// A wrong private exponent, with the CRT parameters that follow from it: only the check of the result notices.
    @Test func wrongResultsAreNotReleased() throws {
        let vector = try #require(BlindVectors.all.first)
        var exponent = bytes(hex: vector.d)
        exponent[500] ^= 2
        #expect(throws: RSAError.keyCheckFailed) { try vector.privateKey(changing: exponent) }
        let faulty = try vector.privateKey(changing: exponent, isChecked: false)
        #expect(throws: RSAError.signatureCheckFailed) { try faulty.rawSign(bytes(hex: vector.blindedMsg)) }
    }
}
