// POST /queries: every status, batches, key selection (service.md 1.10.1 to 1.12).

import HTTPCore
import LookupMessages
import Testing

@testable import LookupService

@Suite("POST /queries")
struct QueriesTests {
    let subject: ServiceUnderTest
    let device: TestDevice

    init() throws {
        subject = try ServiceUnderTest()
        device = try TestDevice(subject.identity)
    }

    private func upload() throws {
        try #require(subject.call("/key", device.upload).status == 200)
    }

    private func expect(
        _ status: Int, _ message: String, _ requests: Requests, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let answer = subject.call("/queries", requests)
        #expect(answer.status == status, sourceLocation: sourceLocation)
        #expect(
            String(decoding: answer.body, as: UTF8.self) == "{\"error\":{\"message\":\"\(message)\"}}",
            sourceLocation: sourceLocation)
        #expect(answer.fields["content-type"] == "application/json", sourceLocation: sourceLocation)
        #expect(answer.fields["cache-control"] == "no-store", sourceLocation: sourceLocation)
    }

    @Test("a present and an absent number")
    func lookups() throws {
        try upload()
        for (number, value) in [(ServiceUnderTest.number, "Johnny"), ("+886912345678", "Mr Huang"), ("+15550000000", nil)] {
            let (query, request) = try device.query(number)
            let answer = subject.call("/queries", device.requests(request))
            try #require(answer.status == 200)
            #expect(answer.fields["content-type"] == "application/x-protobuf")
            #expect(answer.fields["cache-control"] == "no-store")
            #expect(try device.value(query, in: answer) == value.map { Array($0.utf8) })
        }
    }

    @Test("a batch whose answer would be too long is refused, and not as our mistake")
    func answerTooLong() throws {
        var options = ServiceOptions()
        try upload()
        let request = try device.query(ServiceUnderTest.number).request
        options.answerBody = subject.call("/queries", device.requests(request)).body.count + 20
        let strict = try ServiceUnderTest(options: options)
        let other = try TestDevice(strict.identity)
        try #require(strict.call("/key", other.upload).status == 200)
        let one = other.requests(try other.query(ServiceUnderTest.number).request)
        #expect(strict.call("/queries", one).status == 200)
        let answer = strict.call("/queries", Requests(requests: one.requests + one.requests))
        #expect(answer.status == 400)
        #expect(String(decoding: answer.body, as: UTF8.self) == "{\"error\":{\"message\":\"Invalid request\"}}")
    }

    @Test("a batch over two use cases is answered in its order")
    func batch() throws {
        try upload()
        // The use cases share a key configuration, so the devices are told apart by their timestamps.
        let other = try TestDevice(subject.block, timestamp: 78)
        try #require(subject.call("/key", other.upload).status == 200)
        let first = try device.query(ServiceUnderTest.number)
        let second = try other.query(ServiceUnderTest.number)
        let third = try device.query("+886912345678")
        let batch = Requests(
            requests: device.requests(first.request).requests + other.requests(second.request).requests
                + device.requests(third.request).requests)
        let answer = subject.call("/queries", batch)
        try #require(answer.status == 200)
        #expect(try device.value(first.query, in: answer, at: 0) == Array("Johnny".utf8))
        #expect(try other.value(second.query, in: answer, at: 1) == [1])
        #expect(try device.value(third.query, in: answer, at: 2) == Array("Mr Huang".utf8))
    }

    @Test("one bad request fails the whole batch")
    func badBatch() throws {
        try upload()
        let good = try device.query(ServiceUnderTest.number).request
        var bad = good
        bad.shardIndex = 99
        expect(400, "Invalid request", Requests(requests: [good, bad].flatMap { device.requests($0).requests }))
    }

    @Test("refusals of the table in service.md 1.12")
    func refusals() throws {
        try upload()
        let good = try device.query(ServiceUnderTest.number).request
        func with(_ change: (inout PIRRequest) -> Void) -> Requests {
            var request = good
            change(&request)
            return device.requests(request)
        }
        expect(400, "Unknown use case", Requests(requests: [Request(usecase: "net.example.other", kind: .pir(good))]))
        expect(400, "Invalid request", Requests(requests: [Request(usecase: ServiceUnderTest.identity, kind: nil)]))
        expect(
            400, "Invalid request",
            Requests(requests: [Request(usecase: ServiceUnderTest.identity, kind: .oprf(OPRFRequest()))]))
        expect(501, "Not supported", with { $0.shardId = "" })
        expect(501, "Not supported", with { $0.shardId = "0" })
        expect(410, "Configuration is not available", with { $0.configurationHash = [] })
        expect(
            410, "Configuration is not available", with { $0.configurationHash = subject.block.parameters.configurationID[...] }
        )
        expect(
            410, "Configuration is not available",
            with {
                $0.configurationHash = Array(repeating: 7, count: 32)[...]
                $0.evaluationKeyMetadata = nil
            })
        expect(400, "Evaluation key not found", with { $0.evaluationKeyMetadata = nil })
        expect(400, "Evaluation key not found", with { $0.evaluationKeyMetadata?.identifier = [1, 2, 3] })
        expect(400, "Invalid request", with { $0.shardIndex = 2 })
        expect(400, "Invalid request", with { $0.shardIndex = .max })
        expect(400, "Invalid request", with { $0.query = nil })
        expect(400, "Invalid request", with { $0.query?.numPirCalls = 0 })
        expect(400, "Invalid request", with { $0.query?.numPirCalls = 1 << 63 })
        expect(400, "Invalid request", with { $0.query?.ciphertexts = [] })
        expect(400, "Invalid request", with { $0.query?.ciphertexts += good.query?.ciphertexts ?? [] })
        expect(400, "Invalid request", Requests())
        expect(400, "Invalid request", Requests(requests: (0..<65).flatMap { _ in device.requests(good).requests }))
        #expect(subject.call("/queries", [0xFF, 0xFF, 0xFF]).status == 400)
        #expect(subject.call("/queries", device.requests(good)).status == 200)
    }

    @Test("without an uploaded key")
    func noKey() throws {
        let request = try device.query(ServiceUnderTest.number).request
        expect(400, "Evaluation key not found", device.requests(request))
    }

    @Test("another user's key is not found")
    func otherUser() throws {
        try upload()
        let request = try device.query(ServiceUnderTest.number).request
        var fields = ServiceUnderTest.fields
        fields["user-identifier"] = "someone-else"
        #expect(subject.call("/queries", device.requests(request), fields: fields).status == 400)
    }

    @Test("a key that travels with the query answers it, and is not stored")
    func carriedKey() throws {
        var (query, request) = try device.query(ServiceUnderTest.number)
        request.evaluationKeyMetadata = nil
        request.evaluationKey = device.key
        let answer = subject.call("/queries", device.requests(request))
        try #require(answer.status == 200)
        #expect(try device.value(query, in: answer) == Array("Johnny".utf8))
        #expect(try subject.store.statistics().count == 0)
        request.evaluationKey?.evaluationKey?.galoisKey?.keySwitchKeys = [:]
        expect(400, "Invalid request", device.requests(request))
        request.evaluationKey = EvaluationKey(metadata: nil, evaluationKey: device.key.evaluationKey)
        expect(400, "Invalid request", device.requests(request))
        request.evaluationKey = device.key
        request.evaluationKey?.metadata?.identifier = [1]
        expect(400, "Invalid request", device.requests(request))
    }

    @Test("timestamp 0 and an unknown one are answered with the newest key, unless that is switched off")
    func timestamps() throws {
        try upload()
        var (query, request) = try device.query(ServiceUnderTest.number)
        for timestamp: UInt64 in [0, 76, .max] {
            request.evaluationKeyMetadata?.timestamp = timestamp
            let answer = subject.call("/queries", device.requests(request))
            try #require(answer.status == 200)
            #expect(try device.value(query, in: answer) == Array("Johnny".utf8))
        }
        #expect(subject.service.unmatchedTimestamps.load(ordering: .relaxed) == 2)

        var options = ServiceOptions()
        options.requiresMatchingTimestamp = true
        let strict = try ServiceUnderTest(options: options)
        try #require(strict.call("/key", device.upload).status == 200)
        #expect(strict.call("/queries", device.requests(request)).status == 400)
        request.evaluationKeyMetadata?.timestamp = 0
        #expect(strict.call("/queries", device.requests(request)).status == 200)
    }

    @Test("a key uploaded anew under the same timestamp replaces the decoded one")
    func replacedKey() throws {
        try upload()
        #expect(subject.call("/queries", device.requests(try device.query(ServiceUnderTest.number).request)).status == 200)
        let again = try TestDevice(subject.identity)
        try #require(subject.call("/key", again.upload).status == 200)
        let (query, request) = try again.query(ServiceUnderTest.number)
        let answer = subject.call("/queries", again.requests(request))
        #expect(try again.value(query, in: answer) == Array("Johnny".utf8))
    }

    @Test("the first query after an upload decodes no key")
    func firstQueryAfterUpload() throws {
        func decodings() -> Int { subject.service.keyDecodings.load(ordering: .relaxed) }
        try upload()
        #expect(decodings() == 1)
        for round in 1...2 {
            let (query, request) = try device.query(ServiceUnderTest.number)
            let answer = subject.call("/queries", device.requests(request))
            #expect(try device.value(query, in: answer) == Array("Johnny".utf8))
            #expect(decodings() == 1 && subject.service.decodedKeys.statistics.hits == round)
        }
        #expect(subject.service.decodedKeys.statistics.count == 1)
        // Uploaded anew under the same timestamp: the old one answers nothing any more, and the new one is at hand.
        let again = try TestDevice(subject.identity)
        try #require(subject.call("/key", again.upload).status == 200)
        let (query, request) = try again.query(ServiceUnderTest.number)
        #expect(try again.value(query, in: subject.call("/queries", again.requests(request))) == Array("Johnny".utf8))
        #expect(decodings() == 2)
        // Without a cache every query decodes.
        var options = ServiceOptions()
        options.decodedKeyBytes = 0
        let poor = try ServiceUnderTest(options: options)
        try #require(poor.call("/key", device.upload).status == 200)
        #expect(poor.call("/queries", device.requests(try device.query(ServiceUnderTest.number).request)).status == 200)
        #expect(poor.service.keyDecodings.load(ordering: .relaxed) == 2)
    }

    @Test("queries of a batch to the same large shard share its scan, and each gets its own answer")
    func sharedScan() throws {
        var options = ServiceOptions()
        options.computeThreads = 1
        // Six scans in one thread: a debug build on a busy machine takes longer than a phone would wait.
        options.waitingTime = .seconds(120)
        options.queriesTime = .seconds(120)
        let subject = try ServiceUnderTest(options: options)
        let rows = Dictionary(
            uniqueKeysWithValues: (0..<60).map { i in
                ("+8869\(10_000_000 + i)", (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ i) })
            })
        let large = try SampleUseCase.make("net.example.large", rows: rows, shards: 1).loaded
        let contents = try #require(large.shards[0].contents)
        #expect(large.engine.worthTogether(contents) > 1)
        subject.service.swap(to: ServiceSnapshot(version: "large", current: [subject.block, large]))
        let small = try TestDevice(subject.block, timestamp: 5)
        let device = try TestDevice(large)
        for one in [small, device] { try #require(subject.call("/key", one.upload).status == 200) }
        let keywords = rows.keys.sorted().prefix(4) + ["+1"]
        let queries = try keywords.map { try device.query($0) }
        let other = try small.query(ServiceUnderTest.number)
        var requests = queries.flatMap { device.requests($0.request).requests }
        requests.insert(contentsOf: small.requests(other.request).requests, at: 2)
        let answer = subject.call("/queries", Requests(requests: requests))
        try #require(answer.status == 200)
        #expect(try small.value(other.query, in: answer, at: 2) == [1])
        for (i, (keyword, query)) in zip(keywords, queries).enumerated() {
            #expect(try device.value(query.query, in: answer, at: i < 2 ? i : i + 1) == rows[keyword])
        }
        #expect(subject.service.sharedScans.load(ordering: .relaxed) > 1)
    }

    @Test("a shard out of service is 503 with a log line, its siblings answer")
    func outOfService() throws {
        try upload()
        let (query, request) = try device.query(ServiceUnderTest.number)
        subject.identitySample.inService.turnOff([query.shard])
        let answer = subject.call("/queries", device.requests(request))
        #expect(answer.status == 503)
        #expect(answer.fields["retry-after"] != nil)
        #expect(subject.log.lines.contains { $0.contains("out of service") })
        subject.identitySample.inService.turnOff([1 - query.shard])
        #expect(subject.call("/queries", device.requests(request)).status == 200)
    }

    @Test("an older version with another id stays answerable, the newest of one id answers")
    func versions() throws {
        try upload()
        let (query, request) = try device.query(ServiceUnderTest.number)
        let other = try SampleUseCase.make(
            ServiceUnderTest.identity, kind: .identity, rows: ServiceUnderTest.rows(name: "New"), buckets: 8, entrySize: 70
        ).loaded
        let fresh = try ServiceUnderTest(name: "Fresh")
        let swap = { (current: [ServedUseCase], retained: [ServedUseCase]) in
            subject.service.swap(to: ServiceSnapshot(version: "two", current: current, retained: retained))
        }
        swap([other], [subject.identity])
        #expect(try device.value(query, in: subject.call("/queries", device.requests(request))) == Array("Johnny".utf8))
        swap([other], [fresh.identity, subject.identity])
        #expect(try device.value(query, in: subject.call("/queries", device.requests(request))) == Array("Fresh".utf8))
        swap([subject.block], [subject.identity])
        #expect(try device.value(query, in: subject.call("/queries", device.requests(request))) == Array("Johnny".utf8))
        swap([other], [])
        expect(410, "Configuration is not available", device.requests(request))
        swap([subject.block], [])
        expect(400, "Unknown use case", device.requests(request))
    }

    @Test("before the first load everything is 503")
    func notLoaded() throws {
        let empty = try ServiceUnderTest(isLoaded: false)
        for path in ["/config", "/key", "/queries"] {
            let answer = empty.call(path)
            #expect(answer.status == 503)
            #expect(answer.fields["retry-after"] != nil)
        }
    }
}
