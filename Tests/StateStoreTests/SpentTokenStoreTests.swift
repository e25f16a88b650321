// A token is spent once: in both drivers, from many threads, stores and processes, over restarts and kill -9.

import Glibc
import Testing

@testable import StateStore

@Suite("Spent tokens, both drivers")
struct SpentTokenStoreTests {
    let folder = ScratchFolder()

    @Test("a token is new once, for each key", arguments: SpentTokenDriver.allCases)
    func once(driver: SpentTokenDriver) async throws {
        let store = try driver.open(folder)
        #expect(try await store.spend(mark(1)))
        #expect(try await !store.spend(mark(1)))
        #expect(try await store.spend(mark(2)))
        #expect(try await store.spend(mark(1), of: keyB))
        #expect(try await !store.spend(mark(1), of: keyB))
        #expect(try store.statistics().tokens == 3)
    }

    @Test("malformed marks and names of keys are refused, and not repeated", arguments: SpentTokenDriver.allCases)
    func malformed(driver: SpentTokenDriver) async throws {
        let store = try driver.open(folder)
        for length in [0, 15, 17, 32] {
            let error = await store.refusal([UInt8](repeating: 1, count: length))
            guard case .invalidValue = error else {
                Issue.record("\(length) bytes: \(String(describing: error))")
                continue
            }
        }
        for key in ["", "1234567", String(repeating: "a", count: 65), "ABCDEF0123", "../../../etc", "0123456g", "0123456/"] {
            guard case .invalidValue(let text) = await store.refusal(mark(1), of: key) else {
                Issue.record("accepted the name \(key)")
                continue
            }
            #expect(key.isEmpty || !text.contains(key))
            #expect(throws: StateStoreError.self) { try store.keep(only: [key]) }
        }
        #expect(try store.statistics().tokens == 0)
    }

    @Test("one token sent 100 times at once is new once", arguments: SpentTokenDriver.allCases)
    func parallel(driver: SpentTokenDriver) async throws {
        let store = try driver.open(folder)
        let firsts = Shared<[Int: Int]>([:])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for copy in 0..<100 {
                group.addTask {
                    for n in 0..<20 where try await store.spend(mark((n + copy) % 20)) {
                        firsts.change { $0[(n + copy) % 20, default: 0] += 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(firsts.value == Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, 1) }))
        #expect(try store.statistics().tokens == 20)
    }

    @Test("a dropped key's tokens go, others stay, and it never comes back", arguments: SpentTokenDriver.allCases)
    func keep(driver: SpentTokenDriver) async throws {
        let store = try driver.open(folder)
        for n in 0..<50 {
            #expect(try await store.spend(mark(n), of: keyA))
            #expect(try await store.spend(mark(n), of: keyB))
        }
        try store.keep(only: [keyB, "0123456789"])
        #expect(try store.statistics().tokens == 50)
        #expect(try await !store.spend(mark(1), of: keyB))
        try store.keep(only: [keyA, keyB])
        guard case .dropped = await store.refusal(mark(1), of: keyA) else {
            Issue.record("a token of a dropped key was not refused")
            return
        }
        #expect(try await store.spend(mark(1), of: "0123456789"), "a key that was never seen is not dropped by being left out")
    }

    @Test("after closing everything answers closed, once", arguments: SpentTokenDriver.allCases)
    func closed(driver: SpentTokenDriver) async throws {
        let store = try driver.open(folder)
        #expect(try await store.spend(mark(1)))
        try store.close()
        try store.close()
        #expect(await store.refusal(mark(2)) == .closed)
        #expect(throws: StateStoreError.closed) { try store.keep(only: []) }
        #expect(throws: StateStoreError.closed) { try store.statistics() }
    }

    @Test("each call is answered once, also those that wait while the store closes")
    func closing() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        let answers = Shared<[Int: [Bool?]]>([:])
        for n in 0..<2_000 {
            if n == 1_500 { try store.close() }
            store.spend(mark(n), of: keyA) { result in
                answers.change { $0[n, default: []].append(try? result.get()) }
            }
        }
        // `close` waits only for its own group; another may still be answering.
        while answers.value.count < 2_000 { try await Task.sleep(for: .milliseconds(1)) }
        for n in 0..<2_000 {
            #expect(answers.value[n] == [n < 1_500 ? true : nil], "token \(n)")
        }
        let again = try SQLiteSpentTokenStore(folder: folder.path)
        #expect(try again.statistics().tokens == 1_500)
    }

    @Test("an answer may spend, ask and close")
    func reentrant() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        let inner: Result<Bool, StateStoreError> = await withCheckedContinuation { continuation in
            store.spend(mark(1), of: keyA) { _ in
                _ = try? store.statistics()
                store.spend(mark(2), of: keyA) { continuation.resume(returning: $0) }
                try? store.close()
            }
        }
        #expect(inner == .success(true))
        #expect(await store.refusal(mark(3)) == .closed)
    }
}

@Suite("Spent tokens in SQLite: several stores, processes and lives")
struct SharedSpentTokenTests {
    let folder = ScratchFolder()

    @Test("spent tokens survive closing; a clean close leaves one private file for each key")
    func reopen() async throws {
        do {
            let store = try SQLiteSpentTokenStore(folder: folder.path)
            for n in 0..<100 { #expect(try await store.spend(mark(n), of: n % 2 == 0 ? keyA : keyB)) }
            for name in folder.entries() { #expect(mode(of: folder.file(name)) == 0o600, "\(name)") }
            try store.close()
        }
        #expect(Set(folder.entries()) == ["\(keyA).sqlite", "\(keyB).sqlite"])
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        #expect(try store.statistics().tokens == 100)
        for n in 0..<100 { #expect(try await !store.spend(mark(n), of: n % 2 == 0 ? keyA : keyB)) }
    }

    @Test("what is acknowledged is in the log before the answer; a torn last write loses only what came after")
    func durableBeforeAcknowledged() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        #expect(try await store.spend(mark(0)))
        #expect(try store.execute("PRAGMA synchronous", on: keyA) == 2)
        let path = folder.file("\(keyA).sqlite")
        var logs = [bytes(of: path + "-wal").count]
        for n in 1...3 {
            #expect(try await store.spend(mark(n)))
            logs.append(bytes(of: path + "-wal").count)
        }
        // As after a power cut: the files as they are, without closing.
        let (database, log) = (bytes(of: path), bytes(of: path + "-wal"))
        for (spent, length) in logs.enumerated() {
            for cut in [length, length + 1, length + 1_000] where cut <= log.count {
                let copy = ScratchFolder()
                write(database, to: copy.file("\(keyA).sqlite"))
                write(Array(log[..<cut]), to: copy.file("\(keyA).sqlite-wal"))
                let survivor = try SQLiteSpentTokenStore(folder: copy.path)
                #expect(try survivor.statistics().tokens == spent + 1, "log cut to \(cut)")
                for n in 0...3 { #expect(try await survivor.spend(mark(n)) == (n > spent)) }
            }
        }
    }

    @Test("tokens that wait for the disk share a transaction")
    func groups() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        #expect(try await store.spend(mark(0)))
        let path = folder.file("\(keyA).sqlite")
        let blocker = try SQLiteConnection(path: path, busyMilliseconds: 0, maxValueBytes: 1_000)
        try blocker.run("BEGIN IMMEDIATE")
        let before = bytes(of: path + "-wal").count
        let answers = Shared<[Result<Bool, StateStoreError>]>([])
        for n in 1...1_000 {
            store.spend(mark(n), of: keyA) { answer in answers.change { $0.append(answer) } }
        }
        try blocker.run("ROLLBACK")
        while answers.value.count < 1_000 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(answers.value.allSatisfy { $0 == .success(true) })
        #expect(bytes(of: path + "-wal").count - before < 500 * 1_024, "one by one each would write a page of 4 KiB")
    }

    @Test("two stores on one folder: each token is new in one of them")
    func twoStores() async throws {
        let stores = [try SQLiteSpentTokenStore(folder: folder.path), try SQLiteSpentTokenStore(folder: folder.path)]
        let firsts = Shared(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for n in 0..<400 {
                for store in stores {
                    group.addTask { if try await store.spend(mark(n)) { firsts.change { $0 += 1 } } }
                }
            }
            try await group.waitForAll()
        }
        #expect(firsts.value == 400)
        for store in stores { #expect(try store.statistics().tokens == 400) }
    }

    @Test("three processes on one folder: each token is new in one of them")
    func processes() async throws {
        let children = try (0..<2).map { _ in try SpendingProcess(folder: folder.path, first: 0, end: 600) }
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        var firsts: [Int: Int] = [:]
        for n in (0..<600).reversed() where try await store.spend(mark(n)) { firsts[n, default: 0] += 1 }
        for child in children {
            let answers = child.answers()
            #expect(answers.count == 600)
            for (n, isNew) in answers where isNew { firsts[n, default: 0] += 1 }
        }
        #expect(firsts.count == 600 && firsts.values.allSatisfy { $0 == 1 })
        #expect(try store.statistics().tokens == 600)
    }

    @Test("after kill -9 every acknowledged token is spent")
    func killed() async throws {
        var acknowledged: Set<Int> = []
        for round in 0..<3 {
            let child = try SpendingProcess(folder: folder.path, first: round * 100_000, end: (round + 1) * 100_000)
            let answers = child.answers(killAfter: 200 * (round + 1))
            #expect(answers.count >= 200 * (round + 1) && answers.count < 100_000, "it was killed at its work")
            #expect(answers.values.allSatisfy { $0 })
            acknowledged.formUnion(answers.keys)
            let store = try SQLiteSpentTokenStore(folder: folder.path)
            for n in acknowledged { #expect(try await !store.spend(mark(n)), "token \(n) was forgotten") }
            #expect(try store.statistics().tokens >= acknowledged.count)
            try store.close()
        }
    }
}

@Suite("Spent tokens: dropped keys and lost files")
struct DroppedSpentTokenTests {
    let folder = ScratchFolder()

    @Test("the disk space of a dropped key comes back at once")
    func space() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        try await fill(store, 0..<5_000, of: keyA)
        try await fill(store, 0..<10, of: keyB)
        let before = try store.statistics()
        #expect(before.tokens == 5_010 && before.bytes > 5_000 * 16)
        try store.keep(only: [keyB])
        let after = try store.statistics()
        #expect(after.tokens == 10 && after.bytes < before.bytes / 2)
        #expect(Set(folder.entries().filter { $0.hasPrefix(keyA) }) == ["\(keyA).dropped"])
        #expect(bytes(of: folder.file("\(keyA).dropped")).isEmpty && mode(of: folder.file("\(keyA).dropped")) == 0o600)
    }

    @Test("a store that has a dropped key open refuses its tokens, as does one that opens later")
    func droppedByAnother() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        let other = try SQLiteSpentTokenStore(folder: folder.path)
        #expect(try await store.spend(mark(1)))
        #expect(try await !other.spend(mark(1)))
        try other.keep(only: [])
        let expected = StateStoreError.dropped(path: folder.file("\(keyA).sqlite"))
        for store in [store, other, try SQLiteSpentTokenStore(folder: folder.path)] {
            #expect(await store.refusal(mark(1)) == expected)
            #expect(await store.refusal(mark(2)) == expected)
            #expect(try store.statistics().tokens == 0)
        }
        #expect(folder.entries() == ["\(keyA).dropped"])
    }

    @Test("what a crash left between mark and removal is not used, and goes with the next `keep`")
    func halfDropped() async throws {
        do {
            let store = try SQLiteSpentTokenStore(folder: folder.path)
            #expect(try await store.spend(mark(1)))
        }
        write([], to: folder.file("\(keyA).dropped"))
        write([1], to: folder.file("\(keyB).sqlite-wal"))
        write([1], to: folder.file("README"))
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        #expect(await store.refusal(mark(2)) == .dropped(path: folder.file("\(keyA).sqlite")))
        try store.keep(only: [keyA])
        #expect(Set(folder.entries()) == ["\(keyA).dropped", "\(keyB).dropped", "README"])
    }

    @Test("while one store drops a key and others spend and open it, no token is accepted twice")
    func dropRace() async throws {
        for round in 0..<20 {
            let key = "abcdef00\(10 + round)"
            let accepted = Shared<[Int: Int]>([:])
            let hasStarted = Shared(0)
            let path = folder.path
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<3 {
                    group.addTask {
                        // A new store now and then: one that opens while another drops.
                        for pass in 0..<20 {
                            guard let store = try? SQLiteSpentTokenStore(folder: path) else { continue }
                            for n in 0..<4 {
                                if let isNew = try? await store.spend(mark(n + 4 * (pass / 2)), of: key), isNew {
                                    accepted.change { $0[n + 4 * (pass / 2), default: 0] += 1 }
                                }
                                hasStarted.change { $0 += 1 }
                            }
                            if worker == 0 { try? store.close() }
                        }
                    }
                }
                group.addTask {
                    while hasStarted.value < 1 + 5 * round { try? await Task.sleep(for: .milliseconds(1)) }
                    do {
                        try SQLiteSpentTokenStore(folder: path).keep(only: [])
                    } catch {
                        Issue.record("dropping failed: \(error)")
                    }
                }
            }
            #expect(accepted.value.values.allSatisfy { $0 == 1 }, "round \(round)")
            let store = try SQLiteSpentTokenStore(folder: path)
            let expected = StateStoreError.dropped(path: folder.file("\(key).sqlite"))
            for n in 0..<40 { #expect(await store.refusal(mark(n), of: key) == expected) }
        }
    }

    @Test("a file removed or replaced by hand while in use is noticed, and stays refused")
    func moved() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        #expect(try await store.spend(mark(1)))
        #expect(try await store.spend(mark(1), of: keyB))
        let path = folder.file("\(keyA).sqlite")
        unlink(path)
        #expect(await store.refusal(mark(1)) == .moved(path: path))
        #expect(try await store.spend(mark(2), of: keyB), "other keys go on")
        #expect(await store.refusal(mark(2)) == .moved(path: path))
        write([], to: path)
        #expect(await store.refusal(mark(2)) == .moved(path: path))
    }

    @Test("a log without its database is not played into a new one")
    func orphanedLog() async throws {
        write([UInt8](repeating: 1, count: 4_000), to: folder.file("\(keyA).sqlite-wal"))
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        guard case .cannotOpen = await store.refusal(mark(1)) else {
            Issue.record("a token was accepted beside a lost database")
            return
        }
    }

    @Test("many keys side by side; more than can be live are refused")
    func manyKeys() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        let keys = (0..<SpentTokenFolder.mostKeys).map { "abcdef\(100 + $0)" }
        for round in 0..<2 {
            for key in keys { #expect(try await store.spend(mark(1), of: key) == (round == 0)) }
        }
        #expect(await store.refusal(mark(1), of: keyA) == .tooManyFiles(path: folder.path, limit: SpentTokenFolder.mostKeys))
        try store.keep(only: Set(keys.dropFirst()))
        #expect(try await store.spend(mark(1), of: keyA))
        #expect(try store.statistics().tokens == keys.count)
    }

    @Test("memory is bounded: beyond the limit a new token is refused, a spent one recognised, and dropping makes room")
    func tokenLimit() async throws {
        let store = try SQLiteSpentTokenStore(folder: folder.path, tokenLimit: 20)
        for n in 0..<20 { #expect(try await store.spend(mark(n), of: n < 15 ? keyA : keyB)) }
        for key in [keyA, keyB] {
            #expect(await store.refusal(mark(50), of: key) == .tooManyTokens(limit: key == keyA ? 15 : 5))
        }
        #expect(try await !store.spend(mark(3), of: keyA))
        try store.keep(only: [keyB])
        #expect(try await store.spend(mark(50), of: keyB))
        let smaller = try SQLiteSpentTokenStore(folder: folder.path, tokenLimit: 3)
        #expect(await smaller.refusal(mark(51), of: keyB) == .tooManyTokens(limit: 3))
    }

    private func fill(_ store: SQLiteSpentTokenStore, _ numbers: Range<Int>, of key: String) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for n in numbers {
                group.addTask {
                    let isNew = try await store.spend(mark(n), of: key)
                    #expect(isNew)
                }
            }
            try await group.waitForAll()
        }
    }
}
