// HTTP over TLS: our client and foreign ones, certificates exchanged under load, handshakes that never end.

import Foundation
import HTTPClient
import HTTPCore
import HTTPServer
import Synchronization
import TestCertificates
import Testing

@Suite struct TLSServerTests {
    private let certificates: TestCertificates
    private let pair: TestCertificates.Pair

    init() throws {
        certificates = try TestCertificates()
        pair = try certificates.make()
    }

    private func context() throws -> TLSServerContext {
        try TLSServerContext(certificates: [TLSCertificateFiles(certificate: pair.certificate, key: pair.key)])
    }

    private func client(_ server: TestServer, _ trust: TLSTrust? = nil) throws -> HTTPClient {
        try HTTPClient(url: HTTPURL("https://localhost:\(server.port)"), trust: trust ?? .file(pair.certificate))
    }

    @Test func ourClientUploadsAndDownloadsOnOneConnection() throws {
        let server = try TestServer(tls: context())
        let client = try client(server)
        let body = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 9) }
        for _ in 0..<3 {
            let response = try client.send(HTTPRequest(method: "POST", path: "/up", body: body))
            #expect(response.status == 200)
            #expect(response.body == body)
        }
        #expect(server.log.events.filter { if case .handshakeCompleted = $0 { true } else { false } }.count == 1)
    }

    @Test func requestsAreMarkedAsSecure() throws {
        let server = try TestServer(
            ClosureHandler(serve: { $1.send(HTTPResponse(status: 200, body: Array($0.scheme.utf8))) }), tls: context())
        #expect(try client(server).send(HTTPRequest(method: "GET", path: "/")).body == Array("https".utf8))
    }

    @Test func aStrangerIsNotTrusted() throws {
        let server = try TestServer(tls: context())
        let stranger = try certificates.make("stranger")
        #expect(throws: HTTPClientError.tls(.certificateUntrusted)) {
            try client(server, .file(stranger.certificate)).send(HTTPRequest(method: "GET", path: "/"))
        }
        #expect(server.log.waitFor(.handshakeFailed(.certificateRefused)))
    }

    @Test func cleartextOnATLSListenerIsRefused() throws {
        let server = try TestServer(tls: context())
        var peer = try server.peer()
        peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(!peer.receive().contains("200"))
        #expect(server.log.waitFor(.handshakeFailed(.notTLS)))
    }

    @Test func aListenerWithoutCertificateDoesNotStart() throws {
        let address = ListenAddress(host: "127.0.0.1", port: 0, tls: true)
        let server = HTTPServer(configuration: HTTPServerConfiguration(listeners: [address]), handler: ClosureHandler())
        #expect(throws: HTTPServerError.noCertificate(for: address)) { try server.start() }
    }

    @Test func handshakesThatDoNotMoveKeepNobodyOut() throws {
        var limits = HTTPLimits()
        limits.handshakes = 2
        let server = try TestServer(limits: limits, threads: 1, tls: context())
        var idlers = try (0..<20).map { _ in try server.peer() }
        for index in idlers.indices { idlers[index].send([0x16, 0x03]) }
        var silent = try (0..<20).map { _ in try server.peer() }
        #expect(try client(server).send(HTTPRequest(method: "GET", path: "/"), timeout: .seconds(20)).status == 200)
        #expect(server.log.waitFor(.handshakeFailed(.timeout)))
        for index in idlers.indices { idlers[index].close() }
        for index in silent.indices { silent[index].close() }
    }

    @Test func certificatesAreExchangedUnderLoadWithoutAFailedRequest() throws {
        let server = try TestServer(tls: context())
        let failures = Mutex<[String]>([])
        let answered = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
        let threads = (0..<4).map { index in
            TestThread {
                while !isOver.load(ordering: .acquiring) {
                    do {
                        // Half of them connect anew for each request.
                        let client = try self.client(server, .anyone)
                        for _ in 0..<(index % 2 == 0 ? 1 : 20) {
                            let response = try client.send(HTTPRequest(method: "POST", path: "/", body: [1, 2, 3]))
                            if response.body != [1, 2, 3] { failures.withLock { $0.append("wrong") } }
                            answered.add(1, ordering: .relaxed)
                        }
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                }
            }
        }
        for _ in 0..<10 {
            let before = answered.load(ordering: .relaxed)
            _ = try certificates.make()
            server.server.replaceTLS(try context())
            #expect(waitUntil { answered.load(ordering: .relaxed) >= before + 20 })
            // Only the new one is there for a client that trusts only it.
            #expect(try client(server).send(HTTPRequest(method: "GET", path: "/")).status == 200)
        }
        isOver.store(true, ordering: .releasing)
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
    }

    @Suite(.enabled(if: path(of: "curl") != nil && path(of: "openssl") != nil, "curl or openssl is not installed"))
    struct Foreign {
        private let certificates: TestCertificates

        init() throws { certificates = try TestCertificates() }

        private func server(_ kind: TestCertificates.KeyKind) throws -> (TestServer, String) {
            let pair = try certificates.make(kind: kind)
            let files = TLSCertificateFiles(certificate: pair.certificate, key: pair.key)
            return (try TestServer(tls: TLSServerContext(certificates: [files])), pair.certificate)
        }

        @Test(arguments: [TestCertificates.KeyKind.ellipticCurve, .rsa], ["--tlsv1.2 --tls-max 1.2", "--tlsv1.3"])
        func curl(kind: TestCertificates.KeyKind, versions: String) throws {
            let (server, certificate) = try server(kind)
            let arguments =
                ["--http1.1", "-sS", "--max-time", "20", "--noproxy", "*", "--cacert", certificate]
                + versions.split(separator: " ").map(String.init)
            let result = try run("curl", arguments + ["-i", "https://localhost:\(server.port)/one"])
            #expect(result.output.contains("x-path: /one"), "\(result.output)")
        }

        @Test(arguments: [("h2,http/1.1", "h2"), ("http/1.1", "http/1.1")])
        func alpn(offered: String, expected: String) throws {
            let (server, _) = try server(.ellipticCurve)
            let result = try run(
                "openssl", ["s_client", "-connect", "127.0.0.1:\(server.port)", "-alpn", offered, "-servername", "localhost"])
            #expect(result.output.contains("ALPN protocol: \(expected)"), "\(result.output)")
        }

        @Test(arguments: ["-tls1", "-tls1_1"])
        func oldVersionsAreRefused(option: String) throws {
            let (server, _) = try server(.rsa)
            let result = try run(
                "openssl",
                ["s_client", "-connect", "127.0.0.1:\(server.port)", option, "-cipher", "DEFAULT:@SECLEVEL=0"])
            #expect(result.status != 0)
            #expect(server.log.waitFor(.handshakeFailed(.version)))
        }
    }
}
