// Marker values through every endpoint and error path; none may show up in the log in any form, in the metrics, or in an error's
// body (service.md 8.1).

import HTTPClient
import HTTPCore
import LookupMessages
import Testing

@testable import LookupService

@Suite("Privacy")
struct PrivacyTests {
    private static let mark = "Zx9Marker"

    /// What is wrong with the head or the body of these is noticed by the front.
    private static let rawRequests = [
        "GET /\(mark) HTTP/1.1\r\nHost: \(mark)\r\nHost: \(mark)\r\n\r\n", "\(mark) \(mark)\r\n\r\n",
        "POST /config HTTP/1.1\r\nHost: h\r\n\(mark) : \(mark)\r\n\r\n",
        "POST /config HTTP/1.1\r\nHost: h\r\nContent-Length: \(mark)\r\n\r\n",
        "POST /config HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \(mark)\r\n\r\n",
        "POST /config HTTP/1.1\r\nHost: h\r\nExpect: \(mark)\r\n\r\n",
        "POST /config HTTP/1.1\r\nHost: h\r\nUser-Identifier: \(mark)\r\nTransfer-Encoding: chunked\r\n\r\n\(mark)\r\n",
        "POST /config HTTP/1.1\r\nHost: h\r\nUser-Identifier: \(mark)\r\nContent-Length: 99999999\r\n\r\n",
        "GET /\(mark) HTTP/\(mark)\r\n\r\n", "GET /" + String(repeating: mark, count: 2000) + " HTTP/1.1\r\n\r\n",
    ]

    /// Sends the marker through every route and refusal, in every place of a request that holds bytes.
    private func sendEverywhere(_ subject: ServiceUnderTest, _ running: RunningServer) throws -> [HTTPResponse] {
        let mark = Self.mark
        let bytes = Array(mark.utf8)
        let client = try running.client()
        let device = try TestDevice(subject.identity)
        var answers: [HTTPResponse] = []
        func send(_ path: String, _ body: [UInt8], method: String = "POST", _ more: HTTPFields = [:], user: String? = nil)
            throws
        {
            var fields: HTTPFields = [
                "user-identifier": user ?? mark + "-user", "user-agent": mark + " iOS/18.2", "authorization": mark,
                "x-other": mark,
            ]
            for field in more { fields.append(field.name, field.value) }
            answers.append(
                try client.send(
                    HTTPRequest(
                        method: method, authority: mark.lowercased() + ".example", path: path, query: mark, fields: fields,
                        body: body)))
        }
        try send("/key", device.upload.encoded())
        var request = try device.query("+1" + mark).request
        try send("/queries", device.requests(request).encoded())
        try send("/queries", Requests(requests: [Request(usecase: mark, kind: .pir(request))]).encoded())
        request.shardId = mark
        try send("/queries", device.requests(request).encoded())
        request.shardId = nil
        request.configurationHash = bytes[...]
        try send("/queries", device.requests(request).encoded())
        request = try device.query("+1" + mark).request
        request.evaluationKeyMetadata?.identifier = bytes[...]
        try send("/queries", device.requests(request).encoded())
        request.evaluationKeyMetadata = nil
        request.evaluationKey = EvaluationKey(
            metadata: EvaluationKeyMetadata(timestamp: 1, identifier: bytes[...]), evaluationKey: SerializedEvaluationKey())
        try send("/queries", device.requests(request).encoded())
        request = try device.query("+1" + mark).request
        request.query?.ciphertexts = []
        try send("/queries", device.requests(request).encoded())
        for path in ["/config", "/key", "/queries"] {
            try send(path, bytes)
            try send(path, bytes, method: mark)
            try send(path, bytes, ["content-encoding": mark])
            try send(path, bytes, user: mark + String(repeating: "x", count: 200))
            try send(path, bytes, user: mark + " " + mark)
        }
        try send("/" + mark, bytes)
        try send("/config", ConfigRequest(usecases: [mark]).encoded())
        try send(
            "/config",
            ConfigRequest(usecases: [ServiceUnderTest.identity], existingConfigIds: [bytes[...], bytes[...]]).encoded())
        var upload = device.upload
        upload.keys[0].metadata?.identifier = bytes[...]
        try send("/key", upload.encoded())
        upload = device.upload
        upload.keys[0].evaluationKey?.relinKey = nil
        try send("/key", upload.encoded())
        subject.identitySample.inService.turnOff([0, 1])
        try send("/queries", device.requests(try device.query("+1" + mark).request).encoded())
        try running.server.service.store.close()
        try send("/config", ConfigRequest().encoded())
        return answers
    }

    @Test("no marker in log, metrics or answers")
    func markers() throws {
        let mark = Self.mark
        let subject = try ServiceUnderTest(name: mark + "Name")
        let running = try RunningServer { subject.snapshot }
        let answers = try sendEverywhere(subject, running)
        for text in Self.rawRequests {
            let answer = try running.sendRaw(text)
            #expect(answer.hasPrefix("HTTP/1.1 4") || answer.hasPrefix("HTTP/1.1 5"))
            #expect(!answer.contains(mark))
        }
        running.willLoad { ServiceSnapshot(version: "two", current: [subject.identity]) }
        #expect(running.server.reload())

        let statuses = Set(answers.map(\.status))
        #expect(statuses.isSuperset(of: [200, 400, 404, 405, 410, 415, 501, 503]))
        for answer in answers where answer.status != 200 {
            #expect(!String(decoding: answer.body, as: UTF8.self).contains(mark))
            #expect(answer.fields.allSatisfy { !$0.value.contains(mark) })
        }
        #expect(running.log.lines.count >= answers.count)
        for record in running.log.records {
            for format in LogFormat.allCases {
                let line = format.line(record)
                #expect(!line.lowercased().contains(mark.lowercased()))
                #expect(!line.contains("net.example.other"))
                switch record.event {
                case .ready, .adminListening: break
                default: #expect(!line.contains("127.0.0.1"))
                }
            }
        }
        let kinds = Set(running.log.records.map(\.event.kind))
        #expect(
            kinds.isSuperset(of: [
                "request", "refused_by_front", "store_failed", "query_for_shard_out_of_service", "reloaded",
            ]))
        try checkAdmin(running)
    }

    private func checkAdmin(_ running: RunningServer) throws {
        let mark = Self.mark
        let admin = try running.adminClient()
        for path in ["/metrics", "/version", "/readyz", "/livez", "/" + mark] {
            let answer = try admin.send(
                HTTPRequest(method: "GET", path: path, query: mark, fields: ["user-identifier": mark, "x-other": mark]))
            #expect(!String(decoding: answer.body, as: UTF8.self).lowercased().contains(mark.lowercased()), "\(path)")
            #expect(answer.fields.allSatisfy { !$0.value.contains(mark) })
        }
        let metrics = String(
            decoding: try admin.send(HTTPRequest(method: "GET", path: "/metrics")).body, as: UTF8.self)
        #expect(metrics.contains("veilring_queries_total{use_case=\"unknown\"} 1\n"))
        #expect(metrics.contains("veilring_http_refusals_total{reason=\"malformed\"} "))
        #expect(!metrics.contains("127.0.0.1"))
    }

    @Test("a request's line holds values of closed lists, duration and size buckets only")
    func form() throws {
        let subject = try ServiceUnderTest()
        _ = subject.call("/config", ConfigRequest())
        let line = try #require(subject.log.lines.last)
        let form = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ info POST config 200 \d+ms in0 out<=\d+[KM] HTTP\/1.1 direct/
        #expect(line.wholeMatch(of: form) != nil)
        #expect(LogText.bucket(0) == "0")
        #expect(LogText.bucket(1) == "<=1K")
        #expect(LogText.bucket(1024) == "<=1K")
        #expect(LogText.bucket(1025) == "<=2K")
        #expect(LogText.bucket(12 << 20) == "<=16M")
        #expect(LogText.time(1_700_000_000) == "2023-11-14T22:13:20Z")
    }
}
