// A quarter of the time, one request at a time (service.md 8.4).

import HTTPCore
import ObliviousHTTP
import Testing

@testable import LookupService

@Suite struct OpeningShareTests {
    /// Whether there is a turn, which takes no time.
    private func hasTurn(_ share: OpeningShare, at now: ContinuousClock.Instant) -> Bool {
        guard let turn = share.begin(at: now) else { return false }
        share.end(turn, at: now)
        return true
    }

    @Test func oneAtATime() {
        let share = OpeningShare()
        let start = ContinuousClock.now
        guard let turn = share.begin(at: start) else {
            Issue.record("the first has no turn")
            return
        }
        #expect(!hasTurn(share, at: start.advanced(by: .seconds(60))), "while one is opened")
        share.end(turn, at: start.advanced(by: .microseconds(100)))
        #expect(!hasTurn(share, at: start.advanced(by: .microseconds(399))))
        #expect(hasTurn(share, at: start.advanced(by: .microseconds(400))))
        #expect(hasTurn(share, at: start.advanced(by: .microseconds(400))))
    }

    @Test func junkGetsAQuarterOfTheTime() {
        let share = OpeningShare()
        let start = ContinuousClock.now
        var busy = 0
        // Somebody asks in every microsecond of a tenth of a second; each opening takes 70.
        var end = 0
        for time in 0..<100_000 where time >= end {
            guard let turn = share.begin(at: start.advanced(by: .microseconds(time))) else { continue }
            busy += 70
            end = time + 70
            share.end(turn, at: start.advanced(by: .microseconds(end)))
        }
        #expect((24_000...26_000).contains(busy))
    }

    @Test("many at once are all answered, here or on other threads")
    func manyAtOnce() async throws {
        let gateway = try GatewayUnderTest()
        let key = try gateway.key()
        let service = gateway.subject.service
        let sealed = try (0..<200).map { _ in try key.encapsulate(GatewayUnderTest.request("GET").encoded()) }
        let answers = await withTaskGroup(of: Bool.self) { group in
            for sealed in sealed {
                group.addTask {
                    let answer = service.answer(
                        HTTPRequest(method: "POST", path: "/", fields: GatewayUnderTest.type, body: sealed.bytes))
                    guard let plain = try? sealed.responseOpener.open(answer.body) else { return false }
                    return (try? BinaryResponse(decoding: plain).status) == 200
                }
            }
            return await group.reduce(into: [Bool: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(answers == [true: 200])
    }
}
