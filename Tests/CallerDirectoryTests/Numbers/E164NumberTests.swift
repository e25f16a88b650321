// Packed numbers keep every digit, leading zeros included.

import Testing

@testable import CallerDirectory

@Suite struct E164NumberTests {
    @Test(arguments: [
        "+1", "+0", "+00", "+0912345678", "+886912345678", "+999999999999999", "+100000000000000", "+000000000000001",
    ])
    func roundTrips(text: String) {
        #expect(E164Number(keyword: Array(text.utf8))?.description == text)
    }

    @Test(arguments: ["", "+", "1", "++1", "+1a", "+1234567890123456", "+１"])
    func refuses(text: String) {
        #expect(E164Number(keyword: Array(text.utf8)) == nil)
    }

    @Test func differentTextsDiffer() {
        #expect(E164Number(digits: Array("1".utf8)) != E164Number(digits: Array("01".utf8)))
    }
}
