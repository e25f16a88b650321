// SHA-256 against known answers (FIPS 180-4 examples), whole and in pieces.

import Testing

@testable import Cryptography

@Suite struct HashingTests {
    static let known: [(message: [UInt8], digest: String)] = [
        ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (Array("abc".utf8), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ]

    @Test func knownAnswers() {
        for (message, digest) in Self.known { #expect(hex(SHA256.hash(message)) == digest) }
        #expect(hex(SHA256.hash(Array("+14085551212".utf8)).prefix(8)) == "479dedc04015dce7")
    }

    @Test func piecesGiveTheSameAndFinishStartsOver() {
        let message = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let whole = SHA256.hash(message)
        var hasher = SHA256()
        for cut in [0, 1, 55, 56, 63, 64, 65, 999, 1000] {
            hasher.update(message[..<cut])
            message[cut...].withUnsafeBytes { hasher.update(buffer: $0) }
            #expect(hasher.finish() == whole, "cut at \(cut)")
        }
        hasher.update(AnySequence(message))
        #expect(hasher.finish() == whole, "a sequence without storage")
        #expect(hex(hasher.finish()) == Self.known[0].digest)
    }

    @Test func firstWordIsLittleEndian() {
        var hasher = SHA256()
        for message in Self.known.map(\.message) {
            let expected = SHA256.hash(message).prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            #expect(message.withUnsafeBytes { hasher.firstWord($0) } == expected)
        }
        #expect(hasher.firstWord(UnsafeRawBufferPointer(start: nil, count: 0)) == 0x141c_fc98_42c4_b0e3)
    }
}
