// HKDF (RFC 5869 A), AEADs (the GCM specification's cases 4 and 16, RFC 8439 2.8.2), X25519 (RFC 7748 5.2), and secrets.

import Testing

@testable import Cryptography

private func secret(_ text: String) -> SecretBytes { SecretBytes(copying: bytes(hex: text)) }

@Suite struct KeyDerivationTests {
    @Test(arguments: [
        (
            "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
            "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        ),
        (
            "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
            "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        ),
    ])
    func knownAnswers(material: String, salt: String, info: String, key: String, output: String) throws {
        let hkdf = try HKDFSHA256()
        let extracted = try hkdf.extract(salt: secret(salt), secret: secret(material))
        #expect(extracted == secret(key))
        for cut in 0...42 {
            let expanded = try hkdf.expand(extracted, info: bytes(hex: info), count: cut)
            #expect(hex(expanded.exposed) == output.prefix(2 * cut), "\(cut) bytes")
        }
        let material = bytes(hex: material)
        for cut in 0...material.count {
            let again = try hkdf.extract(
                salt: secret(salt), prefix: Array(material[..<cut]), secret: SecretBytes(copying: material[cut...]))
            #expect(again == extracted)
        }
    }

    @Test func outputIsLimited() throws {
        let key = secret("00")
        let hkdf = try HKDFSHA256()
        #expect(try hkdf.expand(key, info: [1], count: HKDFSHA256.longestOutput).count == 8160)
        for count in [-1, HKDFSHA256.longestOutput + 1, .max] {
            #expect(throws: CryptographyError.badLength(expected: 8160, got: count)) {
                try HKDFSHA256().expand(key, info: [1], count: count)
            }
        }
    }

    @Test func secretsAreNotPrinted() throws {
        let value = secret("abababab")
        for text in ["\(value)", String(reflecting: value), String(describing: [value]), String(describing: Optional(value))] {
            #expect(!text.contains("171") && !text.contains("ab") && text.contains("4 bytes"))
        }
        #expect(value == secret("ABABABAB") && value != secret("abababac") && value != secret("ababab"))
        #expect(SecretBytes(copying: []) == SecretBytes(copying: []))
        #expect(try SecretBytes.random(count: 32) != SecretBytes.random(count: 32))
        #expect(try SecretBytes.random(count: 0).count == 0)
    }
}

@Suite struct AuthenticatedEncryptionTests {
    static let gcmPlaintext =
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"

    struct Answer: Sendable {
        var algorithm: AEADAlgorithm
        var key: String
        var nonce: String
        var data: String
        var plaintext: [UInt8]
        var sealed: String
    }

    static let answers = [
        Answer(
            algorithm: .aes128GCM, key: "feffe9928665731c6d6a8f9467308308", nonce: "cafebabefacedbaddecaf888",
            data: "feedfacedeadbeeffeedfacedeadbeefabaddad2", plaintext: bytes(hex: gcmPlaintext),
            sealed: "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b39"
                + "6a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47"),
        Answer(
            algorithm: .aes256GCM, key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            nonce: "cafebabefacedbaddecaf888", data: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            plaintext: bytes(hex: gcmPlaintext),
            sealed: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e63"
                + "93ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"),
        Answer(
            algorithm: .chaCha20Poly1305, key: "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
            nonce: "070000004041424344454647", data: "50515253c0c1c2c3c4c5c6c7",
            plaintext: Array(
                ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would "
                    + "be it.").utf8),
            sealed: "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a"
                + "9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9d"
                + "e576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691"),
    ]

    @Test(arguments: answers) func knownAnswers(answer: Answer) throws {
        let key = try AEADKey(answer.algorithm, key: secret(answer.key))
        let (nonce, data) = (bytes(hex: answer.nonce), bytes(hex: answer.data))
        let plaintext = answer.plaintext
        // More than once and in turn: nothing of a message is left in the context.
        for _ in 0..<2 {
            let sealed = try key.seal(plaintext[...], nonce: nonce, authenticating: data)
            #expect(hex(sealed) == answer.sealed)
            #expect(try key.open(sealed[...], nonce: nonce, authenticating: data) == plaintext)
            let moved = [9, 9, 9] + sealed
            #expect(try key.open(moved[3...], nonce: nonce, authenticating: data) == plaintext)
            #expect(try key.seal(([7] + plaintext)[1...], nonce: nonce, authenticating: data) == sealed)

            var buffer = [1, 2, 3] + plaintext
            try key.seal(inPlace: &buffer, from: 3, nonce: nonce, authenticating: data)
            #expect(buffer == [1, 2, 3] + sealed)
            try key.open(inPlace: &buffer, from: 3, nonce: nonce, authenticating: data)
            #expect(buffer == [1, 2, 3] + plaintext)

            for place in sealed.indices {
                var bad = sealed
                bad[place] ^= 0x20
                #expect(throws: CryptographyError.openingFailed) {
                    try key.open(bad[...], nonce: nonce, authenticating: data)
                }
            }
            #expect(throws: CryptographyError.openingFailed) { try key.open(sealed[...], nonce: nonce) }
            #expect(throws: CryptographyError.openingFailed) {
                try key.open(sealed.dropLast()[...], nonce: nonce, authenticating: data)
            }
        }
    }

    @Test(arguments: AEADAlgorithm.allCases) func emptyMessagesAndBadLengths(algorithm: AEADAlgorithm) throws {
        let key = try AEADKey(algorithm, key: .random(count: algorithm.keyLength))
        let nonce = [UInt8](repeating: 3, count: 12)
        let sealed = try key.seal([], nonce: nonce)
        #expect(sealed.count == 16)
        #expect(try key.open(sealed[...], nonce: nonce).isEmpty)
        var buffer = sealed
        try key.open(inPlace: &buffer, from: 0, nonce: nonce)
        #expect(buffer.isEmpty)
        try key.seal(inPlace: &buffer, from: 0, nonce: nonce)
        #expect(buffer == sealed)

        for length in 0..<16 {
            #expect(throws: CryptographyError.openingFailed) { try key.open(sealed[..<length], nonce: nonce) }
            var short = Array(sealed[..<length])
            #expect(throws: CryptographyError.openingFailed) { try key.open(inPlace: &short, from: 0, nonce: nonce) }
        }
        for start in [-1, 17, .max] {
            #expect(throws: CryptographyError.self) { try key.open(inPlace: &buffer, from: start, nonce: nonce) }
            #expect(throws: CryptographyError.self) { try key.seal(inPlace: &buffer, from: start, nonce: nonce) }
        }
        #expect(throws: CryptographyError.badLength(expected: 12, got: 11)) { try key.seal([1], nonce: nonce.dropLast()) }
        #expect(throws: CryptographyError.badLength(expected: 12, got: 13)) { try key.open(sealed[...], nonce: nonce + [0]) }
        let length = algorithm.keyLength
        #expect(throws: CryptographyError.badLength(expected: length, got: length + 1)) {
            try AEADKey(algorithm, key: SecretBytes(copying: [UInt8](repeating: 0, count: length + 1)))
        }
    }

    @Test(arguments: AEADAlgorithm.allCases) func whatIsNotGenuineIsNotLeftBehind(algorithm: AEADAlgorithm) throws {
        let key = try AEADKey(algorithm, key: .random(count: algorithm.keyLength))
        let nonce = [UInt8](repeating: 3, count: 12)
        var buffer = [UInt8](repeating: 0x41, count: 100)
        try key.seal(inPlace: &buffer, from: 10, nonce: nonce)
        buffer[50] ^= 1
        #expect(throws: CryptographyError.openingFailed) { try key.open(inPlace: &buffer, from: 10, nonce: nonce) }
        #expect(buffer == [UInt8](repeating: 0x41, count: 10))
    }

    @Test func threadsShareAKey() async throws {
        let key = try AEADKey(.aes128GCM, key: secret("feffe9928665731c6d6a8f9467308308"))
        func nonce(_ i: Int) -> [UInt8] { [UInt8](repeating: 0, count: 11) + [UInt8(i)] }
        let message = [UInt8](repeating: 5, count: 3000)
        let expected = try (0..<40).map { try key.seal(message[...], nonce: nonce($0)) }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<40).allSatisfy { i in
                        (try? key.seal(message[...], nonce: nonce(i))) == expected[i]
                            && (try? key.open(expected[i][...], nonce: nonce(i))) == message
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}

@Suite struct X25519Tests {
    @Test(arguments: [
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"
        ),
    ])
    func knownAnswers(key: String, point: String, product: String) throws {
        let privateKey = try X25519PrivateKey(rawBytes: secret(key))
        #expect(try privateKey.sharedSecret(with: bytes(hex: point)) == secret(product))
        #expect(try privateKey.rawBytes() == secret(key), "stored as it came")
    }

    @Test func iteratedAnswer() throws {
        let base = [9] + [UInt8](repeating: 0, count: 31)
        var (k, u) = (SecretBytes(copying: base), base)
        for round in 1...1000 {
            let product = try X25519PrivateKey(rawBytes: k).sharedSecret(with: u)
            (k, u) = (product, k.exposed)
            if round == 1 { #expect(k == secret("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")) }
        }
        #expect(k == secret("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"))
    }

    @Test func bothSidesAgree() throws {
        let (a, b) = (try X25519PrivateKey.generate(), try X25519PrivateKey.generate())
        #expect(a.publicKey != b.publicKey && a.publicKey.count == 32)
        #expect(try a.sharedSecret(with: b.publicKey) == b.sharedSecret(with: a.publicKey[...]))
        #expect(try X25519PrivateKey(rawBytes: a.rawBytes()).publicKey == a.publicKey)
    }

    /// Objects for public keys are used again: nobody may get another's.
    @Test func manyAgreeAtOnce() async throws {
        let mine = try X25519PrivateKey.generate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        let other = try X25519PrivateKey.generate()
                        #expect(try mine.sharedSecret(with: other.publicKey) == other.sharedSecret(with: mine.publicKey))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ])
    func lowOrderPointsAreRefused(point: String) throws {
        let key = try X25519PrivateKey.generate()
        #expect(throws: CryptographyError.lowOrderPoint) { try key.sharedSecret(with: bytes(hex: point)) }
        #expect(try key.sharedSecret(with: key.publicKey).count == 32, "the key still works")
    }

    @Test func lengthsAreChecked() throws {
        for length in [0, 1, 31, 33, 64] {
            let wrong = [UInt8](repeating: 9, count: length)
            #expect(throws: CryptographyError.badLength(expected: 32, got: length)) {
                try X25519PrivateKey(rawBytes: SecretBytes(copying: wrong))
            }
            #expect(throws: CryptographyError.badLength(expected: 32, got: length)) {
                try X25519PrivateKey.generate().sharedSecret(with: wrong)
            }
        }
    }
}

@Suite struct SystemRandomnessTests {
    @Test func asManyAsAskedForAndNeverTheSame() {
        for count in [0, 1, 7, 8, 9, 16, 32] { #expect(systemRandomBytes(count).count == count) }
        #expect(Set((0..<1000).map { _ in systemRandomBytes(16) }).count == 1000)
        // Each place takes all values sooner or later.
        let seen = (0..<5000).reduce(into: (0..<9).map { _ in Set<UInt8>() }) { seen, _ in
            for (place, byte) in systemRandomBytes(9).enumerated() { seen[place].insert(byte) }
        }
        #expect(seen.allSatisfy { $0.count > 250 })
    }
}
