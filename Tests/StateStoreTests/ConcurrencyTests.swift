// Many threads on one store: nothing acknowledged is lost, readers never see half of an upload.

import Synchronization
import Testing

@testable import StateStore

/// A number that several threads increase.
private final class Tally: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func increase() { count.withLock { $0 += 1 } }
}

@Suite("Evaluation keys, several threads")
struct ConcurrencyTests {
    let folder = ScratchFolder()

    @Test("uploads and queries from many threads", arguments: Driver.allCases)
    func threads(driver: Driver) async throws {
        let store = try driver.open(folder)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for step: UInt64 in 1...25 {
                        // Two configurations in one upload, with the same fill: a reader must see both or none of a step.
                        let fill = UInt8(step)
                        let upload = [
                            record("user\(worker)", 0, step, bytes: 4_000, fill: fill),
                            record("user\(worker)", 1, step, bytes: 4_000, fill: fill),
                        ]
                        try store.store(upload, at: Int64(step))
                        #expect(try store.newest("user\(worker)", 0) == step)
                        let match = try store.found("user\(worker)", 1, step)
                        #expect(match?.matchedTimestamp == true && match?.record.key.allSatisfy { $0 == fill } == true)
                        let neighbour = (worker + 1) % 8
                        // Second first: what the first read shows is then at least as new.
                        let second = try store.newest("user\(neighbour)", 1) ?? 0
                        let first = try store.newest("user\(neighbour)", 0) ?? 0
                        #expect(first >= second)
                        if step % 10 == 0 { try store.evict(at: Int64(step)) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.statistics() == EvaluationKeyStatistics(count: 32, bytes: 32 * 4_000))
    }

    @Test("an upload that fails does not take those down that share its transaction")
    func sharedTransaction() async throws {
        let store = try SQLiteEvaluationKeyStore(path: folder.file())
        let pages = try #require(try store.executeOnWriter("PRAGMA page_count"))
        _ = try store.executeOnWriter("PRAGMA max_page_count = \(pages + 120)")
        let failures = Tally()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<16 {
                group.addTask {
                    let isLarge = worker % 2 == 1
                    do {
                        try store.store([record("user\(worker)", 0, 1, bytes: isLarge ? 1 << 20 : 1_000)], at: 0)
                        #expect(!isLarge)
                    } catch {
                        #expect(isLarge && error as? StateStoreError == .diskFull(path: store.path))
                        failures.increase()
                    }
                }
            }
        }
        #expect(failures.value == 8)
        #expect(try store.statistics() == EvaluationKeyStatistics(count: 8, bytes: 8_000))
    }

    @Test("closing while others store and read gives them their key or the error, nothing else")
    func closing() async throws {
        let store = try SQLiteEvaluationKeyStore(path: folder.file())
        let acknowledged = Tally()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for step in 0..<200 {
                        do {
                            try store.store([record("user\(worker)-\(step)", 0, 1)], at: 0)
                            acknowledged.increase()
                            _ = try store.found("user\(worker)-\(step)")
                        } catch {
                            #expect(error as? StateStoreError == .closed)
                            return
                        }
                        if worker == 0, step == 20 { try? store.close() }
                    }
                }
            }
        }
        let again = try SQLiteEvaluationKeyStore(path: folder.file())
        #expect(try again.statistics().count == acknowledged.value)
    }
}
