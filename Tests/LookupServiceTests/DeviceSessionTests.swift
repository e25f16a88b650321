// The device of DeviceClient against a running service: missing use cases, stale configurations, kept state.

import DeviceClient
import FoundationEssentials
import Glibc
import StateStore
import Testing

@testable import LookupService

@Suite("A device against a server")
struct DeviceSessionTests {
    private static let app = "net.example.test"
    private static let keyword = Array(ServiceUnderTest.number.utf8)

    @Test("both use cases, each answer in its place")
    func lookUp() throws {
        let subject = try ServiceUnderTest()
        let running = try RunningServer { subject.snapshot }
        var device = try Device(serviceURL: running.url, app: Self.app)
        let present = try device.prepare([device.blockUseCase, device.identityUseCase])
        #expect(present == [ServiceUnderTest.block, ServiceUnderTest.identity])
        #expect(try device.ask(ServiceUnderTest.identity, for: Self.keyword) == Array("Johnny".utf8))
        #expect(try device.ask(ServiceUnderTest.block, for: Self.keyword) == [1])
        #expect(try device.ask(ServiceUnderTest.block, for: Array("+15".utf8)) == nil)
        // One key serves both use cases.
        #expect(running.log.lines.filter { $0.contains(" key 200 ") }.count == 1)
    }

    @Test("a use case that the server lacks counts as absent")
    func missing() throws {
        let subject = try ServiceUnderTest()
        let running = try RunningServer { ServiceSnapshot(version: "1", current: [subject.block]) }
        var device = try Device(serviceURL: running.url, app: Self.app)
        let present = try device.prepare([device.blockUseCase, device.identityUseCase])
        #expect(present == [ServiceUnderTest.block])
        let answer = try device.lookUp(ServiceUnderTest.number, in: present)
        #expect(answer.found && answer.block && answer.name == nil && answer.identityTime == nil && answer.blockTime != nil)
        #expect(throws: DeviceError.unknownUseCase(ServiceUnderTest.identity)) {
            _ = try device.ask(ServiceUnderTest.identity, for: Self.keyword)
        }
    }

    @Test("a configuration that is gone is fetched anew, once")
    func stale() throws {
        let subject = try ServiceUnderTest()
        let running = try RunningServer { subject.snapshot }
        var device = try Device(serviceURL: running.url, app: Self.app)
        try device.prepare([ServiceUnderTest.identity])
        let other = try SampleUseCase.make(
            ServiceUnderTest.identity, rows: [ServiceUnderTest.number: Array("Moved".utf8)], hashFunctions: 1, buckets: 64,
            dimensionCount: 1
        ).loaded
        running.willLoad { ServiceSnapshot(version: "2", current: [other]) }
        #expect(running.server.reload())
        #expect(try device.ask(ServiceUnderTest.identity, for: Self.keyword) == Array("Moved".utf8))
        #expect(running.log.lines.filter { $0.contains(" queries 410 ") }.count == 1)
    }

    @Test("kept state: no second upload; an evicted key is uploaded again")
    func keptState() throws {
        let folder =
            FileManager.default.temporaryDirectory.path + "/veilring-device-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let subject = try ServiceUnderTest()
        let store = try InMemoryEvaluationKeyStore()
        let running = try RunningServer(store: store) { subject.snapshot }
        func uploads() -> Int { running.log.lines.filter { $0.contains(" key 200 ") }.count }
        func ask() throws -> [UInt8]? {
            var device = try Device(serviceURL: running.url, app: Self.app, state: folder)
            return try device.ask(ServiceUnderTest.identity, for: Self.keyword)
        }
        for _ in 0..<3 { #expect(try ask() == Array("Johnny".utf8)) }
        #expect(uploads() == 1)
        #expect(try store.evict(at: .max) == 1)
        #expect(try ask() == Array("Johnny".utf8))
        #expect(uploads() == 2)
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
            var status = stat()
            #expect(stat(folder + "/" + file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
    }

    @Test("values longer than a plaintext, three hash functions, one dimension, the other sharding function")
    func shapes() throws {
        let long = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let useCases = [
            try SampleUseCase.make("a.long", rows: ["k": long, "l": [1]], shards: 1, hashFunctions: 3, buckets: 4),
            try SampleUseCase.make("a.one", rows: ["k": [1, 2]], shards: 3, buckets: 40, dimensionCount: 1),
            try SampleUseCase.make(
                "a.mod", rows: ["k": [3]], shards: 4, hashFunctions: 1, sharding: .doubleMod(otherShardCount: 2),
                compression: .maxCompression),
        ].map(\.loaded)
        let running = try RunningServer { ServiceSnapshot(version: "1", current: useCases) }
        var device = try Device(serviceURL: running.url, app: "a")
        #expect(try device.prepare(useCases.map(\.name)).count == 3)
        for (name, value) in [("a.long", long), ("a.one", [1, 2]), ("a.mod", [3])] {
            #expect(try device.ask(name, for: Array("k".utf8)) == value)
            #expect(try device.ask(name, for: Array("absent".utf8)) == nil)
        }
    }

    @Test("an older system gets on with the written-out list")
    func olderSystem() throws {
        let subject = try ServiceUnderTest()
        let running = try RunningServer { subject.snapshot }
        var device = try Device(serviceURL: running.url, app: Self.app, userAgent: "com.apple.ciphermld/1.0 iOS/18.0")
        #expect(try device.ask(ServiceUnderTest.identity, for: Self.keyword) == Array("Johnny".utf8))
    }
}
