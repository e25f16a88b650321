// What goes wrong around the spent tokens: full and read-only disks, other processes, damaged and foreign files. An error is
// never an acceptance.

import Glibc
import Testing

@testable import StateStore

@Suite("Spent tokens: hostile files and disks")
struct SpentTokenHostilityTests {
    let folder = ScratchFolder()
    var path: String { folder.file("\(keyA).sqlite") }

    @Test("a folder that is open to others, a file in its place, a link for a file")
    func paths() async throws {
        chmod(folder.path, 0o750)
        #expect(throws: StateStoreError.openToOthers(path: folder.path, mode: 0o750)) {
            try SQLiteSpentTokenStore(folder: folder.path)
        }
        chmod(folder.path, 0o700)
        for path in ["", "/dev/null", "\(folder.path)/no/such"] {
            #expect(throws: StateStoreError.self, "\(path)") { try SQLiteSpentTokenStore(folder: path) }
        }
        symlink("/etc/hostname", path)
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        guard case .cannotOpen = await store.refusal(mark(1)) else {
            Issue.record("a link was followed")
            return
        }
        #expect(throws: StateStoreError.self) { try SQLiteSpentTokenStore(folder: folder.path, waitingLimit: 0) }
    }

    @Test("a full disk refuses, without forgetting or accepting")
    func diskFull() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        #expect(try await store.spend(mark(0)))
        let pages = try #require(try store.execute("PRAGMA page_count", on: keyA))
        _ = try store.execute("PRAGMA max_page_count = \(pages + 2)", on: keyA)
        var accepted = [0]
        var refusals = 0
        for n in 1..<300 {
            do {
                if try await store.spend(mark(n)) { accepted.append(n) }
            } catch {
                #expect(error == .diskFull(path: path))
                refusals += 1
            }
        }
        #expect(refusals > 0 && accepted.count > 1)
        _ = try store.execute("PRAGMA max_page_count = 1000000", on: keyA)
        for n in 0..<300 { #expect(try await store.spend(mark(n)) == !accepted.contains(n), "token \(n)") }
    }

    @Test("a file that cannot be written refuses")
    func readOnly() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        #expect(try await store.spend(mark(0)))
        _ = try store.execute("PRAGMA query_only = ON", on: keyA)
        #expect(await store.refusal(mark(1)) == .readOnly(path: path))
        #expect(await store.refusal(mark(0)) == .readOnly(path: path))
        #expect(try await store.spend(mark(1), of: keyB), "other keys go on")
        _ = try store.execute("PRAGMA query_only = OFF", on: keyA)
        #expect(try await store.spend(mark(1)))
    }

    @Test("another process that holds the file: busy, then as if nothing had been")
    func busy() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path, busyMilliseconds: 20)
        #expect(try await store.spend(mark(0)))
        let other = try SQLiteConnection(path: path, busyMilliseconds: 0, maxValueBytes: 1_000)
        try other.run("BEGIN IMMEDIATE")
        #expect(await store.refusal(mark(1)) == .busy(path: path))
        try other.run("ROLLBACK")
        #expect(try await store.spend(mark(1)))
    }

    @Test("the waiting line is bounded, and who waits in it is served")
    func line() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path, waitingLimit: 10)
        #expect(try await store.spend(mark(0)))
        let other = try SQLiteConnection(path: path, busyMilliseconds: 0, maxValueBytes: 1_000)
        try other.run("BEGIN IMMEDIATE")
        let answers = Shared<[Result<Bool, StateStoreError>]>([])
        for n in 1...100 {
            store.spend(mark(n), of: keyA) { answer in answers.change { $0.append(answer) } }
        }
        // At most a first group of 10 has left the line for the disk.
        let full = Result<Bool, StateStoreError>.failure(.waitingLineFull(limit: 10))
        #expect(answers.value.count >= 80 && answers.value.allSatisfy { $0 == full })
        try other.run("ROLLBACK")
        while answers.value.count < 100 { try await Task.sleep(for: .milliseconds(1)) }
        let served = answers.value.filter { $0 != full }
        #expect((10...20).contains(served.count) && served.allSatisfy { $0 == .success(true) })
    }

    @Test("an emptied file, text, another program's database, a newer schema: refused, and left alone")
    func foreign() async throws {
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: 5_000)
        for content in [[], text, Array(text[..<1])] {
            write(content, to: path)
            let store = try SQLiteSpentTokenStore(folder: folder.path)
            #expect(await store.refusal(mark(1)) == .corrupt(path: path))
            #expect(throws: StateStoreError.corrupt(path: path)) { try store.statistics() }
            #expect(bytes(of: path) == content)
        }
        unlink(path)
        _ = try SQLiteUserStore(path: path)
        #expect(try await SQLiteSpentTokenStore(folder: folder.path).refusal(mark(1)) == .foreignDatabase(path: path))
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        do {
            let store = try SQLiteSpentTokenStore(folder: folder.path)
            #expect(try await store.spend(mark(1)))
            _ = try store.execute("PRAGMA user_version = 2", on: keyA)
        }
        #expect(
            try await SQLiteSpentTokenStore(folder: folder.path).refusal(mark(1))
                == .newerSchema(path: path, found: 2, known: 1))
    }

    @Test("a file cut anywhere accepts no spent token")
    func truncated() async throws {
        let whole = try await wholeStore()
        var refusals = 0
        let lengths = stride(from: 0, to: whole.count, by: 512).map { $0 } + [1, 50, 100, 511, whole.count - 1]
        for length in lengths {
            let copy = ScratchFolder()
            write(Array(whole[..<length]), to: copy.file("\(keyA).sqlite"))
            let store = try SQLiteSpentTokenStore(folder: copy.path)
            for n in 0..<200 {
                do {
                    #expect(try await !store.spend(mark(n)), "cut to \(length): token \(n) was accepted again")
                } catch {
                    refusals += 1
                }
            }
        }
        #expect(refusals > 0)
    }

    @Test("a changed mark, and a missing group in the middle, are noticed")
    func changedMark() async throws {
        let whole = try await wholeStore()
        let path = path
        for n in [0, 57, 199] {
            let sought = mark(n)
            let place = try #require(whole.indices.first { whole[$0...].starts(with: sought) })
            var damaged = whole
            damaged[place + 7] ^= 0x10
            write(damaged, to: path)
            let store = try SQLiteSpentTokenStore(folder: folder.path)
            #expect(await store.refusal(mark(n)) == .corrupt(path: path))
            #expect(await store.refusal(mark(1_000)) == .corrupt(path: path))
            try store.close()
        }
        for statement in ["DELETE FROM spent_group WHERE id = 50", "UPDATE spent_group SET id = 1000 WHERE id = 200"] {
            write(whole, to: path)
            do {
                let connection = try SQLiteConnection(path: path, busyMilliseconds: 0, maxValueBytes: 1_000)
                try connection.run(statement)
            }
            #expect(try await SQLiteSpentTokenStore(folder: folder.path).refusal(mark(1_000)) == .corrupt(path: path))
        }
    }

    @Test("a file with random bytes overwritten gives answers or typed errors, and never traps")
    func overwritten() async throws {
        let whole = try await wholeStore()
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(state: seed)
        var refusals = 0
        for _ in 0..<60 {
            var damaged = whole
            for _ in 0..<Int.random(in: 1...20, using: &generator) {
                // Structure sits at the beginning of pages.
                let page = Int.random(in: 0..<damaged.count / 4_096, using: &generator) * 4_096
                let offset = page + Int.random(in: 0..<(Bool.random(using: &generator) ? 60 : 4_096), using: &generator)
                damaged[offset] = UInt8.random(in: 0...255, using: &generator)
            }
            let copy = ScratchFolder()
            write(damaged, to: copy.file("\(keyA).sqlite"))
            let store = try SQLiteSpentTokenStore(folder: copy.path, busyMilliseconds: 0)
            for n in 0..<210 where await store.refusal(mark(n)) != nil { refusals += 1 }
            _ = try? store.statistics()
            try store.close()
        }
        #expect(refusals > 0, "seed \(seed)")
    }

    /// A closed store with the marks 0..<200 of `keyA`, as bytes.
    private func wholeStore() async throws -> [UInt8] {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        for n in 0..<200 { #expect(try await store.spend(mark(n))) }
        try store.close()
        return bytes(of: path)
    }
}

@Suite("Spent tokens against a model")
struct SpentTokenModelTests {
    @Test("1500 random operations, with reopening and two stores")
    func randomOperations() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(state: seed)
        let folder = ScratchFolder()
        let memory = InMemorySpentTokenStore()
        var stores = try (0..<2).map { _ in try SQLiteSpentTokenStore(folder: folder.path) }
        var spent: [String: Set<Int>] = [:]
        var dropped: Set<String> = []
        for step in 0..<1_500 {
            let note: Comment = "seed \(seed), step \(step)"
            let key = "abcdef\(Int.random(in: 10..<30, using: &generator))"
            let which = Int.random(in: 0..<2, using: &generator)
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<92:
                let n = Int.random(in: 0..<20, using: &generator)
                if dropped.contains(key) {
                    #expect(await stores[which].refusal(mark(n), of: key) == .dropped(path: folder.file("\(key).sqlite")), note)
                    #expect(await memory.refusal(mark(n), of: key) != nil, note)
                } else {
                    let expected = spent[key, default: []].insert(n).inserted
                    #expect(try await stores[which].spend(mark(n), of: key) == expected, note)
                    #expect(try await memory.spend(mark(n), of: key) == expected, note)
                }
            case 92..<95:
                try stores[which].close()
                stores[which] = try SQLiteSpentTokenStore(folder: folder.path)
            case 95..<96:
                let kept = Set(spent.keys.filter { _ in Int.random(in: 0..<10, using: &generator) > 0 })
                dropped.formUnion(Set(spent.keys).subtracting(kept))
                spent = spent.filter { kept.contains($0.key) }
                try stores[which].keep(only: kept)
                try memory.keep(only: kept)
            default:
                let expected = spent.values.map(\.count).reduce(0, +)
                #expect(try stores[which].statistics().tokens == expected, note)
                #expect(try memory.statistics().tokens == expected, note)
            }
        }
        #expect(!dropped.isEmpty, "no key was dropped: seed \(seed)")
    }
}
