// The cache of decoded keys: bounded by bytes, least recently used first, asks the store again now and then; what was uploaded
// and not used is on probation.

import KeywordPIR
import Testing

@testable import LookupService

@Suite("Decoded keys")
struct DecodedKeyCacheTests {
    private let key: DecodedEvaluationKey

    init() throws {
        let useCase = try ServiceUnderTest().identity
        let message = try #require(try TestDevice(useCase).key.evaluationKey)
        key = try useCase.engine.decodeEvaluationKey(message)
        #expect(key.byteCount > 1000)
    }

    private func name(_ timestamp: UInt64, user: String = "u") -> DecodedKeyName {
        DecodedKeyName(userIdentifier: user, configurationHash: [1], timestamp: timestamp)
    }

    @Test("the least recently used key goes when bytes are short")
    func bound() {
        let cache = DecodedKeyCache(bytes: 2 * key.byteCount + 1)
        func keep(_ timestamp: UInt64) { cache.keep(key, as: name(timestamp), at: 100, since: cache.moment) }
        var bytes: Int { cache.statistics.bytes }
        keep(1)
        keep(2)
        #expect(cache.key(name(1), at: 101) != nil)
        keep(3)
        #expect(cache.key(name(2), at: 101) == nil)
        #expect(cache.key(name(1), at: 101) != nil)
        #expect(bytes == 2 * key.byteCount)
        keep(1)
        #expect(bytes == 2 * key.byteCount)
        cache.replace(name(1), by: nil, at: 101, since: cache.moment)
        #expect(cache.key(name(1), at: 101) == nil)
        #expect(bytes == key.byteCount)
        #expect(cache.key(name(3), at: 100 + DecodedKeyCache.secondsUntilStoreIsAsked) == nil)
        #expect(bytes == 0)
        let statistics = cache.statistics
        #expect(statistics.count == 0 && statistics.bound == 2 * key.byteCount + 1)
        #expect(statistics.hits == 2 && statistics.misses == 3)
        let tiny = DecodedKeyCache(bytes: key.byteCount - 1)
        tiny.keep(key, as: name(1), at: 100, since: tiny.moment)
        tiny.replace(name(1), by: key, at: 100, since: tiny.moment)
        #expect(tiny.statistics.count == 0)
    }

    @Test("a flood of uploads takes no more than its share from keys in use")
    func flood() {
        let slots = 2 * DecodedKeyCache.probationShare
        let cache = DecodedKeyCache(bytes: slots * key.byteCount)
        func upload(_ user: String) { cache.replace(name(1, user: user), by: key, at: 100, since: cache.moment) }
        // Free bytes are for everyone.
        for i in 0..<slots { upload("new \(i)") }
        #expect(cache.statistics.count == slots)
        for i in 0..<slots { cache.keep(key, as: name(1, user: "active \(i)"), at: 100, since: cache.moment) }
        for i in 0..<1000 { upload("flood \(i)") }
        let active = (0..<slots).filter { cache.key(name(1, user: "active \($0)"), at: 101) != nil }
        // The two that were not used for longest made room for two uploads.
        #expect(active == Array(2..<slots))
        #expect(cache.statistics.bytes == slots * key.byteCount)
        #expect(cache.key(name(1, user: "flood 998"), at: 101) != nil)
        #expect(cache.key(name(1, user: "flood 997"), at: 101) == nil)
        // Used now, it is on probation no more.
        for i in 0..<1000 { upload("more \(i)") }
        #expect(cache.key(name(1, user: "flood 998"), at: 101) != nil)
    }

    @Test("one user has one key on probation for a configuration")
    func manyFromOne() {
        let cache = DecodedKeyCache(bytes: 100 * key.byteCount)
        for i: UInt64 in 1...9 { cache.replace(name(i), by: key, at: 100, since: cache.moment) }
        #expect(cache.statistics.count == 1)
        #expect(cache.key(name(9), at: 101) != nil)
        cache.replace(name(10), by: key, at: 100, since: cache.moment)
        #expect(cache.key(name(9), at: 101) != nil)
    }

    @Test("what was read before an upload is not kept after it")
    func order() {
        let cache = DecodedKeyCache(bytes: 100 * key.byteCount)
        let before = cache.moment
        cache.replace(name(1), by: nil, at: 100, since: before)
        cache.keep(key, as: name(1), at: 100, since: before)
        #expect(cache.key(name(1), at: 100) == nil)
        // Of two uploads at the same time nobody knows which is stored.
        cache.replace(name(1), by: key, at: 100, since: before)
        #expect(cache.key(name(1), at: 100) == nil)
        cache.keep(key, as: name(2), at: 100, since: before)
        #expect(cache.key(name(2), at: 100) != nil)
        for i in 0...DecodedKeyCache.rememberedUploads {
            cache.replace(name(1, user: "\(i)"), by: nil, at: 100, since: cache.moment)
        }
        cache.keep(key, as: name(3), at: 100, since: before)
        #expect(cache.key(name(3), at: 100) == nil)
        cache.keep(key, as: name(3), at: 100, since: cache.moment)
        #expect(cache.key(name(3), at: 100) != nil)
    }

    @Test("uploads that wait to be stored hold a bounded number of keys")
    func waiting() {
        let cache = DecodedKeyCache(bytes: 2 * DecodedKeyCache.probationShare * key.byteCount)
        var held = (0..<5).map { _ in UploadedKey(key, for: cache) }
        #expect(held.map { $0 != nil } == [true, true, false, false, false])
        #expect(cache.statistics.waitingBytes == 2 * key.byteCount)
        held.removeAll()
        #expect(cache.statistics.waitingBytes == 0)
        #expect(UploadedKey(key, for: cache) != nil)
    }
}
