// User accounts and quota counters over restarts, several connections, and damage.

import Glibc
import Testing

@testable import StateStore

/// A user with these credentials.
private func user(_ credentials: UInt8..., tier: String = "tier1", label: String? = nil, expires: Int64? = nil) -> UserRecord {
    UserRecord(
        tier: tier, label: label, created: 100, expires: expires, credentialHashes: credentials.map { hash($0) })
}

@Suite("Users in SQLite")
struct SQLiteUserStoreTests {
    let folder = ScratchFolder()

    @Test("users are found by each credential, listed, revoked, and survive a restart")
    func life() throws {
        let added: [UserRecord]
        do {
            let store = try SQLiteUserStore(path: folder.file())
            added = [
                try store.add(user(2, 1, label: "an é \u{1F642}", expires: 500)), try store.add(user(3, tier: "tier2")),
                try store.add(user(4, 4)),
            ]
            #expect(added.map(\.id) == [1, 2, 3])
            #expect(added.map(\.credentialHashes) == [[hash(1), hash(2)], [hash(3)], [hash(4)]])
            #expect(try store.user(credentialHash: hash(2)) == added[0])
            #expect(try store.user(credentialHash: hash(9)) == nil)
            try store.revoke(id: 2, at: 200)
            try store.revoke(credentialHash: hash(3), at: 300)
            try store.revoke(credentialHash: hash(1), at: 400)
            try store.add(credentialHash: hash(5), toUser: 3)
            try store.add(credentialHash: hash(5), toUser: 3)
            store.close()
            #expect(throws: StateStoreError.closed) { try store.list() }
            #expect(throws: StateStoreError.closed) { try store.revoke(id: 1, at: 0) }
        }
        #expect(folder.entries() == ["keys.sqlite"])
        #expect(mode(of: folder.file()) == 0o600)
        let store = try SQLiteUserStore(path: folder.file())
        let listed = try store.list()
        #expect(listed.map(\.revoked) == [400, 200, nil], "the first revocation stays")
        #expect(listed.map(\.tier) == ["tier1", "tier2", "tier1"])
        #expect(listed[0].label == "an é \u{1F642}" && listed[0].expires == 500 && listed[0].created == 100)
        #expect(listed[2].credentialHashes == [hash(4), hash(5)])
        #expect(try store.user(credentialHash: hash(2))?.revoked == 400, "all credentials of the user")
        #expect(try store.list(after: 1, limit: 1).map(\.id) == [2])
        #expect(try store.list(after: 3) == [] && store.list(limit: -1) == [])
        for call in [{ try store.revoke(id: 9, at: 0) }, { try store.revoke(credentialHash: hash(9), at: 0) }] {
            #expect(throws: StateStoreError.noSuchUser) { try call() }
        }
        #expect(throws: StateStoreError.noSuchUser) { try store.add(credentialHash: hash(9), toUser: 9) }
    }

    @Test("a credential belongs to one user; a refused call changes nothing")
    func taken() throws {
        let store = try SQLiteUserStore(path: folder.file())
        _ = try store.add(user(1, 2))
        _ = try store.add(user(3))
        let before = try store.list()
        let generation = try store.generation()
        #expect(throws: StateStoreError.credentialTaken(index: 0)) { try store.add(user(9, 2)) }
        #expect(throws: StateStoreError.credentialTaken(index: 0)) { try store.add(credentialHash: hash(1), toUser: 2) }
        #expect(throws: StateStoreError.credentialTaken(index: 1)) { try store.importAll([user(7), user(1, 3)]) }
        #expect(throws: StateStoreError.credentialTaken(index: 1)) { try store.importAll([user(7), user(7, tier: "tier2")]) }
        #expect(throws: StateStoreError.credentialTaken(index: 1)) { try store.importAll([user(1), user(2)]) }
        #expect(try store.list() == before)
        #expect(try store.generation() == generation)
    }

    @Test("malformed users are refused, and not repeated")
    func malformed() throws {
        let store = try SQLiteUserStore(path: folder.file())
        var bad = [UserRecord](repeating: user(1, label: "SECRET"), count: 8)
        bad[0].tier = ""
        bad[1].tier = String(repeating: "S", count: 129)
        bad[2].tier = "SECRET\n"
        bad[3].label = "SECRET\u{0}"
        bad[4].label = String(repeating: "S", count: 257)
        bad[5].credentialHashes = []
        bad[6].credentialHashes = [[UInt8](repeating: 1, count: 31)]
        bad[7].credentialHashes = (0..<65).map { hash($0) }
        for (index, user) in bad.enumerated() {
            for call in [{ _ = try store.add(user) }, { _ = try store.importAll([user]) }] {
                do {
                    try call()
                    Issue.record("accepted number \(index)")
                } catch StateStoreError.invalidValue(let text) {
                    #expect(!text.contains("SECRET"))
                }
            }
        }
        #expect(throws: StateStoreError.self) { try store.user(credentialHash: [1]) }
        #expect(throws: StateStoreError.self) { try store.revoke(credentialHash: [], at: 1) }
        #expect(try store.list() == [])
        var full = user(0)
        full.credentialHashes = (0..<64).map { hash($0) }
        let id = try store.add(full).id
        #expect(throws: StateStoreError.self) { try store.add(credentialHash: hash(100), toUser: id) }
        #expect(throws: StateStoreError.self) { try store.importAll([user(1, 100)]) }
        #expect(try store.list().map(\.credentialHashes.count) == [64])
    }

    @Test("an import adds the new, changes the known, and may be repeated")
    func imports() throws {
        let store = try SQLiteUserStore(path: folder.file())
        let first = try store.add(user(1))
        try store.revoke(id: first.id, at: 50)
        let list = [user(1, 2, tier: "tier2", label: "x", expires: 9), user(3)]
        #expect(try store.importAll(list) == 1)
        #expect(try store.importAll(list) == 0)
        let users = try store.list()
        #expect(users.count == 2 && users[1].credentialHashes == [hash(3)])
        #expect(users[0].tier == "tier2" && users[0].label == "x" && users[0].expires == 9)
        #expect(users[0].credentialHashes == [hash(1), hash(2)] && users[0].revoked == 50, "an import revives nobody")
        let many = (0..<5_000).map { n in
            UserRecord(tier: "t", created: 1, credentialHashes: [mark(n) + mark(n)])
        }
        #expect(try store.importAll(many) == 5_000)
        #expect(try store.user(credentialHash: mark(4_321) + mark(4_321))?.id == 4_321 + 3)
    }

    @Test("the generation changes with changes, also those of another connection, and only then")
    func generation() throws {
        let store = try SQLiteUserStore(path: folder.file())
        let other = try SQLiteUserStore(path: folder.file())
        var last = try store.generation()
        for change in [
            { _ = try other.add(user(1)) }, { try other.revoke(id: 1, at: 1) }, { _ = try store.importAll([user(2)]) },
            { try other.add(credentialHash: hash(5), toUser: 2) },
        ] {
            #expect(try store.generation() == last)
            _ = try store.list()
            try change()
            let now = try store.generation()
            #expect(try now != last && now == other.generation())
            last = now
        }
        unlink(folder.file())
        #expect(throws: StateStoreError.moved(path: folder.file())) { try store.generation() }
        #expect(throws: StateStoreError.moved(path: folder.file())) { try store.add(user(9)) }
    }

    @Test("foreign and damaged files give typed errors")
    func hostile() throws {
        _ = try SQLiteQuotaStore(path: folder.file("quota"))
        #expect(throws: StateStoreError.foreignDatabase(path: folder.file("quota"))) {
            try SQLiteUserStore(path: folder.file("quota"))
        }
        do {
            let store = try SQLiteUserStore(path: folder.file())
            try store.importAll((0..<500).map { UserRecord(tier: "t", created: 1, credentialHashes: [mark($0) + mark($0)]) })
        }
        let whole = bytes(of: folder.file())
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(state: seed)
        var refused = 0
        for round in 0..<60 {
            var damaged = whole
            if round % 3 == 0 {
                damaged.removeLast(Int.random(in: 1...damaged.count, using: &generator))
            } else {
                for _ in 0..<20 {
                    let page = Int.random(in: 0..<damaged.count / 4_096, using: &generator) * 4_096
                    damaged[page + Int.random(in: 0..<200, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
                }
            }
            let copy = ScratchFolder()
            write(damaged, to: copy.file())
            func attempt(_ body: () throws -> Void) {
                do { try body() } catch {
                    refused += 1
                    #expect(error is StateStoreError, "seed \(seed)")
                }
            }
            attempt {
                let store = try SQLiteUserStore(path: copy.file(), busyMilliseconds: 0)
                attempt { _ = try store.list() }
                attempt { _ = try store.user(credentialHash: mark(7) + mark(7)) }
                attempt { _ = try store.add(user(1)) }
                attempt { _ = try store.generation() }
            }
        }
        #expect(refused > 0, "seed \(seed)")
    }
}

@Suite("Quota counters in SQLite")
struct SQLiteQuotaStoreTests {
    let folder = ScratchFolder()

    private func counter(_ n: Int) -> QuotaCounter {
        QuotaCounter(
            level: Double(n) + 0.1, refilled: Int64(n), hour: Int64(n / 3_600), issuedThisHour: n, day: Int64(n / 86_400),
            issuedToday: n * 2)
    }

    @Test("counters come back exactly, are replaced, forgotten, and survive a restart")
    func life() throws {
        do {
            let store = try SQLiteQuotaStore(path: folder.file())
            try store.save(Dictionary(uniqueKeysWithValues: (0..<300).map { (mark($0), counter($0)) }))
            try store.save([mark(5): counter(1_000)])
            try store.save([:])
            #expect(try store.load(user: mark(5)) == counter(1_000))
            #expect(try store.load(user: mark(301)) == nil)
            store.close()
            #expect(throws: StateStoreError.closed) { try store.load(user: mark(5)) }
            #expect(throws: StateStoreError.closed) { try store.forget(olderThan: 0) }
        }
        #expect(folder.entries() == ["keys.sqlite"])
        let store = try SQLiteQuotaStore(path: folder.file())
        #expect(try store.forget(olderThan: 100) == 99)
        for n in 0..<300 {
            #expect(try store.load(user: mark(n)) == (n == 5 ? counter(1_000) : n < 100 ? nil : counter(n)))
        }
        #expect(try store.forget(olderThan: 100) == 0)
    }

    @Test("malformed counters are refused, with all that came with them")
    func malformed() throws {
        let store = try SQLiteQuotaStore(path: folder.file())
        var bad = [QuotaCounter](repeating: counter(1), count: 5)
        bad[0].level = .nan
        bad[1].level = .infinity
        bad[2].level = -0.5
        bad[3].issuedThisHour = -1
        bad[4].issuedToday = -1
        for counter in bad {
            #expect(throws: StateStoreError.self) { try store.save([mark(1): self.counter(1), mark(2): counter]) }
        }
        #expect(throws: StateStoreError.self) { try store.save([[1]: counter(1)]) }
        #expect(throws: StateStoreError.self) { try store.load(user: hash()) }
        #expect(try store.load(user: mark(1)) == nil)
    }

    @Test("what a damaged file holds is not believed")
    func unsound() throws {
        let store = try SQLiteQuotaStore(path: folder.file())
        try store.save([mark(1): counter(1), mark(2): counter(2)])
        let other = try SQLiteConnection(path: folder.file(), busyMilliseconds: 1_000, maxValueBytes: 1_000)
        try other.run("UPDATE quota SET level = -1.0 WHERE mark = ?1", [.blob(mark(1))])
        #expect(throws: StateStoreError.corrupt(path: folder.file())) { try store.load(user: mark(1)) }
        #expect(try store.load(user: mark(2)) == counter(2))
        unlink(folder.file())
        #expect(throws: StateStoreError.moved(path: folder.file())) { try store.save([mark(3): counter(3)]) }
    }

    @Test("saving in several processes' stores at once loses nothing")
    func shared() async throws {
        let stores = [try SQLiteQuotaStore(path: folder.file()), try SQLiteQuotaStore(path: folder.file())]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, store) in stores.enumerated() {
                group.addTask {
                    for n in 0..<50 {
                        try store.save([
                            mark(2 * n + index): QuotaCounter(
                                level: 1, refilled: Int64(n), hour: 0, issuedThisHour: 0, day: 0, issuedToday: 0)
                        ])
                    }
                }
            }
            try await group.waitForAll()
        }
        for n in 0..<100 { #expect(try stores[n % 2].load(user: mark(n))?.refilled == Int64(n / 2)) }
    }
}
