// Both forms of encapsulation over sockets, through a relay: sizes, limits, and bytes that come one at a time.

import Dispatch
import Glibc
import HTTPCore
import HTTPServer
import LookupMessages
import ObliviousHTTP
import StateStore
import Synchronization
import Testing

@testable import DeviceClient
@testable import LookupService

@Suite("Through relay and gateway")
struct RelayedGatewayTests {
    /// A `/key` message of exactly so many bytes: many keys of one device, and a field that nobody knows.
    private static func upload(_ count: Int, for useCase: ServedUseCase) throws -> (body: [UInt8], keys: [EvaluationKey]) {
        var message = EvaluationKeys(keys: [try TestDevice(useCase, timestamp: 1).key])
        let first = message.keys[0]
        let single = message.encoded().count
        for timestamp in 2..<UInt64(max(2, count / (single + 8))) {
            var key = first
            key.metadata?.timestamp = timestamp
            message.keys.append(key)
        }
        var body = message.encoded()
        // Field 1000 of the kind that has a length, in four bytes.
        let length = count - body.count - 6
        try #require((0..<1 << 28).contains(length))
        body += [0xC2, 0x3E]
        for place in 0..<4 { body.append(UInt8(length >> (7 * place) & 0x7F) | (place < 3 ? 0x80 : 0)) }
        var state = UInt64(count) | 1
        for _ in 0..<length {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            body.append(UInt8(truncatingIfNeeded: state >> 56))
        }
        return (body, message.keys)
    }

    @Test("uploads of 681,000 bytes and of 11.9 MiB arrive byte for byte", arguments: [681_000, 119 << 20 / 10])
    func uploads(count: Int) throws {
        let relayed = try RelayedGateway()
        let (body, keys) = try Self.upload(count, for: relayed.identity)
        #expect(body.count == count)
        for isChunked in [false, true] {
            let answer = try relayed.path(isChunked: isChunked).send(
                relayed.request("/key", body), step: "key", timeout: .seconds(60))
            #expect(answer.status == 200)
            let stored = relayed.store.taken
            #expect(stored.map(\.timestamp) == keys.map { $0.metadata?.timestamp })
            #expect(stored.map(\.key) == keys.map { $0.evaluationKey?.encoded() })
        }
        #expect(relayed.running.log.lines.filter { $0.contains("POST key 200") && $0.contains("gateway") }.count == 2)
    }

    @Test("above 12 MiB inside: 413 inside; above 12 MiB and 64 KiB sealed: 413 outside", arguments: [false, true])
    func limits(isChunked: Bool) throws {
        let relayed = try RelayedGateway()
        let path = try relayed.path(isChunked: isChunked)
        let body = [UInt8](repeating: 0x5A, count: 12 << 20 + 64 << 10)
        let inner = try path.send(
            relayed.request("/key", Array(body.prefix(12 << 20 + 1))), step: "key", timeout: .seconds(60))
        #expect(inner.status == 413)
        #expect(String(decoding: inner.body, as: UTF8.self).contains("the limit is 12582912 bytes"))
        #expect {
            try path.send(relayed.request("/key", body), step: "key", timeout: .seconds(60))
        } throws: { error in
            guard case .refused("gateway", 413, let message) = error as? DeviceError else { return false }
            return message.contains("the limit is 12648448 bytes")
        }
        // The relay's own limit.
        let narrow = try RelayedGateway(relayLimit: 100_000)
        #expect {
            try narrow.path(isChunked: isChunked).send(
                narrow.request("/key", Array(body.prefix(100_000))), step: "key", timeout: .seconds(60))
        } throws: { error in
            guard case .refused("gateway", 413, "") = error as? DeviceError else { return false }
            return true
        }
        #expect(!narrow.running.log.lines.contains { $0.contains("POST gateway") })
    }

    @Test("a request that comes byte by byte has the same answer", arguments: [false, true])
    func singleBytes(isChunked: Bool) throws {
        let relayed = try RelayedGateway()
        let device = try TestDevice(relayed.identity)
        let path = try relayed.path(isChunked: isChunked)
        let upload = relayed.request("/key", device.upload.encoded())
        #expect(try path.send(upload, step: "key", timeout: .seconds(60)).status == 200)
        let (query, message) = try device.query(ServiceUnderTest.number)
        let request = relayed.request("/queries", device.requests(message).encoded())
        let key = try #require(
            try KeyConfiguration.decodeList(
                relayed.running.client().send(HTTPRequest(method: "GET", path: "/ohttp-keys")).body
            ).first)
        let plain = try BinaryRequest(
            method: "POST", scheme: "http", authority: request.authority, path: request.path,
            fields: request.fields.map { BinaryField($0.name, $0.value) }, content: request.body[...]
        ).encoded()
        let sealed = try isChunked ? SealedForm(chunking: plain, for: key) : SealedForm(plain, for: key)
        #expect(sealed.bytes.count < 28_000)
        let head = HTTPRequestHead(
            method: "POST", authority: "h", path: "/", fields: ["content-type": sealed.requestType])
        let bytes = try HTTP1Serializer.requestHead(head, contentLength: sealed.bytes.count, closes: true) + sealed.bytes
        for url in [relayed.relayURL, relayed.running.url] {
            var answers: [BinaryResponse] = []
            for piece in [1, bytes.count] {
                let outer = try relayed.sendRaw(bytes, to: url, piece: piece)
                #expect(outer.status == 200 && outer.fields["content-type"] == sealed.responseType)
                answers.append(try BinaryResponse(decoding: sealed.openAnswer(outer.body)))
            }
            #expect(answers[0] == answers[1] && answers[0].status == 200)
            let response = HTTPResponse(status: 200, body: Array(answers[0].content))
            #expect(try device.value(query, in: response) == Array("Johnny".utf8))
        }
    }

    /// Sealed bodies count in the budget of all bodies from their first byte to the answer.
    @Test("sealed bodies that wait are bounded together: 503 beyond", arguments: [false, true])
    func waitingBodies(isChunked: Bool) throws {
        var limits = HTTPLimits()
        limits.bufferedBodies = 1 << 20
        let relayed = try RelayedGateway(limits: limits)
        let request = relayed.request("/key", [UInt8](repeating: 0x5A, count: 681_000))
        let path = try relayed.path(isChunked: isChunked, throughRelay: false)
        func status() throws -> Int {
            do throws(DeviceError) {
                return try path.send(request, step: "key", timeout: .seconds(60)).status
            } catch {
                guard case .refused("gateway", let status, _) = error else { throw error }
                return status
            }
        }
        /// An answer comes a moment before its request's place is free.
        func settledStatus() throws -> Int {
            var last = try status()
            for _ in 0..<2000 where last == 503 {
                usleep(5000)
                last = try status()
            }
            return last
        }
        // It arrives, and is no message.
        for _ in 0..<3 { #expect(try settledStatus() == 400) }
        let service = relayed.running.server.service
        let gate = DispatchSemaphore(value: 0)
        let threads = service.openers.figures.threads
        // A thread is idle a moment after its answer.
        while service.openers.idleThreads < threads { usleep(1000) }
        for _ in 0..<threads {
            #expect(service.openers.submit(WorkItem(rank: .upkeep, run: { gate.wait() }, refuse: { _ in })) == nil)
        }
        let group = DispatchGroup()
        let answer = Mutex<HTTPResponse?>(nil)
        DispatchQueue(label: "phone").async(group: group) {
            var response: HTTPResponse?
            for _ in 0..<2000 where response == nil {
                response = try? path.send(request, step: "key", timeout: .seconds(60))
                if response == nil { usleep(5000) }
            }
            answer.withLock { [response] in $0 = response }
        }
        // The first one is in memory as a whole, and waits for a thread. There is no room for a second one.
        while service.openers.waitingCount == 0 { usleep(1000) }
        let second = try relayed.path(isChunked: isChunked, throughRelay: false)
        #expect {
            try second.send(request, step: "key", timeout: .seconds(60))
        } throws: { error in
            // The refusal comes while the phone still sends, so it may see a broken connection instead of it.
            switch error as? DeviceError {
            case .refused("gateway", 503, _), .network: true
            default: false
            }
        }
        #expect(relayed.running.log.lines.contains { $0.contains("body_budget") })
        for _ in 0..<threads { gate.signal() }
        group.wait()
        #expect(answer.withLock { $0?.status } == 400)
        #expect(try settledStatus() == 400)
    }
}
