// Oblivious HTTP with others on the other side (Tests/Oracles/ohttp_oracle.py): a client and a gateway on PyPI's `pyhpke`, and
// requests of PyPI's `ohttpy`, a client in Rust with an HPKE and a Binary HTTP of its own.

import Cryptography
import Foundation
import TestOracles
import Testing

@testable import ObliviousHTTP

enum OHTTPOracle {
    struct Job: Encodable {
        var configuration = ""
        var configurations = ""
        var aead: UInt16 = 0
        var chunked = false
        var seed = ""
        var request: Texts = .many([])
        var response: Texts = .many([])
        var privateKey = ""
        var nonce = ""
        var content = ""
    }

    /// One text or several: what is a body on one side is a list of parts on the other.
    enum Texts: Encodable {
        case one(String)
        case many([String])

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .one(let text): try container.encode(text)
            case .many(let texts): try container.encode(texts)
            }
        }
    }

    struct Reply: Decodable {
        var failed: Bool?
        var body: [HexBytes]?
        var plaintext: [HexBytes]?

        var joinedBody: [UInt8] { (body ?? []).flatMap(\.bytes) }
        var joinedPlaintext: [UInt8] { (plaintext ?? []).flatMap(\.bytes) }
    }

    struct Failure: Error {}

    private static let script = PythonOracle("ohttp_oracle.py")

    static let hasPyHPKE: Bool = script.isAvailable
    static let hasOHTTPy: Bool = (try? script.run(["probe-ohttpy"]).status) == 0

    static func replies(_ command: String, _ jobs: [Job]) throws -> [Reply] {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let (status, output) = try script.run([command], input: encoder.encode(jobs))
        guard status == 0 else { throw Failure() }
        let replies = try JSONDecoder().decode([Reply].self, from: output)
        #expect(replies.count == jobs.count)
        return replies
    }
}

@Suite struct IndependentPeerTests {
    let request = BinaryRequest(
        method: "POST", authority: "pir.example.org", path: "/queries", content: EncapsulationTests.message(30_000)[...])
    let response = BinaryResponse(status: 200, content: EncapsulationTests.message(25_000)[...])
    /// Every AEAD in both forms.
    let kinds = HPKEAEAD.allCases.flatMap { [($0, false), ($0, true)] }

    /// Uneven parts of a message.
    func parts(_ message: [UInt8], isChunked: Bool) -> OHTTPOracle.Texts {
        .many(
            (isChunked ? [message[..<1], message[1..<17_000], message[17_000...]] : [message[...]]).map { hex($0) })
    }

    @Test(.enabled(if: OHTTPOracle.hasPyHPKE, "PyPI's pyhpke is missing: scripts/setup")) func anothersClient() throws {
        let key = try GatewayKey(id: 77, privateKey: .generate())
        let keys = try GatewayKeySet([key])
        let message = try request.encoded()
        var jobs = try kinds.map { aead, isChunked in
            var job = OHTTPOracle.Job(configuration: hex(key.configuration.encoded), aead: aead.rawValue, chunked: isChunked)
            job.seed = hex(try SecretBytes.random(count: 32).exposed)
            job.request = parts(message, isChunked: isChunked)
            return job
        }
        for (place, reply) in try OHTTPOracle.replies("request", jobs).enumerated() {
            let answer: [UInt8]
            if jobs[place].chunked {
                var opener = ChunkedRequestOpener(keys: keys)
                let plaintext = try opener.append(reply.joinedBody[...]) + opener.finish()
                #expect(plaintext == message)
                var sealer = try opener.responseSealer()
                answer = try sealer.seal(response.encoded()[...], isFinal: true)
            } else {
                let opened = try keys.open(reply.joinedBody)
                #expect(opened.plaintext.elementsEqual(message))
                answer = try opened.responseSealer.seal(response.encoded())
            }
            jobs[place].response = .one(hex(answer))
            var damaged = jobs[place]
            damaged.response = .one(hex(answer.dropLast() + [answer[answer.count - 1] ^ 1]))
            jobs.append(damaged)
        }
        for (place, reply) in try OHTTPOracle.replies("response", jobs).enumerated() {
            if place < kinds.count {
                #expect(try reply.joinedPlaintext == response.encoded())
            } else {
                #expect(reply.failed == true && reply.plaintext == nil)
            }
        }
    }

    @Test(.enabled(if: OHTTPOracle.hasPyHPKE, "PyPI's pyhpke is missing: scripts/setup")) func anothersGateway() throws {
        let key = try GatewayKey(id: 3, privateKey: .generate())
        let message = try request.encoded()
        var jobs: [OHTTPOracle.Job] = []
        var openers: [(whole: ResponseOpener?, chunked: ChunkedResponseOpener?)] = []
        for (aead, isChunked) in kinds {
            var job = OHTTPOracle.Job(chunked: isChunked, privateKey: hex(try key.rawPrivateKey().exposed))
            job.nonce = hex(try SecretBytes.random(count: 32).exposed)
            job.response = parts(try response.encoded(), isChunked: isChunked)
            if isChunked {
                var sealer = try key.configuration.encapsulateChunked(aead: aead)
                job.request = .one(hex(try sealer.seal(message[...], isFinal: true)))
                openers.append((nil, sealer.responseOpener()))
            } else {
                let sealed = try key.configuration.encapsulate(message, aead: aead)
                job.request = .one(hex(sealed.bytes))
                openers.append((sealed.responseOpener, nil))
            }
            jobs.append(job)
        }
        for (reply, opener) in zip(try OHTTPOracle.replies("gateway", jobs), openers) {
            #expect(reply.joinedPlaintext == message)
            var answer = try opener.whole.map { Array(try $0.open(reply.joinedBody)) } ?? []
            if var opener = opener.chunked { answer = try opener.append(reply.joinedBody[...]) + opener.finish() }
            #expect(try answer == response.encoded())
        }
    }

    /// Its answers are of a draft that nobody else speaks; its requests are those of RFC 9458. It does without AES-256.
    @Test(.enabled(if: OHTTPOracle.hasOHTTPy, "PyPI's ohttpy is missing: scripts/setup")) func requestsOfAClientInRust() throws
    {
        let content = EncapsulationTests.message(30_000)
        let keys = try [HPKEAEAD.aes128GCM, .chaCha20Poly1305].map { aead in
            try GatewayKey(id: UInt8(aead.rawValue), privateKey: .generate(), aeads: [aead])
        }
        let jobs = keys.map { key in
            OHTTPOracle.Job(configurations: hex(KeyConfiguration.encodeList([key.configuration])), content: hex(content))
        }
        for reply in try OHTTPOracle.replies("ohttpy", jobs) {
            let opened = try GatewayKeySet(keys).open(reply.joinedBody)
            let request = try BinaryRequest(decoding: opened.plaintext)
            #expect(request.method == "POST" && request.path == "/queries" && request.content.elementsEqual(content))
            #expect(request.fields.contains(BinaryField("user-identifier", "u")))
        }
    }
}
