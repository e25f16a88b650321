// The client over HTTP/2 against our server: with prior knowledge, and by ALPN over TLS; what it does when it has to begin anew.

import Foundation
import HTTPClient
import HTTPCore
import HTTPServer
import Synchronization
import TestCertificates
import Testing

@Suite struct HTTP2ClientTests {
    /// Answers with the body and the version of HTTP; `/early` at the head.
    private struct Echo: HTTPHandler {
        func begin(_ head: HTTPRequestHead) -> HTTPAdmission {
            head.path == "/early" ? .respond(HTTPResponse(status: 413)) : .readBody(limit: 16 << 20)
        }

        func handle(_ request: HTTPRequest, reply: HTTPReply) {
            reply.send(
                HTTPResponse(status: 200, fields: ["x-version": request.version.rawValue], body: request.body))
        }
    }

    private let certificates: TestCertificates
    private let pair: TestCertificates.Pair

    init() throws {
        certificates = try TestCertificates()
        pair = try certificates.make()
    }

    private func server(tls: Bool, port: UInt16 = 0) throws -> (HTTPServer, UInt16) {
        let context = try TLSServerContext(certificates: [
            TLSCertificateFiles(certificate: pair.certificate, key: pair.key)
        ])
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(
                listeners: [ListenAddress(host: "127.0.0.1", port: port, tls: tls)], tls: context),
            handler: Echo())
        return (server, try #require(try server.start().first).port)
    }

    private func post(_ client: HTTPClient, _ body: [UInt8], path: String = "/") throws -> HTTPResponse {
        try client.send(HTTPRequest(method: "POST", path: path, body: body))
    }

    @Test(arguments: [
        (HTTPClientVersions.negotiated, true, "2"), (.http1, true, "1.1"), (.http2, true, "2"), (.http2, false, "2"),
        (.negotiated, false, "1.1"),
    ])
    func speaksWhatItShould(versions: HTTPClientVersions, tls: Bool, expected: String) throws {
        let (server, port) = try server(tls: tls)
        defer { server.shutdown(drain: .zero) }
        let client = try HTTPClient(
            url: HTTPURL("\(tls ? "https" : "http")://localhost:\(port)"), trust: .file(pair.certificate), versions: versions)
        for size in [0, 1, 70_000, 5_000_000] {
            let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
            let response = try post(client, body)
            #expect(response.fields.values("x-version") == [expected])
            #expect(response.body == body)
        }
    }

    @Test func anAnswerBeforeTheEndOfTheUpload() throws {
        let (server, port) = try server(tls: true)
        defer { server.shutdown(drain: .zero) }
        let client = try HTTPClient(url: HTTPURL("https://localhost:\(port)"), trust: .file(pair.certificate))
        #expect(try post(client, [UInt8](repeating: 1, count: 8_000_000), path: "/early").status == 413)
        #expect(try post(client, [1, 2]).body == [1, 2])
    }

    @Test func beginsAnewWhenTheServerHasGone() throws {
        let (first, port) = try server(tls: false)
        let client = try HTTPClient(url: HTTPURL("http://127.0.0.1:\(port)"), versions: .http2)
        #expect(try post(client, [1]).body == [1])
        first.shutdown(drain: .seconds(5))
        let (second, _) = try server(tls: false, port: port)
        defer { second.shutdown(drain: .zero) }
        #expect(try post(client, [2]).body == [2])
    }

    @Test func insistsOnHTTP2() throws {
        let server = try ScriptedServer([[.expect("PRI"), .send("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")]])
        let client = try HTTPClient(url: server.url, versions: .http2)
        #expect(throws: HTTPClientError.self) { try post(client, []) }
    }

    @Test func givesUpInTime() throws {
        let server = try ScriptedServer([[.expect("PRI"), .hold]])
        let client = try HTTPClient(url: server.url, versions: .http2)
        #expect(throws: HTTPClientError.timeout) {
            try client.send(HTTPRequest(method: "GET", path: "/"), timeout: .milliseconds(300))
        }
        server.stop()
    }
}
