// A day of traffic, then a search through every file, every log line, the metrics and every refusal: nothing may link an issued token
// to a spent one, or a user token to a query (service.md 8.1, 8.2).

import CallerDirectory
import Foundation
import HTTPCore
import LookupMessages
import PrivacyPass
import Testing

@testable import LookupService

@Suite("Privacy of users and tokens")
struct TokenPrivacyTests {
    /// Something that may not be found, in the forms in which it might lie about.
    private struct Secret {
        var name: String
        var forms: [[UInt8]]

        init(_ name: String, _ bytes: [UInt8]) {
            self.name = name
            let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let base64 = Data(bytes).base64EncodedString()
            let url = base64.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            // Without the last characters, which depend on what follows.
            forms = [bytes, Array(hex.utf8), Array(hex.uppercased().utf8)]
            forms += [base64, url].map { Array($0.utf8.prefix(bytes.count * 4 / 3 - 4)) }
        }
    }

    /// Finds many texts in one pass: by their first eight bytes, then whole.
    private struct Search {
        private var needles: [UInt64: [(name: String, bytes: [UInt8])]] = [:]

        init(_ secrets: [Secret]) {
            for secret in secrets {
                for form in secret.forms where form.count >= 8 {
                    needles[Self.key(form, 0), default: []].append((secret.name, form))
                }
            }
        }

        private static func key(_ bytes: [UInt8], _ start: Int) -> UInt64 {
            bytes[start..<(start + 8)].reduce(0) { $0 << 8 | UInt64($1) }
        }

        /// The names of what is in there.
        func found(in content: [UInt8]) -> Set<String> {
            guard content.count >= 8 else { return [] }
            var names: Set<String> = []
            var key = Self.key(content, 0) >> 8
            for end in 7..<content.count {
                key = key << 8 | UInt64(content[end])
                for needle in needles[key] ?? [] where content[(end - 7)...].starts(with: needle.bytes) {
                    names.insert(needle.name)
                }
            }
            return names
        }
    }

    /// What happened in a day: what may not be found, and how requests were refused.
    private struct Day {
        var secrets: [Secret]
        var refusals: [HTTPResponse] = []
    }

    private static let users = (0..<4).map { "UserToken-\($0)-Zx9Marker" }

    private static func subject() throws -> TokenServiceUnderTest {
        let subject = try TokenServiceUnderTest {
            $0.users = [
                UserGroup(tier: "free", tokens: [users[0], users[1]]), UserGroup(tier: "gold", tokens: [users[2]]),
            ]
            var free = TierSettings()
            (free.tokensPerHour, free.burst) = (4, 4)
            $0.tiers = ["free": free]
        }
        _ = try UserRegister(data: subject.data.path).add(token: users[3], tier: "gold", label: "somebody", expires: nil)
        return subject
    }

    /// One user's hour: a token, a request for it, and mistakes.
    private static func hour(
        _ hour: Int, _ index: Int, _ subject: TokenServiceUnderTest, _ device: TestDevice, _ day: inout Day
    ) throws {
        let user = users[index]
        let bearer = TokenServiceUnderTest.bearer(hour % 2 == 0 ? user : UserTokenForms(user).base64)
        let identifier = "Zx9-Identifier-\(index)-\(hour)"
        day.secrets.append(Secret("user identifier", Array(identifier.utf8)))
        let issuance = try TokenIssuance(
            key: try subject.tokenKey(user), challenge: TokenChallenge(issuerName: "issuer.example"))
        let answer = subject.call("POST", "/issue", bearer, issuance.request.encoded)
        guard answer.status == 200 else {
            #expect(answer.status == 429)
            return day.refusals.append(answer)
        }
        let token = try issuance.finish(answer.body)
        day.secrets += [
            Secret("blinded message", Array(issuance.request.blindedMessage.prefix(48))),
            Secret("blind signature", Array(answer.body.prefix(48))), Secret("nonce", token.nonce),
            Secret("authenticator", Array(token.authenticator.prefix(48))), Secret("digest", token.challengeDigest),
        ]
        let paid = TokenServiceUnderTest.paid(token, user: identifier)
        func refused(_ method: String, _ path: String, _ fields: HTTPFields, _ body: [UInt8] = []) {
            day.refusals.append(subject.call(method, path, fields, body))
        }
        switch hour % 4 {
        case 0: #expect(subject.call("POST", "/config", paid, TokenServiceUnderTest.configRequest).status == 200)
        case 1: #expect(subject.call("POST", "/key", paid, device.upload.encoded()).status == 200)
        case 2: refused("POST", "/queries", paid, device.requests(try device.query(ServiceUnderTest.number).request).encoded())
        default:
            refused("POST", "/config", paid, ConfigRequest(usecases: [user]).encoded())
            refused("POST", "/config", paid, Array(user.utf8))
        }
        refused("POST", "/config", paid, [0xFF])
        refused("POST", "/issue", bearer, issuance.request.encoded + [0])
        refused("GET", "/issue", bearer)
        refused("POST", "/issue", ["authorization": "Bearer \(user)x"], Array(user.utf8))
        refused("POST", "/config", ["authorization": "Bearer \(user)"])
    }

    /// Everything that is kept or shown, by its name.
    private static func places(
        _ subject: TokenServiceUnderTest, _ refusals: [HTTPResponse]
    ) throws -> [(name: String, content: [UInt8])] {
        let metrics = MetricsPage(service: subject.service, bodies: { (0, 0) }, isReady: { true }).text()
        var places = [
            ("log", Array(subject.log.lines.joined(separator: "\n").utf8)), ("metrics", Array(metrics.utf8)),
        ]
        for answer in refusals where answer.status != 200 {
            let fields = answer.fields.filter { $0.name != "www-authenticate" }.map { $0.name + $0.value }.joined()
            places.append(("an answer", Array(fields.utf8) + answer.body))
        }
        let files = try #require(FileManager.default.enumerator(atPath: subject.data.path))
        while let name = files.nextObject() as? String {
            guard let content = FileManager.default.contents(atPath: subject.data.path + "/" + name) else { continue }
            places.append((name, [UInt8](content)))
        }
        return places
    }

    @Test("a day of traffic leaves nothing behind")
    func day() throws {
        let subject = try Self.subject()
        let device = try TestDevice(subject.identity.loaded)
        var day = Day(
            secrets: Self.users.flatMap {
                [Secret("user token", Array($0.utf8)), Secret("base64", Array(UserTokenForms($0).base64.utf8))]
            })
        for hour in 0..<24 {
            subject.clock.advance(3600)
            for index in Self.users.indices { try Self.hour(hour, index, subject, device, &day) }
            subject.roles.maintain(log: subject.log)
        }
        #expect(day.refusals.count > 100)
        let places = try Self.places(subject, day.refusals)
        #expect(places.count > 100 && Set(places.map(\.name)).count >= 8)
        // The evaluation keys are in memory here, so identifiers have no place to be either. Device and user never meet.
        let search = Search(day.secrets)
        for (place, content) in places {
            let found = search.found(in: content)
            #expect(found.isEmpty, "\(found) in \(place)")
        }
        // The search finds what is there: the operator's own note.
        let note = Search([Secret("label", Array("somebody".utf8))])
        #expect(places.contains { !note.found(in: $0.content).isEmpty })
        #expect(search.found(in: Array("x \(Self.users[2]) y".utf8)) == ["user token"])
    }
}
