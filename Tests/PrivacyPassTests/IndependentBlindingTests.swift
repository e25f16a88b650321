// A client, an issuer and a verifier in Python (Tests/Oracles/privacypass_oracle.py, PyPI `cryptography`) against ours.

import Foundation
import TestOracles
import Testing

@testable import Cryptography
@testable import PrivacyPass

private enum BlindingOracle {
    private static let script = PythonOracle("privacypass_oracle.py")

    static let isAvailable = script.isAvailable

    static func ask<Job: Encodable, Answer: Decodable>(_ command: String, _ job: Job) throws -> Answer {
        try JSONDecoder().decode(Answer.self, from: script.output([command], input: JSONEncoder().encode(job)))
    }
}

@Suite(.enabled(if: BlindingOracle.isAvailable, "Python's `cryptography` is not here (scripts/setup installs it)"))
struct IndependentBlindingTests {
    private struct Issuance: Codable { let request, input, r: String }

    private struct RequestJob: Encodable {
        let spki, issuer: String
        let count: Int
    }

    private struct FinishJob: Encodable {
        let spki: String
        let issuances: [Issuance]
        let responses: [String]
    }

    private struct VerifyJob: Encodable {
        let spki: String
        let tokens: [String]
    }

    private struct SignJob: Encodable {
        let pem: String
        let passphrase: String?
        let requests: [String]
    }

    @Test func anotherClientGetsTokensFromOurIssuer() throws {
        let issuer = try TestKeys.other
        let spki = hex(issuer.publicKey.spki)
        let issuances: [Issuance] = try BlindingOracle.ask(
            "request", RequestJob(spki: spki, issuer: "issuer.example", count: 10))
        #expect(issuances.count == 10)
        let responses = try issuances.map { try issuer.sign(TokenRequest(decoding: bytes(hex: $0.request))) }
        let tokens: [String] = try BlindingOracle.ask(
            "finish", FinishJob(spki: spki, issuances: issuances, responses: responses.map { hex($0) }))
        #expect(Set(tokens).count == 10)
        let digest = try TokenChallenge(issuerName: "issuer.example").digest
        for text in tokens {
            let token = try Token(decoding: bytes(hex: text))
            #expect(issuer.publicKey.verify(token) && token.challengeDigest == digest)
        }
        // The other client notices an answer to another request.
        #expect(throws: PythonOracle.Failure.self) {
            let _: [String] = try BlindingOracle.ask(
                "finish", FinishJob(spki: spki, issuances: issuances, responses: responses.reversed().map { hex($0) }))
        }
    }

    @Test func anotherVerifierAcceptsOurTokens() throws {
        let issuer = try TestKeys.other
        let tokens = try (0..<10).map { _ in try TestKeys.token(of: issuer).encoded }
        let changed = tokens.enumerated().map { index, token in
            var token = token
            token[index * 35 + 2] ^= 0x10
            return token
        }
        let verdicts: [Bool] = try BlindingOracle.ask(
            "verify", VerifyJob(spki: hex(issuer.publicKey.spki), tokens: (tokens + changed).map { hex($0) }))
        #expect(verdicts == Array(repeating: true, count: 10) + Array(repeating: false, count: 10))
    }

    @Test(arguments: [nil, "correct horse battery staple"] as [String?])
    func anotherIssuerReadsOurKeysAndSignsTheSame(passphrase: String?) throws {
        let key = try RSAPrivateKey.generate()
        let issuer = try TokenIssuerKey(key)
        let challenge = try TokenChallenge(issuerName: "issuer.example")
        let issuances = try (0..<5).map { _ in try TokenIssuance(key: issuer.publicKey, challenge: challenge) }
        let pem = try key.pem(passphrase: passphrase.map { Array($0.utf8) })
        let responses: [String] = try BlindingOracle.ask(
            "sign", SignJob(pem: pem, passphrase: passphrase, requests: issuances.map { hex($0.request.encoded) }))
        #expect(responses.count == 5)
        for (issuance, response) in zip(issuances, responses) {
            #expect(try hex(issuer.sign(issuance.request)) == response)
            #expect(try issuer.publicKey.verify(issuance.finish(bytes(hex: response))))
        }
    }
}
