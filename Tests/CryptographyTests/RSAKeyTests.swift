// RSA keys: files in PKCS#8, numbers that are refused, and the bounds of the private operation.

import TestVectors
import Testing

@testable import Cryptography

/// One key for all tests here.
enum RSATestKey {
    private static let result = Result { try RSAPrivateKey.generate() }
    static var key: RSAPrivateKey { get throws { try result.get() } }
}

private struct KeyFiles: Decodable {
    struct Key: Decodable {
        let name, pem: String
        let passphrase, modulus, error: String?
    }

    let keys: [Key]
}

@Suite struct RSAKeyTests {
    @Test func filesOfTheOpenSSLCommand() throws {
        let files: KeyFiles = try VectorFiles.json("rsa/private-keys.json")
        #expect(files.keys.count == 14)
        for file in files.keys {
            let passphrase = file.passphrase.map { Array($0.utf8) }
            switch file.error {
            case nil:
                let key = try RSAPrivateKey(pem: file.pem, passphrase: passphrase)
                if let modulus = file.modulus { #expect(hex(key.publicKey.modulus) == modulus, "\(file.name)") }
                #expect(key.publicKey.bits == 2048)
            case let name?:
                let error = #expect(throws: RSAError.self, "\(file.name)") {
                    try RSAPrivateKey(pem: file.pem, passphrase: Array("swordfish".utf8))
                }
                #expect(error.map { "\($0)" } == Self.errors[name].map { "\($0)" }, "\(file.name)")
            }
            if passphrase != nil {
                #expect(throws: RSAError.passphraseNeeded) { try RSAPrivateKey(pem: file.pem) }
                for wrong in ["", "swordfisH", "swordfish\n", String(repeating: "x", count: 5000)] {
                    #expect(throws: RSAError.wrongPassphrase) {
                        try RSAPrivateKey(pem: file.pem, passphrase: Array(wrong.utf8))
                    }
                }
            }
        }
    }

    private static let errors: [String: RSAError] = [
        "notAPrivateKey": .notAPrivateKey, "notAnRSAKey": .notAnRSAKey, "keyCheckFailed": .keyCheckFailed,
        "unsupportedModulus": .unsupportedModulus(bits: 1024),
    ]

    @Test func otherTextsAreRefused() throws {
        let pem = try RSATestKey.key.pem()
        for text in ["", "x", "\0", String(pem.dropFirst(30)), String(pem.prefix(900)), String(repeating: "A", count: 100_000)]
        {
            #expect(throws: RSAError.notAPrivateKey) { try RSAPrivateKey(pem: text) }
        }
        // Text around the block is allowed (RFC 7468 2).
        #expect(try RSAPrivateKey(pem: "a comment\n" + pem + "another").publicKey == RSATestKey.key.publicKey)
    }

    @Test func filesLeadBackToTheKey() throws {
        let key = try RSATestKey.key
        #expect(key.publicKey.bits == 2048 && key.publicKey.exponent == [1, 0, 1])
        let plain = try key.pem()
        #expect(plain.hasPrefix("-----BEGIN PRIVATE KEY-----\n") && plain.hasSuffix("-----END PRIVATE KEY-----\n"))
        #expect(try RSAPrivateKey(pem: plain).publicKey == key.publicKey)
        #expect(try RSAPrivateKey(pem: plain, passphrase: [1]).publicKey == key.publicKey, "nothing to decrypt")

        for passphrase in [Array("correct horse".utf8), [], [0xFF, 0, 0x0A]] {
            let sealed = try key.pem(passphrase: passphrase)
            #expect(sealed.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
            #expect(try RSAPrivateKey(pem: sealed, passphrase: passphrase).publicKey == key.publicKey)
            #expect(throws: RSAError.passphraseNeeded) { try RSAPrivateKey(pem: sealed) }
            #expect(throws: RSAError.wrongPassphrase) { try RSAPrivateKey(pem: sealed, passphrase: passphrase + [1]) }
            #expect(try key.pem(passphrase: passphrase) != sealed, "salt and initial vector are new each time")
        }
    }

    @Test func keysDiffer() throws {
        let other = try RSAPrivateKey.generate()
        #expect(try other.publicKey != RSATestKey.key.publicKey)
        let message = [UInt8](repeating: 1, count: 256)
        #expect(try other.rawSign(message) != RSATestKey.key.rawSign(message))
    }

    @Test func publicNumbersThatAreRefused() throws {
        let key = try RSATestKey.key.publicKey
        let n = key.modulus
        #expect(try RSAPublicKey(modulus: [0, 0] + n, exponent: [0, 1, 0, 1]) == key, "leading zeros do not matter")
        for exponent: [UInt8] in [[], [0], [1], [2], [1, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 1]] {
            #expect(throws: RSAError.unsupportedExponent) { try RSAPublicKey(modulus: n, exponent: exponent) }
        }
        #expect(throws: RSAError.unsupportedModulus(bits: 0)) { try RSAPublicKey(modulus: [], exponent: [1, 0, 1]) }
        #expect(throws: RSAError.unsupportedModulus(bits: 2048)) {
            try RSAPublicKey(modulus: Array(n.dropLast()) + [n[255] ^ 1], exponent: [1, 0, 1])
        }
        #expect(throws: RSAError.unsupportedModulus(bits: 8200)) {
            try RSAPublicKey(modulus: [UInt8](repeating: 0xFF, count: 1025), exponent: [1, 0, 1])
        }
        #expect(throws: RSAError.unsupportedModulus(bits: 2047)) {
            try RSAPublicKey(modulus: [0x7F] + [UInt8](repeating: 0xFF, count: 255), exponent: [1, 0, 1])
        }
    }

    @Test func pkcs1OfAPublicKey() throws {
        let key = try RSATestKey.key.publicKey
        #expect(hex(key.pkcs1) == "3082010a0282010100" + hex(key.modulus) + "0203010001")
        #expect(DER.unsignedInteger([]) == [2, 1, 0])
        #expect(DER.unsignedInteger([0x7F]) == [2, 1, 0x7F])
        #expect(
            DER.unsignedInteger([UInt8](repeating: 0x80, count: 127)) == [2, 0x81, 0x80, 0]
                + [UInt8](repeating: 0x80, count: 127))
    }

    /// Values at the ends of the range have known results (service.md 2.9.1); outside of it, the error says so.
    @Test func boundsOfThePrivateOperation() throws {
        let key = try RSATestKey.key
        let zero = [UInt8](repeating: 0, count: 256)
        let one = zero.dropLast() + [1]
        let n = key.publicKey.modulus
        var last = n
        last[255] -= 1
        for fixed in [zero, Array(one), last] { #expect(try key.rawSign(fixed) == fixed) }
        var above = n
        above[255] |= 1
        above[254] &+= 1
        for value in [n, [UInt8](repeating: 0xFF, count: 256)] + (above[254] == 0 ? [] : [above]) {
            #expect(throws: RSAError.notBelowModulus) { try key.rawSign(value) }
        }
        for count in [0, 1, 255, 257, 512] {
            #expect(throws: RSAError.wrongLength(expected: 256, got: count)) {
                try key.rawSign([UInt8](repeating: 0, count: count))
            }
        }
    }

    @Test func signaturesOfWrongFormDoNotVerify() throws {
        let key = try RSATestKey.key
        let message = Array("a message".utf8)
        let signature = try key.rawSign(key.publicKey.pssEncoding(of: message))
        #expect(key.publicKey.verifyPSS(message: message, signature: signature))
        for count in [0, 1, 255, 257] {
            let other = count < 256 ? Array(signature.prefix(count)) : signature + [0]
            #expect(!key.publicKey.verifyPSS(message: message, signature: other))
        }
        #expect(!key.publicKey.verifyPSS(message: message, signature: key.publicKey.modulus))
        #expect(!key.publicKey.verifyPSS(message: message, signature: [UInt8](repeating: 0xFF, count: 256)))
        for bit in stride(from: 0, to: 2048, by: 37) {
            var other = signature
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.publicKey.verifyPSS(message: message, signature: other))
        }
        #expect(key.publicKey.verifyPSS(message: message, signature: signature), "contexts recover from refusals")
    }

    @Test func threadsShareAKey() async throws {
        let key = try RSATestKey.key
        let message = [UInt8](repeating: 0x5A, count: 256)
        let expected = try key.rawSign(message)
        let text = Array("a message".utf8)
        let signature = try key.rawSign(key.publicKey.pssEncoding(of: text))
        await withTaskGroup(of: Bool.self) { group in
            for task in 0..<100 {
                group.addTask {
                    guard (try? key.rawSign(message)) == expected else { return false }
                    let isRight = task % 3 != 0
                    return key.publicKey.verifyPSS(message: isRight ? text : message, signature: signature) == isRight
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
