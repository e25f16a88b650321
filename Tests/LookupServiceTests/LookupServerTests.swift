// The life of a server: ready line, serving record, reload under load, stop (service.md 9).

import CallerDirectory
import DeviceClient
import Dispatch
import FoundationEssentials
import Glibc
import HTTPCore
import Synchronization
import Testing

@testable import LookupService

@Suite("A server from start to stop")
struct LookupServerTests {
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/veilring-server-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    @Test("ready, reloaded, stopped")
    func life() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let subject = try ServiceUnderTest()
        let file = folder + "/serving.json"
        let versions = DirectoryVersions(data: folder)
        let running = try RunningServer(dataFolder: folder) { subject.snapshot }
        #expect(running.log.lines.contains { $0.hasPrefix("ready: listening on 127.0.0.1:") && $0.hasSuffix(", version one") })
        #expect(versions.serving() == ServingRecord(pid: getpid(), version: "one"))

        running.willLoad { throw NoReply() }
        #expect(!running.server.reload())
        #expect(running.server.service.version == "one")
        #expect(versions.serving()?.version == "one")
        #expect(running.log.lines.contains { $0.contains("not reloaded, version one stays: NoReply") })

        running.willLoad { ServiceSnapshot(version: "two", current: [subject.identity]) }
        #expect(running.server.reload())
        #expect(versions.serving()?.version == "two")
        let client = try running.client()
        #expect(try client.send(HTTPRequest(method: "GET", path: "/config")).status == 200)

        running.server.stop()
        running.server.stop()
        #expect(versions.serving() == nil)
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(throws: (any Error).self) { try client.send(HTTPRequest(method: "GET", path: "/config")) }
    }

    @Test("a first load that fails leaves nothing open")
    func failedStart() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(throws: NoReply.self) {
            _ = try RunningServer(dataFolder: folder) { throw NoReply() }
        }
        #expect(!FileManager.default.fileExists(atPath: folder + "/serving.json"))
    }

    @Test("a served version that cannot be recorded is served all the same")
    func fullDisk() throws {
        let subject = try ServiceUnderTest()
        // A folder that is not there stands for a disk that takes nothing.
        let running = try RunningServer(dataFolder: folder + "/absent") { subject.snapshot }
        #expect(running.log.lines.contains { $0.hasPrefix("ready: ") })
        #expect(running.log.lines.contains { $0.contains("could not be recorded") })
        #expect(try running.client().send(HTTPRequest(method: "GET", path: "/config")).status == 200)
    }

    @Test("exchanging snapshots under load loses no request")
    func swapUnderLoad() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let one = try ServiceUnderTest(name: "One")
        let two = try ServiceUnderTest(name: "Two")
        var options = ServiceOptions()
        options.waitingTime = .seconds(60)
        options.queriesTime = .seconds(60)
        options.waitingQueries = 64
        let running = try RunningServer(options: options) { ServiceSnapshot(version: "1", current: [one.identity]) }
        let isOver = Atomic<Bool>(false)
        let failures = Mutex<[String]>([])
        let names = Mutex<Set<String>>([])
        let lookups = Atomic<Int>(0)
        let group = DispatchGroup()
        for _ in 0..<3 {
            DispatchQueue(label: "device").async(group: group) {
                do {
                    var device = try Device(serviceURL: running.url, app: "net.example.test")
                    try device.prepare([ServiceUnderTest.identity])
                    while !isOver.load(ordering: .acquiring) {
                        let value = try device.ask(ServiceUnderTest.identity, for: Array(ServiceUnderTest.number.utf8)) ?? []
                        names.withLock { _ = $0.insert(String(decoding: value, as: UTF8.self)) }
                        lookups.add(1, ordering: .relaxed)
                    }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        let end = ContinuousClock.now.advanced(by: .seconds(30))
        for turn in 0..<1000 {
            let useCase = turn % 2 == 0 ? two.identity : one.identity
            running.willLoad { ServiceSnapshot(version: "\(turn)", current: [useCase]) }
            #expect(running.server.reload())
            // Goes on until the devices have looked up under many versions.
            if lookups.load(ordering: .relaxed) > 60 && turn > 50 || ContinuousClock.now > end { break }
            usleep(2000)
        }
        isOver.store(true, ordering: .releasing)
        group.wait()
        #expect(failures.withLock { $0 } == [])
        #expect(names.withLock { $0 } == ["One", "Two"])
    }

    @Test("stopping lets a running query end")
    func drain() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = ServiceOptions()
        options.computeThreads = 1
        options.waitingTime = .seconds(60)
        options.queriesTime = .seconds(60)
        let subject = try ServiceUnderTest()
        let running = try RunningServer(options: options) { subject.snapshot }
        let gate = DispatchSemaphore(value: 0)
        let device = try TestDevice(subject.identity)
        var (query, request) = try device.query(ServiceUnderTest.number)
        request.evaluationKey = device.key
        let body = device.requests(request).encoded()
        #expect(running.server.service.computing.submit(WorkItem(rank: .query, run: { gate.wait() }, refuse: { _ in })) == nil)
        let answer = Mutex<HTTPResponse?>(nil)
        let group = DispatchGroup()
        let client = try running.client()
        DispatchQueue(label: "client").async(group: group) {
            let response = try? client.send(
                HTTPRequest(method: "POST", path: "/queries", fields: ServiceUnderTest.fields, body: body))
            answer.withLock { $0 = response }
        }
        // Until the query stands in the line.
        while running.server.service.computing.waitingCount == 0 { usleep(1000) }
        DispatchQueue(label: "stop").async(group: group) { running.server.stop() }
        usleep(20_000)
        gate.signal()
        group.wait()
        let response = try #require(answer.withLock { $0 })
        #expect(try device.value(query, in: response) == Array("Johnny".utf8))
    }
}
