// Marker values through every endpoint and error path; none may show up in the log or in an error's body (service.md 8.1).

import HTTPClient
import HTTPCore
import LookupMessages
import Testing

@testable import LookupService

@Suite("Privacy")
struct PrivacyTests {
    private static let mark = "Zx9Marker"

    @Test("no marker in log or answers")
    func markers() throws {
        let mark = Self.mark
        let bytes = Array(mark.utf8)
        let subject = try ServiceUnderTest(name: mark + "Name")
        let running = try RunningServer { subject.snapshot }
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
        try? subject.store.close()

        let statuses = Set(answers.map(\.status))
        #expect(statuses.isSuperset(of: [200, 400, 404, 405, 410, 415, 501, 503]))
        for answer in answers where answer.status != 200 {
            #expect(!String(decoding: answer.body, as: UTF8.self).contains(mark))
            #expect(answer.fields.allSatisfy { !$0.value.contains(mark) })
        }
        #expect(running.log.lines.count >= answers.count)
        for line in running.log.lines {
            #expect(!line.contains(mark))
            #expect(!line.contains("net.example.other"))
            #expect(!line.contains("127.0.0.1") || line.hasPrefix("ready:"))
        }
    }

    @Test("a request's line holds values of closed lists, duration and size buckets only")
    func form() throws {
        let subject = try ServiceUnderTest()
        _ = subject.call("/config", ConfigRequest())
        let line = try #require(subject.log.lines.last)
        let form = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ POST config 200 \d+ms in0 out<=\d+[KM] direct/
        #expect(line.wholeMatch(of: form) != nil)
        #expect(LogText.bucket(0) == "0")
        #expect(LogText.bucket(1) == "<=1K")
        #expect(LogText.bucket(1024) == "<=1K")
        #expect(LogText.bucket(1025) == "<=2K")
        #expect(LogText.bucket(12 << 20) == "<=16M")
        #expect(LogText.time(1_700_000_000) == "2023-11-14T22:13:20Z")
    }
}
