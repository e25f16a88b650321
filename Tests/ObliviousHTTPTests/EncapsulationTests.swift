// Encapsulated requests and responses: round trips of all sizes, every cut, and everything that must not open.

import Cryptography
import Testing

@testable import ObliviousHTTP

@Suite struct EncapsulationTests {
    /// Equal bytes in a row would hide a shift.
    static func message(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 >> 3) } }

    func keys() throws -> (GatewayKeySet, GatewayKey) {
        let key = try GatewayKey(id: 9, privateKey: .generate())
        return (try GatewayKeySet([key, GatewayKey(id: 10, privateKey: .generate(), aeads: [.aes128GCM])]), key)
    }

    @Test(arguments: HPKEAEAD.allCases, [0, 1, 15, 16, 17, 28_000, 681_000])
    func roundTrip(aead: HPKEAEAD, count: Int) throws {
        let (keys, key) = try keys()
        let message = Self.message(count)
        let sealed = try key.configuration.encapsulate(message, aead: aead)
        #expect(sealed.bytes.count == count + GatewayKeySet.shortestRequest)
        let opened = try keys.open(sealed.bytes)
        #expect(opened.plaintext.elementsEqual(message) && opened.keyID == 9)
        let answers = try [opened.responseSealer.seal(message), opened.responseSealer.seal(message[...])]
        #expect(answers[0] != answers[1] && answers[0].count == count + opened.responseSealer.overhead)
        for answer in answers { #expect(try sealed.responseOpener.open(answer).elementsEqual(message)) }
    }

    @Test(arguments: HPKEAEAD.allCases) func answersAreSealedInPlace(aead: HPKEAEAD) throws {
        let (keys, key) = try keys()
        let sealed = try key.configuration.encapsulate([1], aead: aead)
        let sealer = try keys.open(sealed.bytes).responseSealer
        let response = BinaryResponse(status: 200, content: Self.message(3000)[...])
        let encoding = BinaryEncoding(paddingMultiple: 512)
        let plain = try response.encoded(encoding)
        let behind = try response.encoded(encoding, behind: sealer.nonceLength, before: 16)
        #expect(behind == [UInt8](repeating: 0, count: sealer.nonceLength) + plain && plain.count % 512 == 0)
        var answers = [behind, behind]
        for i in answers.indices { try sealer.seal(inPlace: &answers[i]) }
        #expect(answers[0].count == plain.count + sealer.overhead && answers[0].prefix(12) != answers[1].prefix(12))
        for answer in answers { #expect(try sealed.responseOpener.open(answer).elementsEqual(plain)) }
        var short = [UInt8](repeating: 0, count: sealer.nonceLength - 1)
        #expect(throws: CryptographyError.badLength(expected: sealer.nonceLength, got: short.count)) {
            try sealer.seal(inPlace: &short)
        }
        #expect(short.count == sealer.nonceLength - 1)
    }

    @Test func largestUpload() throws {
        let (keys, key) = try keys()
        let content = [UInt8](repeating: 0xA5, count: 11_900 * 1024)
        let request = BinaryRequest(method: "POST", authority: "pir.example.org", path: "/key", content: content[...])
        let sealed = try key.configuration.encapsulate(request.encoded())
        let opened = try keys.open(sealed.bytes)
        let arrived = try BinaryRequest(decoding: opened.plaintext)
        #expect(arrived.content == request.content && arrived.fields == [BinaryField("content-length", "\(content.count)")])
    }

    @Test func theCallersBufferStaysAsItIs() throws {
        let (keys, key) = try keys()
        let sealed = try key.configuration.encapsulate([1, 2, 3])
        let kept = sealed.bytes
        _ = try keys.open(kept)
        #expect(kept == sealed.bytes)
        #expect(try keys.open(kept).plaintext == [1, 2, 3])
    }

    @Test func noPartOfARequestOpens() throws {
        let (keys, key) = try keys()
        let sealed = try key.configuration.encapsulate(Self.message(40))
        for cut in 0..<sealed.bytes.count {
            let expected: EncapsulationError = cut < 55 ? .malformed : .cannotOpen
            #expect(throws: expected, "\(cut) bytes") { try keys.open(Array(sealed.bytes[..<cut])) }
        }
        #expect(throws: EncapsulationError.cannotOpen) { try keys.open(sealed.bytes + [0]) }
        let answer = try keys.open(sealed.bytes).responseSealer.seal(Self.message(40))
        for cut in 0..<answer.count {
            let expected: EncapsulationError = cut < 32 ? .malformed : .cannotOpen
            #expect(throws: expected, "\(cut) bytes") { try sealed.responseOpener.open(Array(answer[..<cut])) }
        }
    }

    @Test func everyChangedBitIsNoticed() throws {
        let (keys, key) = try keys()
        let sealed = try key.configuration.encapsulate([1, 2, 3])
        for place in sealed.bytes.indices {
            for bit in 0..<8 {
                var bad = sealed.bytes
                bad[place] ^= 1 << UInt8(bit)
                let expected: EncapsulationError
                switch place {
                // Key 10 exists too, and has other algorithms: not this public key, though.
                case 0: expected = bad[0] == 10 ? .cannotOpen : .unknownKey
                case 1..<5: expected = .unsupportedSuite
                case 5, 6: expected = bad[5] == 0 && (1...3).contains(bad[6]) ? .cannotOpen : .unsupportedSuite
                // The top bit of a public key is ignored by Diffie-Hellman, and still is a part of the context.
                default: expected = .cannotOpen
                }
                #expect(throws: expected, "byte \(place), bit \(bit)") { try keys.open(bad) }
            }
        }
        let answer = try keys.open(sealed.bytes).responseSealer.seal([4, 5])
        for place in answer.indices {
            var bad = answer
            bad[place] ^= 0x80
            #expect(throws: EncapsulationError.cannotOpen) { try sealed.responseOpener.open(bad) }
        }
    }

    @Test func algorithmsMustBeListed() throws {
        let key = try GatewayKey(id: 1, privateKey: .generate(), aeads: [.chaCha20Poly1305])
        let wide = try KeyConfiguration(
            id: 1, publicKey: key.configuration.publicKey, algorithms: HPKEAEAD.allCases.map { .init($0) })
        let keys = try GatewayKeySet([key])
        for aead in HPKEAEAD.allCases {
            let sealed = try wide.encapsulate([1], aead: aead)
            if aead == .chaCha20Poly1305 {
                #expect(try keys.open(sealed.bytes).plaintext == [1])
            } else {
                #expect(throws: EncapsulationError.unsupportedSuite) { try keys.open(sealed.bytes) }
            }
        }
    }

    @Test func aKeyOfLowOrderIsAFailedOpening() throws {
        let (keys, key) = try keys()
        let sealed = try key.configuration.encapsulate(Self.message(100))
        for first in [0, 1] as [UInt8] {
            var bad = sealed.bytes
            bad.replaceSubrange(7..<39, with: [first] + [UInt8](repeating: 0, count: 31))
            #expect(throws: EncapsulationError.cannotOpen) { try keys.open(bad) }
        }
        let configuration = try KeyConfiguration(
            id: 1, publicKey: [UInt8](repeating: 0, count: 32), algorithms: [.init(.aes128GCM)])
        #expect(throws: EncapsulationError.malformed) { try configuration.encapsulate([1]) }
        #expect(throws: EncapsulationError.malformed) { _ = try configuration.encapsulateChunked().responseOpener() }
    }

    @Test func anotherKeyUnderTheSameIDDoesNotOpen() throws {
        let (keys, _) = try keys()
        let other = try GatewayKey(id: 9, privateKey: .generate())
        #expect(throws: EncapsulationError.cannotOpen) { try keys.open(other.configuration.encapsulate([1]).bytes) }
        #expect(throws: RepeatedKeyID(id: 9)) { try GatewayKeySet([other, other]) }
        #expect(keys.ids == [9, 10] && keys[10]?.id == 10 && keys[11] == nil)
    }

    @Test func answersBelongToTheirRequest() throws {
        let (keys, key) = try keys()
        let (first, second) = (try key.configuration.encapsulate([1]), try key.configuration.encapsulate([1]))
        #expect(first.bytes != second.bytes)
        let answer = try keys.open(first.bytes).responseSealer.seal([7])
        #expect(throws: EncapsulationError.cannotOpen) { try second.responseOpener.open(answer) }
        #expect(try first.responseOpener.open(answer) == [7])
    }
}
