// POST /config: pairing by position, order, adaptation, caps (service.md 1.9).

import HTTPCore
import KeywordPIR
import LookupMessages
import Testing

@testable import LookupService

@Suite("POST /config")
struct ConfigTests {
    let subject: ServiceUnderTest
    let identity = ServiceUnderTest.identity
    let block = ServiceUnderTest.block

    init() throws { subject = try ServiceUnderTest() }

    private func ask(_ request: ConfigRequest, agent: String = "com.apple.ciphermld/1.0 iOS/18.2") throws -> ConfigResponse {
        var fields = ServiceUnderTest.fields
        fields["user-agent"] = agent
        let answer = subject.call("/config", request, fields: fields)
        try #require(answer.status == 200)
        #expect(answer.fields["cache-control"] == "no-store")
        #expect(answer.fields["content-type"] == "application/x-protobuf")
        return try ConfigResponse(decoding: answer.body)
    }

    @Test("full configurations with their ids, key status in the order asked")
    func full() throws {
        for names in [[identity, block], [block, identity], [block]] {
            let answer = try ask(ConfigRequest(usecases: names))
            #expect(Set(answer.configs.keys) == Set(names))
            #expect(answer.keyInfo.map(\.timestamp) == names.map { _ in 0 })
            for (name, status) in zip(names, answer.keyInfo) {
                let parameters = (name == identity ? subject.identity : subject.block).parameters
                #expect(answer.configs[name]?.pirConfig == parameters.pirConfig)
                #expect(answer.configs[name].map { Array($0.configId) } == parameters.configurationID)
                #expect(status.keyConfig == parameters.evaluationKeyConfig)
            }
        }
    }

    @Test("no name means all, and one name twice is answered once")
    func allAndTwice() throws {
        #expect(try ask(ConfigRequest()).configs.count == 2)
        #expect(try ask(ConfigRequest()).keyInfo.count == 2)
        let twice = try ask(ConfigRequest(usecases: [block, block, block]))
        #expect(twice.configs.count == 1)
        #expect(twice.keyInfo.count == 1)
    }

    @Test("ids that the device holds are paired by position")
    func held() throws {
        let ids = [identity: subject.identity, block: subject.block].mapValues { $0.parameters.configurationID[...] }
        let own = try ask(
            ConfigRequest(usecases: [identity, block], existingConfigIds: [ids[identity] ?? [], ids[block] ?? []]))
        #expect(own.configs.values.allSatisfy { $0 == Config(reuseExistingConfig: true) })
        #expect(own.keyInfo.count == 2)
        let crossed = try ask(
            ConfigRequest(usecases: [identity, block], existingConfigIds: [ids[block] ?? [], ids[identity] ?? []]))
        #expect(crossed.configs.values.allSatisfy { !$0.reuseExistingConfig && $0.pirConfig != nil })
        let half = try ask(ConfigRequest(usecases: [identity, block], existingConfigIds: [[], ids[block] ?? []]))
        #expect(half.configs[identity]?.reuseExistingConfig == false)
        #expect(half.configs[block]?.reuseExistingConfig == true)
    }

    @Test("key status carries the device's own timestamp of the newest key")
    func status() throws {
        for timestamp: UInt64 in [50, 90, 70] {
            let device = try TestDevice(subject.identity, timestamp: timestamp)
            try #require(subject.call("/key", device.upload).status == 200)
        }
        let answer = try ask(ConfigRequest(usecases: [block, identity]))
        let isShared =
            subject.identity.parameters.evaluationKeyConfigHash == subject.block.parameters.evaluationKeyConfigHash
        #expect(answer.keyInfo.map(\.timestamp) == [isShared ? 90 : 0, 90])
    }

    @Test("refusals")
    func refusals() throws {
        func status(_ request: ConfigRequest) -> Int { subject.call("/config", request).status }
        let unknown = subject.call("/config", ConfigRequest(usecases: [identity, "net.example.other"]))
        #expect(unknown.status == 404)
        #expect(String(decoding: unknown.body, as: UTF8.self) == #"{"error":{"message":"Unknown use case"}}"#)
        #expect(status(ConfigRequest(usecases: [identity], existingConfigIds: [[], []])) == 400)
        #expect(status(ConfigRequest(usecases: [], existingConfigIds: [[]])) == 400)
        #expect(status(ConfigRequest(usecases: Array(repeating: identity, count: 64))) == 200)
        #expect(status(ConfigRequest(usecases: Array(repeating: identity, count: 65))) == 400)
        #expect(status(ConfigRequest(usecases: [String(repeating: "a", count: 257)])) == 400)
        #expect(subject.call("/config", [0x0A]).status == 400)
    }

    @Test("older systems get the shard list written out under the same id")
    func olderSystems() throws {
        let newest = try ask(ConfigRequest(usecases: [identity])).configs[identity]
        let older = try ask(ConfigRequest(usecases: [identity]), agent: "com.apple.ciphermld/1.0 iOS/18.1").configs[identity]
        #expect(newest?.pirConfig?.pirShardConfigs?.repeatedShardConfig?.shardCount == 2)
        #expect(older?.pirConfig?.pirShardConfigs == nil)
        #expect(older?.pirConfig?.shardConfigs.count == 2)
        #expect(older?.configId == newest?.configId)
    }

    @Test("doubleMod and an older system: 501")
    func doubleMod() throws {
        let modern = try ServiceUnderTest(sharding: .doubleMod(otherShardCount: 3))
        var fields = ServiceUnderTest.fields
        let request = ConfigRequest(usecases: [identity])
        #expect(modern.call("/config", request, fields: fields).status == 200)
        fields["user-agent"] = "com.apple.ciphermld/1.0 iOS/18.0"
        #expect(modern.call("/config", request, fields: fields).status == 501)
        #expect(modern.call("/config", ConfigRequest(usecases: [block]), fields: fields).status == 200)
    }

    @Test(
        "user agents",
        arguments: [
            (nil, true), ("", true), ("curl/8", true), ("com.apple.ciphermld/1.0 iOS/18.2 x", true),
            ("com.apple.ciphermld/1.0 iOS/18.1.9", false), ("com.apple.ciphermld/1.0 iOS/18", false),
            ("com.apple.ciphermld/1.0 iOS/9.9", false), ("com.apple.ciphermld/1.0 iOS/18.10", true),
            ("com.apple.ciphermld/1.2 (Macintosh; OS X 15.2; x) y", true),
            ("com.apple.ciphermld/1.2 (Macintosh; OS X 15.1.1; x) y", false), ("iOS/", true), ("iOS/x", true),
            ("iOS/99999999999999999999.1", true), ("iOS/26", true), ("iOS/18.1 iOS/18.2", true),
            (String(repeating: "a", count: 2000) + "iOS/17.0", true),
        ] as [(String?, Bool)])
    func userAgents(agent: String?, isNewest: Bool) {
        #expect(ClientSystem(userAgent: agent).understandsNewestForm == isNewest)
    }
}
