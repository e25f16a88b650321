// The admin listener over sockets: probes, readiness, version, what happens when its address is taken (service.md 1.5, 9).

import Dispatch
import Foundation
import HTTPClient
import HTTPCore
import HTTPServer
import StateStore
import Synchronization
import Testing

@testable import LookupService

@Suite("The admin listener")
struct AdminListenerTests {
    private static func get(_ client: HTTPClient, _ path: String, method: String = "GET") throws -> HTTPResponse {
        try client.send(HTTPRequest(method: method, path: path))
    }

    private static func text(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }

    @Test("what it answers, and what it does not")
    func routes() throws {
        let subject = try ServiceUnderTest()
        let running = try RunningServer {
            ServiceSnapshot(version: "one", current: [subject.identity, subject.block], created: 1_700_000_000)
        }
        let admin = try running.adminClient()
        #expect(try Self.text(Self.get(admin, "/livez")) == "alive\n")
        #expect(try Self.text(Self.get(admin, "/readyz")) == "ready\n")
        let metrics = try Self.get(admin, "/metrics")
        #expect(metrics.status == 200 && metrics.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        let version = try Self.get(admin, "/version")
        #expect(version.fields["content-type"] == "application/json")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(version.body)) as? [String: Any])
        #expect(object["version"] as? String == ProgramVersion.current.version)
        #expect(object["data"] as? String == "one" && object["data_built"] as? String == "2023-11-14T22:13:20Z")
        #expect(object["use_cases"] as? [String] == [ServiceUnderTest.block, ServiceUnderTest.identity])
        #expect(["avx2", "portable"].contains(object["kernels"] as? String))
        for path in ["/livez", "/readyz", "/metrics", "/version"] {
            let head = try Self.get(admin, path, method: "HEAD")
            #expect(head.status == 200 && head.body.isEmpty, "\(path)")
            let post = try Self.get(admin, path, method: "POST")
            #expect(post.status == 405 && post.fields["allow"] == "GET, HEAD", "\(path)")
            #expect(try Self.get(running.client(), path).status == 404, "\(path) is on the admin listener only")
        }
        for path in ["/", "/livez/", "/LIVEZ", "/config"] { #expect(try Self.get(admin, path).status == 404, "\(path)") }
        let body = HTTPRequest(method: "GET", path: "/metrics", body: [1])
        #expect(try admin.send(body).status == 413)
    }

    @Test("not ready before the data is there, and when a use case is missing")
    func readiness() throws {
        let subject = try ServiceUnderTest(isLoaded: false)
        #expect(subject.service.readiness == Readiness(missing: ["no data is loaded yet"]))
        #expect(subject.service.readiness.response.status == 503)
        let page = MetricsPage(service: subject.service, bodies: { (0, 0) }, isReady: { false })
        #expect(page.text().contains("veilring_ready 0\n"))

        let running = try RunningServer {
            ServiceSnapshot(version: "one", current: [subject.identity], missing: ["net.example.other"])
        }
        let admin = try running.adminClient()
        let response = try Self.get(admin, "/readyz")
        #expect(response.status == 503)
        #expect(Self.text(response) == "not ready: use case net.example.other is not in version one\n")
        running.willLoad { ServiceSnapshot(version: "two", current: [subject.identity]) }
        #expect(running.server.reload())
        #expect(try Self.get(admin, "/readyz").status == 200)
        subject.identitySample.inService.turnOff([1])
        #expect(
            try Self.text(Self.get(admin, "/readyz"))
                == "ready\nuse case \(ServiceUnderTest.identity): 1 of 2 shards out of service\n")
    }

    @Test("while the server loads it is alive and not ready")
    func loading() throws {
        let subject = try ServiceUnderTest()
        let isLoading = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let listener = ListenAddress(host: "127.0.0.1", port: 0)
        let server = LookupServer(
            configuration: LookupServerConfiguration(
                http: HTTPServerConfiguration(listeners: [listener]),
                admin: HTTPServerConfiguration(listeners: [listener], threads: 1)),
            store: try InMemoryEvaluationKeyStore(), log: SilentLog()
        ) {
            isLoading.signal()
            goOn.wait()
            return subject.snapshot
        }
        let group = DispatchGroup()
        DispatchQueue(label: "start").async(group: group) { _ = try? server.start() }
        isLoading.wait()
        let address = try #require(server.adminAddresses.first)
        let admin = try HTTPClient(url: HTTPURL("http://\(address)"))
        #expect(try Self.get(admin, "/livez").status == 200)
        #expect(try Self.get(admin, "/readyz").status == 503)
        goOn.signal()
        group.wait()
        #expect(try Self.get(admin, "/readyz").status == 200)
        server.stop()
        #expect(throws: (any Error).self) { try Self.get(admin, "/livez") }
    }

    @Test("alive while every computing thread and every clerk is busy")
    func busy() throws {
        var options = ServiceOptions()
        options.computeThreads = 2
        let subject = try ServiceUnderTest()
        let running = try RunningServer(options: options) { subject.snapshot }
        let gate = DispatchSemaphore(value: 0)
        let service = running.server.service
        for pool in [service.computing, service.clerks] {
            // As much as the pool has threads, then something that waits.
            while pool.waitingCount == 0 {
                #expect(pool.submit(WorkItem(rank: .upkeep, run: { gate.wait() }, refuse: { _ in })) == nil)
            }
        }
        defer { for _ in 0..<64 { gate.signal() } }
        let admin = try running.adminClient()
        for _ in 0..<20 {
            #expect(try Self.get(admin, "/livez").status == 200)
            #expect(try Self.get(admin, "/readyz").status == 200)
        }
        let metrics = Self.text(try Self.get(admin, "/metrics"))
        #expect(metrics.contains("\nveilring_idle_threads{pool=\"compute\"} 0\n"))
        #expect(metrics.contains("\nveilring_queue_length{pool=\"compute\",rank=\"upkeep\"} 1\n"))
        #expect(metrics.contains("\nveilring_queue_length{pool=\"clerk\",rank=\"upkeep\"} 1\n"))
    }

    @Test("not ready some moments before the listeners close, and alive until the end")
    func stopping() throws {
        let subject = try ServiceUnderTest()
        let running = try RunningServer(unreadyTime: .seconds(2)) { subject.snapshot }
        let admin = try running.adminClient()
        let client = try running.client()
        let group = DispatchGroup()
        DispatchQueue(label: "stop").async(group: group) { running.server.stop() }
        while running.server.service.readiness.isReady { usleep(1000) }
        let response = try Self.get(admin, "/readyz")
        #expect(response.status == 503 && Self.text(response) == "not ready: the server is stopping\n")
        #expect(try Self.get(admin, "/livez").status == 200)
        #expect(try Self.get(client, "/config").status == 200, "the listeners are still open")
        group.wait()
        #expect(throws: (any Error).self) { try Self.get(admin, "/livez") }
    }

    @Test("an address that is taken is a warning where nobody asked for it, else an error")
    func taken() throws {
        let subject = try ServiceUnderTest()
        let holder = try RunningServer { subject.snapshot }
        let address = try #require(holder.server.adminAddresses.first)
        let port = try #require(UInt16("\(address)".split(separator: ":").last ?? ""))
        for tolerates in [true, false] {
            let log = MemoryLog()
            let server = LookupServer(
                configuration: LookupServerConfiguration(
                    http: HTTPServerConfiguration(listeners: [ListenAddress(host: "127.0.0.1", port: 0)]),
                    admin: HTTPServerConfiguration(listeners: [ListenAddress(host: "127.0.0.1", port: port)], threads: 1),
                    toleratesMissingAdmin: tolerates),
                store: try InMemoryEvaluationKeyStore(), log: log
            ) { subject.snapshot }
            if tolerates {
                #expect(try server.start().count == 1)
                #expect(log.lines.contains { $0.contains("warning no admin listener: cannot listen on 127.0.0.1:\(port)") })
                #expect(server.adminAddresses.isEmpty)
                server.stop()
            } else {
                #expect(throws: HTTPServerError.self) { try server.start() }
            }
        }
        #expect(try Self.get(holder.adminClient(), "/readyz").status == 200)
    }

    @Test("scrapes that wait for each other are bounded")
    func scrapes() throws {
        let gate = DispatchSemaphore(value: 0)
        let handler = AdminHandler(
            readiness: { Readiness(missing: []) },
            metrics: {
                gate.wait()
                return ""
            }, version: { "{}" })
        let statuses = Mutex<[Int]>([])
        let done = DispatchGroup()
        for _ in 0..<(AdminHandler.mostWaiting + 3) {
            done.enter()
            handler.handle(
                HTTPRequest(method: "GET", path: "/metrics"),
                reply: HTTPReply { response in
                    statuses.withLock { $0.append(response.status) }
                    done.leave()
                })
        }
        #expect(statuses.withLock { $0 } == [503, 503, 503])
        for _ in 0..<AdminHandler.mostWaiting { gate.signal() }
        done.wait()
        #expect(statuses.withLock { $0 } == [503, 503, 503] + Array(repeating: 200, count: AdminHandler.mostWaiting))
    }
}
