// Issuances, challenges and header fields of RFC 9578 and RFC 9577, and forms of a public key.

import TestVectors
import Testing

@testable import Cryptography
@testable import PrivacyPass

private struct ChallengeVector: Decodable {
    let tokenType, tokenAuthenticatorInput: String
    let issuerName, originInfo, redemptionContext, nonce, tokenKeyId, derivedTokenChallenge: String?
    let issuerNameText: String?
    let originInfoText: [String]?
}

private struct FieldVectors: Decodable {
    struct Vector: Decodable {
        let challenges: [[String: String]]
        let wwwAuthenticate: String
    }
    let vectors: [Vector]
}

private struct KeyForms: Decodable {
    struct Form: Decodable {
        let name, spki, sha256: String
        let accept: Bool
    }
    let forms: [Form]
}

private struct DeviceChallenges: Decodable {
    struct Valid: Decodable { let issuerName, challenge, digest: String }
    struct Invalid: Decodable { let name, challenge: String }
    let valid: [Valid]
    let invalid: [Invalid]
}

@Suite struct RFCVectorTests {
    @Test func issuanceVectorsAreHere() { #expect(IssuanceVector.all.count == 5) }

    @Test(arguments: 0..<5) func issuance(index: Int) throws {
        let vector = IssuanceVector.all[index]
        let issuer = try TokenIssuerKey(RSAPrivateKey(pem: String(decoding: bytes(hex: vector.skS), as: UTF8.self)))
        #expect(hex(issuer.publicKey.spki) == vector.pkS)
        #expect(hex(issuer.publicKey.id.bytes) == vector.derived.tokenKeyId)
        #expect(issuer.publicKey.id.truncated == issuer.publicKey.id.bytes[31])
        #expect(issuer.publicKey.id.shortText == vector.derived.tokenKeyId.prefix(8))
        let key = try TokenPublicKey(spki: bytes(hex: vector.pkS))
        #expect(key == issuer.publicKey)

        let challenge = try TokenChallenge(decoding: bytes(hex: vector.tokenChallenge))
        #expect(hex(challenge.encoded) == vector.tokenChallenge)
        let issuance = try TokenIssuance(
            key: key, challengeDigest: challenge.digest, nonce: bytes(hex: vector.nonce), salt: bytes(hex: vector.salt),
            factor: bytes(hex: vector.blind))
        #expect(hex(issuance.request.encoded) == vector.tokenRequest)
        let request = try TokenRequest(decoding: bytes(hex: vector.tokenRequest))
        #expect(request == issuance.request)
        let response = try issuer.sign(request)
        #expect(hex(response) == vector.tokenResponse)
        let token = try issuance.finish(response)
        #expect(hex(token.encoded) == vector.token)
        #expect(try Token(decoding: bytes(hex: vector.token)) == token)
        #expect(key.verify(token))
        #expect(try !TestKeys.other.publicKey.verify(token))
        #expect(token.spentMark == Array(SHA256.hash(token.keyID.bytes + token.nonce).prefix(16)))
    }

    @Test func challengesAndAuthenticatorInputs() throws {
        let vectors: [ChallengeVector] = try VectorFiles.json(
            "privacypass/rfc9577-challenge-redemption.json", keys: .convertFromSnakeCase)
        let ours = vectors.filter { $0.tokenType == "0002" }
        #expect(vectors.count == 6 && ours.count == 5)
        for vector in ours {
            let text = { (field: String?) in String(decoding: bytes(hex: field ?? ""), as: UTF8.self) }
            let challenge = try TokenChallenge(
                issuerName: text(vector.issuerName), redemptionContext: bytes(hex: vector.redemptionContext ?? ""),
                originInfo: text(vector.originInfo))
            #expect(challenge.issuerName == vector.issuerNameText)
            #expect(challenge.originInfo == vector.originInfoText?.joined(separator: ","))
            #expect(hex(challenge.encoded) == vector.derivedTokenChallenge)
            #expect(try TokenChallenge(decoding: challenge.encoded) == challenge)
            let input = bytes(hex: vector.tokenAuthenticatorInput)
            let token = try Token(decoding: input + [UInt8](repeating: 9, count: 256))
            #expect(token.challengeDigest == challenge.digest)
            #expect(hex(token.nonce) == vector.nonce)
            #expect(hex(token.keyID.bytes) == vector.tokenKeyId)
            #expect(token.authenticatorInput == input && token.authenticator == [UInt8](repeating: 9, count: 256))
        }
    }

    @Test func challengeFields() throws {
        let vectors = try VectorFiles.json(
            "privacypass/rfc9577-www-authenticate.json", as: FieldVectors.self, keys: .convertFromSnakeCase
        ).vectors
        #expect(vectors.count == 3)
        for vector in vectors {
            let challenges = try PrivateTokenChallenge.challenges(in: vector.wwwAuthenticate)
            #expect(challenges.count == vector.challenges.count)
            for (challenge, expected) in zip(challenges, vector.challenges) {
                #expect(hex(challenge.challenge) == expected["token-challenge"])
                #expect(challenge.tokenKey.map { hex($0) } == expected["token-key"])
                #expect(challenge.maxAge.map(String.init) == expected["max-age"])
                #expect(challenge.tokenType == UInt16(expected["token-type"] ?? "", radix: 16))
                guard challenge.tokenType == 2 else {
                    #expect(throws: PrivacyPassError.unsupportedTokenType(.tokenChallenge)) { try challenge.decoded() }
                    continue
                }
                let key = try TokenPublicKey(spki: #require(challenge.tokenKey))
                let own = try PrivateTokenChallenge(challenge.decoded(), key: key, maxAge: challenge.maxAge)
                #expect(own == challenge)
                #expect(try PrivateTokenChallenge.challenges(in: own.fieldValue) == [challenge])
                #expect(vector.wwwAuthenticate.contains(own.fieldValue.prefix { $0 != "," }), "padded as in the samples")
            }
        }
    }

    @Test func formsOfAPublicKey() throws {
        let forms = try VectorFiles.json("privacypass/spki-forms.json", as: KeyForms.self, keys: .convertFromSnakeCase).forms
        #expect(forms.count == 6 && forms.filter(\.accept).count == 1)
        for form in forms {
            let spki = bytes(hex: form.spki)
            #expect(hex(SHA256.hash(spki)) == form.sha256)
            if form.accept {
                let key = try TokenPublicKey(spki: spki)
                #expect(key.spki == spki && hex(key.id.bytes) == form.sha256)
                #expect(try TokenPublicKey(key.key) == key)
            } else {
                #expect(throws: PrivacyPassError.invalidTokenKey, "\(form.name)") { try TokenPublicKey(spki: spki) }
            }
        }
    }

    @Test func challengesOfPhones() throws {
        let vectors: DeviceChallenges = try VectorFiles.json("privacypass/token-challenges.json", keys: .convertFromSnakeCase)
        #expect(vectors.valid.count == 5 && vectors.invalid.count == 9)
        for vector in vectors.valid {
            let challenge = try TokenChallenge(issuerName: vector.issuerName)
            #expect(hex(challenge.encoded) == vector.challenge && hex(challenge.digest) == vector.digest)
            #expect(try TokenChallenge(decoding: bytes(hex: vector.challenge)) == challenge)
        }
        for vector in vectors.invalid {
            #expect(throws: PrivacyPassError.invalidTokenChallenge, "\(vector.name)") {
                try TokenChallenge(decoding: bytes(hex: vector.challenge))
            }
        }
    }
}
