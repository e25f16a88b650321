// Records as lines, levels, and what happens to records that repeat each other (field case F24).

import Foundation
import HTTPCore
import HTTPServer
import StateStore
import Testing

@testable import LookupService

@Suite("The log")
struct LogTests {
    private static let request = LogEvent.request(
        RequestSummary(
            method: "POST", route: "queries", status: 200, duration: .microseconds(12_900), received: 5000, sent: 3 << 20,
            version: .http2, isThroughGateway: true))

    /// One of each kind.
    static let events: [LogEvent] = [
        request, .ready(addresses: ["127.0.0.1:1", "[::1]:2"], version: "v"), .adminListening(addresses: ["127.0.0.1:3"]),
        .noAdminListener(reason: "r"), .configurationNotice("n"), .reloaded(version: "v"),
        .notReloaded(version: "v", reason: "r"), .stopping, .refusedByFront(reason: "malformed"), .storeFailed(reason: "r"),
        .keysEvicted(count: 3), .servingNotRecorded(reason: "r"), .versionUnusable(reason: "r"),
        .shardOutOfService(shard: 1, useCase: "u", version: "v", place: "p"),
        .queryForShardOutOfService(shard: 1, useCase: "u"), .computationFailed(useCase: "u", reason: "r"),
        .leftOut(count: 5, kind: "request queries 400", seconds: 10),
    ]

    @Test("sentences for people")
    func text() {
        func line(_ event: LogEvent) -> String { LogFormat.text.line(LogRecord(event, time: 1_700_000_000)) }
        #expect(
            line(Self.request) == "2023-11-14T22:13:20Z info POST queries 200 12ms in<=8K out<=4M HTTP/2 gateway")
        // Scripts wait for the word at the beginning of the line.
        #expect(line(Self.events[1]) == "ready: listening on 127.0.0.1:1, [::1]:2, version v")
        #expect(line(.storeFailed(reason: "a\nb\u{1B}[2J")) == "2023-11-14T22:13:20Z error store: a\\u{a}b\\u{1b}[2J")
        #expect(
            line(Self.events[16])
                == "2023-11-14T22:13:20Z notice left out 5 lines like the last ones about request queries 400, within 10 s")
    }

    @Test("one JSON object a line, with time, level, kind and the fields")
    func json() throws {
        let kinds = Self.events.map(\.kind)
        #expect(Set(kinds).count == kinds.count)
        for event in Self.events {
            let line = LogFormat.json.line(LogRecord(event, time: 1_700_000_000))
            #expect(!line.contains("\n"))
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(object["time"] as? String == "2023-11-14T22:13:20Z")
            #expect(object["level"] as? String == event.level.rawValue)
            #expect(object["kind"] as? String == event.kind)
            #expect(Set(object.keys).isSuperset(of: event.fields.map(\.name)))
            #expect((object["message"] as? String) == (event.kind == "request" ? nil : event.message))
        }
        #expect(
            LogFormat.json.line(LogRecord(Self.request, time: 1_700_000_000))
                == #"{"time":"2023-11-14T22:13:20Z","level":"info","kind":"request","method":"POST","route":"queries","#
                + #""status":200,"milliseconds":12,"received_at_most":8192,"sent_at_most":4194304,"protocol":"HTTP/2","#
                + #""via":"gateway"}"#)
        let hostile = "\"\\\n\u{0}\u{7F}\u{2028}\u{202E}é🙂"
        let line = LogFormat.json.line(LogRecord(.configurationNotice(hostile)))
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
        #expect(object?["reason"] == hostile)
        #expect(line.unicodeScalars.allSatisfy { !LogText.isControl($0) })
    }

    @Test("docs/operator.md lists every kind with its level")
    func documented() throws {
        var folder = URL(filePath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        let page = try String(contentsOf: folder.appending(path: "docs/operator.md"), encoding: .utf8)
        for event in Self.events {
            let row = try #require(page.split(separator: "\n").first { $0.hasPrefix("| `") && $0.contains("`\(event.kind)`") })
            #expect(row.split(separator: "|")[1].contains(event.level.rawValue), "\(event.kind)")
        }
    }

    @Test("levels are ordered, and less important records are dropped")
    func levels() {
        #expect(LogLevel.allCases == LogLevel.allCases.sorted())
        let memory = MemoryLog()
        let log = SampledLog(memory, level: .warning)
        for event in Self.events { log.note(event) }
        #expect(!memory.records.isEmpty)
        #expect(memory.records.map(\.event) == Self.events.filter { $0.level >= .warning || $0.kind == "ready" })
    }

    @Test("ten thousand refused requests make few lines, and one that says how many were left out")
    func sampling() throws {
        let memory = MemoryLog()
        // A long stretch, so that a slow machine does not end it.
        let log = SampledLog(memory, most: 20, seconds: 600)
        let service = LookupService(store: try InMemoryEvaluationKeyStore(), log: log)
        for _ in 0..<10_000 {
            guard case .respond(let response) = service.begin(HTTPRequestHead(method: "POST", path: "/config")) else {
                Issue.record("it must be refused")
                return
            }
            #expect(response.status == 400)
        }
        #expect(memory.lines.count == 20)
        _ = service.begin(HTTPRequestHead(method: "POST", path: "/nothing"))
        #expect(memory.lines.count == 21, "what differs is written")
        log.flush()
        #expect(memory.lines.count == 22)
        #expect(memory.records.last?.event == .leftOut(count: 9980, kind: "request config 400", seconds: 600))
        #expect(service.metrics.refusals.all[.init(route: .config, failure: .invalidUserIdentifier)] == 10_000)
        _ = service.begin(HTTPRequestHead(method: "POST", path: "/config"))
        #expect(memory.lines.count == 23, "a new stretch begins")
    }

    @Test("the end of a stretch comes by itself")
    func stretch() {
        let memory = MemoryLog()
        let log = SampledLog(memory, most: 1, seconds: 1)
        for _ in 0..<5 { log.note(.refusedByFront(reason: "malformed")) }
        #expect(memory.records.count == 1)
        let end = ContinuousClock.now.advanced(by: .seconds(60))
        while memory.records.count < 2, ContinuousClock.now < end { usleep(10_000) }
        #expect(memory.records.last?.event == .leftOut(count: 4, kind: "refused_by_front malformed", seconds: 1))
    }

    @Test("successful requests are all written")
    func complete() {
        let memory = MemoryLog()
        let log = SampledLog(memory, most: 1)
        for _ in 0..<100 { log.note(Self.request) }
        #expect(memory.records.count == 100)
    }

    @Test("a bound of a size is a power of two")
    func bounds() {
        #expect(LogText.bound(0) == 0 && LogText.bound(-1) == 0 && LogText.bound(1) == 1024)
        #expect(LogText.bound(1024) == 1024 && LogText.bound(1025) == 2048 && LogText.bound(12 << 20) == 16 << 20)
        #expect(LogText.bound(.max) > 1 << 60)
    }
}
