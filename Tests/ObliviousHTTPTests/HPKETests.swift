// HPKE against the CFRG's vectors for RFC 9180.

import Cryptography
import TestVectors
import Testing

@testable import ObliviousHTTP

struct HPKEVector: Decodable, Sendable {
    struct Encryption: Decodable, Sendable {
        var seq: UInt64
        var aad: HexBytes
        var ct: HexBytes
        var nonce: HexBytes
        var pt: HexBytes
    }

    struct Export: Decodable, Sendable {
        var exporterContext: HexBytes
        var length: Int
        var exportedValue: HexBytes

        enum CodingKeys: String, CodingKey {
            case exporterContext, exportedValue
            case length = "L"
        }
    }

    var aeadId: UInt16
    var info: HexBytes
    var ikmR: HexBytes
    var ikmE: HexBytes
    var skRm: HexBytes
    var skEm: HexBytes
    var pkRm: HexBytes
    var pkEm: HexBytes
    var enc: HexBytes
    var sharedSecret: HexBytes
    var baseNonce: HexBytes
    var exporterSecret: HexBytes
    var encryptions: [Encryption]
    var exports: [Export]

    static func all() throws -> [HPKEVector] {
        try VectorFiles.json(
            "hpke/rfc9180-base-x25519-sha256.json", as: VectorList<HPKEVector>.self, keys: .convertFromSnakeCase
        ).vectors
    }
}

@Suite struct HPKETests {
    @Test func thereIsAVectorForEveryAEAD() throws {
        #expect(try Set(HPKEVector.all().map(\.aeadId)) == Set(HPKEAEAD.allCases.map(\.rawValue)))
    }

    @Test func keysFollowFromTheirMaterial() throws {
        for vector in try HPKEVector.all() {
            let receiver = try KEMSecret.privateKey(from: vector.ikmR.secret)
            let sender = try KEMSecret.privateKey(from: vector.ikmE.secret)
            #expect(try receiver.rawBytes() == vector.skRm.secret && sender.rawBytes() == vector.skEm.secret)
            #expect(receiver.publicKey == vector.pkRm.bytes && sender.publicKey == vector.pkEm.bytes)
        }
    }

    @Test func bothSidesFollowTheVectors() throws {
        for vector in try HPKEVector.all() {
            let aead = try #require(HPKEAEAD(rawValue: vector.aeadId))
            let privateKey = try X25519PrivateKey(rawBytes: vector.skRm.secret)
            let ephemeral = try X25519PrivateKey(rawBytes: vector.skEm.secret)
            var sender = try HPKESender(to: vector.pkRm.bytes, aead: aead, info: vector.info.bytes, ephemeral: ephemeral)
            #expect(sender.encapsulatedKey == vector.enc.bytes)
            var receiver = try HPKEReceiver(
                encapsulatedKey: vector.enc.bytes[...], privateKey: privateKey, aead: aead, info: vector.info.bytes)
            #expect(receiver.schedule.exporterSecret == vector.exporterSecret.secret)
            #expect(receiver.schedule.nonces.base == vector.baseNonce.bytes)
            let secret = try privateKey.sharedSecret(with: vector.enc.bytes)
            #expect(
                try KEMSecret.shared(HKDFSHA256(), secret, encapsulatedKey: vector.enc.bytes, recipient: vector.pkRm.bytes)
                    == vector.sharedSecret.secret)

            var expected = Dictionary(uniqueKeysWithValues: vector.encryptions.map { ($0.seq, $0) })
            let plaintext = try #require(vector.encryptions.first).pt.bytes[...]
            for number in 0...256 as ClosedRange<UInt64> {
                let aad = Array("Count-\(number)".utf8)
                let sealed = try sender.seal(plaintext, authenticating: aad)
                if let known = expected.removeValue(forKey: number) {
                    #expect(known.aad.bytes == aad && known.pt.bytes[...] == plaintext)
                    #expect(receiver.schedule.nonces.nonce(number) == known.nonce.bytes)
                    #expect(sealed == known.ct.bytes)
                }
                #expect(throws: CryptographyError.openingFailed) { try receiver.open(sealed[...], authenticating: aad + [0]) }
                #expect(try receiver.open(sealed[...], authenticating: aad)[...] == plaintext, "a failure costs no nonce")
            }
            #expect(expected.isEmpty)

            for export in vector.exports {
                let value = try sender.export(export.exporterContext.bytes, count: export.length)
                #expect(value == export.exportedValue.secret)
                #expect(try receiver.export(export.exporterContext.bytes, count: export.length) == value)
            }
        }
    }

    @Test func noncesCountThroughEightBytes() throws {
        var nonces = NonceSequence(base: [UInt8](repeating: 0xFF, count: 12))
        #expect(nonces.nonce(0x0102_0304_0506_0708) == [255, 255, 255, 255, 254, 253, 252, 251, 250, 249, 248, 247])
        #expect(try nonces.next() == nonces.base)
        #expect(try nonces.next() == nonces.nonce(1))
        #expect(nonces.number == 2)
    }

    @Test func everySideChecksTheOthersKey() throws {
        let key = try X25519PrivateKey.generate()
        let zero = [UInt8](repeating: 0, count: 32)
        #expect(throws: CryptographyError.lowOrderPoint) {
            _ = try HPKEReceiver(encapsulatedKey: zero[...], privateKey: key, aead: .aes128GCM, info: [])
        }
        #expect(throws: CryptographyError.badLength(expected: 32, got: 31)) {
            _ = try HPKEReceiver(encapsulatedKey: zero.dropLast()[...], privateKey: key, aead: .aes128GCM, info: [])
        }
        #expect(throws: CryptographyError.lowOrderPoint) { try failToSend(to: zero) }
        #expect(throws: CryptographyError.badLength(expected: 32, got: 33)) { try failToSend(to: zero + [1]) }
    }

    private func failToSend(to key: [UInt8]) throws {
        let sender = try HPKESender(to: key, aead: .aes128GCM, info: [])
        _ = sender.encapsulatedKey
    }

    @Test func infoAndAlgorithmsBelongToTheKey() throws {
        let key = try X25519PrivateKey.generate()
        var sender = try HPKESender(to: key.publicKey, aead: .aes256GCM, info: [1, 2])
        let sealed = try sender.seal([7, 8, 9])
        for (aead, info) in [(HPKEAEAD.aes256GCM, [1]), (.chaCha20Poly1305, [1, 2]), (.aes128GCM, [1, 2])] as [(_, [UInt8])] {
            var other = try HPKEReceiver(
                encapsulatedKey: sender.encapsulatedKey[...], privateKey: key, aead: aead, info: info)
            #expect(throws: CryptographyError.openingFailed) { try other.open(sealed[...]) }
        }
        var receiver = try HPKEReceiver(
            encapsulatedKey: sender.encapsulatedKey[...], privateKey: key, aead: .aes256GCM, info: [1, 2])
        #expect(try receiver.open(sealed[...]) == [7, 8, 9])
    }
}
