// The gateway as phones, relays and attackers see it (service.md 3.3 to 3.8, 1.12; RFC 9458).

import Foundation
import HTTPCore
import LookupMessages
import ObliviousHTTP
import Synchronization
import Testing

@testable import LookupService

/// A service behind its gateway, called without sockets.
final class GatewayUnderTest {
    let subject: ServiceUnderTest
    let gateway: ObliviousGateway
    let clock = TestClock()
    private let folder: URL

    init(rules: GatewayRules = GatewayRules(), options: ServiceOptions = ServiceOptions()) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("veilring-gateway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let clock = clock
        gateway = try ObliviousGateway(
            folder: GatewayKeyFolder(path: folder.path + "/keys", rules: GatewayRotationRules(), isScheduled: true),
            rules: rules, targets: GatewayTargets(secure: ["service.example", "issuer.example:8443"], cleartext: ["[::1]:80"]),
            now: { clock.now })
        subject = try ServiceUnderTest(options: options, gateway: gateway)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// A request from outside.
    func call(_ method: String, _ path: String, _ fields: HTTPFields = [:], _ body: [UInt8] = []) -> HTTPResponse {
        subject.service.answer(HTTPRequest(method: method, path: path, fields: fields, body: body))
    }

    /// The gateway's first key, as a phone fetches it.
    func key() throws -> KeyConfiguration {
        try #require(try KeyConfiguration.decodeList(call("GET", "/ohttp-keys").body).first)
    }

    static let type: HTTPFields = ["content-type": "message/ohttp-req"]

    /// Seals a request, sends it, and opens what comes back.
    func send(_ request: BinaryRequest, key: KeyConfiguration? = nil, path: String = "/") throws -> BinaryResponse {
        try send(plain: request.encoded(), key: key, path: path)
    }

    func send(plain: [UInt8], key: KeyConfiguration? = nil, path: String = "/") throws -> BinaryResponse {
        let sealed = try (key ?? self.key()).encapsulate(plain)
        let outer = call("POST", path, Self.type, sealed.bytes)
        #expect(outer.status == 200 && outer.fields["content-type"] == "message/ohttp-res")
        #expect(outer.fields["cache-control"] == "private, no-store")
        return try BinaryResponse(decoding: sealed.responseOpener.open(outer.body))
    }

    /// A request for a path of the service.
    static func request(
        _ method: String = "POST", _ path: String = "/config", scheme: String = "https",
        authority: String = "service.example", _ body: [UInt8] = [], more: [BinaryField] = []
    ) -> BinaryRequest {
        let fields = ServiceUnderTest.fields.map { BinaryField($0.name, $0.value) } + more
        return BinaryRequest(
            method: method, scheme: scheme, authority: authority, path: path, fields: fields, content: body[...])
    }
}

@Suite("The gateway")
struct GatewayTests {
    private static let config = ConfigRequest(usecases: [ServiceUnderTest.identity]).encoded()

    @Test("the key configuration, at every path, cacheable and the same for all")
    func keys() throws {
        let under = try GatewayUnderTest()
        let list = under.call("GET", "/ohttp-keys")
        #expect(list.status == 200 && list.fields["content-type"] == "application/ohttp-keys")
        #expect(list.fields["cache-control"] == "public, max-age=86400")
        let configurations = try KeyConfiguration.decodeList(list.body)
        #expect(configurations.count == 1 && configurations[0].algorithms.map(\.aead) == [1, 2, 3])
        #expect(under.call("GET", "/.well-known/ohttp-gateway").body == list.body)
        #expect(under.call("GET", "/", ["accept": "application/ohttp-keys"]).body == list.body)
        #expect(under.call("GET", "/").status == 404)
        // The old form has no length before its one configuration.
        #expect(under.call("GET", "/ohttp-configs").body == Array(list.body.dropFirst(2)))
        let tag = try #require(list.fields["etag"])
        #expect(under.call("GET", "/ohttp-keys", ["if-none-match": tag]).status == 304)
        #expect(under.call("POST", "/ohttp-keys", GatewayUnderTest.type).status == 405)
        let refused = under.call("GET", "/gateway")
        #expect(refused.status == 405 && refused.fields["allow"] == "POST")
        #expect(under.call("PUT", "/").status == 405)
    }

    @Test("an inner request gets what a direct one gets, at every path and with every AEAD")
    func sameAnswers() throws {
        let under = try GatewayUnderTest()
        let direct = under.subject.call("/config", Self.config)
        for path in ["/", "/gateway", "/.well-known/ohttp-gateway"] {
            let inner = try under.send(GatewayUnderTest.request("POST", "/config", Self.config), path: path)
            #expect(inner.status == 200 && Array(inner.content) == direct.body)
            #expect(inner.fields.contains { $0.name == "cache-control" && $0.value == "no-store" })
        }
        for aead in HPKEAEAD.allCases {
            let sealed = try under.key().encapsulate(
                GatewayUnderTest.request("POST", "/config", Self.config).encoded(), aead: aead)
            let outer = under.call("POST", "/", GatewayUnderTest.type, sealed.bytes)
            #expect(try BinaryResponse(decoding: sealed.responseOpener.open(outer.body)).status == 200)
        }
        let device = try TestDevice(under.subject.identity)
        #expect(try under.send(GatewayUnderTest.request("POST", "/key", device.upload.encoded())).status == 200)
        let (query, request) = try device.query(ServiceUnderTest.number)
        let answer = try under.send(GatewayUnderTest.request("POST", "/queries", device.requests(request).encoded()))
        let response = HTTPResponse(status: answer.status, body: Array(answer.content))
        #expect(try device.value(query, in: response) == Array("Johnny".utf8))
        // The log says that it came through the gateway, and nothing else.
        #expect(under.subject.log.lines.contains { $0.contains("POST queries 200") && $0.contains("gateway") })
    }

    @Test("errors inside are sealed, and look the same from outside")
    func innerErrors() throws {
        let under = try GatewayUnderTest()
        func status(_ request: BinaryRequest) throws -> Int { try under.send(request).status }
        #expect(try status(GatewayUnderTest.request("POST", "/nothing")) == 404)
        #expect(try status(GatewayUnderTest.request("PUT", "/config")) == 405)
        #expect(try status(GatewayUnderTest.request("POST", "/config", [0xFF])) == 400)
        #expect(try under.send(plain: [9, 9, 9]).status == 400 && under.send(plain: []).status == 400)
        let expecting = GatewayUnderTest.request("POST", "/config", Self.config, more: [BinaryField("expect", "100-continue")])
        #expect(try status(expecting) == 417)
        // Gateway and admin routes are not reachable from inside.
        for path in ["/", "/gateway", "/ohttp-keys", "/.well-known/ohttp-gateway", "/livez", "/metrics", "/version"] {
            #expect(try status(GatewayUnderTest.request("GET", path)) == 404, "\(path)")
            #expect(try status(GatewayUnderTest.request("POST", path)) == 404, "\(path)")
        }
        let head = try under.send(GatewayUnderTest.request("HEAD", "/config"))
        #expect(head.status == 200 && head.content.isEmpty)
        let query = try under.send(GatewayUnderTest.request("POST", "/config?x=/../y", Self.config))
        #expect(query.status == 200)
    }

    @Test("it is no open proxy")
    func openProxy() throws {
        let under = try GatewayUnderTest()
        let attempts: [(scheme: String, authority: String)] = [
            ("https", "other.example"), ("https", "service.example.evil.example"), ("https", "evil.service.example"),
            ("https", "service.example:8443"), ("https", "issuer.example"), ("https", "service.example."),
            ("https", "127.0.0.1"), ("https", "127.0.0.1:9090"), ("https", "localhost"), ("https", "[::1]"),
            ("https", "169.254.169.254"), ("https", "0"), ("https", "2130706433"), ("https", "service.example:443:443"),
            ("http", "service.example"), ("http", "169.254.169.254"), ("http", "localhost:9090"),
            ("ftp", "service.example"), ("file", "service.example"), ("", "service.example"), ("HTTPS", "service.example"),
            ("https", "user@service.example"), ("https", "service.example@evil.example"), ("https", "service.example#x"),
            ("https", "service.example/"), ("https", "service.example%00.evil.example"), ("https", " service.example"),
            ("https", ""), ("https", "*"), ("https", "service.example,evil.example"),
        ]
        for attempt in attempts {
            let request = GatewayUnderTest.request(
                "POST", "/config", scheme: attempt.scheme, authority: attempt.authority, Self.config)
            // Some cannot even be written down as Binary HTTP.
            guard let plain = try? request.encoded() else { continue }
            let status = try under.send(plain: plain).status
            #expect(status == 403 || status == 400, "\(attempt): \(status)")
        }
        // The authority and Host must agree, and Host alone will do.
        let disagreeing = GatewayUnderTest.request(
            "POST", "/config", Self.config, more: [BinaryField("host", "evil.example")])
        #expect(try under.send(disagreeing).status == 403)
        let hostOnly = GatewayUnderTest.request(
            "POST", "/config", authority: "", Self.config, more: [BinaryField("host", "service.example")])
        #expect(try under.send(hostOnly).status == 200)
        for (scheme, authority) in [
            ("https", "service.example"), ("https", "SERVICE.example:443"), ("https", "issuer.example:8443"), ("http", "[::1]"),
        ] {
            let request = GatewayUnderTest.request("POST", "/config", scheme: scheme, authority: authority, Self.config)
            #expect(try under.send(request).status == 200, "\(authority)")
        }
        let connect = GatewayUnderTest.request("CONNECT", "/config")
        #expect(try under.send(connect).status == 405)
    }

    @Test("what cannot be opened: one answer, whatever was wrong")
    func failedOpenings() throws {
        let under = try GatewayUnderTest()
        let key = try under.key()
        let good = try key.encapsulate(GatewayUnderTest.request("POST", "/config", Self.config).encoded()).bytes
        func changed(_ change: (inout [UInt8]) -> Void) -> HTTPResponse {
            var bytes = good
            change(&bytes)
            return under.call("POST", "/", GatewayUnderTest.type, bytes)
        }
        let problem = changed { $0[0] &+= 1 }
        #expect(problem.status == 400 && problem.fields["content-type"] == "application/problem+json")
        let expected = #"{"type":"https://iana.org/assignments/http-problem-types#ohttp-key","title":"key identifier unknown"}"#
        #expect(problem.body == Array(expected.utf8))
        // KEM, KDF, AEAD, the client's key, the ciphertext, its tag, a key of low order.
        for place in [2, 4, 6, 7, 38, 39, good.count - 1] { #expect(changed { $0[place] ^= 0x40 } == problem, "\(place)") }
        #expect(changed { $0.replaceSubrange(7..<39, with: [UInt8](repeating: 0, count: 32)) } == problem)
        #expect(changed { $0.removeLast() } == problem && changed { $0.append(0) } == problem)
        #expect(changed { $0 = Array($0.prefix(54)) }.status == 400 && changed { $0 = [] }.status == 400)
        #expect(under.call("POST", "/", ["content-type": "application/json"], good).status == 415)
        #expect(under.call("POST", "/", [:], good).status == 415)
        #expect(under.call("POST", "/", ["content-type": "Message/OHTTP-Req ; x=1"], good).status == 200)
    }

    @Test("a key is succeeded without anybody noticing, and forgotten a week later")
    func rotation() throws {
        let under = try GatewayUnderTest()
        let old = try under.key()
        let request = GatewayUnderTest.request("POST", "/config", Self.config)
        for _ in 0..<32 {
            under.clock.advance(86_400)
            try under.gateway.refresh()
        }
        let new = try under.key()
        #expect(new.id != old.id && new.publicKey != old.publicKey)
        #expect(try under.send(request, key: new).status == 200 && under.send(request, key: old).status == 200)
        under.clock.advance(10 * 86_400)
        try under.gateway.refresh()
        let sealed = try old.encapsulate(request.encoded()).bytes
        #expect(under.call("POST", "/", GatewayUnderTest.type, sealed).status == 400)
    }

    @Test("large bodies arrive; beyond the limits it says 413, inside where it can")
    func sizes() throws {
        var options = ServiceOptions()
        options.keyBody = 12 << 20
        let under = try GatewayUnderTest(options: options)
        for count in [681_000, 12 << 20] {
            let inner = try under.send(GatewayUnderTest.request("POST", "/key", [UInt8](repeating: 0x5A, count: count)))
            #expect(inner.status == 400, "\(count): it arrived, and is no message")
        }
        let inner = try under.send(GatewayUnderTest.request("POST", "/key", [UInt8](repeating: 0, count: 12 << 20 + 1)))
        #expect(inner.status == 413)
        let sealed = [UInt8](repeating: 0, count: 12 << 20 + 64 << 10 + 1)
        #expect(under.call("POST", "/", GatewayUnderTest.type, sealed).status == 413)
        #expect(under.call("POST", "/", GatewayUnderTest.type, Array(sealed.dropLast())).status == 400)
    }

    @Test("answers are padded where that is wanted")
    func padding() throws {
        var rules = GatewayRules()
        rules.paddingMultiple = 1000
        let under = try GatewayUnderTest(rules: rules)
        for path in ["/config", "/nothing"] {
            let sealed = try under.key().encapsulate(GatewayUnderTest.request("POST", path, Self.config).encoded())
            let outer = under.call("POST", "/", GatewayUnderTest.type, sealed.bytes)
            #expect((outer.body.count - 32) % 1000 == 0, "\(outer.body.count)")
        }
    }

    @Test("without a gateway its paths are nobody's")
    func none() throws {
        let subject = try ServiceUnderTest()
        for path in ["/", "/gateway", "/ohttp-keys", "/.well-known/ohttp-gateway"] {
            #expect(subject.call(path, method: "GET").status == 404 && subject.call(path).status == 404)
        }
    }
}
