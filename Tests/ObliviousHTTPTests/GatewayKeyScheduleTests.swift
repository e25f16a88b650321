// The life of gateway keys, with a simulated clock: at every instant a client with the oldest list it may keep succeeds.

import Testing

@testable import ObliviousHTTP

@Suite struct GatewayKeyScheduleTests {
    static let day: Int64 = 86_400

    /// Rotates as a server does and calls `check` at every step.
    func simulate(_ rules: GatewayRotationRules, days: Int64, step: Int64, check: (GatewayKeySchedule, Int64) throws -> Void)
        rethrows
    {
        var schedule = GatewayKeySchedule(keys: [], rules: rules)
        var random = SeededGenerator(state: 1)
        var now: Int64 = 1_000_000
        let end = now + days * Self.day
        while now < end {
            if schedule.nextRotation(now: now).createAt <= now {
                let plan = schedule.rotation(now: now)
                let id = schedule.newID(at: now, using: &random)
                for (id, times) in plan.changed {
                    guard let place = schedule.keys.firstIndex(where: { $0.id == id }) else { continue }
                    schedule.keys[place].times = times
                }
                if let id { schedule.keys.append(ScheduledGatewayKey(id: id, times: plan.newKey)) }
            }
            try check(schedule, now)
            now += step
        }
    }

    @Test(arguments: [
        GatewayRotationRules(), GatewayRotationRules(listMaxAge: 3 * 86_400, period: 10 * 86_400, lead: 600, openingMargin: 0),
        GatewayRotationRules(listMaxAge: 0, period: 86_400, lead: 0, openingMargin: 86_400),
    ])
    func everyAllowedListWorks(rules: GatewayRotationRules) {
        var lists: [(time: Int64, ids: [UInt8])] = []
        var seen: Set<GatewayKeyPhase> = []
        simulate(rules, days: 75, step: 3600) { schedule, now in
            let listed = schedule.listed(at: now)
            let opening = Set(schedule.opening(at: now))
            #expect(!listed.isEmpty && listed.count <= 2)
            #expect(listed.first == schedule.currentKey(at: now))
            lists.append((now, listed))
            lists.removeAll { $0.time < now - rules.listMaxAge }
            for list in lists { #expect(opening.isSuperset(of: list.ids), "a client with a list of \(list.time) at \(now)") }
            #expect(opening.count <= GatewayKeySchedule.liveLimit)
            for key in schedule.keys {
                let phase = schedule.phase(of: key.id, at: now)
                if let phase { seen.insert(phase) }
                #expect((phase == .current) == (key.id == listed.first))
                #expect((phase == .overlap) == listed.dropFirst().contains(key.id))
                #expect((phase == .expired) == !opening.contains(key.id))
            }
            #expect(schedule.keys.count { schedule.phase(of: $0.id, at: now) == .current } == 1)
            #expect(Set(schedule.keys.map(\.id)).count == schedule.keys.count, "ids are not given twice")
        }
        #expect(seen.isSuperset(of: [.current, .openingOnly, .expired]))
        if rules.lead >= 3600 { #expect(seen.contains(.announced)) }
        if rules.listMaxAge > 0 { #expect(seen.contains(.overlap)) }
    }

    @Test func theTimesOfOneRotation() {
        let first = ScheduledGatewayKey(id: 1, times: GatewayKeyTimes(created: 0))
        var schedule = GatewayKeySchedule(keys: [first])
        #expect(schedule.nextRotation(now: 5) == DueGatewayRotation(createAt: 30 * Self.day - 3600, switchTime: 30 * Self.day))
        let plan = schedule.rotation(now: 30 * Self.day - 3600)
        let turn = 30 * Self.day
        #expect(plan.switchTime == turn)
        #expect(plan.newKey == GatewayKeyTimes(created: turn - 3600, listedFrom: turn))
        #expect(
            plan.changed == [
                1: GatewayKeyTimes(
                    created: 0, succeededAt: turn, leavesListAt: turn + Self.day, opensUntil: turn + 8 * Self.day)
            ])
        schedule.keys = [
            ScheduledGatewayKey(id: 1, times: plan.changed[1] ?? first.times), ScheduledGatewayKey(id: 2, times: plan.newKey),
        ]
        for (now, listed, opening, phases) in [
            (turn - 1, [1], [1, 2], [.current, .announced]),
            (turn, [2, 1], [1, 2], [.overlap, .current]),
            (turn + Self.day - 1, [2, 1], [1, 2], [.overlap, .current]),
            (turn + Self.day, [2], [1, 2], [.openingOnly, .current]),
            (turn + 8 * Self.day - 1, [2], [1, 2], [.openingOnly, .current]),
            (turn + 8 * Self.day, [2], [2], [.expired, .current]),
        ] as [(Int64, [UInt8], [UInt8], [GatewayKeyPhase])] {
            #expect(schedule.listed(at: now) == listed)
            #expect(schedule.opening(at: now) == opening)
            #expect([1, 2].map { schedule.phase(of: $0, at: now) } == phases)
            #expect(schedule.expired(at: now) == [1, 2].filter { !opening.contains($0) })
        }
        #expect(schedule.phase(of: 3, at: turn) == nil)
    }

    @Test func theLastKeyIsNotWithdrawn() {
        let times = GatewayKeyTimes(created: 0, succeededAt: 10, leavesListAt: 20, opensUntil: 100)
        var schedule = GatewayKeySchedule(keys: [ScheduledGatewayKey(id: 7, times: times)])
        #expect(schedule.listed(at: 50) == [7] && schedule.phase(of: 7, at: 50) == .current)
        #expect(schedule.listed(at: 100).isEmpty && schedule.currentKey(at: 100) == nil)
        #expect(schedule.nextRotation(now: 50) == DueGatewayRotation(createAt: 50, switchTime: 50), "a successor at once")
        #expect(schedule.rotation(now: 50).newKey == GatewayKeyTimes(created: 50))
        schedule.keys[0].times = schedule.keys[0].times.removed(at: 30)
        #expect(schedule.phase(of: 7, at: 30) == .expired && schedule.opening(at: 30).isEmpty)
    }

    @Test func overlapIsNeverShorterThanClientsKeepLists() {
        let rules = GatewayRotationRules(listMaxAge: 30 * Self.day, openingMargin: 0)
        #expect(rules.openingMargin > rules.listMaxAge)
        let wild = GatewayRotationRules(listMaxAge: .max, period: .min, lead: .max, openingMargin: .max)
        let schedule = GatewayKeySchedule(
            keys: [ScheduledGatewayKey(id: 0, times: GatewayKeyTimes(created: .max - 1))], rules: wild)
        #expect(schedule.nextRotation(now: .max - 1).switchTime == .max, "no overflow")
        #expect(schedule.rotation(now: .max - 1).switchTime == .max)
    }

    @Test func idsAreRandomAndNew() {
        var random = SeededGenerator(state: 3)
        func key(_ id: Int, expiresAt: Int64?) -> ScheduledGatewayKey {
            ScheduledGatewayKey(id: UInt8(id), times: GatewayKeyTimes(created: 0, opensUntil: expiresAt))
        }
        var schedule = GatewayKeySchedule(keys: (0..<200).map { key($0, expiresAt: 1) })
        var given: Set<UInt8> = []
        for _ in 0..<200 { if let id = schedule.newID(at: 5, using: &random) { given.insert(id) } }
        #expect(given.count > 20 && given.allSatisfy { $0 >= 200 })
        schedule.keys = (0...255).map { key($0, expiresAt: $0 == 77 ? 2 : $0 < 10 ? nil : 4) }
        #expect(schedule.newID(at: 5, using: &random) == 77)
        schedule.keys = (0..<15).map { key($0, expiresAt: nil) }
        #expect(schedule.newID(at: 5, using: &random) != nil)
        schedule.keys.append(key(15, expiresAt: 6))
        #expect(schedule.newID(at: 5, using: &random) == nil, "16 keys are live")
        #expect(schedule.newID(at: 6, using: &random) != nil)
    }
}
