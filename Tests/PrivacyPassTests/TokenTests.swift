// Structures of every wrong length and with random changes, and what issuer and client refuse.

import Testing

@testable import Cryptography
@testable import PrivacyPass

@Suite struct TokenTests {
    @Test func wrongLengths() throws {
        let token = try TestKeys.token(of: TestKeys.issuer).encoded
        for count in 0...(token.count + 3) where count != 354 {
            #expect(throws: PrivacyPassError.wrongLength(.token, expected: 354, got: count)) {
                try Token(decoding: Array((token + token).prefix(count)))
            }
        }
        let request = try TokenIssuance(key: TestKeys.issuer.publicKey, challenge: TokenChallenge(issuerName: "x")).request
            .encoded
        for count in 0...(request.count + 3) where count != 259 {
            #expect(throws: PrivacyPassError.wrongLength(.tokenRequest, expected: 259, got: count)) {
                try TokenRequest(decoding: Array((request + request).prefix(count)))
            }
        }
        let challenge = try TokenChallenge(
            issuerName: "issuer.example", redemptionContext: [UInt8](repeating: 3, count: 32), originInfo: "a,b"
        ).encoded
        for count in 0..<challenge.count {
            #expect(throws: PrivacyPassError.invalidTokenChallenge) {
                try TokenChallenge(decoding: Array(challenge.prefix(count)))
            }
        }
        let spki = try TestKeys.issuer.publicKey.spki
        for count in 0...(spki.count + 3) where count != 342 {
            #expect(throws: PrivacyPassError.invalidTokenKey) { try TokenPublicKey(spki: Array((spki + spki).prefix(count))) }
        }
        for count in [0, 31, 33] { #expect(TokenKeyID([UInt8](repeating: 1, count: count)) == nil) }
    }

    @Test func wrongTypes() throws {
        var token = try TestKeys.token(of: TestKeys.issuer).encoded
        var request = [0, 2] + [UInt8](repeating: 7, count: 257)
        for type: (UInt8, UInt8) in [(0, 0), (0, 1), (0, 3), (2, 0), (2, 2), (0xDA, 0x7A)] {
            (token[0], token[1]) = type
            (request[0], request[1]) = type
            #expect(throws: PrivacyPassError.unsupportedTokenType(.token)) { try Token(decoding: token) }
            #expect(throws: PrivacyPassError.unsupportedTokenType(.tokenRequest)) { try TokenRequest(decoding: request) }
            #expect(throws: PrivacyPassError.unsupportedTokenType(.tokenChallenge)) {
                try TokenChallenge(decoding: [type.0, type.1, 0, 1, 97, 0, 0, 0])
            }
        }
    }

    @Test func challengesThatCannotBe() {
        for length in [1, 16, 31, 33, 64] {
            #expect(throws: PrivacyPassError.invalidTokenChallenge) {
                try TokenChallenge(issuerName: "a", redemptionContext: [UInt8](repeating: 0, count: length))
            }
        }
        for name in ["", "é", String(repeating: "x", count: 65_536)] {
            #expect(throws: PrivacyPassError.invalidTokenChallenge) { try TokenChallenge(issuerName: name) }
        }
        #expect(throws: PrivacyPassError.invalidTokenChallenge) { try TokenChallenge(issuerName: "a", originInfo: "é") }
        #expect(throws: PrivacyPassError.invalidTokenChallenge) { try TokenChallenge(decoding: [0, 2, 0, 1, 0x80, 0, 0, 0]) }
        #expect(throws: PrivacyPassError.invalidTokenChallenge) {
            try TokenChallenge(decoding: [0, 2, 0, 1, 97, 0, 0, 1, 0xFF])
        }
        #expect(throws: Never.self) {
            let longest = try TokenChallenge(issuerName: String(repeating: "x", count: 65_535))
            #expect(try TokenChallenge(decoding: longest.encoded) == longest)
        }
    }

    /// Whatever is accepted is written as it came; whatever verifies is the original.
    @Test func randomChanges() throws {
        let seed = UInt64.random(in: 0...(.max))
        var numbers = SeededNumbers(seed: seed)
        let issuer = try TestKeys.issuer
        let original = try TestKeys.token(of: issuer)
        let request = try TokenIssuance(key: issuer.publicKey, challenge: TokenChallenge(issuerName: "x")).request.encoded
        let challenge = try TokenChallenge(issuerName: "issuer.example", originInfo: "a").encoded
        var accepted = [0, 0, 0]
        for _ in 0..<3000 {
            let bytes = numbers.mutated(original.encoded)
            if let token = try? Token(decoding: bytes) {
                accepted[0] += 1
                #expect(token.encoded == bytes, "seed \(seed)")
                #expect(issuer.publicKey.verify(token) == (token == original), "seed \(seed)")
            }
            let requestBytes = numbers.mutated(request)
            if let request = try? TokenRequest(decoding: requestBytes) {
                accepted[1] += 1
                #expect(request.encoded == requestBytes, "seed \(seed)")
            }
            let challengeBytes = numbers.mutated(challenge)
            if let challenge = try? TokenChallenge(decoding: challengeBytes) {
                accepted[2] += 1
                #expect(challenge.encoded == challengeBytes, "seed \(seed)")
            }
        }
        #expect(accepted.allSatisfy { $0 > 0 && $0 < 3000 }, "seed \(seed)")
    }

    @Test func blindedMessagesAtTheEndsOfTheRange() throws {
        let issuer = try TestKeys.issuer
        let n = issuer.publicKey.key.modulus
        let zero = [UInt8](repeating: 0, count: 256)
        let (below, above) = (Array(n.dropLast()) + [n[255] - 1], Array(n.dropLast()) + [n[255] + 1])
        let request = { TokenRequest(truncatedKeyID: issuer.publicKey.id.truncated, blindedMessage: $0) }
        for fixed in [zero, Array(zero.dropLast()) + [1], below] { #expect(try issuer.sign(request(fixed)) == fixed) }
        for tooLarge in [n, above, [UInt8](repeating: 0xFF, count: 256)] {
            #expect(throws: PrivacyPassError.invalidTokenRequest) { try issuer.sign(request(tooLarge)) }
        }
    }

    @Test func requestsForAnotherKey() throws {
        let issuer = try TestKeys.issuer
        let message = [UInt8](repeating: 1, count: 256)
        for id in UInt8.min...UInt8.max where id != issuer.publicKey.id.truncated {
            #expect(throws: PrivacyPassError.invalidTokenRequest) {
                try issuer.sign(TokenRequest(truncatedKeyID: id, blindedMessage: message))
            }
        }
    }

    @Test func keysOfOtherSizes() throws {
        let modulus = [UInt8](repeating: 0xFF, count: 384)
        #expect(throws: PrivacyPassError.invalidTokenKey) {
            try TokenPublicKey(RSAPublicKey(modulus: modulus, exponent: [1, 0, 1]))
        }
        #expect(throws: PrivacyPassError.invalidTokenKey) {
            try TokenPublicKey(RSAPublicKey(modulus: Array(modulus.prefix(256)), exponent: [3]))
        }
        var spki = try TestKeys.issuer.publicKey.spki
        spki[81] = 0x7F
        #expect(throws: PrivacyPassError.invalidTokenKey, "2047 bits") { try TokenPublicKey(spki: spki) }
    }

    @Test func answersThatAreNoSignatures() throws {
        let issuer = try TestKeys.issuer
        let issuance = try TokenIssuance(key: issuer.publicKey, challenge: TokenChallenge(issuerName: "x"))
        let response = try issuer.sign(issuance.request)
        for count in [0, 255, 257] {
            #expect(throws: PrivacyPassError.wrongLength(.tokenResponse, expected: 256, got: count)) {
                try issuance.finish(Array((response + [0]).prefix(count)))
            }
        }
        let other = try TestKeys.other
        let foreign = try other.sign(
            TokenRequest(
                truncatedKeyID: other.publicKey.id.truncated,
                blindedMessage: [0x01] + issuance.request.blindedMessage.dropFirst()))
        for wrong in [foreign, [UInt8](repeating: 0, count: 256), [UInt8](repeating: 0xFF, count: 256), response.reversed()] {
            #expect(throws: PrivacyPassError.invalidTokenResponse) { try issuance.finish(wrong) }
        }
        #expect(try issuer.publicKey.verify(issuance.finish(response)))
    }

    /// Nothing that the issuer saw is in the token, and two tokens have nothing in common but the challenge and the key.
    @Test func issuanceAndTokenCannotBeLinked() throws {
        let issuer = try TestKeys.issuer
        let challenge = try TokenChallenge(issuerName: "issuer.example")
        let issuances = try (0..<2).map { _ in try TokenIssuance(key: issuer.publicKey, challenge: challenge) }
        let responses = try issuances.map { try issuer.sign($0.request) }
        let tokens = try zip(issuances, responses).map { try $0.finish($1) }
        #expect(Set(tokens.map(\.nonce)).count == 2 && Set(tokens.map(\.authenticator)).count == 2)
        #expect(Set(tokens.map(\.spentMark)).count == 2 && tokens.allSatisfy { $0.spentMark.count == 16 })
        #expect(tokens.allSatisfy { $0.challengeDigest == challenge.digest && $0.keyID == issuer.publicKey.id })
        for (issuance, response) in zip(issuances, responses) {
            let seen = Set(
                stride(from: 0, to: 256, by: 8).flatMap {
                    [Array(issuance.request.blindedMessage[$0..<($0 + 8)]), Array(response[$0..<($0 + 8)])]
                })
            for token in tokens {
                for start in 0...(token.encoded.count - 8) {
                    #expect(!seen.contains(Array(token.encoded[start..<(start + 8)])))
                }
            }
        }
    }

    @Test func errorsSayWhatWasExpectedAndHoldNoBytes() {
        let error = PrivacyPassError.wrongLength(.tokenRequest, expected: 259, got: 3)
        #expect(error.description == "token request of 3 bytes instead of 259")
        #expect(RSAError.wrongLength(expected: 256, got: 1).description == "1 bytes, where the key's 256 are needed")
    }
}
