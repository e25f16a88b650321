// Every place where users are known: a file, the database, signatures, the operator's own server (service.md 1.6.2; field cases F53,
// F54).

import CallerDirectory
import Foundation
import HTTPCore
import HTTPServer
import Synchronization
import Testing

@testable import LookupService

@Suite("Sources of users")
struct UserSourceTests {
    private static func status(_ subject: TokenServiceUnderTest, _ userToken: String) -> Int {
        subject.call("GET", "/token-key-for-user-token", TokenServiceUnderTest.bearer(userToken)).status
    }

    private static func write(_ text: String, _ url: URL, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: url)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
    }

    @Test("a file of users is read again when it changes, and a broken one changes nothing")
    func file() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("veilring-users-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("users.json5")
        try Self.write("[{ tier: 'file', tokens: ['one'] }]", file)
        let subject = try TokenServiceUnderTest { $0.sources.file = file.path }
        #expect(Self.status(subject, "one") == 200 && Self.status(subject, "two") == 401 && Self.status(subject, "AAAA") == 200)
        // A tier that only the file names has a key of its own.
        #expect(try subject.tokenKey("one") != subject.tokenKey("AAAA"))
        try Self.write("[{ tier: 'file', tokens: ['two', 'three'] }]", file)
        subject.roles.maintain(log: subject.log)
        #expect(Self.status(subject, "one") == 401 && Self.status(subject, "two") == 200)
        try Self.write("[{ tier: 'file', tokens: ['Zx9Secret'", file)
        subject.roles.maintain(log: subject.log)
        #expect(Self.status(subject, "two") == 200 && Self.status(subject, "Zx9Secret") == 401)
        let lines = subject.log.lines.joined()
        #expect(lines.contains("users.json5:1:") && !lines.contains("Zx9Secret"))
    }

    @Test("the database: added, revoked and expired by another process")
    func database() throws {
        let subject = try TokenServiceUnderTest()
        let register = try UserRegister(data: subject.data.path)
        let user = try register.add(token: "stored-1", tier: "gold", label: "somebody", expires: nil)
        #expect(Self.status(subject, "stored-1") == 200 && Self.status(subject, UserTokenForms("stored-1").base64) == 200)
        #expect(try subject.tokenKey("stored-1") == subject.tokenKey("BBBB"))
        #expect(throws: (any Error).self) { try register.add(token: "stored-1", tier: "free", label: nil, expires: nil) }
        try register.revoke(id: user.id)
        #expect(Self.status(subject, "stored-1") == 401)
        _ = try register.add(token: "stored-2", tier: "free", label: nil, expires: subject.clock.now + 10)
        #expect(Self.status(subject, "stored-2") == 200)
        subject.clock.advance(10)
        let expired = subject.call("GET", "/token-key-for-user-token", TokenServiceUnderTest.bearer("stored-2"))
        #expect(expired.status == 401 && expired.body == Array("{\"error\":{\"message\":\"User token has expired\"}}".utf8))
        let groups = [UserGroup(tier: "free", tokens: ["stored-3", "stored-4"])]
        #expect(try register.importGroups(groups) == 2 && register.importGroups(groups) == 0)
        #expect(Self.status(subject, "stored-4") == 200)
        try register.revoke(token: "stored-4")
        #expect(Self.status(subject, "stored-4") == 401 && Self.status(subject, "stored-3") == 200)
        #expect(try register.list().map(\.tier) == ["gold", "free", "free", "free"])
    }

    // MARK: Signatures

    private static let secret = "0123456789abcdef0123456789abcdef"

    private static func withSigning(_ body: (TokenServiceUnderTest, URL) throws -> Void) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("veilring-secret-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try write(secret + "\n", file)
        try body(try TokenServiceUnderTest { $0.sources.signingSecret = file.path }, file)
    }

    @Test("signed tokens: tiers, expiry, skew, and the base64 that phones send")
    func signed() throws {
        try Self.withSigning { subject, file in
            func token(_ tier: String, _ life: Int64, subject who: String = "u1") throws -> String {
                try UserTokenForms.signed(
                    secretFile: file.path, subject: who, tier: tier, expires: subject.clock.now + life)
            }
            #expect(Self.status(subject, try token("gold", 60)) == 200)
            #expect(Self.status(subject, UserTokenForms(try token("gold", 60)).base64) == 200)
            #expect(try subject.tokenKey(token("gold", 60)) == subject.tokenKey("BBBB"))
            // Clocks may differ by 30 seconds; a token that expired longer ago is told apart from one that never was.
            #expect(Self.status(subject, try token("gold", -29)) == 200)
            let expired = subject.call("GET", "/token-key-for-user-token", TokenServiceUnderTest.bearer(try token("gold", -31)))
            #expect(expired.status == 401 && String(decoding: expired.body, as: UTF8.self).contains("expired"))
            #expect(Self.status(subject, try token("unknown", 60)) == 401)
        }
    }

    /// `{"alg":ALG,"typ":"JWT"}.CLAIMS.SIGNATURE`, the signature by the openssl command: another implementation of HMAC.
    private static func jwt(_ header: String, _ claims: String, key: String = secret, signature: String? = nil) throws -> String
    {
        func encoded(_ data: Data) -> String {
            data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
                .replacingOccurrences(of: "=", with: "")
        }
        let body = encoded(Data(header.utf8)) + "." + encoded(Data(claims.utf8))
        if let signature { return body + "." + signature }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = ["dgst", "-sha256", "-mac", "HMAC", "-macopt", "key:\(key)", "-binary"]
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        input.fileHandleForWriting.write(Data(body.utf8))
        try input.fileHandleForWriting.close()
        let mac = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return body + "." + encoded(mac)
    }

    @Test("signed tokens of another maker, and forgeries")
    func forgeries() throws {
        try Self.withSigning { subject, _ in
            let header = #"{"alg":"HS256","typ":"JWT"}"#
            let claims = #"{"exp":\#(subject.clock.now + 100),"sub":"u","tier":"gold","more":[1]}"#
            let good = try Self.jwt(header, claims)
            #expect(Self.status(subject, good) == 200)
            var hostile = [
                try Self.jwt(#"{"alg":"none"}"#, claims, signature: ""), try Self.jwt(#"{"alg":"none"}"#, claims),
                try Self.jwt(#"{"alg":"HS512"}"#, claims), try Self.jwt(#"{"alg":"HS256","crit":["x"]}"#, claims),
                try Self.jwt(header, claims, key: "another key, as long as that one"),
                try Self.jwt(header, #"{"exp":99999999999,"sub":"u"}"#), try Self.jwt(header, #"{"sub":"u","tier":"gold"}"#),
                try Self.jwt(header, #"{"exp":1e999,"sub":"u","tier":"gold"}"#),
                try Self.jwt(header, #"{"exp":99999999999,"sub":"","tier":"gold"}"#),
                try Self.jwt(header, #"{"exp":99999999999,"nbf":99999999998,"sub":"u","tier":"gold"}"#),
                try Self.jwt(header, "[]"), try Self.jwt("", ""), good + ".", "." + good, "..", "a.b.c", good + "A",
            ]
            hostile.append(String(good.dropLast()) + (good.hasSuffix("A") ? "B" : "A"))
            for (index, token) in hostile.enumerated() {
                #expect(Self.status(subject, token) == 401, "number \(index)")
            }
        }
    }

    @Test("a secret that others may read, or that is too short, is refused with its path")
    func badSecrets() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("veilring-secret-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        for (text, mode, reason) in [
            (Self.secret, 0o644, "chmod 600"), ("short", 0o600, "at least 16 bytes"),
            (String(repeating: "x", count: 5000), 0o600, "longer than"),
        ] {
            try Self.write(text, file, mode: mode)
            let error = #expect(throws: IssuerKeyError.self) {
                try TokenServiceUnderTest { $0.sources.signingSecret = file.path }
            }
            #expect(error?.description.contains(reason) == true && error?.description.contains(file.path) == true)
            #expect(error?.description.contains(text) == false)
        }
    }

    // MARK: The operator's own server

    /// Answers as told, and counts.
    private final class Endpoint: HTTPHandler {
        let status = Atomic<Int>(200)
        let asked = Atomic<Int>(0)
        let bodies = Mutex<[String]>([])
        let answer = Mutex("{\"tier\":\"gold\",\"user\":\"u-7\",\"more\":1}")

        func begin(_ head: HTTPRequestHead) -> HTTPAdmission { .readBody(limit: 10_000) }

        func handle(_ request: HTTPRequest, reply: HTTPReply) {
            asked.add(1, ordering: .relaxed)
            bodies.withLock { $0.append(request.path + " " + String(decoding: request.body, as: UTF8.self)) }
            reply.send(
                HTTPResponse(status: status.load(ordering: .relaxed), fields: [:], body: Array(answer.withLock { $0 }.utf8)))
        }
    }

    @Test("the operator's server is asked, its answers are kept, and its failures let nobody in")
    func endpoint() throws {
        let endpoint = Endpoint()
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(listeners: [.init(host: "127.0.0.1", port: 0)], threads: 1),
            handler: endpoint)
        let address = try #require(try server.start().first)
        defer { server.shutdown(drain: .zero) }
        let subject = try TokenServiceUnderTest {
            $0.sources.endpoint = UserEndpointSettings(url: "http://\(address)/verify")
        }
        #expect(Self.status(subject, "AAAA") == 200 && endpoint.asked.load(ordering: .relaxed) == 0)
        #expect(Self.status(subject, "a\"b\\c") == 200)
        #expect(endpoint.bodies.withLock { $0 } == [#"/verify {"userToken":"a\"b\\c"}"#])
        #expect(try subject.tokenKey("a\"b\\c") == subject.tokenKey("BBBB"))
        #expect(endpoint.asked.load(ordering: .relaxed) == 1)
        subject.clock.advance(301)
        #expect(Self.status(subject, "a\"b\\c") == 200 && endpoint.asked.load(ordering: .relaxed) == 2)
        for refusal in [401, 403, 404] {
            endpoint.status.store(refusal, ordering: .relaxed)
            #expect(Self.status(subject, "stranger-\(refusal)") == 401)
        }
        for failure in [500, 302, 204] {
            endpoint.status.store(failure, ordering: .relaxed)
            #expect(Self.status(subject, "trouble-\(failure)") == 503)
        }
        endpoint.status.store(200, ordering: .relaxed)
        for malformed in [
            "", "{}", "{\"tier\":\"\",\"user\":\"x\"}", "{\"tier\":1,\"user\":\"x\"}",
            "[" + String(repeating: "1,", count: 20_000),
        ] {
            endpoint.answer.withLock { $0 = malformed }
            #expect(Self.status(subject, "malformed-\(malformed.utf8.count)") == 503)
        }
        // A failure is not kept.
        endpoint.answer.withLock { $0 = "{\"tier\":\"gold\",\"user\":\"u-8\"}" }
        #expect(Self.status(subject, "malformed-0") == 200)
        server.shutdown(drain: .zero)
        #expect(Self.status(subject, "nobody-answers") == 503 && Self.status(subject, "malformed-0") == 200)
    }

    @Test("what a phone cannot carry is said")
    func forms() throws {
        #expect(UserTokenForms("AAAA").base64 == "QUFBQQ==" && UserTokenForms("AAAA").warnings.isEmpty)
        #expect(UserTokenForms("AAAA\n").warnings.count { $0.contains("line feed") } == 1)
        #expect(UserTokenForms("eyJhbGciOi.eyJzdWIi.c2ln").warnings.contains { $0.contains("JSON Web Token") })
        #expect(UserTokenForms("a-b_").warnings.contains { $0.contains("base64url") })
        #expect(UserTokenForms("a b").warnings.contains { $0.contains("base64 only") })
        let random = try UserTokenForms.random()
        #expect(try UserTokenForms.random() != random && random.utf8.count == 32 && UserTokenForms(random).warnings.isEmpty)
    }
}
