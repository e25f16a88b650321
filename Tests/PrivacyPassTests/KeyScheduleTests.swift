// Phases, directory and rotation at exact times (service.md 2.4 to 2.7).

import Testing

@testable import PrivacyPass

private let hour: Int64 = 3600
private let day: Int64 = 86_400

private func key(_ id: String, _ truncatedID: UInt8, _ tier: String, _ times: IssuerKeyTimes) -> ScheduledKey<String> {
    ScheduledKey(id: id, truncatedID: truncatedID, tier: tier, times: times)
}

@Suite struct KeyScheduleTests {
    /// One key from time 0, and a rotation ordered at day 10 for day 30.
    private func rotated(_ rules: RotationRules = .init()) -> (schedule: KeySchedule<String>, switchTime: Int64) {
        var schedule = KeySchedule(keys: [key("old", 1, "basic", .init(created: 0))], defaultTier: "basic", rules: rules)
        let plan = schedule.rotation(ofTier: "basic", switchingAt: 30 * day, now: 10 * day)
        for index in schedule.keys.indices {
            if let times = plan.changed[schedule.keys[index].id] { schedule.keys[index].times = times }
        }
        schedule.keys.append(key("new", 2, "basic", plan.newKey))
        return (schedule, plan.switchTime)
    }

    @Test func timesOfARotation() {
        let (schedule, switchTime) = rotated()
        #expect(switchTime == 30 * day)
        #expect(
            schedule.keys.map(\.times) == [
                IssuerKeyTimes(
                    created: 0, leavesDirectoryAt: 31 * day + hour, issueUntil: 32 * day, verifyUntil: 40 * day),
                IssuerKeyTimes(created: 10 * day, notBefore: 30 * day),
            ])
    }

    @Test func phasesThroughTime() {
        let (schedule, t) = rotated()
        let times: [(Int64, old: IssuerKeyPhase, new: IssuerKeyPhase)] = [
            (10 * day, .issuing, .announced), (t - 1, .issuing, .announced), (t, .issuingForLateClients, .issuing),
            (t + 2 * day - 1, .issuingForLateClients, .issuing), (t + 2 * day, .verifying, .issuing),
            (t + 10 * day - 1, .verifying, .issuing), (t + 10 * day, .expired, .issuing), (.max, .expired, .issuing),
        ]
        for (now, old, new) in times {
            #expect(schedule.phase(of: "old", at: now) == old, "\(now)")
            #expect(schedule.phase(of: "new", at: now) == new, "\(now)")
            #expect(schedule.expired(at: now) == (old == .expired ? ["old"] : []))
            #expect(schedule.verifies("old", at: now) == (old != .expired))
        }
        #expect(schedule.phase(of: "other", at: 0) == nil && !schedule.verifies("other", at: 0))
    }

    @Test func directoryThroughTime() {
        for order in [RotationRules.DirectoryOrder.newestFirst, .usableFirst] {
            let (schedule, t) = rotated(.init(order: order))
            let ids = { (now: Int64) in schedule.directory(at: now).map(\.id) }
            #expect(ids(t - 1) == (order == .newestFirst ? ["new", "old"] : ["old", "new"]))
            #expect(ids(t) == ["new", "old"] && ids(t + day + hour - 1) == ["new", "old"])
            #expect(ids(t + day + hour) == ["new"] && ids(.max) == ["new"])
            #expect(schedule.directory(at: t).first?.times.notBefore == t)
        }
    }

    @Test func issuingThroughTime() {
        let (schedule, t) = rotated()
        let issuing = { (id: UInt8, now: Int64) in schedule.issuingKey(forTier: "basic", truncatedID: id, at: now)?.id }
        #expect(schedule.currentKey(forTier: "basic", at: t - 1)?.id == "old")
        #expect(schedule.currentKey(forTier: "basic", at: t)?.id == "new")
        #expect(issuing(2, t - 301) == nil && issuing(2, t - 300) == "new")
        #expect(!schedule.verifies("new", at: t - 301) && schedule.verifies("new", at: t - 300))
        #expect(issuing(1, 0) == "old" && issuing(1, t + 2 * day - 1) == "old" && issuing(1, t + 2 * day) == nil)
        #expect(issuing(3, t) == nil)
    }

    @Test func tiers() {
        let old = IssuerKeyTimes(created: 0)
        var schedule = KeySchedule(
            keys: [
                key("paid new", 1, "paid", .init(created: 5, notBefore: 100)), key("paid", 2, "paid", old),
                key("basic", 3, "basic", old), key("basic new", 4, "basic", .init(created: 6, notBefore: 90)),
            ], defaultTier: "basic", rules: .init(clockTolerance: 0))
        #expect(schedule.directory(at: 10).map(\.id) == ["basic new", "basic", "paid new", "paid"])
        #expect(schedule.currentKey(forTier: "paid", at: 10)?.id == "paid")
        #expect(schedule.currentKey(forTier: "basic", at: 95)?.id == "basic new")
        #expect(schedule.issuingKey(forTier: "paid", truncatedID: 2, at: 10)?.id == "paid")
        #expect(schedule.issuingKey(forTier: "basic", truncatedID: 2, at: 10) == nil, "of another tier: unknown")
        #expect(schedule.issuingKey(forTier: "paid", truncatedID: 3, at: 10)?.id == "basic", "the default key is for all")
        #expect(schedule.issuingKey(forTier: "paid", truncatedID: 4, at: 10) == nil && !schedule.verifies("basic new", at: 10))
        #expect(schedule.currentKey(forTier: "free", at: 10)?.id == "basic", "a tier without keys")
        #expect(schedule.issuingKey(forTier: "free", truncatedID: 3, at: 10)?.id == "basic")
        schedule.isDefaultForAll = false
        #expect(schedule.issuingKey(forTier: "paid", truncatedID: 3, at: 10) == nil)
        #expect(schedule.currentKey(forTier: "free", at: 10) == nil)
        #expect(schedule.currentKey(forTier: "paid", at: 10)?.id == "paid")
        schedule.rules.order = .usableFirst
        #expect(schedule.directory(at: 10).map(\.id) == ["basic", "basic new", "paid", "paid new"])
    }

    @Test func truncatedIdsAndRoom() {
        var (schedule, t) = rotated()
        #expect(!schedule.hasRoom(forTruncatedID: 1, at: t) && !schedule.hasRoom(forTruncatedID: 2, at: t))
        #expect(schedule.hasRoom(forTruncatedID: 3, at: t))
        #expect(schedule.hasRoom(forTruncatedID: 1, at: t + 10 * day), "an expired key's byte is free")
        for id in 10..<72 { schedule.keys.append(key("\(id)", UInt8(id), "t\(id)", .init(created: 0))) }
        #expect(!schedule.hasRoom(forTruncatedID: 3, at: t), "64 are live")
        #expect(schedule.hasRoom(forTruncatedID: 3, at: t + 10 * day), "63 are live")
    }

    @Test func whenTheNextRotationIsDue() {
        let (schedule, t) = rotated()
        let lead = day + hour
        #expect(
            schedule.nextRotation(ofTier: "basic", now: t)
                == DueRotation(announceAt: t + 30 * day - lead, switchTime: t + 30 * day))
        let late = t + 40 * day
        #expect(schedule.nextRotation(ofTier: "basic", now: late) == DueRotation(announceAt: late, switchTime: late + lead))
        #expect(schedule.nextRotation(ofTier: "none", now: 7) == DueRotation(announceAt: 7, switchTime: 7))
    }

    @Test func rotationsThatAreWantedTooSoon() {
        let (schedule, t) = rotated()
        #expect(schedule.rotation(ofTier: "none", now: 7).newKey == IssuerKeyTimes(created: 7))
        let early = schedule.rotation(ofTier: "basic", switchingAt: 0, now: 10 * day)
        #expect(early.switchTime == t + 1, "never before a key that is announced already")
        #expect(Array(early.changed.keys) == ["new"], "the old key's times stand")
        let soon = schedule.rotation(ofTier: "basic", switchingAt: 0, now: t)
        #expect(soon.switchTime == t + day + hour && soon.newKey.notBefore == t + day + hour && soon.newKey.created == t)
    }

    @Test func emergencyRemoval() {
        var (schedule, t) = rotated()
        schedule.keys[1].times = schedule.keys[1].times.removed(at: t + 5)
        #expect(schedule.phase(of: "new", at: t + 5) == .expired && !schedule.verifies("new", at: t + 5))
        #expect(schedule.verifies("new", at: t + 4))
        #expect(schedule.directory(at: t + 5).map(\.id) == ["old"])
        #expect(schedule.currentKey(forTier: "basic", at: t + 5)?.id == "old")
        #expect(schedule.rotation(ofTier: "basic", now: t + 5).newKey == IssuerKeyTimes(created: t + 5), "at once")
        #expect(schedule.keys[0].times.removed(at: .max) == schedule.keys[0].times, "nothing lasts longer for being removed")
    }

    @Test func absurdTimesDoNotStopTheProcess() {
        for created in [Int64.min, -1, 0, .max] {
            for notBefore in [nil, Int64.min, .max] {
                let times = IssuerKeyTimes(created: created, notBefore: notBefore)
                for limit in [Int64.min, 0, .max] {
                    let rules = RotationRules(
                        directoryMaxAge: limit, tokenLifetime: limit, period: limit, announceMargin: limit,
                        directoryMargin: limit, issueMargin: limit, verifyMargin: limit, clockTolerance: limit)
                    let schedule = KeySchedule(keys: [key("a", 1, "basic", times)], defaultTier: "basic", rules: rules)
                    for now in [Int64.min, 0, .max] {
                        let plan = schedule.rotation(ofTier: "basic", now: now)
                        #expect(plan.switchTime >= now)
                        #expect(plan.changed["a"].map { $0.leavesDirectoryAt ?? 0 <= $0.issueUntil ?? 0 } == true)
                        #expect(schedule.nextRotation(ofTier: "basic", now: now).announceAt >= now)
                        #expect(schedule.directory(at: now).count == 1)
                    }
                }
            }
        }
    }
}
