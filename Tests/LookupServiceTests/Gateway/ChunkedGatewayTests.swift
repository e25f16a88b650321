// The chunked form at the gateway (service.md 3.10; draft-ietf-ohai-chunked-ohttp-08): behind its switch, whole or not at all.

import HTTPCore
import LookupMessages
import ObliviousHTTP
import Testing

@testable import LookupService

extension GatewayUnderTest {
    static let chunkedType: HTTPFields = ["content-type": "message/ohttp-chunked-req"]

    /// A gateway that takes the chunked form.
    static func chunked(options: ServiceOptions = ServiceOptions(), padding: Int = 0) throws -> GatewayUnderTest {
        var rules = GatewayRules()
        (rules.isChunked, rules.paddingMultiple) = (true, padding)
        return try GatewayUnderTest(rules: rules, options: options)
    }

    /// Seals a message in the chunked form, cut where `cuts` say.
    func chunks(
        _ plain: [UInt8], cuts: [Int] = [], aead: HPKEAEAD? = nil
    ) throws -> (body: [UInt8], opener: ChunkedResponseOpener) {
        var sealer = try key().encapsulateChunked(aead: aead)
        var body: [UInt8] = []
        var start = 0
        for cut in cuts {
            body += try sealer.seal(plain[start..<cut], isFinal: false)
            start = cut
        }
        body += try sealer.seal(plain[start...], isFinal: true)
        return (body, sealer.responseOpener())
    }

    /// Sends a message in the chunked form, and opens what comes back.
    func sendChunked(_ plain: [UInt8], cuts: [Int] = [], aead: HPKEAEAD? = nil, path: String = "/") throws -> BinaryResponse {
        let (body, opener) = try chunks(plain, cuts: cuts, aead: aead)
        let outer = call("POST", path, Self.chunkedType, body)
        #expect(outer.status == 200 && outer.fields["content-type"] == "message/ohttp-chunked-res")
        #expect(outer.fields["cache-control"] == "private, no-store")
        var answer = opener
        let beginning = try answer.append(outer.body[...])
        return try BinaryResponse(decoding: (beginning + answer.finish())[...])
    }
}

@Suite("The gateway's chunked form")
struct ChunkedGatewayTests {
    private static let config = ConfigRequest(usecases: [ServiceUnderTest.identity]).encoded()
    private static let request = GatewayUnderTest.request("POST", "/config", config)

    @Test("without its switch it is an unsupported media type")
    func off() throws {
        let under = try GatewayUnderTest()
        let (body, _) = try under.chunks(Self.request.encoded())
        let refused = under.call("POST", "/", GatewayUnderTest.chunkedType, body)
        #expect(refused.status == 415 && refused.fields["content-type"] == "application/json")
        #expect(try under.send(Self.request).status == 200)
    }

    @Test("the same answers as directly, in any framing and any cut, with every AEAD, at every path")
    func sameAnswers() throws {
        let under = try GatewayUnderTest.chunked()
        let direct = under.subject.call("/config", Self.config)
        let plain = try Self.request.encoded()
        for path in ["/", "/gateway", "/.well-known/ohttp-gateway"] {
            #expect(try Array(under.sendChunked(plain, path: path).content) == direct.body)
        }
        for aead in HPKEAEAD.allCases {
            #expect(try Array(under.sendChunked(plain, cuts: [1, 2, 40], aead: aead).content) == direct.body)
        }
        let pieces = try Self.request.encoded(BinaryEncoding(framing: .indeterminateLength(chunk: 3)))
        #expect(try Array(under.sendChunked(pieces, cuts: [pieces.count]).content) == direct.body)
        // The whole form goes on as before.
        #expect(try Array(under.send(Self.request).content) == direct.body)
        let (body, _) = try under.chunks(plain)
        let fields: HTTPFields = ["content-type": "Message/OHTTP-Chunked-Req; x=1", "incremental": "?1"]
        #expect(under.call("POST", "/", fields, body).status == 200)
        // The forms are told apart by their media types, and neither opens as the other.
        #expect(under.call("POST", "/", GatewayUnderTest.type, body).status == 400)
        let whole = try under.key().encapsulate(plain).bytes
        #expect(under.call("POST", "/", GatewayUnderTest.chunkedType, whole).status == 400)
        #expect(under.call("POST", "/", ["content-type": "message/ohttp-chunked-res"], body).status == 415)
    }

    @Test("a query is answered, and errors inside are sealed in the same form")
    func inside() throws {
        let under = try GatewayUnderTest.chunked()
        let device = try TestDevice(under.subject.identity)
        let upload = try GatewayUnderTest.request("POST", "/key", device.upload.encoded()).encoded()
        #expect(try under.sendChunked(upload).status == 200)
        let (query, request) = try device.query(ServiceUnderTest.number)
        let plain = try GatewayUnderTest.request("POST", "/queries", device.requests(request).encoded()).encoded()
        let answer = try under.sendChunked(plain, cuts: [plain.count / 2])
        let response = HTTPResponse(status: answer.status, body: Array(answer.content))
        #expect(try device.value(query, in: response) == Array("Johnny".utf8))
        #expect(under.subject.log.lines.contains { $0.contains("POST queries 200") && $0.contains("gateway") })
        #expect(try under.sendChunked(GatewayUnderTest.request("POST", "/nothing").encoded()).status == 404)
        #expect(try under.sendChunked([9, 9]).status == 400 && under.sendChunked([]).status == 400)
        let foreign = GatewayUnderTest.request("POST", "/config", authority: "other.example", Self.config)
        #expect(try under.sendChunked(foreign.encoded()).status == 403)
    }

    @Test("answers come in chunks of 16 KiB, and the last one is marked")
    func answers() throws {
        let under = try GatewayUnderTest.chunked(padding: 50_000)
        let (body, opener) = try under.chunks(Self.request.encoded(), aead: .aes128GCM)
        let answer = under.call("POST", "/", GatewayUnderTest.chunkedType, body).body
        // A nonce, three chunks of 16,400 bytes with lengths of 4, and what is left of 50,000.
        let length: [UInt8] = [0x80, 0, 0x40, 0x10]
        for place in [16, 16 + 16_404, 16 + 2 * 16_404] { #expect(Array(answer[place..<place + 4]) == length) }
        let last = 16 + 3 * 16_404
        #expect(answer[last] == 0 && answer.count == last + 1 + 50_000 - 3 * 16_384 + 16)
        // Another request, or none at all, has another nonce.
        #expect(under.call("POST", "/", GatewayUnderTest.chunkedType, body).body.prefix(16) != answer.prefix(16))
        for cut in [0, 15, 16, 17, last - 1, last, last + 1, answer.count - 1] {
            var opener = opener
            #expect(throws: EncapsulationError.self) {
                _ = try opener.append(answer[..<cut])
                _ = try opener.finish()
            }
        }
    }

    @Test("whatever is cut off or changed, nothing of it is acted on, and the answer is one of two")
    func damage() throws {
        let under = try GatewayUnderTest.chunked()
        let plain = try Self.request.encoded()
        let (body, _) = try under.chunks(plain, cuts: [40, plain.count])
        let problem = under.call("POST", "/", GatewayUnderTest.chunkedType, [body[0] &+ 1] + body.dropFirst())
        #expect(problem.status == 400 && problem.fields["content-type"] == "application/problem+json")
        for cut in 0..<body.count {
            let answer = under.call("POST", "/", GatewayUnderTest.chunkedType, Array(body[..<cut]))
            // As long as the beginning is not there, it is no message; from there on all looks the same.
            #expect(cut < 39 ? answer.status == 400 && answer != problem : answer == problem, "\(cut)")
        }
        // The message is complete before its final chunk, which is empty: without it nothing counts.
        #expect(under.call("POST", "/", GatewayUnderTest.chunkedType, Array(body.dropLast(17))) == problem)
        var statuses: Set<Int> = []
        for place in 0..<body.count {
            var bytes = body
            bytes[place] ^= 0x40
            let answer = under.call("POST", "/", GatewayUnderTest.chunkedType, bytes)
            statuses.insert(answer.status)
            // Lengths are for everyone to see, and some are none.
            let lengths = [39, 39 + 1 + 40 + 16, body.count - 17]
            #expect(lengths.contains(place) || answer == problem, "\(place)")
        }
        #expect(statuses == [400])
        for more in [[0], body] as [[UInt8]] {
            #expect(under.call("POST", "/", GatewayUnderTest.chunkedType, body + more).status == 400)
        }
        let lowOrder = Array(body[..<7]) + [UInt8](repeating: 0, count: 32) + body[39...]
        #expect(under.call("POST", "/", GatewayUnderTest.chunkedType, lowOrder) == problem)
        // An empty chunk before the final one.
        let empty = Array(body[..<39]) + [16] + [UInt8](repeating: 1, count: 16) + body[39...]
        #expect(under.call("POST", "/", GatewayUnderTest.chunkedType, empty).status == 400)
        #expect(!under.subject.log.lines.contains { $0.contains("POST config") })
        #expect(try under.sendChunked(plain).status == 200)
        #expect(under.subject.log.lines.contains { $0.contains("POST config 200") })
    }

    @Test("large bodies arrive; beyond the limits it says 413, inside where it can, and names the limit")
    func sizes() throws {
        let under = try GatewayUnderTest.chunked()
        let largest = 12 << 20
        for count in [681_000, largest] {
            let plain = try GatewayUnderTest.request("POST", "/key", [UInt8](repeating: 0x5A, count: count)).encoded()
            #expect(try under.sendChunked(plain).status == 400, "\(count): it arrived, and is no message")
        }
        for addsLength in [true, false] {
            let plain = try GatewayUnderTest.request("POST", "/key", [UInt8](repeating: 0, count: largest + 1))
                .encoded(BinaryEncoding(addsContentLength: addsLength))
            for inner in [try under.sendChunked(plain), try under.send(plain: plain)] {
                #expect(inner.status == 413)
                #expect(String(decoding: inner.content, as: UTF8.self).contains("the limit is 12582912 bytes"))
            }
        }
        let sealed = [UInt8](repeating: 0, count: largest + 64 << 10)
        #expect(under.call("POST", "/", GatewayUnderTest.chunkedType, sealed).status == 400)
        let fields = GatewayUnderTest.chunkedType
        let head = HTTPRequestHead(method: "POST", path: "/", fields: fields, contentLength: sealed.count + 1)
        guard case .respond(let outer) = under.subject.service.begin(head) else {
            Issue.record("it would be read")
            return
        }
        #expect(outer.status == 413)
        #expect(String(decoding: outer.body, as: UTF8.self).contains("the limit is 12648448 bytes"))
    }
}
