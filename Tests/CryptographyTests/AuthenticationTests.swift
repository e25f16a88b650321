// SHA-384 (FIPS 180-4 examples), HMAC-SHA-256 (RFC 4231 4) and the comparison of secrets.

import Testing

@testable import Cryptography

@Suite struct AuthenticationTests {
    @Test func sha384KnownAnswers() throws {
        let abc = "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        let none = "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b"
        #expect(hex(try SHA384.hash(Array("abc".utf8))) == abc)
        #expect(hex(try SHA384.hash(Array("a".utf8), [], Array("bc".utf8))) == abc)
        #expect(hex(try SHA384.hash()) == none)
        #expect(hex(try SHA384.hash([])) == none)
    }

    @Test(arguments: [
        (
            String(repeating: "0b", count: 20), "4869205468657265",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "aa", count: 20), String(repeating: "dd", count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            String(repeating: "aa", count: 131),
            "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        ("", "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ])
    func hmacKnownAnswers(key: String, message: String, code: String) throws {
        let hmac = try HMACSHA256(key: bytes(hex: key))
        let copy = hmac
        #expect(hex(try hmac.code(for: bytes(hex: message))) == code)
        #expect(hex(try copy.code(for: bytes(hex: message))) == code, "the key's state is not used up")
        #expect(hex(try hmac.code(for: bytes(hex: message) + [0])) != code)
    }

    @Test func threadsShareAKey() async throws {
        let hmac = try HMACSHA256(key: [1, 2, 3])
        let expected = try (0..<50).map { try hmac.code(for: [UInt8($0)]) }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<50).allSatisfy { (try? hmac.code(for: [UInt8($0)])) == expected[$0] } }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test func comparison() {
        #expect(constantTimeEqual([], []))
        #expect(constantTimeEqual([1, 2, 3], [1, 2, 3]))
        #expect(!constantTimeEqual([1, 2, 3], [1, 2]))
        #expect(!constantTimeEqual([1, 2], [1, 2, 3]))
        for bit in 0..<24 {
            var other: [UInt8] = [1, 2, 3]
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!constantTimeEqual([1, 2, 3], other))
        }
    }
}
