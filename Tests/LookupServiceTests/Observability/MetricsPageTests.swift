// The page of a running server: what requests do to it, what an independent parser makes of it, and docs/metrics.md against it.

import Foundation
import HTTPClient
import HTTPCore
import HTTPServer
import LookupMessages
import StateStore
import Testing

@testable import LookupService

@Suite("The page of metrics")
struct MetricsPageTests {
    private static let process = ProcessReading(
        stat: "1 (a) S 1 2 3 4 5 6 7 8 9 10 250 150 0 0 20 0 17 0 5000 1048576 256", bootTime: 1000, ticksPerSecond: 100,
        pageBytes: 4096, descriptors: 3, mostDescriptors: 9)

    private static func families(of service: LookupService) -> [MetricFamily] {
        MetricsPage(service: service, bodies: { (1, 2) }, isReady: { true }).families(at: 1_700_000_060, process: process)
    }

    /// The value of the sample of a family whose labels are these.
    private static func value(
        _ name: String, _ labels: [String: String] = [:], suffix: String = "", in families: [MetricFamily]
    ) -> MetricValue? {
        families.first { $0.name == name }?.samples.first { sample in
            sample.suffix == suffix && Dictionary(sample.labels.map { ($0.name, $0.value) }) { $1 } == labels
        }?.value
    }

    @Test("requests are counted by route, status, protocol and reason, queries by use case, phases by time")
    func requests() throws {
        let subject = try ServiceUnderTest()
        subject.service.swap(
            to: ServiceSnapshot(version: "one", current: [subject.identity, subject.block], created: 1_700_000_000))
        let device = try TestDevice(subject.identity)
        #expect(subject.call("/config", ConfigRequest()).status == 200)
        #expect(subject.call("/key", device.upload).status == 200)
        let request = try device.query(ServiceUnderTest.number).request
        #expect(subject.call("/queries", device.requests(request)).status == 200)
        #expect(
            subject.call("/queries", Requests(requests: [Request(usecase: "secret", kind: .pir(request))])).status == 400)
        #expect(subject.call("/nothing").status == 404)
        #expect(subject.call("/config", method: "PUT").status == 405)
        var unknown = device.requests(request)
        unknown.requests[0].kind = .pir(try TestDevice(subject.identity, timestamp: 5).query(ServiceUnderTest.number).request)
        #expect(subject.call("/queries", unknown).status == 200)

        let families = Self.families(of: subject.service)
        func requests(_ route: String, _ status: String) -> MetricValue? {
            Self.value(
                "veilring_http_requests_total", ["route": route, "status": status, "protocol": "HTTP/1.1"], in: families)
        }
        #expect(requests("config", "200") == .integer(1) && requests("key", "200") == .integer(1))
        #expect(requests("queries", "200") == .integer(2) && requests("queries", "400") == .integer(1))
        #expect(requests("unknown", "404") == .integer(1) && requests("config", "405") == .integer(1))
        func refused(_ route: String, _ reason: String) -> MetricValue? {
            Self.value("veilring_refusals_total", ["route": route, "reason": reason], in: families)
        }
        #expect(refused("queries", "unknown_use_case_in_query") == .integer(1))
        #expect(refused("unknown", "not_found") == .integer(1) && refused("config", "method_not_allowed") == .integer(1))
        func queries(_ name: String) -> MetricValue? {
            Self.value("veilring_queries_total", ["use_case": name], in: families)
        }
        #expect(queries(ServiceUnderTest.identity) == .integer(2) && queries("unknown") == .integer(1))
        #expect(queries("secret") == nil)
        #expect(Self.value("veilring_http_requests_in_flight", in: families) == .integer(0))
        #expect(Self.value("veilring_unmatched_timestamps_total", in: families) == .integer(1))
        for (phase, count) in [("queue", 4), ("decode", 3), ("compute", 2), ("encode", 2)] {
            #expect(
                Self.value("veilring_request_phase_seconds", ["phase": phase], suffix: "_count", in: families)
                    == .integer(count), "\(phase)")
        }
        #expect(
            Self.value("veilring_http_request_duration_seconds", ["route": "queries"], suffix: "_count", in: families)
                == .integer(3))
        #expect(Self.value("veilring_stored_keys", in: families) == .integer(1))
        #expect(Self.value("veilring_decoded_keys", in: families) == .integer(1))
        #expect(Self.value("veilring_data_info", ["version": "one"], in: families) == .integer(1))
        #expect(
            Self.value("veilring_data_age_seconds", ["use_case": ServiceUnderTest.identity], in: families) == .integer(60))
        try subject.store.close()
        #expect(Self.value("veilring_stored_keys", in: Self.families(of: subject.service)) == nil, "no store, no sample")
    }

    @Test("what cannot be done now is told apart by its reason")
    func reasons() throws {
        func reasons(_ service: LookupService) -> Set<ServiceFailure> { Set(service.metrics.refusals.all.keys.map(\.failure)) }
        let empty = try ServiceUnderTest(isLoaded: false)
        #expect(empty.call("/config", ConfigRequest()).status == 503)
        #expect(reasons(empty.service) == [.notLoaded])

        let closed = try ServiceUnderTest()
        try closed.store.close()
        #expect(closed.call("/config", ConfigRequest()).status == 503)
        #expect(reasons(closed.service) == [.storeUnavailable])

        var options = ServiceOptions()
        options.waitingClerical = 0
        let full = try ServiceUnderTest(options: options)
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<4 {
            #expect(full.service.clerks.submit(WorkItem(rank: .upkeep, run: { gate.wait() }, refuse: { _ in })) == nil)
        }
        #expect(full.call("/config", ConfigRequest()).status == 503)
        #expect(reasons(full.service) == [.queueFull])
        for _ in 0..<4 { gate.signal() }

        options = ServiceOptions()
        options.computeThreads = 1
        options.waitingTime = .milliseconds(1)
        let late = try ServiceUnderTest(options: options)
        // A gate of its own: a clerk that has not come to the other one yet would leave its signal there.
        let lateGate = DispatchSemaphore(value: 0)
        #expect(late.service.computing.submit(WorkItem(rank: .query, run: { lateGate.wait() }, refuse: { _ in })) == nil)
        let device = try TestDevice(late.identity)
        let request = device.requests(try device.query(ServiceUnderTest.number).request)
        #expect(late.call("/queries", request).status == 503)
        #expect(reasons(late.service) == [.waitedTooLong])
        lateGate.signal()

        let damaged = try ServiceUnderTest()
        damaged.identitySample.inService.turnOff([0, 1])
        let owner = try TestDevice(damaged.identity)
        #expect(damaged.call("/key", owner.upload).status == 200)
        #expect(
            damaged.call("/queries", owner.requests(try owner.query(ServiceUnderTest.number).request)).status == 503)
        #expect(reasons(damaged.service) == [.shardOutOfService])
        let samples = Self.families(of: damaged.service).first { $0.name == "veilring_shards_out_of_service" }?.samples
        #expect(samples?.map(\.value) == [.integer(0), .integer(2)])
    }

    @Test("the front's connections and refusals are counted")
    func front() throws {
        let subject = try ServiceUnderTest()
        let running = try RunningServer { subject.snapshot }
        let client = try running.client()
        _ = try client.send(HTTPRequest(method: "GET", path: "/config"))
        let metrics = running.server.service.metrics
        #expect(metrics.connectionsAccepted.value == 1 && metrics.connectionsOpen.value == 1)
        _ = try? client.send(HTTPRequest(method: "GET", path: "/config", fields: ["x": String(repeating: "a", count: 40_000)]))
        #expect(metrics.frontRefusals[.malformed]?.value == 1)
        #expect(running.log.records.contains { $0.event == .refusedByFront(reason: "malformed") })
        metrics.take(.acceptPaused(.connections))
        metrics.take(.acceptPaused(.descriptors))
        metrics.take(.acceptPaused(.descriptors))
        #expect(metrics.acceptPauses[.connections]?.value == 1 && metrics.acceptPauses[.descriptors]?.value == 2)
        metrics.take(.handshakeCompleted(version: "TLSv1.3", isResumed: true, duration: .milliseconds(3)))
        metrics.take(.handshakeCompleted(version: "TLSv1.2", isResumed: false, duration: .milliseconds(3)))
        metrics.take(.handshakeFailed(.notTLS))
        let handshakes = metrics.tlsHandshakes.all.filter { $0.instrument.value > 0 }
        #expect(handshakes.map(\.label) == [.succeeded, .failed(.notTLS)] && handshakes[0].instrument.value == 2)
        #expect(metrics.tlsDurations.all.map(\.instrument.reading.count) == [1, 1] && metrics.tlsResumptions.value == 1)
        metrics.take(.streamRefused(.workInFlight))
        metrics.take(.goAwaySent(.fault(.protocolError)))
        #expect(metrics.streamRefusals[.workInFlight]?.value == 1 && metrics.endings.all == [.fault(.protocolError): 1])
        #expect(HTTP2Ending.fault(.protocolError).labelText == "protocol_error")
        #expect(running.server.reload())
        running.willLoad { throw NoReply() }
        #expect(!running.server.reload())
        #expect(metrics.reloads[.succeeded]?.value == 1 && metrics.reloads[.failed]?.value == 1)
    }

    @Test(
        "an independent parser reads the page of a running server",
        .enabled(if: MetricsOracle.isAvailable, "python3 or its package prometheus_client is missing (scripts/setup)"))
    func parsed() throws {
        let subject = try ServiceUnderTest()
        let running = try RunningServer { subject.snapshot }
        #expect(try running.client().send(HTTPRequest(method: "PUT", path: "/config")).status == 405)
        let response = try running.adminClient().send(HTTPRequest(method: "GET", path: "/metrics"))
        let page = String(decoding: response.body, as: UTF8.self)
        let parsed = try #require(try MetricsOracle.parse(page))
        let own = Self.families(of: running.server.service)
        // The parser knows a counter by its name without `_total`.
        let names = own.map { $0.kind == .counter ? String($0.name.dropLast("_total".count)) : $0.name }
        #expect(Set(parsed.keys) == Set(names))
        #expect(
            parsed["veilring_http_requests"]?.samples.first?.labels
                == ["route": "config", "status": "405", "protocol": "HTTP/1.1"])
        let histogram = try #require(parsed["veilring_request_phase_seconds"])
        #expect(histogram.type == "histogram" && histogram.samples.count == 4 * (15 + 1 + 2))
        #expect(parsed["process_resident_memory_bytes"]?.samples.first.map { $0.value > 1e6 } == true)
    }

    @Test("names follow the conventions")
    func names() throws {
        for family in Self.families(of: try ServiceUnderTest().service) {
            #expect(family.name.hasPrefix("veilring_") || family.name.hasPrefix("process_"), "\(family.name)")
            #expect((family.kind == .counter) == family.name.hasSuffix("_total"), "\(family.name)")
            #expect(family.kind != .histogram || family.name.hasSuffix("_seconds"), "\(family.name)")
            #expect(family.help.hasSuffix("."), "\(family.name)")
        }
    }

    /// Rows of docs/metrics.md: name, type and labels.
    private static func rows() throws -> [[String]] {
        var folder = URL(filePath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        let page = try String(contentsOf: folder.appending(path: "docs/metrics.md"), encoding: .utf8)
        return page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
        }
    }

    @Test("docs/metrics.md lists every metric with its type and labels, and no other")
    func documented() throws {
        let subject = try ServiceUnderTest()
        subject.service.swap(
            to: ServiceSnapshot(version: "one", current: [subject.identity], created: 1_700_000_000))
        let device = try TestDevice(subject.identity)
        #expect(subject.call("/key", device.upload).status == 200)
        #expect(subject.call("/queries", device.requests(try device.query("+1").request)).status == 200)
        #expect(subject.call("/nothing").status == 404)
        subject.service.metrics.take(.goAwaySent(.fault(.enhanceYourCalm)))
        subject.service.metrics.tokensIssued.add(to: "free")
        subject.service.metrics.decapsulations.add(to: .opened)
        let tokens = try TokenServiceUnderTest()
        let families = Self.families(of: subject.service)
        let rows = try Self.rows().filter { $0[0].hasPrefix("veilring_") || $0[0].hasPrefix("process_") }
        #expect(rows.map { $0[0] } == families.map(\.name))
        // Only a service with an issuer has keys to count.
        let withIssuer = Self.families(of: tokens.service)
        for (row, family) in zip(rows, families) {
            #expect(row[1] == family.kind.rawValue, "\(family.name)")
            let samples = family.samples.isEmpty ? withIssuer.first { $0.name == family.name }?.samples ?? [] : family.samples
            let labels = samples.first?.labels.map(\.name).filter { $0 != "le" } ?? []
            #expect(row[2].split(whereSeparator: { " ,`".contains($0) }).map(String.init) == labels, "\(family.name)")
        }
    }

    @Test("docs/metrics.md names every value of every closed list")
    func lists() throws {
        let named = Set(try Self.rows().map { $0[0] })
        let values =
            ServiceFailure.allCases.map(\.labelText) + FrontRefusal.allCases.map(\.labelText)
            + TLSHandshakeResult.allCases.map(\.labelText) + RequestPhase.allCases.map(\.labelText)
        for value in values { #expect(named.contains(value), "\(value)") }
    }
}
