// Base64 against RFC 4648 section 10, and texts that a strict reader refuses.

import Testing

@testable import PrivacyPass

@Suite struct Base64Tests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func knownAnswers(plain: String, text: String) {
        #expect(Base64.standardText(Array(plain.utf8)) == text)
        #expect(Base64.urlText(Array(plain.utf8), padded: true) == text)
        let bare = String(text.prefix { $0 != "=" })
        #expect(Base64.urlText(Array(plain.utf8), padded: false) == bare)
        for form in [text, bare] { #expect(Base64.urlBytes(Array(form.utf8), limit: 6) == Array(plain.utf8), "\(form)") }
    }

    @Test func bothAlphabets() {
        #expect(Base64.standardText([0xFB, 0xEF, 0xFF]) == "++//")
        #expect(Base64.urlText([0xFB, 0xEF, 0xFF], padded: true) == "--__")
        #expect(Base64.urlBytes(Array("--__".utf8), limit: 3) == [0xFB, 0xEF, 0xFF])
    }

    @Test(arguments: [
        "++//", "Zg=", "Zg===", "Z", "Z===", "=", "==", "====", "Zm8==", "Zh==", "Zh", "Zm9=", "Zm9", "Zm 9v", "Zm9v\n",
        "Zm9v====",
        "Zg==Zg==", "Zm9vÿ",
    ])
    func refused(text: String) { #expect(Base64.urlBytes(Array(text.utf8), limit: 100) == nil) }

    @Test func limit() {
        for count in 0..<20 {
            let text = Array(Base64.urlText([UInt8](repeating: 7, count: count), padded: true).utf8)
            #expect(Base64.urlBytes(text, limit: count)?.count == count)
            #expect(count == 0 || Base64.urlBytes(text, limit: count - 1) == nil)
        }
    }
}
