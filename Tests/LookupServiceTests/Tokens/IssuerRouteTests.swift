// The issuer as a phone and as an attacker see it (service.md 2.4 to 2.7, 1.12; field cases F25, F48).

import CallerDirectory
import Foundation
import HTTPCore
import PrivacyPass
import Testing

@testable import LookupService

@Suite("The issuer's routes")
struct IssuerRouteTests {
    private static let directoryPath = "/.well-known/private-token-issuer-directory"

    @Test("the directory is public, cacheable, and the default tier's key stands first")
    func directory() throws {
        let subject = try TokenServiceUnderTest()
        let answer = subject.call("GET", Self.directoryPath)
        #expect(answer.status == 200 && answer.fields["content-type"] == "application/private-token-issuer-directory")
        #expect(answer.fields["cache-control"] == "public, max-age=86400")
        let directory = try subject.directory()
        #expect(directory.requestURI == "/issue" && directory.keys.count == 2)
        #expect(try subject.tokenKey("AAAA") == directory.keys[0].key && directory.keys[0].notBefore == nil)
        #expect(try subject.tokenKey("BBBB") == directory.keys[1].key)
        let tag = try #require(answer.fields["etag"])
        for names in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
            let second = subject.call("GET", Self.directoryPath, ["if-none-match": names])
            #expect(second.status == 304 && second.body.isEmpty && second.fields["etag"] == tag, "\(names)")
        }
        #expect(subject.call("GET", Self.directoryPath, ["if-none-match": "\"other\""]).status == 200)
        #expect(subject.call("HEAD", Self.directoryPath).status == 200)
        let refused = subject.call("POST", Self.directoryPath)
        #expect(refused.status == 405 && refused.fields["allow"] == "GET, HEAD")
        // Whoever asks and however, it is the same.
        let other = subject.call("GET", Self.directoryPath, ["authorization": "Bearer BBBB", "user-agent": "x"])
        #expect(other.body == answer.body && other.fields["etag"] == tag)
    }

    @Test("both forms of a user token, and tiers with keys of their own")
    func tokenKeys() throws {
        let subject = try TokenServiceUnderTest()
        let free = try subject.tokenKey("AAAA")
        #expect(try subject.tokenKey("QUFBQQ==") == free && subject.tokenKey("CCCC") == free)
        #expect(try subject.tokenKey("BBBB") != free)
        let answer = subject.call("GET", "/token-key-for-user-token", TokenServiceUnderTest.bearer("AAAA"))
        #expect(answer.body.count == 342 && answer.fields["cache-control"] == "no-store")
        #expect(answer.fields["content-type"] == "application/octet-stream")
    }

    @Test(
        "unknown and malformed user tokens get one answer",
        arguments: [
            nil, "Bearer", "Bearer ", "Bearer XXXX", "Bearer AAAA ", "Bearer AAAA BBBB", "Basic AAAA", "AAAA", "Bearer AAA",
            "Bearer QUFBQQ", "Bearer QUFBQQ=", "Bearer aaaa", "PrivateToken token=AAAA",
            "Bearer " + String(repeating: "A", count: 4097),
        ])
    func strangers(_ authorization: String?) throws {
        let subject = try TokenServiceUnderTest()
        var fields: HTTPFields = [:]
        if let authorization { fields.append("authorization", authorization) }
        for answer in [
            subject.call("GET", "/token-key-for-user-token", fields),
            subject.call("POST", "/issue", fields, [UInt8](repeating: 0, count: 259)),
        ] {
            // A trailing blank never reaches the service: the parser takes it off.
            let isTrimmed = authorization == "Bearer AAAA "
            #expect(answer.status == 401 || isTrimmed, "\(answer.status)")
            guard !isTrimmed else { continue }
            #expect(answer.body == Array("{\"error\":{\"message\":\"User token is unauthorized\"}}".utf8))
            #expect(answer.fields["www-authenticate"] == "Bearer")
        }
    }

    @Test("the scheme in any case, and two of them")
    func schemes() throws {
        let subject = try TokenServiceUnderTest()
        let path = "/token-key-for-user-token"
        #expect(subject.call("GET", path, ["authorization": "bEARER  AAAA"]).status == 200)
        var twice = TokenServiceUnderTest.bearer("AAAA")
        twice.append("authorization", "Bearer AAAA")
        #expect(subject.call("GET", path, twice).status == 400)
        #expect(subject.call("POST", path, TokenServiceUnderTest.bearer("AAAA")).status == 405)
    }

    @Test("token requests that are wrong in one way each")
    func hostileRequests() throws {
        let subject = try TokenServiceUnderTest()
        let free = try subject.tokenKey("AAAA")
        let gold = try subject.tokenKey("BBBB")
        let good = try TokenIssuance(key: free, challenge: TokenChallenge(issuerName: "issuer.example")).request.encoded
        func status(_ body: [UInt8], _ user: String = "AAAA") -> Int {
            subject.call("POST", "/issue", TokenServiceUnderTest.bearer(user), body).status
        }
        #expect(status(good) == 200)
        // Signing is deterministic: the same request again is the same signature, at the cost of quota.
        #expect(status(good) == 200)
        func changed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
            var bytes = good
            change(&bytes)
            return bytes
        }
        #expect(status([]) == 422 && status(Array(good.dropLast())) == 422 && status(good + [0]) == 422)
        #expect(status([UInt8](repeating: 0, count: 1024)) == 422 && status([UInt8](repeating: 0, count: 1025)) == 413)
        #expect(status(changed { $0[1] = 1 }) == 422 && status(changed { $0[0] = 1 }) == 422)
        #expect(status(changed { $0[2] &+= 1 }) == 422)
        #expect(status(changed { $0.replaceSubrange(3..., with: [UInt8](repeating: 0xFF, count: 256)) }) == 422)
        // n itself, which begins 81 bytes into the public key's form, is not below n; n - 1, 1 and 0 are.
        let n = Array(free.spki[81..<337])
        var below = n
        below[255] &-= 1
        #expect(status(changed { $0.replaceSubrange(3..., with: n) }) == 422)
        #expect(status(changed { $0.replaceSubrange(3..., with: below) }) == 200)
        #expect(status(changed { $0.replaceSubrange(3..., with: [UInt8](repeating: 0, count: 256)) }) == 200)
        // The key of another tier is as unknown as any other, but the default tier's is for all.
        let forGold = try TokenIssuance(key: gold, challenge: TokenChallenge(issuerName: "issuer.example")).request.encoded
        #expect(status(forGold) == 422 && status(forGold, "BBBB") == 200 && status(good, "BBBB") == 200)
        let answer = subject.call("POST", "/issue", TokenServiceUnderTest.bearer("AAAA"), good)
        #expect(answer.body.count == 256 && answer.fields["content-type"] == "application/private-token-response")
        #expect(answer.fields["cache-control"] == "no-store")
        #expect(subject.call("GET", "/issue", TokenServiceUnderTest.bearer("AAAA")).status == 405)
    }

    @Test("the default key is for the default tier only, if that is wanted")
    func separateKeys() throws {
        let subject = try TokenServiceUnderTest { $0.tokens.defaultKeyForAll = false }
        let free = try subject.tokenKey("AAAA")
        let request = try TokenIssuance(key: free, challenge: TokenChallenge(issuerName: "issuer.example")).request.encoded
        #expect(subject.call("POST", "/issue", TokenServiceUnderTest.bearer("BBBB"), request).status == 422)
    }

    @Test("quotas: by hour, by day, and they survive a restart")
    func quotas() throws {
        let subject = try TokenServiceUnderTest {
            var free = TierSettings()
            (free.tokensPerHour, free.burst) = (3, 3)
            var gold = TierSettings()
            (gold.tokensPerHour, gold.burst, gold.tokensPerDay) = (60, 60, 4)
            $0.tiers = ["free": free, "gold": gold]
        }
        let request = try TokenIssuance(
            key: subject.tokenKey("AAAA"), challenge: TokenChallenge(issuerName: "issuer.example")
        ).request.encoded
        func issue(_ user: String) -> HTTPResponse {
            subject.call("POST", "/issue", TokenServiceUnderTest.bearer(user), request)
        }
        for _ in 0..<3 { #expect(issue("AAAA").status == 200) }
        let refused = issue("AAAA")
        #expect(refused.status == 429 && refused.fields["retry-after"] == "1200")
        #expect(refused.body == Array("{\"error\":{\"message\":\"Too many requests\"}}".utf8))
        // The other form is the same user; another user has a bucket of his own.
        #expect(issue("QUFBQQ==").status == 429 && issue("CCCC").status == 200)
        // A request that is refused costs nothing.
        #expect(subject.call("POST", "/issue", TokenServiceUnderTest.bearer("CCCC"), [1]).status == 422)
        #expect(issue("CCCC").status == 200 && issue("CCCC").status == 200 && issue("CCCC").status == 429)
        for _ in 0..<4 { #expect(issue("BBBB").status == 200) }
        #expect(issue("BBBB").fields["retry-after"] == "\(86_400 - subject.clock.now % 86_400)")
        try subject.restart()
        #expect(issue("AAAA").status == 429 && issue("BBBB").status == 429)
        subject.clock.advance(1200)
        #expect(issue("AAAA").status == 200 && issue("AAAA").status == 429)
        subject.clock.advance(86_400 - subject.clock.now % 86_400)
        #expect(issue("BBBB").status == 200)
    }

    @Test("without tokens there is no issuer")
    func noIssuer() throws {
        let subject = try ServiceUnderTest()
        #expect(subject.call("/issue").status == 404 && subject.call(Self.directoryPath, method: "GET").status == 404)
    }
}
