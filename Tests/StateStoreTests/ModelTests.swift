// Random operations on both drivers and on a model of a few plain lines: all three must agree after every step.

import Testing

@testable import StateStore

/// The rules of service.md 1.10 as directly as they can be said: a list of keys in the order of their use.
private struct Model {
    var limits: EvaluationKeyLimits
    /// Least recently used first.
    var keys: [(record: EvaluationKeyRecord, lastUsed: Int64)] = []

    static func same(_ a: EvaluationKeyRecord, _ user: String, _ hash: [UInt8]) -> Bool {
        a.userIdentifier == user && a.configurationHash == hash
    }

    mutating func store(_ records: [EvaluationKeyRecord], at now: Int64) {
        for new in records {
            let peers = keys.map(\.record).filter { Self.same($0, new.userIdentifier, new.configurationHash) }
            let newest = peers.map(\.timestamp).max()
            let isReplacement = peers.contains { $0.timestamp == new.timestamp }
            keys.removeAll { entry in
                guard Self.same(entry.record, new.userIdentifier, new.configurationHash) else { return false }
                if isReplacement { return entry.record.timestamp == new.timestamp }
                return peers.count == 2 && entry.record.timestamp != newest
            }
            keys.append((new, now))
        }
        trim()
    }

    mutating func trim() {
        for user in Set(keys.map(\.record.userIdentifier)) {
            while keys.filter({ $0.record.userIdentifier == user }).count > limits.maxKeysPerIdentifier {
                guard let first = keys.firstIndex(where: { $0.record.userIdentifier == user }) else { break }
                keys.remove(at: first)
            }
        }
        while keys.map(\.record.key.count).reduce(0, +) > limits.maxTotalBytes {
            keys.removeFirst()
        }
    }

    mutating func key(_ user: String, _ hash: [UInt8], _ timestamp: UInt64, at now: Int64) -> EvaluationKeyMatch? {
        let peers = keys.filter { Self.same($0.record, user, hash) }
        let exact = timestamp == 0 ? nil : peers.first { $0.record.timestamp == timestamp }
        guard let found = (exact ?? peers.max { $0.record.timestamp < $1.record.timestamp })?.record else { return nil }
        keys.removeAll { $0.record == found }
        keys.append((found, now))
        return EvaluationKeyMatch(record: found, matchedTimestamp: timestamp == 0 || exact != nil)
    }

    mutating func evict(at now: Int64) -> Int {
        let before = keys.count
        keys.removeAll { $0.lastUsed < now - limits.maxIdleSeconds }
        trim()
        return before - keys.count
    }
}

@Suite("Evaluation keys against a model")
struct ModelTests {
    @Test("2000 random operations, with reopening")
    func randomOperations() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(state: seed)
        let limits = EvaluationKeyLimits(maxKeysPerIdentifier: 4, maxTotalBytes: 2_000, maxIdleSeconds: 100, maxKeyBytes: 300)
        let folder = ScratchFolder()
        var model = Model(limits: limits)
        let memory = try InMemoryEvaluationKeyStore(limits: limits)
        var file = try SQLiteEvaluationKeyStore(path: folder.file(), limits: limits)
        // The model test is about rules; durability has its own tests, and costs a disk's time at every step.
        _ = try file.executeOnWriter("PRAGMA synchronous = OFF")
        var now: Int64 = 1_000_000
        var evicted = 0

        func randomUser() -> String { "u\(Int.random(in: 0..<5, using: &generator))" }
        func randomTimestamp() -> UInt64 { UInt64.random(in: 0...6, using: &generator) }
        for step in 0..<2_000 {
            let note: Comment = "seed \(seed), step \(step)"
            now += Int64.random(in: -5...20, using: &generator)
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<40:
                let user = randomUser()
                let records = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                    record(
                        user, UInt8.random(in: 0..<3, using: &generator), randomTimestamp(),
                        bytes: Int.random(in: 1...300, using: &generator), fill: UInt8.random(in: 0...255, using: &generator))
                }
                model.store(records, at: now)
                try memory.store(records, at: now)
                try file.store(records, at: now)
            case 40..<90:
                let (user, configuration) = (randomUser(), UInt8.random(in: 0..<3, using: &generator))
                let timestamp = randomTimestamp()
                let expected = model.key(user, hash(configuration), timestamp, at: now)
                #expect(try memory.found(user, configuration, timestamp, at: now) == expected, note)
                #expect(try file.found(user, configuration, timestamp, at: now) == expected, note)
            case 90..<98:
                let expected = model.evict(at: now)
                evicted += expected
                #expect(try memory.evict(at: now) == expected, note)
                #expect(try file.evict(at: now) == expected, note)
            default:
                try file.close()
                file = try SQLiteEvaluationKeyStore(path: folder.file(), limits: limits)
                _ = try file.executeOnWriter("PRAGMA synchronous = OFF")
            }
            let expected = EvaluationKeyStatistics(
                count: model.keys.count, bytes: model.keys.map(\.record.key.count).reduce(0, +))
            try #require(try memory.statistics() == expected, note)
            try #require(try file.statistics() == expected, note)
        }
        #expect(evicted > 0, "the model never evicted by age: seed \(seed)")
        for user in (0..<5).map({ "u\($0)" }) {
            for configuration: UInt8 in 0..<3 {
                let expected = model.keys.filter { Model.same($0.record, user, hash(configuration)) }.map(\.record.timestamp)
                    .max()
                #expect(try memory.newest(user, configuration) == expected, "seed \(seed)")
                #expect(try file.newest(user, configuration) == expected, "seed \(seed)")
            }
        }
    }
}
