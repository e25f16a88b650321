// What only the file driver can do wrong: forgetting over a restart, acknowledging too early, open permissions, foreign and
// damaged files, full disks.

import Glibc
import Testing

@testable import StateStore

@Suite("Evaluation keys in SQLite: persistence")
struct SQLitePersistenceTests {
    let folder = ScratchFolder()

    @Test("keys, and the order of their use, survive closing and opening")
    func reopen() throws {
        let limits = EvaluationKeyLimits(maxKeysPerIdentifier: 2, maxIdleSeconds: 100)
        let records = [record("USER", 1, .max, fill: 1), record("USER", 2, 2, fill: 2)]
        do {
            let store = try SQLiteEvaluationKeyStore(path: folder.file(), limits: limits)
            try store.store(records, at: 1_000)
            #expect(try store.found("USER", 1, .max, at: 1_200) != nil)
            try store.close()
        }
        #expect(folder.entries() == ["keys.sqlite"], "a clean close leaves no log behind")
        let store = try SQLiteEvaluationKeyStore(path: folder.file(), limits: limits)
        #expect(try store.statistics() == EvaluationKeyStatistics(count: 2, bytes: 32))
        #expect(try store.found("USER", 2, 2, at: 1_000)?.record == records[1])
        #expect(try store.evict(at: 1_150) == 1, "the use at 1200 was kept over the restart, the one at 1000 is idle")
        #expect(try store.found("USER", 1, .max)?.record == records[0])
    }

    @Test("a use counts in the order of eviction after a restart")
    func useOrderSurvives() throws {
        let limits = EvaluationKeyLimits(maxKeysPerIdentifier: 2)
        do {
            let store = try SQLiteEvaluationKeyStore(path: folder.file(), limits: limits)
            try store.store([record("USER", 1, 1), record("USER", 2, 1)], at: 0)
            _ = try store.found("USER", 1, 1)
        }  // closed by deinit
        let store = try SQLiteEvaluationKeyStore(path: folder.file(), limits: limits)
        try store.store([record("USER", 3, 1)], at: 0)
        #expect(try [1, 2, 3].map { try store.newest("USER", $0) != nil } == [true, false, true])
    }

    @Test("what is acknowledged is in the files before the call returns; a torn last write loses only what came after")
    func durableBeforeAcknowledged() throws {
        let store = try SQLiteEvaluationKeyStore(path: folder.file())
        #expect(try store.executeOnWriter("PRAGMA synchronous") == 2)
        var logLengths: [Int] = []
        for timestamp: UInt64 in 1...2 {
            try store.store([record("USER\(timestamp)", 0, timestamp, bytes: 20_000)], at: 0)
            logLengths.append(bytes(of: folder.file("keys.sqlite-wal")).count)
        }
        // As after a power cut: the files as they are, without closing.
        let database = bytes(of: folder.file())
        let log = bytes(of: folder.file("keys.sqlite-wal"))
        for (length, expected) in [(log.count, 2), (log.count - 1, 1), (logLengths[0] + 40, 1), (logLengths[0], 1)] {
            let copy = ScratchFolder()
            write(database, to: copy.file())
            write(Array(log[..<length]), to: copy.file("keys.sqlite-wal"))
            let survivor = try SQLiteEvaluationKeyStore(path: copy.file())
            #expect(try survivor.statistics().count == expected, "log cut to \(length) of \(log.count)")
            #expect(try survivor.found("USER1", 0, 1)?.record.key.count == 20_000)
        }
    }

    @Test("a query writes nothing, an eviction writes the uses")
    func usesAreBatched() throws {
        let store = try SQLiteEvaluationKeyStore(path: folder.file(), limits: EvaluationKeyLimits(maxIdleSeconds: 100))
        try store.store([record(1)], at: 0)
        let before = bytes(of: folder.file("keys.sqlite-wal"))
        for now: Int64 in 1...1_000 {
            _ = try store.found("USER", 0, 1, at: now)
        }
        #expect(bytes(of: folder.file("keys.sqlite-wal")) == before)
        #expect(try store.evict(at: 1_050) == 0)
        #expect(bytes(of: folder.file("keys.sqlite-wal")) != before)
    }

    @Test("limits lowered over a restart take effect at the first eviction")
    func loweredLimits() throws {
        do {
            let store = try SQLiteEvaluationKeyStore(path: folder.file())
            for configuration: UInt8 in 1...8 {
                try store.store([record("USER", configuration, 1), record("OTHER", configuration, 1)], at: 0)
            }
        }
        let lower = EvaluationKeyLimits(maxKeysPerIdentifier: 3, maxTotalBytes: 5 * 16, maxKeyBytes: 16)
        let store = try SQLiteEvaluationKeyStore(path: folder.file(), limits: lower)
        #expect(try store.evict(at: 0) == 11)
        #expect(try store.statistics() == EvaluationKeyStatistics(count: 5, bytes: 80))
        #expect(try store.newest("USER", 8) == 1)
    }

    @Test("100 keys of 1 MB are stored, read and replaced in reasonable time, and freed space is used again")
    func megabytes() throws {
        let clock = ContinuousClock()
        let started = clock.now
        let store = try SQLiteEvaluationKeyStore(path: folder.file())
        for round: UInt64 in 1...2 {
            for user in 0..<50 {
                try store.store([record("user\(user)", 0, 7, bytes: 1 << 20, fill: UInt8(user))], at: Int64(round))
            }
        }
        for user in 0..<50 {
            let key = try store.found("user\(user)")?.record.key
            #expect(key?.count == 1 << 20 && key?.allSatisfy { $0 == UInt8(user) } == true)
        }
        #expect(try store.statistics() == EvaluationKeyStatistics(count: 50, bytes: 50 << 20))
        try store.close()
        #expect(bytes(of: folder.file()).count < 56 << 20)
        #expect(clock.now - started < .seconds(60))
    }
}

@Suite("Evaluation keys in SQLite: hostile files and disks")
struct SQLiteHostilityTests {
    let folder = ScratchFolder()

    @Test("files are 0600, a new folder 0700, an open one is refused")
    func permissions() throws {
        let path = "\(folder.path)/inner/keys.sqlite"
        defer {
            for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
            rmdir("\(folder.path)/inner")
        }
        do {
            let store = try SQLiteEvaluationKeyStore(path: path)
            try store.store([record(1)], at: 0)
            #expect(mode(of: "\(folder.path)/inner") == 0o700)
            for suffix in ["", "-wal", "-shm"] {
                #expect(mode(of: path + suffix) == 0o600, "\(suffix)")
            }
        }
        chmod(path, 0o644)
        _ = try SQLiteEvaluationKeyStore(path: path)
        #expect(mode(of: path) == 0o600)
        chmod("\(folder.path)/inner", 0o750)
        #expect(throws: StateStoreError.openToOthers(path: "\(folder.path)/inner", mode: 0o750)) {
            try SQLiteEvaluationKeyStore(path: path)
        }
    }

    @Test("paths that cannot hold a store are refused")
    func badPaths() throws {
        let file = folder.file("plain")
        write([1], to: file)
        for path in [
            "\(folder.path)/no/such/keys.sqlite", "\(file)/keys.sqlite", "/dev/null", folder.path, "", "\(folder.path)/",
        ] {
            #expect(throws: StateStoreError.self, "\(path)") { try SQLiteEvaluationKeyStore(path: path) }
        }
        symlink(file, folder.file("link"))
        #expect(throws: StateStoreError.self) { try SQLiteEvaluationKeyStore(path: folder.file("link")) }
    }

    @Test("a newer schema is refused with both versions, another program's database too, and neither is touched")
    func versions() throws {
        do {
            let store = try SQLiteEvaluationKeyStore(path: folder.file())
            try store.store([record(1)], at: 0)
            _ = try store.executeOnWriter("PRAGMA user_version = 2")
        }
        let newer = bytes(of: folder.file())
        let expected = StateStoreError.newerSchema(path: folder.file(), found: 2, known: 1)
        #expect(throws: expected) { try SQLiteEvaluationKeyStore(path: folder.file()) }
        #expect(expected.description.contains("version 2") && expected.description.contains("up to 1"))
        #expect(bytes(of: folder.file()) == newer)

        let foreign = folder.file("foreign.sqlite")
        write([], to: foreign)
        do {
            let connection = try SQLiteConnection(path: foreign, busyMilliseconds: 0, maxValueBytes: 1_000)
            try connection.run("CREATE TABLE theirs (a)")
        }
        let before = bytes(of: foreign)
        #expect(throws: StateStoreError.foreignDatabase(path: foreign)) { try SQLiteEvaluationKeyStore(path: foreign) }
        #expect(bytes(of: foreign) == before)
    }

    @Test("an empty file becomes a store, anything that is no database is refused and left alone")
    func notADatabase() throws {
        write([], to: folder.file())
        try SQLiteEvaluationKeyStore(path: folder.file()).store([record(1)], at: 0)
        let path = folder.file("text")
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: 5_000)
        write(text, to: path)
        #expect(throws: StateStoreError.corrupt(path: path)) { try SQLiteEvaluationKeyStore(path: path) }
        #expect(bytes(of: path) == text)
    }

    @Test("a full disk is called so, also where the index of the log finds no room")
    func fullDiskByItsCodes() {
        for code: Int32 in [13, 10 | (19 << 8)] {
            #expect(SQLiteConnection.error(code, path: "p") == .diskFull(path: "p"), "code \(code)")
        }
        #expect(SQLiteConnection.error(10, path: "p") != .diskFull(path: "p"))
    }

    @Test("a full disk: nothing of that call is stored, everything before stays, and a smaller one still fits")
    func diskFull() throws {
        let store = try SQLiteEvaluationKeyStore(path: folder.file())
        try store.store([record("first", 0, 1, bytes: 10_000)], at: 0)
        let pages = try #require(try store.executeOnWriter("PRAGMA page_count"))
        _ = try store.executeOnWriter("PRAGMA max_page_count = \(pages + 10)")
        #expect(throws: StateStoreError.diskFull(path: folder.file())) {
            try store.store([record("small", 0, 1), record("large", 0, 1, bytes: 1 << 20)], at: 0)
        }
        #expect(try store.newest("small") == nil)
        #expect(try store.found("first")?.record.key.count == 10_000)
        try store.store([record("second", 0, 1, bytes: 10_000)], at: 0)
        #expect(try store.statistics().count == 2)
        try store.close()
        #expect(try SQLiteEvaluationKeyStore(path: folder.file()).statistics().count == 2)
    }

    @Test("a file that cannot be written: stores fail, reads go on, uses wait until it can")
    func readOnly() throws {
        let store = try SQLiteEvaluationKeyStore(path: folder.file(), limits: EvaluationKeyLimits(maxIdleSeconds: 100))
        try store.store([record(1)], at: 0)
        _ = try store.executeOnWriter("PRAGMA query_only = ON")
        #expect(throws: StateStoreError.readOnly(path: folder.file())) { try store.store([record(2)], at: 0) }
        #expect(try store.found("USER", 0, 1, at: 500)?.matchedTimestamp == true)
        #expect(throws: StateStoreError.readOnly(path: folder.file())) { try store.evict(at: 0) }
        _ = try store.executeOnWriter("PRAGMA query_only = OFF")
        #expect(try store.evict(at: 550) == 0, "the use at 500 was not lost by the failed eviction")
    }

    @Test("another process that holds the file makes stores wait, then fail as busy")
    func busy() throws {
        let store = try SQLiteEvaluationKeyStore(path: folder.file(), busyMilliseconds: 20)
        try store.store([record(1)], at: 0)
        let other = try SQLiteConnection(path: folder.file(), busyMilliseconds: 0, maxValueBytes: 1_000)
        try other.run("BEGIN IMMEDIATE")
        #expect(throws: StateStoreError.busy(path: folder.file())) { try store.store([record(2)], at: 0) }
        #expect(try store.newest() == 1)
        try other.run("ROLLBACK")
        try store.store([record(2)], at: 0)
        #expect(try store.newest() == 2)
    }

    @Test("a file cut at any page opens with an error or answers with errors, never with a wrong key")
    func truncated() throws {
        let (whole, users) = try wholeStore()
        var damageSeen = 0
        for length in stride(from: 0, to: whole.count, by: 4_096).map({ $0 }) + [1, 50, 100, 511, whole.count - 1] {
            damageSeen += try survey(Array(whole[..<length]), users: users, note: "cut to \(length)")
        }
        #expect(damageSeen > 0)
    }

    @Test("a file with random bytes overwritten opens with an error or answers with errors or keys, and never traps")
    func overwritten() throws {
        let (whole, users) = try wholeStore()
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(state: seed)
        var damageSeen = 0
        for _ in 0..<150 {
            var damaged = whole
            for _ in 0..<Int.random(in: 1...20, using: &generator) {
                // Structure sits at the beginning of pages; keys, whose damage SQLite does not notice, are elsewhere.
                let page = Int.random(in: 0..<damaged.count / 4_096, using: &generator) * 4_096
                let offset = page + Int.random(in: 0..<(Bool.random(using: &generator) ? 120 : 4_096), using: &generator)
                damaged[offset] = UInt8.random(in: 0...255, using: &generator)
            }
            damageSeen += try survey(damaged, users: users, note: "seed \(seed)", checkContent: false)
        }
        #expect(damageSeen > 0, "seed \(seed)")
    }

    /// A closed store of some pages, and its users.
    private func wholeStore() throws -> (file: [UInt8], users: [String]) {
        let users = (0..<12).map { "user\($0)" }
        let store = try SQLiteEvaluationKeyStore(path: folder.file())
        for (index, user) in users.enumerated() {
            try store.store([record(user, 0, 5, bytes: 3_000 * (index % 4 + 1), fill: UInt8(index))], at: Int64(index))
        }
        try store.close()
        return (bytes(of: folder.file()), users)
    }

    /// Uses a damaged store in every way.
    ///
    /// - Returns: how many calls reported damage.
    private func survey(_ file: [UInt8], users: [String], note: Comment, checkContent: Bool = true) throws -> Int {
        let copy = ScratchFolder()
        write(file, to: copy.file())
        var damage = 0
        func attempt(_ body: () throws -> Void) {
            do { try body() } catch { damage += error is StateStoreError ? 1 : 1_000_000 }
        }
        attempt {
            let store = try SQLiteEvaluationKeyStore(path: copy.file(), busyMilliseconds: 0)
            for (index, user) in users.enumerated() {
                attempt {
                    guard let match = try store.found(user), checkContent else { return }
                    #expect(match.record == record(user, 0, 5, bytes: 3_000 * (index % 4 + 1), fill: UInt8(index)), note)
                }
            }
            attempt { _ = try store.statistics() }
            attempt { try store.store([record("user1", 0, 5), record("new", 0, 1, bytes: 9_000)], at: 1) }
            attempt { _ = try store.evict(at: .max) }
            attempt { try store.close() }
        }
        #expect(damage < 1_000_000, "an error that is not typed; \(note)")
        return damage
    }
}
