// POST /key and what is checked before a body is read (service.md 1.5, 1.6.3, 1.10).

import HTTPCore
import HTTPServer
import LookupMessages
import StateStore
import Testing

@testable import LookupService

@Suite("POST /key, and heads of requests")
struct KeyTests {
    let subject: ServiceUnderTest
    let device: TestDevice

    init() throws {
        subject = try ServiceUnderTest()
        device = try TestDevice(subject.identity)
    }

    @Test("a good key is stored before it is acknowledged, with an empty answer")
    func stored() throws {
        let answer = subject.call("/key", device.upload)
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(answer.fields["cache-control"] == "no-store")
        let user = try #require(ServiceUnderTest.fields["user-identifier"])
        let hash = subject.identity.parameters.evaluationKeyConfigHash
        #expect(try subject.store.newestTimestamp(userIdentifier: user, configurationHash: hash) == 77)
    }

    @Test("elements that nobody needs are not stored")
    func foreignElements() throws {
        try #require(subject.call("/key", device.upload).status == 200)
        let plain = try subject.store.statistics().bytes
        var upload = device.upload
        let elements = Set(subject.identity.parameters.galoisElements.map { UInt64($0) })
        let foreign = try #require((1..<512).map { UInt64(2 * $0 + 1) }.first { !elements.contains($0) })
        let some = try #require(device.key.evaluationKey?.galoisKey?.keySwitchKeys.values.first)
        upload.keys[0].evaluationKey?.galoisKey?.keySwitchKeys[foreign] = some
        #expect(subject.call("/key", upload).status == 200)
        #expect(try subject.store.statistics().bytes == plain)
    }

    @Test("refusals store nothing")
    func refusals() throws {
        func refused(_ change: (inout EvaluationKeys) -> Void) -> Int {
            var upload = device.upload
            change(&upload)
            return subject.call("/key", upload).status
        }
        #expect(refused { $0.keys = [] } == 400)
        #expect(refused { $0.keys = Array(repeating: $0.keys[0], count: 9) } == 400)
        #expect(refused { $0.keys[0].metadata = nil } == 400)
        #expect(refused { $0.keys[0].evaluationKey = nil } == 400)
        #expect(refused { $0.keys[0].metadata?.identifier = [] } == 400)
        #expect(refused { $0.keys[0].metadata?.identifier = Array(repeating: 1, count: 32)[...] } == 400)
        #expect(refused { $0.keys[0].evaluationKey?.galoisKey = nil } == 400)
        #expect(refused { $0.keys[0].evaluationKey?.relinKey = nil } == 400)
        let element = UInt64(try #require(subject.identity.parameters.galoisElements.first))
        #expect(refused { $0.keys[0].evaluationKey?.galoisKey?.keySwitchKeys[element] = nil } == 400)
        #expect(refused { $0.keys[0].evaluationKey?.galoisKey?.keySwitchKeys[element] = SerializedKeySwitchKey() } == 400)
        #expect(refused { $0.keys.append(EvaluationKey()) } == 400)
        #expect(subject.call("/key", [0x0A, 0xFF]).status == 400)
        #expect(try subject.store.statistics().count == 0)
    }

    @Test("a store that cannot write is 503, and the log says why without naming anyone")
    func brokenStore() throws {
        try subject.store.close()
        #expect(subject.call("/key", device.upload).status == 503)
        #expect(subject.call("/config", ConfigRequest()).status == 503)
        #expect(subject.log.lines.contains { $0.contains("store: the store is closed") })
    }

    @Test("paths and methods")
    func paths() {
        for path in ["/", "/configs", "/config/", "/Config", "//config", "/%63onfig", "/livez"] {
            #expect(subject.call(path).status == 404)
        }
        for method in ["PUT", "post", "CONNECT"] {
            let answer = subject.call("/config", method: method)
            #expect(answer.status == 405)
            #expect(answer.fields["allow"] == "POST, GET, HEAD")
        }
        for method in ["GET", "HEAD", "PUT", "post"] {
            let answer = subject.call("/key", method: method)
            #expect(answer.status == 405 && answer.fields["allow"] == "POST")
        }
    }

    @Test("user identifiers")
    func identifiers() {
        func status(_ values: [String]) -> Int {
            var fields: HTTPFields = [:]
            for value in values { fields.append("user-identifier", value) }
            return subject.call("/config", ConfigRequest(), fields: fields).status
        }
        #expect(status(["x"]) == 200)
        #expect(status([String(repeating: "x", count: 128)]) == 200)
        #expect(status([]) == 400)
        #expect(status([""]) == 400)
        #expect(status(["a b"]) == 400)
        #expect(status(["é"]) == 400)
        #expect(status(["x", "x"]) == 400)
        #expect(status([String(repeating: "x", count: 129)]) == 400)
    }

    @Test("lengths are refused before the body is read")
    func lengths() {
        for (path, limit) in [("/config", 65_536), ("/key", 12 << 20), ("/queries", 12 << 20)] {
            func admission(_ length: Int?) -> HTTPAdmission {
                subject.service.begin(
                    HTTPRequestHead(method: "POST", path: path, fields: ServiceUnderTest.fields, contentLength: length))
            }
            if case .respond(let answer) = admission(limit + 1) { #expect(answer.status == 413) } else { Issue.record("read") }
            for length in [limit, nil] {
                if case .readBody(let most) = admission(length) { #expect(most == limit) } else { Issue.record("refused") }
            }
        }
    }

    @Test("compressed requests are refused")
    func compressed() {
        var fields = ServiceUnderTest.fields
        fields["content-encoding"] = "gzip"
        #expect(subject.call("/config", ConfigRequest(), fields: fields).status == 415)
        fields["content-encoding"] = "identity"
        #expect(subject.call("/config", ConfigRequest(), fields: fields).status == 200)
    }
}
