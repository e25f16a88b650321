// What every driver must do: service.md 1.10 and 1.10.1, the limits of 7, and no confusion of users.

import Testing

@testable import StateStore

@Suite("Evaluation keys, both drivers")
struct EvaluationKeyStoreTests {
    let folder = ScratchFolder()

    @Test("a stored key is found by its timestamp, by 0, and by an unknown timestamp that says so", arguments: Driver.allCases)
    func find(driver: Driver) throws {
        let store = try driver.open(folder)
        #expect(try store.newest() == nil)
        #expect(try store.found() == nil)
        let (old, new) = (record(100, fill: 1), record(200, fill: 2))
        try store.store([new, old], at: 10)
        #expect(try store.newest() == 200)
        #expect(try store.found("USER", 0, 100) == EvaluationKeyMatch(record: old, matchedTimestamp: true))
        #expect(try store.found("USER", 0, 200) == EvaluationKeyMatch(record: new, matchedTimestamp: true))
        #expect(try store.found("USER", 0, 0) == EvaluationKeyMatch(record: new, matchedTimestamp: true))
        #expect(try store.found("USER", 0, 150) == EvaluationKeyMatch(record: new, matchedTimestamp: false))
        #expect(try store.found("USER", 1, 200) == nil)
        #expect(try store.found("OTHER", 0, 200) == nil)
    }

    @Test("two timestamps stay: the newest and the last upload", arguments: Driver.allCases)
    func twoTimestamps(driver: Driver) throws {
        let store = try driver.open(folder)
        for timestamp: UInt64 in [100, 200, 300] {
            try store.store([record(timestamp)], at: 0)
        }
        #expect(try store.statistics().count == 2)
        #expect(try store.found("USER", 0, 200)?.matchedTimestamp == true)
        #expect(try store.found("USER", 0, 100)?.matchedTimestamp == false)
        // Older than both: acknowledged, hence usable, but only as second.
        try store.store([record(50)], at: 0)
        #expect(try store.newest() == 300)
        #expect(try store.found("USER", 0, 50)?.matchedTimestamp == true)
        #expect(try store.found("USER", 0, 200)?.matchedTimestamp == false)
        // Equal: replaced.
        try store.store([record(300, bytes: 5, fill: 9)], at: 0)
        #expect(try store.found("USER", 0, 300)?.record.key == [9, 9, 9, 9, 9])
        #expect(try store.statistics() == EvaluationKeyStatistics(count: 2, bytes: 21))
    }

    @Test("timestamps order as unsigned numbers, over the whole range", arguments: Driver.allCases)
    func wholeRange(driver: Driver) throws {
        let store = try driver.open(folder)
        try store.store([record(.max), record(1 << 63 - 1)], at: 0)
        #expect(try store.newest() == .max)
        try store.store([record(1 << 63)], at: 0)
        #expect(try store.found("USER", 0, 1 << 63)?.matchedTimestamp == true)
        #expect(try store.found("USER", 0, .max)?.matchedTimestamp == true)
        #expect(try store.found("USER", 0, 1 << 63 - 1)?.matchedTimestamp == false)
    }

    @Test("users whose names share a prefix with a separator never meet", arguments: Driver.allCases)
    func noCollision(driver: Driver) throws {
        let store = try driver.open(folder)
        let slashes = [UInt8](repeating: UInt8(ascii: "/"), count: 32)
        let users = [
            "a", "a/", "a//", "a/\(String(repeating: "/", count: 32))", "A", "a%", "a_", "'a'", "1", "1e0", "01", "a|0",
        ]
        for (index, user) in users.enumerated() {
            let key = [UInt8(index)]
            try store.store(
                [EvaluationKeyRecord(userIdentifier: user, configurationHash: slashes, timestamp: 1, key: key)], at: 0)
        }
        for (index, user) in users.enumerated() {
            let match = try store.key(userIdentifier: user, configurationHash: slashes, timestamp: 1, at: 0)
            #expect(match?.record.key == [UInt8(index)])
        }
        #expect(try store.statistics().count == users.count)
    }

    @Test("malformed records are refused whole, and the error does not repeat them", arguments: Driver.allCases)
    func malformed(driver: Driver) throws {
        let limits = EvaluationKeyLimits(maxKeysPerIdentifier: 2, maxTotalBytes: 100, maxKeyBytes: 60)
        let store = try driver.open(folder, limits: limits)
        let good = record("good", 0, 1)
        for user in ["", "marker marker", "markér", "marker\u{7F}", "marker\n", "marker\0", String(repeating: "m", count: 129)]
        {
            let error = #expect(throws: StateStoreError.self) { try store.store([good, record(user, 0, 1)], at: 0) }
            #expect(error?.description.contains("marker") == false)
            #expect(throws: StateStoreError.self) { try store.newest(user) }
            #expect(throws: StateStoreError.self) { try store.found(user) }
        }
        for count in [0, 31, 33] {
            let bad = EvaluationKeyRecord(
                userIdentifier: "u", configurationHash: [UInt8](repeating: 0, count: count), timestamp: 1, key: [1])
            #expect(throws: StateStoreError.self) { try store.store([good, bad], at: 0) }
        }
        #expect(throws: StateStoreError.invalidRecord("the key is empty")) {
            try store.store([good, record(1, bytes: 0)], at: 0)
        }
        #expect(throws: StateStoreError.tooLarge(bytes: 61, limit: 60)) {
            try store.store([good, record(1, bytes: 61)], at: 0)
        }
        #expect(throws: StateStoreError.tooLarge(bytes: 120, limit: 100)) {
            try store.store([record(1, bytes: 60), record(2, bytes: 60)], at: 0)
        }
        #expect(throws: StateStoreError.tooManyKeys(count: 3, limit: 2)) {
            try store.store([good, record(1), record(2), record(3)], at: 0)
        }
        #expect(try store.statistics() == EvaluationKeyStatistics(count: 0, bytes: 0))
        try store.store([record(String(repeating: "~", count: 128), 0, 1, bytes: 60), record("!", 0, 1)], at: 0)
        #expect(try store.statistics().count == 2)
    }

    @Test("limits that contradict each other are refused", arguments: Driver.allCases)
    func limits(driver: Driver) throws {
        for limits in [
            EvaluationKeyLimits(maxKeysPerIdentifier: 0), .init(maxTotalBytes: 1), .init(maxIdleSeconds: -1),
            .init(maxKeyBytes: 0),
            .init(maxKeyBytes: EvaluationKeyLimits.largestKeyBytes + 1),
        ] {
            #expect(throws: StateStoreError.self) { try driver.open(folder, limits: limits) }
        }
    }

    @Test("beyond the keys of one identifier the least recently used goes, of that identifier only", arguments: Driver.allCases)
    func perIdentifier(driver: Driver) throws {
        let store = try driver.open(folder, limits: EvaluationKeyLimits(maxKeysPerIdentifier: 3))
        try store.store([record("OTHER", 0, 1)], at: 0)
        for configuration: UInt8 in 1...3 {
            try store.store([record("USER", configuration, 1)], at: 0)
        }
        // The clock stands still or goes back; the order of use decides.
        #expect(try store.found("USER", 1, 1, at: -5) != nil)
        try store.store([record("USER", 4, 1)], at: -9)
        #expect(try store.newest("USER", 2) == nil)
        for configuration: UInt8 in [1, 3, 4] {
            #expect(try store.newest("USER", configuration) == 1)
        }
        #expect(try store.newest("OTHER", 0) == 1)
    }

    @Test("beyond the total the least recently used of all goes, never the key just stored", arguments: Driver.allCases)
    func total(driver: Driver) throws {
        let store = try driver.open(folder, limits: EvaluationKeyLimits(maxTotalBytes: 100, maxKeyBytes: 100))
        for user in ["a", "b", "c", "d"] {
            try store.store([record(user, 0, 1, bytes: 25)], at: 0)
        }
        #expect(try store.found("a") != nil)
        try store.store([record("e", 0, 1, bytes: 26)], at: 0)
        #expect(try ["a", "b", "c", "d", "e"].map { try store.newest($0) != nil } == [true, false, false, true, true])
        try store.store([record("f", 0, 1, bytes: 100)], at: 0)
        #expect(try store.statistics() == EvaluationKeyStatistics(count: 1, bytes: 100))
        #expect(try store.newest("f") == 1)
    }

    @Test("idle keys go at eviction, used ones stay", arguments: Driver.allCases)
    func idle(driver: Driver) throws {
        let store = try driver.open(folder, limits: EvaluationKeyLimits(maxIdleSeconds: 100))
        try store.store([record("a", 0, 1), record("b", 0, 1)], at: 1_000)
        #expect(try store.evict(at: 1_100) == 0)
        #expect(try store.found("b", 0, 1, at: 1_050) != nil)
        #expect(try store.newest("a") == 1)  // asking is not using
        #expect(try store.evict(at: 1_101) == 1)
        #expect(try store.newest("a") == nil)
        #expect(try store.newest("b") == 1)
        // Clocks at the ends of their range neither trap nor evict too early.
        #expect(try store.evict(at: .min) == 0)
        #expect(try store.evict(at: .max) == 1)
    }

    @Test("after closing everything answers closed", arguments: Driver.allCases)
    func closed(driver: Driver) throws {
        let store = try driver.open(folder)
        try store.store([record(1)], at: 0)
        try store.close()
        try store.close()
        #expect(throws: StateStoreError.closed) { try store.store([record(1)], at: 0) }
        #expect(throws: StateStoreError.closed) { try store.newest() }
        #expect(throws: StateStoreError.closed) { try store.found() }
        #expect(throws: StateStoreError.closed) { try store.evict(at: 0) }
        #expect(throws: StateStoreError.closed) { try store.statistics() }
    }
}
