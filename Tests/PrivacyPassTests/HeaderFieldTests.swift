// `Authorization` and `WWW-Authenticate`: the vectors, and what hostile fields may look like.

import TestVectors
import Testing

@testable import PrivacyPass

private struct PrivateTokenFields: Decodable {
    struct Field: Decodable { let name, authorization: String }
    let token, publicKeySpki: String
    let accept, reject: [Field]
}

private struct BearerFields: Decodable {
    struct UserToken: Decodable {
        let name, secretHex, authorizationBase64: String
        let authorizationText: String?
    }
    let userTokens: [UserToken]
}

@Suite struct HeaderFieldTests {
    /// Well-formed, but the signature or the key is wrong.
    private static let wellFormed: Set<String> = [
        "flipped signature bit", "flipped nonce bit", "unknown key id", "signature zero", "signature all ones",
    ]

    @Test func privateTokens() throws {
        let fields: PrivateTokenFields = try VectorFiles.json(
            "privacypass/authorization-headers.json", keys: .convertFromSnakeCase)
        let key = try TokenPublicKey(spki: bytes(hex: fields.publicKeySpki))
        #expect(fields.accept.count == 8 && fields.reject.count == 17)
        for field in fields.accept {
            let token = try PrivateTokenAuthorization.token(in: field.authorization)
            #expect(hex(token.encoded) == fields.token, "\(field.name)")
            #expect(key.verify(token), "\(field.name)")
            if field.name == "as iOS sends it" { #expect(PrivateTokenAuthorization.text(for: token) == field.authorization) }
        }
        for field in fields.reject {
            if Self.wellFormed.contains(field.name) {
                let token = try PrivateTokenAuthorization.token(in: field.authorization)
                #expect(!key.verify(token), "\(field.name)")
            } else {
                #expect(throws: PrivacyPassError.invalidAuthorization, "\(field.name)") {
                    try PrivateTokenAuthorization.token(in: field.authorization)
                }
            }
        }
    }

    @Test func moreFormsOfPrivateTokens() throws {
        let token = try TestKeys.token(of: TestKeys.issuer)
        let text = Base64.urlText(token.encoded, padded: false)
        let right = [
            "PRIVATETOKEN token=\(text)", "PrivateToken token=\(text) ", "PrivateToken token=\"\(text)\" , x=1",
            "PrivateToken x=\"\\\"token=\\\"\", token=\(text)", "PrivateToken \t token =\t\(text)",
            "PrivateToken token=\(text),",
            "PrivateToken token=\"\(text.map { "\\\($0)" }.joined())\"", "PrivateToken x=a/b==, token=\(text)",
        ]
        for field in right { #expect(try PrivateTokenAuthorization.token(in: field) == token, "\(field.prefix(40))") }
        let swapped = text.replacing("-", with: "+").replacing("_", with: "/")
        let wrong = [
            "PrivateToken\(text)", "PrivateTokentoken=\(text)", "PrivateToken=token=\(text)", "token=\(text)",
            "PrivateToken token=\(text)=", "PrivateToken token=\(text)==", "PrivateToken token=\(text);",
            "PrivateToken token \(text)",
            "PrivateToken token=\(text) x=1", "PrivateToken token=\(text), PrivateToken token=\(text)",
            "PrivateToken token=\(text), Bearer x", "Bearer x, PrivateToken token=\(text)", "PrivateToken token=\"\(text)",
            "PrivateToken token=\"\(text)\\\"", "PrivateToken token=\"\(text)\"\"", "PrivateToken token=\"\(text)\"x",
            "PrivateToken tok\u{E9}n=\(text)", "PrivateToken TOKEN=\(text), token=\(text)", "PrivateToken x, token=\(text)",
            "PrivateToken =\(text)", "PrivateToken token=,token=\(text)", "PrivateToken token='\(text)'", "PrivateToken  ",
            "PrivateToken token=\"\u{1}\(text)\"", "PrivateToken token=\"\"", "PrivateToken token=\(text.dropLast(2))",
            "PrivateToken token=\(text), x=\"" + String(repeating: "y", count: 17_000) + "\"",
            "PrivateToken token=\(swapped)+/",
            swapped == text ? "" : "PrivateToken token=\(swapped)", "PrivateToken token=\(text)\0",
        ]
        for field in wrong {
            #expect(throws: PrivacyPassError.invalidAuthorization, "\(field.prefix(40))…") {
                try PrivateTokenAuthorization.token(in: field)
            }
        }
    }

    @Test func userTokens() throws {
        let vectors: BearerFields = try VectorFiles.json("privacypass/bearer-headers.json", keys: .convertFromSnakeCase)
        #expect(vectors.userTokens.count == 4)
        for vector in vectors.userTokens {
            let base64 = try #require(BearerAuthorization.credential(in: vector.authorizationBase64))
            #expect(vector.authorizationBase64 == "Bearer \(base64)")
            if let authorization = vector.authorizationText {
                let secret = String(decoding: bytes(hex: vector.secretHex), as: UTF8.self)
                let accepted = BearerAuthorization.credentials(ofUserToken: secret)
                #expect(BearerAuthorization.credential(in: authorization) == secret)
                #expect(accepted == [secret, base64], "\(vector.name)")
            } else {
                // Bytes that are no text: the configuration names their base64.
                #expect(BearerAuthorization.credentials(ofUserToken: base64).first == base64, "\(vector.name)")
            }
        }
    }

    @Test func credentialsOfBearerFields() {
        let longest = String(repeating: "x", count: 4096)
        for (field, credential) in [
            ("Bearer x", "x"), ("bearer  x", "x"), ("BEARER a.b_c-d~+/=", "a.b_c-d~+/="), ("Bearer !\"#,;'()", "!\"#,;'()"),
            ("Bearer \(longest)", longest),
        ] {
            #expect(BearerAuthorization.credential(in: field) == credential)
        }
        for field in [
            "", "Bearer", "Bearer ", "Bearer  ", "Bearerx", "Bearer\tx", "Basic x", " Bearer x", "Bearer x y", "Bearer x ",
            "Bearer é",
            "Bearer x\u{7F}", "Bearer \n", "Bearer x\r\n", "Bearer \0", "Bearer \(longest)x", "\u{212A}earer x",
        ] {
            #expect(BearerAuthorization.credential(in: field) == nil, "\(field.prefix(20))")
        }
    }

    @Test func credentialsOfUserTokens() {
        #expect(BearerAuthorization.credentials(ofUserToken: "") == [])
        #expect(BearerAuthorization.credentials(ofUserToken: "two words") == ["dHdvIHdvcmRz"])
        #expect(BearerAuthorization.credentials(ofUserToken: "é") == ["w6k="])
        #expect(BearerAuthorization.credentials(ofUserToken: "a\n") == ["YQo="])
        let long = String(repeating: "x", count: 3073)
        #expect(BearerAuthorization.credentials(ofUserToken: long) == [long], "its base64 is longer than a credential may be")
        #expect(BearerAuthorization.credentials(ofUserToken: String(repeating: "x", count: 4097)) == [])
    }

    @Test func malformedChallengeFields() throws {
        for field in [
            "PrivateToken", "PrivateToken challenge=\"AA==\"", "PrivateToken challenge=\"AAIA", "PrivateToken challenge=AA+A",
            "PrivateToken challenge=AAIA, challenge=AAIA", "PrivateToken challenge=AAIA, token-key=\"!\"",
            "PrivateToken challenge=AAIA, max-age=-1", "PrivateToken challenge=AAIA, max-age=99999999999", "challenge=AAIA",
            "\"",
            "PrivateToken challenge=AAIA, max-age=\"\"", "PrivateToken challenge=AAIA max-age=1", "Basic, PrivateToken ==",
        ] {
            #expect(throws: PrivacyPassError.invalidChallengeField, "\(field)") {
                try PrivateTokenChallenge.challenges(in: field)
            }
        }
        #expect(try PrivateTokenChallenge.challenges(in: "") == [])
        #expect(try PrivateTokenChallenge.challenges(in: "Bearer, Basic realm=\"x\", Digest abc==").isEmpty)
        let bare = try PrivateTokenChallenge.challenges(in: "Negotiate abc=, privatetoken Challenge=AAIA,, ,max-age=7")
        #expect(bare.count == 1 && bare[0].challenge == [0, 2, 0] && bare[0].tokenKey == nil && bare[0].maxAge == 7)
    }

    @Test func randomChanges() throws {
        let seed = UInt64.random(in: 0...(.max))
        var numbers = SeededNumbers(seed: seed)
        let token = try TestKeys.token(of: TestKeys.issuer)
        let challenge = try PrivateTokenChallenge(
            TokenChallenge(issuerName: "issuer.example"), key: TestKeys.issuer.publicKey, maxAge: 10)
        let fields = [PrivateTokenAuthorization.text(for: token), "Basic a=b, " + challenge.fieldValue, "Bearer QUFBQQ=="]
        var accepted = 0
        for round in 0..<3000 {
            let field = String(decoding: numbers.mutated(Array(fields[round % 3].utf8)), as: UTF8.self)
            if let token = try? PrivateTokenAuthorization.token(in: field) {
                accepted += 1
                #expect(
                    try PrivateTokenAuthorization.token(in: PrivateTokenAuthorization.text(for: token)) == token, "seed \(seed)"
                )
            }
            for challenge in (try? PrivateTokenChallenge.challenges(in: field)) ?? [] {
                accepted += 1
                #expect(try PrivateTokenChallenge.challenges(in: challenge.fieldValue) == [challenge], "seed \(seed)")
            }
            if let credential = BearerAuthorization.credential(in: field) {
                accepted += 1
                #expect(BearerAuthorization.credential(in: "Bearer \(credential)") == credential, "seed \(seed)")
            }
        }
        #expect(accepted > 0 && accepted < 3000, "seed \(seed)")
    }
}
