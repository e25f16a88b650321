// What a token pays for: once, for a request that is otherwise right, over restarts and under copies (service.md 1.8, 2.8; field
// cases F24, F36).

import CallerDirectory
import Foundation
import HTTPCore
import LookupMessages
import PrivacyPass
import StateStore
import Synchronization
import Testing

@testable import LookupService

@Suite("Redemption of tokens")
struct RedemptionTests {
    private static func message(_ text: String) -> [UInt8] { Array("{\"error\":{\"message\":\"\(text)\"}}".utf8) }

    @Test("a whole session, each request with a token of its own")
    func session() throws {
        let subject = try TokenServiceUnderTest()
        let device = try TestDevice(subject.identity.loaded)
        #expect(subject.config(try subject.fetchToken()).status == 200)
        let upload = device.upload.encoded()
        #expect(subject.call("POST", "/key", TokenServiceUnderTest.paid(try subject.fetchToken()), upload).status == 200)
        let (query, request) = try device.query(ServiceUnderTest.number)
        let body = device.requests(request).encoded()
        let token = try subject.fetchToken()
        let answer = subject.call("POST", "/queries", TokenServiceUnderTest.paid(token), body)
        #expect(try device.value(query, in: answer) == Array("Johnny".utf8))
        let again = subject.call("POST", "/queries", TokenServiceUnderTest.paid(token), body)
        #expect(again.status == 401 && again.body == Self.message("Token did not pass verification"))
        // Nor for anything else.
        #expect(subject.config(token).status == 401)
    }

    @Test("without a token: 401 with a challenge that names issuer and key")
    func challenge() throws {
        let subject = try TokenServiceUnderTest()
        for path in ["/config", "/key", "/queries"] {
            let answer = subject.call("POST", path, TokenServiceUnderTest.paid(nil))
            #expect(answer.status == 401 && answer.body == Self.message("No private token"))
            let challenges = try PrivateTokenChallenge.challenges(in: try #require(answer.fields["www-authenticate"]))
            #expect(challenges.count == 1)
            #expect(try challenges.first?.decoded() == TokenChallenge(issuerName: "issuer.example"))
            #expect(try subject.tokenKey("AAAA").spki == challenges.first?.tokenKey)
        }
    }

    @Test("tokens that are wrong in one way each")
    func hostileTokens() throws {
        let subject = try TokenServiceUnderTest()
        let token = try subject.fetchToken()
        func answer(_ value: String, twice: Bool = false) -> HTTPResponse {
            var fields = TokenServiceUnderTest.paid(nil)
            fields.append("authorization", value)
            if twice { fields.append("authorization", value) }
            return subject.call("POST", "/config", fields, TokenServiceUnderTest.configRequest)
        }
        func changed(_ place: Int) throws -> String {
            var bytes = token.encoded
            bytes[place] ^= 1
            return PrivateTokenAuthorization.text(for: try Token(decoding: bytes))
        }
        let text = PrivateTokenAuthorization.text(for: token)
        // Nonce, digest, authenticator: the signature does not hold. Key id: nobody's.
        for place in [2, 33, 34, 65, 98, 353] {
            #expect(answer(try changed(place)).body == Self.message("Token did not pass verification"), "\(place)")
        }
        #expect(answer(try changed(66)).body == Self.message("No token key found"))
        for malformed in [
            "", "PrivateToken", "PrivateToken token=", "PrivateToken token=!!!!", String(text.dropLast()), text + "A",
            text.replacingOccurrences(of: "PrivateToken", with: "Bearer"), text + ", token=AAAA", "Bearer AAAA",
            text.replacingOccurrences(of: "token=", with: "tokens="),
        ] {
            let answer = answer(malformed)
            #expect(answer.status == 401 && answer.body == Self.message("No private token"), "\(malformed.count)")
        }
        #expect(answer(text, twice: true).status == 400)
        // All that did not spend it; quoted, padded and in another case it is the same token.
        let quoted = text.replacingOccurrences(of: "token=", with: "TOKEN = \"") + "\""
        #expect(answer(quoted).status == 200 && answer(text).status == 401)
    }

    @Test("a request that is refused for another reason does not spend its token")
    func refusedRequests() throws {
        let subject = try TokenServiceUnderTest()
        let device = try TestDevice(subject.identity.loaded)
        let token = try subject.fetchToken()
        let paid = TokenServiceUnderTest.paid(token)
        var noUser = paid
        noUser["user-identifier"] = nil
        #expect(subject.call("POST", "/config", noUser, TokenServiceUnderTest.configRequest).status == 400)
        #expect(subject.call("POST", "/config", paid, [0xFF]).status == 400)
        #expect(subject.call("POST", "/config", paid, ConfigRequest(usecases: ["unknown"]).encoded()).status == 404)
        #expect(subject.call("POST", "/key", paid, []).status == 400)
        let request = try device.query(ServiceUnderTest.number).request
        var gone = request
        gone.configurationHash = [1]
        #expect(subject.call("POST", "/queries", paid, device.requests(gone).encoded()).status == 410)
        // The key was never uploaded: the phone is to upload it, and may then ask with the same token.
        let lacking = subject.call("POST", "/queries", paid, device.requests(request).encoded())
        #expect(lacking.body == Self.message("Evaluation key not found"))
        #expect(subject.config(token).status == 200 && subject.config(token).status == 401)
    }

    @Test("of a hundred copies at once exactly one is answered")
    func copies() throws {
        let subject = try TokenServiceUnderTest()
        let service = subject.service
        for _ in 0..<3 {
            let fields = TokenServiceUnderTest.paid(try subject.fetchToken())
            let statuses = Mutex<[Int]>([])
            DispatchQueue.concurrentPerform(iterations: 100) { _ in
                let answer = service.answer(
                    HTTPRequest(method: "POST", path: "/config", fields: fields, body: TokenServiceUnderTest.configRequest))
                statuses.withLock { $0.append(answer.status) }
            }
            let all = statuses.withLock { $0 }
            #expect(all.count { $0 == 200 } == 1 && all.count { $0 == 401 } == 99)
        }
    }

    @Test("keys and spent tokens survive a restart")
    func restart() throws {
        let subject = try TokenServiceUnderTest()
        let spent = try subject.fetchToken()
        let kept = try subject.fetchToken()
        #expect(subject.config(spent).status == 200)
        let directory = try subject.directory()
        try subject.restart()
        #expect(try subject.directory() == directory)
        #expect(subject.config(spent).status == 401 && subject.config(kept).status == 200)
        try subject.restart()
        #expect(subject.config(kept).status == 401)
    }

    @Test("work that the line does not do leaves the token good")
    func givenBack() throws {
        var options = ServiceOptions()
        options.waitingClerical = 0
        let subject = try TokenServiceUnderTest(options: options)
        let token = try subject.fetchToken()
        // All four clerks are busy, and nobody may wait.
        let release = DispatchSemaphore(value: 0)
        for _ in 0..<4 {
            subject.service.clerks.submit(
                WorkItem(rank: .upkeep) {
                    release.wait()
                } refuse: { _ in
                })
        }
        #expect(subject.config(token).status == 503)
        for _ in 0..<4 { release.signal() }
        while subject.service.clerks.idleThreads < 4 { usleep(1000) }
        #expect(subject.config(token).status == 200 && subject.config(token).status == 401)
    }

    @Test("tokens for another challenge are taken, counted or refused as configured")
    func otherChallenges() throws {
        for policy in ChallengePolicy.allCases {
            let subject = try TokenServiceUnderTest { $0.tokens.challenge = policy }
            let other = try subject.fetchToken(issuer: "other.example")
            let own = try subject.fetchToken()
            #expect(subject.config(other).status == (policy == .enforce ? 401 : 200))
            #expect(subject.config(own).status == 200)
            let counted = subject.roles.redemption.otherChallenges.load(ordering: .relaxed)
            #expect(counted == (policy == .report ? 1 : 0))
        }
    }

    @Test("a tier sees its own use cases, also other data under one name")
    func tiers() throws {
        let (identity, block) = (ServiceUnderTest.identity, ServiceUnderTest.block)
        let subject = try TokenServiceUnderTest {
            var gold = TierSettings()
            gold.useCases = [identity: block]
            $0.tiers = ["gold": gold]
        }
        func configs(_ userToken: String, _ names: [String]) throws -> HTTPResponse {
            subject.call(
                "POST", "/config", TokenServiceUnderTest.paid(try subject.fetchToken(userToken)),
                ConfigRequest(usecases: names).encoded())
        }
        let free = try ConfigResponse(decoding: try configs("AAAA", []).body)
        #expect(Set(free.configs.keys) == [identity, block])
        let gold = try ConfigResponse(decoding: try configs("BBBB", []).body)
        #expect(Array(gold.configs.keys) == [identity])
        #expect(gold.configs[identity]?.configId == free.configs[block]?.configId)
        #expect(try configs("BBBB", [block]).status == 404)
        // A query by the asked name is answered from the other data.
        let device = try TestDevice(subject.block.loaded)
        let upload = device.upload.encoded()
        let paid = TokenServiceUnderTest.paid(try subject.fetchToken("BBBB"))
        #expect(subject.call("POST", "/key", paid, upload).status == 200)
        let (query, request) = try device.query(ServiceUnderTest.number)
        let asked = Requests(requests: [Request(usecase: identity, kind: .pir(request))]).encoded()
        let answer = subject.call("POST", "/queries", TokenServiceUnderTest.paid(try subject.fetchToken("BBBB")), asked)
        #expect(try device.value(query, in: answer) == [1])
        let refused = subject.call(
            "POST", "/queries", TokenServiceUnderTest.paid(try subject.fetchToken("BBBB")), device.requests(request).encoded())
        #expect(refused.status == 400 && refused.body == Self.message("Unknown use case"))
    }

    @Test("GET /config is for everybody, whole and cacheable, and can be switched off")
    func publicConfig() throws {
        let subject = try TokenServiceUnderTest()
        let answer = subject.call("GET", "/config")
        #expect(answer.status == 200 && answer.fields["cache-control"] == "public, max-age=300")
        let response = try ConfigResponse(decoding: answer.body)
        #expect(Set(response.configs.keys) == [ServiceUnderTest.identity, ServiceUnderTest.block] && response.keyInfo.isEmpty)
        let paid = try ConfigResponse(decoding: subject.config(try subject.fetchToken()).body)
        #expect(response.configs[ServiceUnderTest.identity] == paid.configs[ServiceUnderTest.identity])
        let tag = try #require(answer.fields["etag"])
        #expect(subject.call("GET", "/config", ["if-none-match": tag]).status == 304)
        // An older system asks without naming itself, and with a token that does not matter.
        let other = subject.call("GET", "/config", ["user-agent": "iOS/18.0", "authorization": "PrivateToken token=x"])
        #expect(other.body == answer.body)
        var options = ServiceOptions()
        options.servesPublicConfig = false
        let closed = try TokenServiceUnderTest(options: options)
        #expect(closed.call("GET", "/config").status == 405)
    }
}
