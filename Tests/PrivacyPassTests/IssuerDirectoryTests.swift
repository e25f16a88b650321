// The issuer directory: its text, and hostile ones.

import Testing

@testable import PrivacyPass

@Suite struct IssuerDirectoryTests {
    private func directory() throws -> IssuerDirectory {
        try IssuerDirectory(
            requestURI: "/issue",
            keys: [.init(key: TestKeys.other.publicKey, notBefore: 1_800_000_000), .init(key: TestKeys.issuer.publicKey)])
    }

    private func parse(_ text: String) throws -> IssuerDirectory { try IssuerDirectory(json: Array(text.utf8)) }

    @Test func text() throws {
        let directory = try directory()
        let keys = try [TestKeys.other, TestKeys.issuer].map { Base64.urlText($0.publicKey.spki, padded: true) }
        #expect(keys.allSatisfy { $0.count == 456 && !$0.contains("=") })
        let text =
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[{\"token-type\":2,\"token-key\":\"\(keys[0])\","
            + "\"not-before\":1800000000},{\"token-type\":2,\"token-key\":\"\(keys[1])\"}]}"
        #expect(String(decoding: directory.json, as: UTF8.self) == text)
        #expect(try parse(text) == directory)
    }

    @Test func firstUsableKey() throws {
        let directory = try directory()
        let (announced, old) = try (TestKeys.other.publicKey, TestKeys.issuer.publicKey)
        #expect(directory.usableKey(at: 1_799_999_999) == old)
        #expect(directory.usableKey(at: 1_800_000_000) == announced)
        #expect(directory.contains(announced.id) && directory.contains(old.id))
        #expect(try !IssuerDirectory(requestURI: "/issue", keys: []).contains(old.id))
        #expect(try IssuerDirectory(requestURI: "x", keys: [.init(key: old, notBefore: 5)]).usableKey(at: 4) == nil)
    }

    @Test func whatOthersWrite() throws {
        let key = try Base64.urlText(TestKeys.issuer.publicKey.spki, padded: false)
        let text = """
            { "policy": {"a": [1, null]}, "token-keys": [
                {"token-type": 1, "token-key": 7, "not-before": "soon"}, {"token-type": 65535},
                {"version": 3, "token-key": "\(key)", "token-type": 2, "not-before": 0}
            ], "issuer-request-uri": "https:\\/\\/issuer.example\\/token-request" }
            """
        let directory = try parse(text)
        #expect(directory.requestURI == "https://issuer.example/token-request")
        #expect(try directory.keys == [.init(key: TestKeys.issuer.publicKey, notBefore: 0)])
    }

    @Test func refused() throws {
        let key = try Base64.urlText(TestKeys.issuer.publicKey.spki, padded: false)
        let item = "{\"token-type\":2,\"token-key\":\"\(key)\"}"
        let wrong = [
            "", "{", "[]", "null", "{}", "{\"issuer-request-uri\":\"/issue\"}", "{\"token-keys\":[]}",
            "{\"issuer-request-uri\":7,\"token-keys\":[]}", "{\"issuer-request-uri\":\"\",\"token-keys\":[]}",
            "{\"issuer-request-uri\":\"/is sue\",\"token-keys\":[]}",
            "{\"issuer-request-uri\":\"/issue\\u0000\",\"token-keys\":[]}",
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":{}}", "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[7]}",
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[{}]}",
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[{\"token-type\":\"2\"}]}",
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[{\"token-type\":2}]}",
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[{\"token-type\":2,\"token-key\":\"AAAA\"}]}",
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[\(item.dropLast()),\"not-before\":-1}]}",
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[\(item.dropLast()),\"not-before\":1.5}]}",
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[\(item.dropLast()),\"not-before\":99999999999999999999}]}",
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[\(item)]} x",
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[\(item.replacing("_", with: "/").replacing("-t", with: "+t"))]}",
            String(repeating: "[", count: 50_000),
            "{\"issuer-request-uri\":\"/issue\",\"token-keys\":[],\"x\":\"" + String(repeating: "y", count: 100_000) + "\"}",
        ]
        for text in wrong {
            #expect(throws: PrivacyPassError.invalidDirectory, "\(text.prefix(80))") { try parse(text) }
        }
        let many = Array(repeating: item, count: 64).joined(separator: ",")
        #expect(try parse("{\"issuer-request-uri\":\"/issue\",\"token-keys\":[\(many)]}").keys.count == 64)
    }

    @Test func addressesThatCannotBe() throws {
        for uri in ["", " ", "/is\nsue", "/é", String(repeating: "x", count: 2049)] {
            #expect(throws: PrivacyPassError.invalidDirectory) { try IssuerDirectory(requestURI: uri, keys: []) }
        }
        let odd = try IssuerDirectory(requestURI: "/a\"b\\c", keys: [])
        #expect(try IssuerDirectory(json: odd.json) == odd)
    }

    @Test func cutsAndRandomChanges() throws {
        let json = try directory().json
        for count in 0..<json.count {
            #expect(throws: PrivacyPassError.invalidDirectory) { try IssuerDirectory(json: Array(json.prefix(count))) }
        }
        let seed = UInt64.random(in: 0...(.max))
        var numbers = SeededNumbers(seed: seed)
        for _ in 0..<1000 {
            if let directory = try? IssuerDirectory(json: numbers.mutated(json)) {
                #expect(try IssuerDirectory(json: directory.json) == directory, "seed \(seed)")
            }
        }
    }
}
