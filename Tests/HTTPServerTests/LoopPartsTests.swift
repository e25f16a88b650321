// The parts of an event loop that can be tried alone: deadlines, census, budget, mailbox, reply.

import HTTPCore
import Synchronization
import Testing

@testable import HTTPServer

@Suite struct LoopPartsTests {
    @Test func deadlinesComeInOrder() {
        var deadlines = Deadlines()
        let start = ContinuousClock.Instant.now
        let order = [5, 3, 9, 1, 7, 3, 8, 2, 6, 4, 0]
        for (id, offset) in order.enumerated() { deadlines.add(start.advanced(by: .seconds(offset)), UInt64(id)) }
        #expect(deadlines.popDue(start.advanced(by: .seconds(-1))) == nil)
        var seen: [Int] = []
        while let (_, id) = deadlines.popDue(start.advanced(by: .seconds(7))) { seen.append(order[Int(id)]) }
        #expect(seen == [0, 1, 2, 3, 3, 4, 5, 6, 7])
        #expect(deadlines.first == start.advanced(by: .seconds(8)))
    }

    @Test func censusCountsByAddress() {
        var limits = HTTPLimits()
        limits.connectionsPerAddress = 2
        limits.connections = 4
        let census = ConnectionCensus(limits: limits)
        #expect(census.admit(1))
        #expect(census.admit(1))
        #expect(!census.admit(1))
        #expect(census.admit(2))
        #expect(!census.isFull)
        #expect(census.admit(nil))
        #expect(census.isFull)
        census.leave(1)
        #expect(!census.isFull)
        #expect(census.admit(1))
    }

    @Test func budgetComesBackWithTheLease() {
        let budget = BodyBudget(bytes: 10)
        var lease = budget.reserve(6)
        #expect(lease != nil)
        #expect(budget.reserve(5) == nil)
        #expect(budget.reserve(-1) == nil)
        #expect(lease?.grow(to: 11) == false)
        #expect(budget.reserve(5) == nil && budget.reserve(4) != nil, "a lease that cannot grow stays as it was")
        #expect(lease?.grow(to: 9) == true && lease?.grow(to: 2) == true)
        #expect(budget.reserve(2) == nil)
        lease = nil
        #expect(budget.reserve(10) != nil)
    }

    @Test func closedMailboxTakesNothing() throws {
        let mailbox = try #require(LoopMailbox())
        #expect(mailbox.post(.shutdown(by: .now)))
        #expect(mailbox.take().count == 1)
        #expect(mailbox.post(.shutdown(by: .now)))
        #expect(mailbox.close().count == 1)
        #expect(!mailbox.post(.shutdown(by: .now)))
        #expect(mailbox.take().isEmpty)
    }

    @Test func replyOfOneOwn() {
        let answers = Mutex<[Int]>([])
        do {
            let reply = HTTPReply { response in answers.withLock { $0.append(response.status) } }
            reply.send(HTTPResponse(status: 204))
            reply.send(HTTPResponse(status: 200))
        }
        _ = HTTPReply { response in answers.withLock { $0.append(response.status) } }
        #expect(answers.withLock { $0 } == [204, 500])
    }
}
