// Order and bounds of the waiting line, without threads and clock: ranks, turns of clients, shares, predicted times
// (service.md 7, 8.4).

import Dispatch
import HTTPCore
import Testing

@testable import LookupService

@Suite("Who waits, and who comes next")
struct WaitingLineTests {
    private static func client(_ name: String) -> WorkClient { WorkClient(source: .gateway, user: name, shared: []) }

    /// Names of items in the order of the line.
    private final class Line {
        var line: WaitingLine
        private var names: [ObjectIdentifier: String] = [:]
        private var items: [WorkItem] = []

        init(threads: Int = 1, _ rules: LineRules) { line = WaitingLine(rules: rules, threads: threads) }

        /// Nil: it waits; else the reason, or the name of what it displaced.
        @discardableResult func add(
            _ name: String, _ rank: WorkRank = .query, by client: String = "a", seconds: Double = 0, running: Double = 0,
            left: Double? = nil
        ) -> String? {
            let item = WorkItem(
                rank: rank, client: WaitingLineTests.client(client), seconds: seconds, run: {}, refuse: { _ in })
            names[ObjectIdentifier(item)] = name
            items.append(item)
            switch line.add(item, running: running, left: left) {
            case .waits(let displaced): return displaced.flatMap { names[ObjectIdentifier($0)] }
            case .refused(let reason): return reason.rawValue
            }
        }

        var rest: [String] {
            var result: [String] = []
            while let item = line.next() { result.append(names[ObjectIdentifier(item)] ?? "?") }
            return result
        }
    }

    @Test("clients take turns within a rank")
    func turns() {
        let line = Line(LineRules(queries: 100, upkeep: 1))
        for number in 1...4 { line.add("a\(number)", by: "a") }
        line.add("b1", by: "b")
        line.add("c1", by: "c")
        line.add("b2", by: "b")
        #expect(line.rest == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"])
        #expect(WorkRank.allCases.allSatisfy { line.line.count($0) == 0 })
    }

    @Test("one client has the whole line only while nobody else waits")
    func share() {
        let line = Line(LineRules(queries: 4, upkeep: 1, clientShare: 0.5))
        for number in 1...4 { #expect(line.add("a\(number)", by: "a") == nil) }
        #expect(line.add("a5", by: "a") == "lineFull")
        // Newcomers take the newest of the one that has most, as long as that has at least two more.
        #expect(line.add("b1", by: "b") == "a4")
        #expect(line.add("c1", by: "c") == "a3")
        #expect(line.add("d1", by: "d") == "a2")
        #expect(line.add("e1", by: "e") == "lineFull" && line.add("a6", by: "a") == "lineFull")
        #expect(line.rest == ["a1", "b1", "c1", "d1"])
    }

    @Test("a client with its share waits for others, another does not")
    func cap() {
        let line = Line(LineRules(queries: 10, upkeep: 1, clientShare: 0.3))
        line.add("b1", by: "b")
        for number in 1...3 { #expect(line.add("a\(number)", by: "a") == nil) }
        #expect(line.add("a4", by: "a") == "clientShare")
        #expect(line.add("a5", .block, by: "a") == "clientShare")
        #expect(line.add("c1", by: "c") == nil)
    }

    @Test("block queries first, yet every so often another, and now and then upkeep")
    func ranks() {
        let line = Line(LineRules(queries: 100, upkeep: 10, blocksInARow: 2))
        for number in 1...8 { line.add("b\(number)", .block) }
        for number in 1...3 { line.add("q\(number)", .query) }
        line.add("u1", .upkeep)
        line.add("u2", .upkeep)
        #expect(line.rest == ["b1", "b2", "q1", "b3", "b4", "q2", "b5", "b6", "u1", "q3", "b7", "b8", "u2"])
    }

    @Test("a block query takes the place of another query, never the other way round")
    func displacement() {
        let line = Line(LineRules(queries: 3, upkeep: 1))
        line.add("q1", by: "a")
        line.add("b1", .block, by: "a")
        line.add("b2", .block, by: "a")
        // The least urgent work of the one that has most goes first.
        #expect(line.add("b3", .block, by: "b") == "q1")
        #expect(line.add("b4", .block, by: "b") == "lineFull")
        #expect(line.add("b5", .block, by: "c") == "b2")
        #expect(line.add("q2", by: "d") == "lineFull")
        #expect(line.rest == ["b1", "b3", "b5"])
    }

    @Test("what would wait too long, or miss its deadline, is refused at once")
    func prediction() {
        let line = Line(threads: 2, LineRules(queries: 100, upkeep: 1, predictedWait: 1))
        // One second of work for two threads is left.
        #expect(line.add("q1", by: "a", seconds: 1, running: 1, left: 5) == nil)
        #expect(line.add("q2", by: "a", seconds: 0.25, running: 1, left: 1.2) == "predictedDeadline")
        #expect(line.add("q2", by: "a", seconds: 0.25, running: 1, left: 1.3) == nil)
        #expect(line.add("q3", by: "a", seconds: 0.25, running: 1) == "predictedWait")
        // Another client waits for one query of the first only, a block query for none.
        #expect(line.add("q4", by: "b", seconds: 0.25, running: 1, left: 1.2) == "predictedDeadline")
        #expect(line.add("q5", by: "b", seconds: 0.1, running: 1, left: 1.2) == nil)
        #expect(line.add("b1", .block, by: "a", seconds: 0.5, running: 1, left: 1) == nil)
        #expect(abs(line.line.predictedSeconds(running: 1) - (1 + 1 + 0.25 + 0.1 + 0.5) / 2) < 1e-9)
    }

    @Test("what was refused while it waited makes room")
    func sweeping() {
        var line = WaitingLine(rules: LineRules(queries: 1, upkeep: 1), threads: 1)
        let first = WorkItem(rank: .query, run: {}, refuse: { _ in })
        let second = WorkItem(rank: .query, run: {}, refuse: { _ in })
        guard case .waits(nil) = line.add(first, running: 0, left: nil) else { return #expect(Bool(false)) }
        guard case .refused(.lineFull) = line.add(second, running: 0, left: nil) else { return #expect(Bool(false)) }
        #expect(first.take())
        guard case .waits(nil) = line.add(second, running: 0, left: nil) else { return #expect(Bool(false)) }
        #expect(line.next() === second && line.next() == nil)
    }

    @Test("clients are addresses on direct connections, users behind gateways and proxies")
    func clients() throws {
        func address(_ text: String) throws -> HTTPSource {
            .direct(try #require(try SocketAddress.resolve(host: text, port: 1).first))
        }
        let proxies = [try #require(AddressPrefix("10.0.0.0/8"))]
        func client(_ source: HTTPSource, _ user: String) -> WorkClient {
            WorkClient(source: source, user: user, shared: proxies)
        }
        #expect(client(try address("192.0.2.1"), "u") == client(try address("192.0.2.1"), "v"))
        #expect(client(try address("192.0.2.1"), "u") != client(try address("192.0.2.2"), "u"))
        #expect(client(try address("2001:db8::1"), "u") == client(try address("2001:db8::2"), "v"))
        for shared in [try address("10.1.1.1"), try address("127.0.0.1"), .gateway, .inProcess] {
            #expect(client(shared, "u") == client(.gateway, "u") && client(shared, "u") != client(shared, "v"))
        }
    }

    @Test("the forecast follows what was measured")
    func forecast() throws {
        let subject = try ServiceUnderTest()
        let forecast = DurationForecast()
        let model = subject.identity.estimatedSeconds[0]
        #expect(model > 0 && forecast.seconds(subject.identity, shard: 0) == model)
        #expect(forecast.seconds(subject.identity, shard: 99) == 0)
        forecast.record(subject.identity.name, estimated: model, measured: 3 * model)
        #expect(abs(forecast.seconds(subject.identity, shard: 0) - 3 * model) < 1e-9)
        // A use case that was not measured yet has the others' ratio.
        #expect(abs(forecast.seconds(subject.block, shard: 0) / subject.block.estimatedSeconds[0] - 3) < 1e-9)
        for _ in 0..<200 { forecast.record(subject.identity.name, estimated: model, measured: model) }
        #expect(abs(forecast.seconds(subject.identity, shard: 0) / model - 1) < 1e-6)
        forecast.record(subject.identity.name, estimated: 0, measured: .infinity)
        #expect(forecast.seconds(subject.identity, shard: 0).isFinite)
    }

    @Test("answered queries are measured, and a query that cannot be done in time is refused with the time of the line")
    func measuredByTheService() throws {
        var options = ServiceOptions()
        options.computeThreads = 1
        options.waitingTime = .seconds(60)
        options.queriesTime = .seconds(60)
        let subject = try ServiceUnderTest(options: options)
        let device = try TestDevice(subject.identity)
        var (_, request) = try device.query(ServiceUnderTest.number)
        request.evaluationKey = device.key
        #expect(subject.call("/queries", device.requests(request)).status == 200)
        #expect(subject.service.forecast.seconds(subject.identity, shard: 0) > 0)
        for _ in 0..<100 {
            subject.service.forecast.record(
                subject.identity.name, estimated: subject.identity.estimatedSeconds[0], measured: 1000)
        }
        let gate = DispatchSemaphore(value: 0)
        #expect(subject.service.computing.submit(WorkItem(rank: .query, run: { gate.wait() }, refuse: { _ in })) == nil)
        let answer = subject.call("/queries", device.requests(request))
        gate.signal()
        #expect(answer.status == 503)
        #expect(subject.service.computing.figures.refusals == [.predictedDeadline: 1])
        #expect(answer.fields["retry-after"].flatMap { Int($0) }.map { $0 >= 1 } == true)
    }
}
