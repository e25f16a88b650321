// The waiting line: bounds, order, age, displacement; and what a request sees of it (service.md 7).

import Dispatch
import Glibc
import HTTPCore
import LookupMessages
import Synchronization
import Testing

@testable import LookupService

/// Names of work in the order in which something happened to it.
private final class Journal: Sendable {
    private let kept = Mutex<[String]>([])
    func add(_ entry: String) { kept.withLock { $0.append(entry) } }
    var entries: [String] { kept.withLock { $0 } }
}

@Suite("The waiting line")
struct WorkPoolTests {
    private static let long = DispatchTime.now() + .seconds(60)

    /// A pool whose only thread waits for the gate.
    private func blockedPool(
        queries: Int, upkeep: Int = 2, time: Duration = .seconds(60)
    ) -> (pool: WorkPool, gate: DispatchSemaphore) {
        let rules = LineRules(queries: queries, upkeep: upkeep)
        let pool = WorkPool(WorkPool.Settings(name: "test", threads: 1, rules: rules, waitingTime: time))
        let gate = DispatchSemaphore(value: 0)
        #expect(pool.submit(WorkItem(rank: .query, run: { gate.wait() }, refuse: { _ in })) == nil)
        return (pool, gate)
    }

    @Test("urgent work is done first, and a full line takes no more")
    func order() {
        let (pool, gate) = blockedPool(queries: 3)
        let journal = Journal()
        let done = DispatchSemaphore(value: 0)
        func submit(_ name: String, _ rank: WorkRank) -> Bool {
            pool.submit(
                WorkItem(rank: rank) {
                    journal.add(name)
                    done.signal()
                } refuse: { refusal in
                    journal.add("no \(name): \(refusal.reason)")
                    done.signal()
                }) == nil
        }
        #expect(submit("upkeep 1", .upkeep))
        #expect(submit("query 1", .query))
        #expect(submit("query 2", .query))
        #expect(submit("block 1", .block))
        #expect(!submit("query 3", .query))
        // Takes the place of the query that came last.
        #expect(submit("block 2", .block))
        #expect(journal.entries == ["no query 2: displaced"])
        #expect(submit("upkeep 2", .upkeep))
        #expect(!submit("upkeep 3", .upkeep))
        gate.signal()
        for _ in 0..<6 { #expect(done.wait(timeout: Self.long) == .success) }
        #expect(journal.entries == ["no query 2: displaced", "block 1", "block 2", "query 1", "upkeep 1", "upkeep 2"])
    }

    @Test("a query that waits too long is refused while the thread is still busy, upkeep waits")
    func age() {
        let (pool, gate) = blockedPool(queries: 3, time: .milliseconds(20))
        let journal = Journal()
        let refused = DispatchSemaphore(value: 0)
        let ran = DispatchSemaphore(value: 0)
        #expect(
            pool.submit(WorkItem(rank: .upkeep, run: { ran.signal() }, refuse: { _ in journal.add("upkeep refused") })) == nil)
        #expect(
            pool.submit(
                WorkItem(rank: .query, run: { journal.add("ran") }, refuse: { if $0.reason == .age { refused.signal() } }))
                == nil)
        #expect(refused.wait(timeout: Self.long) == .success)
        gate.signal()
        #expect(ran.wait(timeout: Self.long) == .success)
        #expect(journal.entries.isEmpty)
    }

    @Test("idle threads can be borrowed, and come back")
    func lending() {
        let rules = LineRules(queries: 1, upkeep: 1)
        let pool = WorkPool(WorkPool.Settings(name: "test", threads: 3, rules: rules, waitingTime: .seconds(60)))
        let gate = DispatchSemaphore(value: 0)
        #expect(pool.lend(2) { gate.wait() } == 2)
        #expect(pool.idleThreads == 1)
        #expect(pool.lend(5) { gate.wait() } == 1)
        #expect(pool.lend(1) {} == 0)
        let done = DispatchSemaphore(value: 0)
        #expect(pool.submit(WorkItem(rank: .query, run: { done.signal() }, refuse: { _ in })) == nil)
        for _ in 0..<3 { gate.signal() }
        #expect(done.wait(timeout: Self.long) == .success)
    }

    @Test("work in the place of a thread: one place for both, and what came meanwhile is done")
    func workHere() {
        let pool = WorkPool(
            WorkPool.Settings(name: "test", threads: 1, rules: LineRules(queries: 0, upkeep: 2), waitingTime: .seconds(60)))
        let journal = Journal()
        let done = DispatchSemaphore(value: 0)
        let isDone = pool.runHere {
            #expect(pool.idleThreads == 0)
            #expect(!pool.runHere { journal.add("a second place") })
            #expect(
                pool.submit(
                    WorkItem(
                        rank: .upkeep,
                        run: {
                            journal.add("meanwhile")
                            done.signal()
                        }, refuse: { _ in })) == nil)
            journal.add("here")
        }
        #expect(isDone && done.wait(timeout: Self.long) == .success)
        #expect(journal.entries == ["here", "meanwhile"])
        // The thread becomes idle just after it has signalled.
        for _ in 0..<10_000 where pool.idleThreads == 0 { usleep(1000) }
        #expect(pool.runHere { journal.add("again") } && pool.idleThreads == 1)
        let (blocked, gate) = blockedPool(queries: 1)
        #expect(!blocked.runHere { journal.add("no place") })
        gate.signal()
        #expect(journal.entries.last == "again")
    }

    @Test("threads give way by as many steps as they were told, and only they")
    func niceness() {
        @Sendable func ownNiceness() -> Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
        let before = ownNiceness()
        let rules = LineRules(queries: 1, upkeep: 1)
        let pool = WorkPool(
            WorkPool.Settings(name: "test", threads: 1, niceness: 5, rules: rules, waitingTime: .seconds(60)))
        let seen = Mutex<Int32?>(nil)
        let done = DispatchSemaphore(value: 0)
        let look = WorkItem(rank: .query) {
            seen.withLock { $0 = ownNiceness() }
            done.signal()
        } refuse: { _ in
        }
        #expect(pool.submit(look) == nil)
        #expect(done.wait(timeout: Self.long) == .success)
        #expect(seen.withLock { $0 } == min(before + 5, 19) || seen.withLock { $0 } == 5)
        #expect(ownNiceness() == before)
    }

    @Test("figures say what runs, waits and was refused")
    func figures() {
        let (pool, gate) = blockedPool(queries: 1)
        let done = DispatchSemaphore(value: 0)
        let item = WorkItem(rank: .block, seconds: 4, run: { done.signal() }, refuse: { _ in })
        #expect(pool.submit(item) == nil)
        let refusal = pool.submit(WorkItem(rank: .query, run: {}, refuse: { _ in }))
        #expect(refusal?.reason == .lineFull)
        // Four seconds wait.
        #expect((4...8).contains(refusal?.retryAfter ?? 0))
        let figures = pool.figures
        #expect(figures.threads == 1 && figures.idleThreads == 0 && figures.longestRun > .zero)
        #expect(figures.waiting == [.block: 1, .query: 0, .upkeep: 0] && figures.refusals == [.lineFull: 1])
        #expect(figures.predictedSeconds == 4)
        gate.signal()
        #expect(done.wait(timeout: Self.long) == .success)
    }

    /// A service with one computing thread, which waits for the gate.
    private func blockedService(_ change: (inout ServiceOptions) -> Void) throws -> (ServiceUnderTest, DispatchSemaphore) {
        var options = ServiceOptions()
        options.computeThreads = 1
        options.waitingQueries = 1
        options.waitingTime = .seconds(60)
        options.queriesTime = .seconds(60)
        change(&options)
        let subject = try ServiceUnderTest(options: options)
        let gate = DispatchSemaphore(value: 0)
        #expect(subject.service.computing.submit(WorkItem(rank: .query, run: { gate.wait() }, refuse: { _ in })) == nil)
        return (subject, gate)
    }

    @Test("a full line is 503 with Retry-After, and what waits is answered")
    func overflow() throws {
        let (subject, gate) = try blockedService { _ in }
        let device = try TestDevice(subject.identity)
        var (query, request) = try device.query(ServiceUnderTest.number)
        request.evaluationKey = device.key
        let answers = Mutex<[HTTPResponse]>([])
        let done = DispatchSemaphore(value: 0)
        let body = device.requests(request).encoded()
        for _ in 0..<4 {
            DispatchQueue.global().async {
                let answer = subject.call("/queries", body)
                answers.withLock { $0.append(answer) }
                done.signal()
            }
        }
        for _ in 0..<3 { #expect(done.wait(timeout: Self.long) == .success) }
        let early = answers.withLock { $0 }
        #expect(early.map(\.status) == [503, 503, 503])
        #expect(early.allSatisfy { $0.fields["retry-after"] != nil })
        gate.signal()
        #expect(done.wait(timeout: Self.long) == .success)
        let last = try #require(answers.withLock { $0.last })
        #expect(try device.value(query, in: last) == Array("Johnny".utf8))
    }

    @Test("a query whose deadline passes in the line is 503")
    func deadline() throws {
        let (subject, gate) = try blockedService { $0.queriesTime = .milliseconds(20) }
        let device = try TestDevice(subject.identity)
        let request = try device.query(ServiceUnderTest.number).request
        #expect(subject.call("/queries", device.requests(request)).status == 503)
        gate.signal()
    }

    @Test("a cancelled query is not computed")
    func cancelled() throws {
        let (subject, gate) = try blockedService { _ in }
        let device = try TestDevice(subject.identity)
        var request = try device.query(ServiceUnderTest.number).request
        request.evaluationKey = device.key
        let cancellation = HTTPCancellation()
        cancellation.cancel()
        gate.signal()
        let answer = subject.call("/queries", device.requests(request).encoded(), cancellation: cancellation)
        #expect(answer.status == 503)
    }
}
