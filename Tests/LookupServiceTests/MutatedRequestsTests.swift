// Mutated requests against every endpoint: each is refused or answered well, nothing stops, memory stays bounded.
// VEILRING_FUZZ_ITERATIONS sets how many, VEILRING_FUZZ_SEED repeats a run.

import FoundationEssentials
import HTTPClient
import HTTPCore
import LookupMessages
import Testing

@testable import LookupService

/// SplitMix64: small, and the same on every machine.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Valid requests, and what can be done to them.
struct Mutations {
    let subject: ServiceUnderTest
    let device: TestDevice
    let foreign: TestDevice
    let query: PIRRequest
    var random: SeededGenerator

    init(seed: UInt64) throws {
        subject = try ServiceUnderTest()
        device = try TestDevice(subject.identity)
        foreign = try TestDevice(
            SampleUseCase.make("other", rows: [:], hashFunctions: 1, buckets: 600, dimensionCount: 1).loaded)
        query = try device.query(ServiceUnderTest.number).request
        random = SeededGenerator(state: seed)
    }

    mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    /// One request.
    mutating func next() -> (path: String, body: [UInt8]) {
        let path = ["/config", "/key", "/queries", "/queries"][pick(4)]
        var body = message(path)
        for _ in 0..<pick(4) { damage(&body) }
        return (path, body)
    }

    /// A valid message, or one that is wrong in its meaning.
    private mutating func message(_ path: String) -> [UInt8] {
        switch path {
        case "/config":
            var request = ConfigRequest(usecases: [ServiceUnderTest.identity, ServiceUnderTest.block])
            switch pick(5) {
            case 0: request.existingConfigIds = [[], query.configurationHash]
            case 1: request.existingConfigIds = Array(repeating: [1], count: pick(5))
            case 2: request.usecases = Array(repeating: ServiceUnderTest.block, count: pick(70))
            case 3: request.usecases.append(String(repeating: "u", count: pick(300)))
            default: break
            }
            return request.encoded()
        case "/key":
            var upload = device.upload
            switch pick(7) {
            case 0: upload.keys[0].metadata?.identifier = Array(repeating: 9, count: pick(40))[...]
            case 1: upload.keys[0].evaluationKey = foreign.key.evaluationKey
            case 2: upload.keys[0].evaluationKey?.relinKey = nil
            case 3: upload.keys[0].evaluationKey?.galoisKey?.keySwitchKeys[random.next()] = SerializedKeySwitchKey()
            case 4: upload.keys += upload.keys
            case 5: upload.keys[0].metadata = nil
            default: break
            }
            return upload.encoded()
        default:
            var request = query
            request.evaluationKey = device.key
            switch pick(12) {
            case 0: request.shardIndex = UInt32(truncatingIfNeeded: random.next())
            case 1: request.configurationHash = Array(repeating: 1, count: pick(40))[...]
            case 2: request.evaluationKey = foreign.key
            case 3: request.evaluationKey?.evaluationKey = foreign.key.evaluationKey
            case 4: request.query?.numPirCalls = random.next() >> UInt64(pick(64))
            case 5: request.query?.ciphertexts = Array(repeating: SerializedCiphertext(), count: pick(3000))
            case 6: request.shardId = "x"
            case 7:
                request.query?.ciphertexts[0] =
                    foreign.key.evaluationKey?.relinKey?.relinKey?.keySwitchKey?.ciphertexts.first ?? SerializedCiphertext()
            case 8: request.query = nil
            default: break
            }
            if pick(3) > 0 { request.evaluationKey = nil }
            var batch = device.requests(request)
            if pick(4) == 0 { batch.requests += Array(repeating: batch.requests[0], count: pick(6)) }
            return batch.encoded()
        }
    }

    /// Damages bytes without knowing what they mean.
    private mutating func damage(_ body: inout [UInt8]) {
        guard !body.isEmpty else { return }
        // Half of the damage goes where the structure is, near the beginning.
        let place = pick(2) == 0 ? pick(min(body.count, 200)) : pick(body.count)
        switch pick(7) {
        case 0: body[place] ^= 1 << UInt8(pick(8))
        case 1: body.removeLast(pick(body.count))
        case 2: body += (0..<pick(400)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        case 3: body[place] = [0x00, 0x7F, 0x80, 0xFF][pick(4)]
        case 4: body.replaceSubrange(place..<place, with: Array(repeating: 0xFF, count: 9) + [0x01])
        case 5: body.remove(at: place)
        default: body += body.prefix(pick(body.count))
        }
    }

    /// Whether an answer is one that a mutated request may get.
    static func isAcceptable(_ status: Int, _ answer: [UInt8], path: String, body: [UInt8]) -> Bool {
        switch status {
        case 400..<500, 503: return true
        case 501:
            let requests = (try? Requests(decoding: body))?.requests ?? []
            return path == "/queries"
                && requests.contains { if case .pir(let request) = $0.kind { request.shardId != nil } else { false } }
        case 200:
            switch path {
            case "/config": return (try? ConfigResponse(decoding: answer)) != nil
            case "/key": return answer.isEmpty
            default:
                let count = (try? Requests(decoding: body))?.requests.count
                return (try? Responses(decoding: answer))?.responses.count == count
            }
        default: return false
        }
    }
}

@Suite("Mutated requests")
struct MutatedRequestsTests {
    static let environment = ProcessInfo.processInfo.environment
    static let iterations = environment["VEILRING_FUZZ_ITERATIONS"].flatMap { Int($0) } ?? 300
    static let seed = environment["VEILRING_FUZZ_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0 ... .max)

    @Test("on the handler")
    func handler() throws {
        var mutations = try Mutations(seed: Self.seed)
        let subject = mutations.subject
        try #require(subject.call("/key", mutations.device.upload).status == 200)
        var seen: [Int: Int] = [:]
        for turn in 0..<Self.iterations {
            let (path, body) = mutations.next()
            let answer = subject.call(path, body)
            seen[answer.status, default: 0] += 1
            #expect(
                Mutations.isAcceptable(answer.status, answer.body, path: path, body: body),
                "status \(answer.status) on \(path) at turn \(turn) of seed \(Self.seed)")
        }
        if Self.iterations >= 200 { #expect(seen[200] ?? 0 > 0 && seen[400] ?? 0 > 0, "seed \(Self.seed)") }
        // Seldom enough that a short run may miss it.
        if Self.iterations >= 5000 { #expect(seen[501] ?? 0 > 0, "seed \(Self.seed)") }
        #expect(
            subject.log.lines.allSatisfy { !$0.contains("A4C1E2B0") && !$0.contains("Johnny") && !$0.contains("4085551212") })
    }

    @Test("through a socket")
    func socket() throws {
        var mutations = try Mutations(seed: Self.seed &+ 1)
        let subject = mutations.subject
        let running = try RunningServer { subject.snapshot }
        let client = try running.client()
        func send(_ path: String, _ body: [UInt8]) throws -> HTTPResponse {
            try client.send(HTTPRequest(method: "POST", path: path, fields: ServiceUnderTest.fields, body: body))
        }
        try #require(try send("/key", mutations.device.upload.encoded()).status == 200)
        let before = Self.residentBytes
        for turn in 0..<Self.iterations {
            let (path, body) = mutations.next()
            let answer = try send(path, body)
            #expect(
                Mutations.isAcceptable(answer.status, answer.body, path: path, body: body),
                "status \(answer.status) on \(path) at turn \(turn) of seed \(Self.seed)")
        }
        // Still alive, and right.
        let (query, request) = try mutations.device.query(ServiceUnderTest.number)
        _ = try send("/key", mutations.device.upload.encoded())
        let answer = try send("/queries", mutations.device.requests(request).encoded())
        #expect(try mutations.device.value(query, in: answer) == Array("Johnny".utf8))
        // Other suites run in the same process; the bound is that of the service, not of this test.
        #expect(Self.residentBytes - before < 1 << 30)
    }

    /// Resident memory of this process.
    static var residentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return (Int(line.filter(\.isNumber)) ?? 0) * 1024
    }
}
