// Rotation with a simulated clock: at every instant, a client with the oldest permitted directory gets tokens and can spend them
// as long as they live (service.md 11). Wrong timelines must be noticed.

import Testing

@testable import PrivacyPass

/// An issuer that rotates by schedule, seen by clients of two tiers at every second of several rotations.
private struct RotationSimulation {
    enum Client: CaseIterable {
        /// Takes the directory's first key whose `not-before` is past, by its own clock.
        case heedsNotBefore
        /// Takes the directory's first key.
        case takesFirstKey
        /// Asks for its tier's key, and finds it in the directory that it has.
        case asksForItsTier
    }

    /// A timeline of minutes in place of days.
    static let rules = RotationRules(
        directoryMaxAge: 60, tokenLifetime: 300, period: 400, announceMargin: 10, directoryMargin: 10, issueMargin: 70,
        verifyMargin: 20, clockTolerance: 5)

    var rules = Self.rules
    var clients: [Client] = [.heedsNotBefore, .asksForItsTier]
    var end: Int64 = 2000
    /// How often the issuer looks at its schedule, and clients come.
    var step: Int64
    /// Spoils a plan, to see whether it is noticed.
    var spoil: @Sendable (inout RotationPlan<Int>) -> Void = { _ in }

    init(step: Int64 = 1) { self.step = step }

    private(set) var history: [KeySchedule<Int>] = []
    private var directories: [[ScheduledKey<Int>]] = []
    private(set) var failures: [String] = []
    private(set) var rotations = 0
    private(set) var issued = 0

    private mutating func operate() {
        var schedule = KeySchedule(
            keys: [
                ScheduledKey(id: 0, truncatedID: 0, tier: "basic", times: .init(created: 0)),
                ScheduledKey(id: 1, truncatedID: 1, tier: "paid", times: .init(created: -150)),
            ], defaultTier: "basic", rules: rules)
        for now in stride(from: 0, to: end, by: Int64.Stride(step)) {
            let expired = schedule.expired(at: now)
            schedule.keys.removeAll { expired.contains($0.id) }
            for tier in ["basic", "paid"] {
                let due = schedule.nextRotation(ofTier: tier, now: now)
                guard due.announceAt <= now else { continue }
                var plan = schedule.rotation(ofTier: tier, switchingAt: due.switchTime, now: now)
                spoil(&plan)
                rotations += 1
                for index in schedule.keys.indices {
                    if let times = plan.changed[schedule.keys[index].id] { schedule.keys[index].times = times }
                }
                schedule.keys.append(
                    ScheduledKey(
                        id: rotations + 1, truncatedID: UInt8(truncatingIfNeeded: rotations + 1), tier: tier, times: plan.newKey
                    ))
            }
            history.append(schedule)
            directories.append(schedule.directory(at: now))
        }
    }

    private func index(_ time: Int64) -> Int { Int(max(0, time) / step) }

    mutating func run() {
        operate()
        for now in stride(from: rules.directoryMaxAge, to: end - rules.tokenLifetime, by: Int64.Stride(step)) {
            for client in clients {
                for tier in ["basic", "paid"] {
                    for age in [0, rules.directoryMaxAge / 2, rules.directoryMaxAge] { visit(client, tier, age, now) }
                }
            }
        }
    }

    private mutating func visit(_ client: Client, _ tier: String, _ age: Int64, _ now: Int64) {
        let directory = directories[index(now - age)]
        switch client {
        case .heedsNotBefore:
            for skew in [-rules.clockTolerance, 0, rules.clockTolerance] {
                issue(directory.first { ($0.times.notBefore ?? .min) <= now + skew }, client, tier, now)
            }
        case .takesFirstKey: issue(directory.first, client, tier, now)
        case .asksForItsTier:
            let key = history[index(now)].currentKey(forTier: tier, at: now)
            guard key?.tier == tier, directory.contains(where: { $0.id == key?.id }) else {
                return fail("\(client): the key is not in a directory of age \(age)", now)
            }
            // The request may come later than the question.
            for delay in [0, rules.directoryMaxAge] { issue(key, client, tier, now + delay) }
        }
    }

    /// Has a token signed, and spends it at once, in the middle and at the end of its life.
    private mutating func issue(_ key: ScheduledKey<Int>?, _ client: Client, _ tier: String, _ now: Int64) {
        guard let key else { return fail("\(client): no usable key", now) }
        guard now < end - rules.tokenLifetime else { return }
        issued += 1
        let signing = history[index(now)].issuingKey(forTier: tier, truncatedID: key.truncatedID, at: now)
        if signing?.id != key.id { fail("\(client) of \(tier): the issuer refuses key \(key.id)", now) }
        for age in [0, rules.tokenLifetime / 2, rules.tokenLifetime - 1] {
            if !history[index(now + age)].verifies(key.id, at: now + age) {
                fail("\(client) of \(tier): a token of age \(age) is refused", now)
            }
        }
    }

    private mutating func fail(_ text: String, _ now: Int64) { failures.append("\(text) at \(now)") }
}

@Suite struct RotationSimulationTests {
    @Test func everyInstantOfTheTimeline() {
        var simulation = RotationSimulation()
        simulation.run()
        #expect(simulation.failures.isEmpty, "\(simulation.failures.prefix(5))")
        #expect(simulation.rotations >= 8 && simulation.issued > 20_000)
        #expect(simulation.history.allSatisfy { $0.keys.count <= 6 }, "expired keys go")
        #expect(simulation.history.allSatisfy { $0.directory(at: .max).count <= 4 })
    }

    @Test func theSpecifiedTimeline() {
        var simulation = RotationSimulation()
        simulation.rules = RotationRules()
        (simulation.end, simulation.step) = (75 * 86_400, 3600)
        simulation.run()
        #expect(simulation.failures.isEmpty, "\(simulation.failures.prefix(5))")
        #expect(simulation.rotations >= 4)
    }

    @Test func clientsThatTakeTheFirstKeyNeedTheOtherOrder() {
        var simulation = RotationSimulation(step: 5)
        simulation.clients = RotationSimulation.Client.allCases
        simulation.rules.order = .usableFirst
        simulation.run()
        #expect(simulation.failures.isEmpty, "\(simulation.failures.prefix(5))")
        simulation = RotationSimulation(step: 5)
        simulation.clients = RotationSimulation.Client.allCases
        simulation.run()
        #expect(simulation.failures.contains { $0.hasPrefix("takesFirstKey") })
        #expect(simulation.failures.allSatisfy { $0.hasPrefix("takesFirstKey") })
    }

    @Test(arguments: [
        "announced too late", "leaves the directory too early", "stops signing too early", "stops verifying too early",
        "begins too late",
    ])
    func wrongTimelinesAreNoticed(name: String) {
        var simulation = RotationSimulation(step: 5)
        switch name {
        case "announced too late": simulation.spoil = { $0.newKey.notBefore = $0.switchTime - 20 }
        case "leaves the directory too early":
            simulation.spoil = { plan in
                for id in plan.changed.keys { plan.changed[id]?.leavesDirectoryAt = plan.switchTime - 1 }
            }
        case "stops signing too early":
            simulation.spoil = { plan in for id in plan.changed.keys { plan.changed[id]?.issueUntil = plan.switchTime + 30 } }
        case "stops verifying too early":
            simulation.spoil = { plan in for id in plan.changed.keys { plan.changed[id]?.verifyUntil = plan.switchTime + 300 } }
        default:
            simulation.spoil = { $0.newKey.notBefore = $0.switchTime + 200 }
        }
        simulation.run()
        #expect(!simulation.failures.isEmpty)
    }
}
