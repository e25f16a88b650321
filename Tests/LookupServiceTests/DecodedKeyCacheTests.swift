// The cache of decoded keys: bounded by bytes, least recently used first, asks the store again now and then.

import Testing

@testable import LookupService

@Suite("Decoded keys")
struct DecodedKeyCacheTests {
    private func name(_ timestamp: UInt64) -> DecodedKeyName {
        DecodedKeyName(userIdentifier: "u", configurationHash: [1], timestamp: timestamp)
    }

    @Test("the least recently used key goes when bytes are short")
    func bound() throws {
        let useCase = try ServiceUnderTest().identity
        let message = try #require(try TestDevice(useCase).key.evaluationKey)
        let key = try useCase.engine.decodeEvaluationKey(message)
        #expect(key.byteCount > 1000)
        let cache = DecodedKeyCache(bytes: 2 * key.byteCount + 1)
        cache.keep(key, as: name(1), at: 100)
        cache.keep(key, as: name(2), at: 100)
        #expect(cache.key(name(1), at: 101) != nil)
        cache.keep(key, as: name(3), at: 100)
        #expect(cache.key(name(2), at: 101) == nil)
        #expect(cache.key(name(1), at: 101) != nil)
        #expect(cache.byteCount == 2 * key.byteCount)
        cache.keep(key, as: name(1), at: 100)
        #expect(cache.byteCount == 2 * key.byteCount)
        cache.forget(name(1))
        #expect(cache.key(name(1), at: 101) == nil)
        #expect(cache.byteCount == key.byteCount)
        #expect(cache.key(name(3), at: 100 + DecodedKeyCache.secondsUntilStoreIsAsked) == nil)
        #expect(cache.byteCount == 0)
        let tiny = DecodedKeyCache(bytes: key.byteCount - 1)
        tiny.keep(key, as: name(1), at: 100)
        #expect(tiny.byteCount == 0)
    }
}
