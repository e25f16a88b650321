// The issuer's keys on disk and in force: first keys, rotation by schedule and by hand, removal, encryption, several processes
// (service.md 2.2, 2.6; field case F31).

import CallerDirectory
import Cryptography
import Foundation
import HTTPCore
import PrivacyPass
import Synchronization
import Testing

@testable import LookupService

@Suite("The issuer's keys")
struct IssuerKeyFolderTests {
    private static func folder(_ subject: TokenServiceUnderTest) throws -> IssuerKeyFolder {
        var access = AccessSettings(keys: subject.data.path + "/keys")
        access.defaultTier = "free"
        return try IssuerKeyFolder(access)
    }

    @Test("a rotation by hand, seen by the running server; the old key goes on until nobody needs it")
    func rotation() throws {
        let subject = try TokenServiceUnderTest()
        let clock = subject.clock
        let before = try subject.tokenKey("AAAA")
        let token = try subject.fetchToken()
        let (name, begins) = try Self.folder(subject).rotate(tier: "free", at: clock.now)
        // The directory may be cached for a day, and an hour more.
        #expect(begins == clock.now + 90_000)
        subject.roles.maintain(log: subject.log)
        #expect(subject.log.lines.contains { $0.contains("issuer key in force: \(name.prefix(8))") })
        var directory = try subject.directory()
        #expect(directory.keys.count == 3 && directory.keys[0].notBefore == begins)
        #expect(try subject.tokenKey("AAAA") == before && directory.usableKey(at: clock.now) == before)
        clock.advance(90_000)
        let after = try subject.tokenKey("AAAA")
        #expect(after != before && directory.usableKey(at: clock.now) == after)
        // A phone that still has the old directory and key.
        #expect(subject.config(try subject.fetchToken(key: before)).status == 200)
        clock.advance(86_400 + 3600 + 1)
        directory = try subject.directory()
        #expect(directory.keys.count == 2 && !directory.contains(before.id))
        clock.advance(86_400)
        #expect(throws: IssuanceFailure.self) { try subject.fetchToken(key: before) }
        #expect(subject.config(token).status == 200)
        clock.advance(9 * 86_400)
        subject.roles.maintain(log: subject.log)
        #expect(try Self.folder(subject).list(at: clock.now).count == 2)
        #expect(subject.config(try subject.fetchToken()).status == 200)
    }

    @Test("rotation by schedule, over a year")
    func schedule() throws {
        let subject = try TokenServiceUnderTest { $0.users = [UserGroup(tier: "free", tokens: ["AAAA"])] }
        let clock = subject.clock
        var tokens: [(token: Token, fetched: Int64)] = []
        var directory = try subject.directory()
        var keys: Set<TokenKeyID> = []
        // Every 37 hours a phone comes; its directory is up to a day old, its tokens up to a week.
        for step in 0..<236 {
            clock.advance(37 * 3600)
            subject.roles.maintain(log: subject.log)
            let key = try #require(directory.usableKey(at: clock.now - 12 * 3600))
            keys.insert(key.id)
            if step % 2 == 0 { directory = try subject.directory() }
            // With the tier's own key, as phones until iOS 27.2.
            tokens.append((try subject.fetchToken(), clock.now))
            tokens.append((try subject.fetchToken(key: try subject.directory().usableKey(at: clock.now)), clock.now))
            while let first = tokens.first, clock.now - first.fetched > 5 * 86_400 {
                let answer = subject.config(tokens.removeFirst().token)
                #expect(answer.status == 200 && clock.now - first.fetched < 7 * 86_400, "step \(step): \(answer.status)")
            }
        }
        // 364 days at 30 days each.
        #expect((11...14).contains(keys.count), "\(keys.count)")
        #expect(try Self.folder(subject).list(at: clock.now).count <= 3)
    }

    @Test("under load, the moments of a rotation refuse nobody")
    func rotationUnderLoad() throws {
        let subject = try TokenServiceUnderTest {
            $0.tokens.directoryMaxAgeSeconds = 0
            $0.users = [UserGroup(tier: "free", tokens: ["AAAA"])]
            var free = TierSettings()
            (free.tokensPerHour, free.burst) = (1_000_000, 1_000_000)
            $0.tiers = ["free": free]
        }
        let (service, clock) = (subject.service, subject.clock)
        let isOver = Atomic<Bool>(false)
        let failures = Mutex<[String]>([])
        let done = Atomic<Int>(0)
        let group = DispatchGroup()
        for _ in 0..<2 {
            group.enter()
            // Threads of its own: those of Dispatch may be busy with other tests.
            Thread.detachNewThread {
                defer { group.leave() }
                while !isOver.load(ordering: .relaxed) {
                    do {
                        let bearer = TokenServiceUnderTest.bearer("AAAA")
                        let key = service.answer(
                            HTTPRequest(method: "GET", path: "/token-key-for-user-token", fields: bearer, body: []))
                        let issuance = try TokenIssuance(
                            key: TokenPublicKey(spki: key.body), challenge: TokenChallenge(issuerName: "issuer.example"))
                        let answer = service.answer(
                            HTTPRequest(method: "POST", path: "/issue", fields: bearer, body: issuance.request.encoded))
                        let token = try issuance.finish(answer.body)
                        let spent = service.answer(
                            HTTPRequest(
                                method: "POST", path: "/config", fields: TokenServiceUnderTest.paid(token),
                                body: TokenServiceUnderTest.configRequest))
                        if spent.status != 200 { failures.withLock { $0.append("spend: \(spent.status)") } }
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                    done.add(1, ordering: .relaxed)
                }
            }
        }
        let folder = try Self.folder(subject)
        var rotations = 0
        while rotations < 6 || done.load(ordering: .relaxed) < 60 {
            rotations += 1
            let before = done.load(ordering: .relaxed)
            _ = try folder.rotate(tier: "free", at: clock.now)
            subject.roles.maintain(log: subject.log)
            // Minute by minute through the hour before the switch, and the one after it.
            for _ in 0..<120 {
                clock.advance(60)
                usleep(500)
            }
            subject.roles.maintain(log: subject.log)
            while done.load(ordering: .relaxed) < before + 4, failures.withLock({ $0.isEmpty }) { usleep(1000) }
            if !failures.withLock({ $0.isEmpty }) { break }
        }
        isOver.store(true, ordering: .relaxed)
        group.wait()
        #expect(failures.withLock { $0 }.isEmpty, "\(failures.withLock { $0.prefix(3) })")
    }

    @Test("an emergency: a removed key's tokens are worthless at once, and the tier gets another key")
    func removal() throws {
        let subject = try TokenServiceUnderTest()
        let token = try subject.fetchToken()
        let name = try subject.tokenKey("AAAA").id.bytes.hexadecimal
        let folder = try Self.folder(subject)
        #expect(throws: IssuerKeyError.noSuchKey("zz")) { try folder.remove(prefix: "zz", at: subject.clock.now) }
        #expect(throws: IssuerKeyError.noSuchKey("")) { try folder.remove(prefix: "", at: subject.clock.now) }
        #expect(try folder.remove(prefix: String(name.prefix(8)), at: subject.clock.now) == name)
        subject.roles.maintain(log: subject.log)
        #expect(subject.config(token).status == 401)
        subject.roles.maintain(log: subject.log)
        #expect(try subject.tokenKey("AAAA").id.bytes.hexadecimal != name)
        #expect(subject.config(try subject.fetchToken()).status == 200)
    }

    @Test("an emergency between announcement and turn of the next key: the tier is not without a key until then")
    func removalDuringRotation() throws {
        let subject = try TokenServiceUnderTest()
        let folder = try Self.folder(subject)
        let before = try subject.tokenKey("AAAA").id.bytes.hexadecimal
        let (announced, begins) = try folder.rotate(tier: "free", at: subject.clock.now)
        _ = try folder.remove(prefix: before, at: subject.clock.now)
        subject.roles.maintain(log: subject.log)
        let now = try subject.tokenKey("AAAA").id.bytes.hexadecimal
        #expect(now != before && now != announced)
        #expect(subject.config(try subject.fetchToken()).status == 200)
        subject.clock.advance(begins - subject.clock.now)
        subject.roles.maintain(log: subject.log)
        #expect(try subject.tokenKey("AAAA").id.bytes.hexadecimal == announced)
    }

    @Test("no two live keys share the byte by which requests name them")
    func truncatedIDs() throws {
        let subject = try TokenServiceUnderTest {
            $0.users = (0..<20).map { UserGroup(tier: "tier\($0)", tokens: ["token\($0)"]) }
        }
        let ids = try subject.directory().keys.map(\.key.id)
        #expect(ids.count == 21 && Set(ids.map(\.truncated)).count == 21)
    }

    @Test("with a passphrase keys are encrypted, and cannot be read without it")
    func encryption() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("veilring-passphrase-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        func write(_ text: String, mode: Int = 0o600) throws {
            try Data(text.utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        }
        try write("correct horse\n")
        let subject = try TokenServiceUnderTest { $0.tokens.passphrase = file.path }
        let keys = subject.data.appendingPathComponent("keys")
        for name in try FileManager.default.contentsOfDirectory(atPath: keys.path) where name.hasSuffix(".json") {
            let text = try String(contentsOf: keys.appendingPathComponent(name), encoding: .utf8)
            #expect(text.contains("BEGIN ENCRYPTED PRIVATE KEY"))
        }
        let key = try subject.tokenKey("AAAA")
        try subject.restart()
        #expect(try subject.tokenKey("AAAA") == key)
        for (text, mode, reason) in [
            ("wrong horse", 0o600, "passphrase"), ("\n", 0o600, "first line"), ("correct horse", 0o644, "chmod 600"),
        ] {
            try write(text, mode: mode)
            let error = #expect(throws: IssuerKeyError.self) { try subject.restart() }
            #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
            #expect(error?.description.contains("horse") == false)
        }
    }

    @Test("a folder or a key that others may read is refused")
    func permissions() throws {
        let subject = try TokenServiceUnderTest()
        let keys = subject.data.path + "/keys"
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: keys).first { $0.hasSuffix(".json") })
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: keys + "/" + name)
        #expect(throws: IssuerKeyError.self) { try subject.restart() }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keys + "/" + name)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: keys)
        #expect(throws: IssuerKeyError.self) { try subject.restart() }
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: keys)
        try subject.restart()
    }
}
