// The client against scripted servers and ours: framing, reuse, retry, times, limits.

import HTTPClient
import HTTPCore
import HTTPServer
import Testing

@Suite struct HTTPClientTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let end = ScriptedServer.Action.expect("\r\n\r\n")

    private func get(_ client: HTTPClient, timeout: Duration = .seconds(10)) throws -> HTTPResponse {
        try client.send(HTTPRequest(method: "GET", path: "/"), timeout: timeout)
    }

    @Test func basePathAndHost() throws {
        let server = try ScriptedServer([[.expect("GET /base/x?q=1 HTTP/1.1\r\nhost: a.example\r\n"), .send(Self.ok)]])
        defer { server.stop() }
        let client = try HTTPClient(url: try HTTPURL("http://127.0.0.1:\(server.port)/base/"))
        let request = HTTPRequest(method: "GET", authority: "a.example", path: "/x", query: "q=1")
        #expect(try client.send(request, timeout: .seconds(10)).body == Array("ok".utf8))
    }

    @Test func keepsItsConnection() throws {
        let server = try ScriptedServer([[Self.end, .send(Self.ok), Self.end, .send(Self.ok), .hold]])
        defer { server.stop() }
        let client = try HTTPClient(url: server.url)
        #expect(try get(client).status == 200)
        #expect(try get(client).status == 200)
        #expect(server.connections == 1)
    }

    @Test func staleConnectionIsReplaced() throws {
        // The first script ends after one answer, as a server does whose idle time is over.
        let server = try ScriptedServer([[Self.end, .send(Self.ok)], [Self.end, .send(Self.ok)]])
        defer { server.stop() }
        let client = try HTTPClient(url: server.url)
        #expect(try get(client).status == 200)
        #expect(try get(client).status == 200)
        #expect(server.connections == 2)
    }

    @Test func retriesOnceOnAKeptConnectionOnly() throws {
        // The second request is read and then dropped without a byte: once more on a new connection, where it is dropped again.
        let server = try ScriptedServer([[Self.end, .send(Self.ok), Self.end], [Self.end], [Self.end, .send(Self.ok)]])
        defer { server.stop() }
        let client = try HTTPClient(url: server.url)
        #expect(try get(client).status == 200)
        #expect(throws: HTTPClientError.connectionLost) { try get(client) }
        #expect(server.connections == 2)
        #expect(try get(client).status == 200)
    }

    @Test func halfAnAnswerIsNotRetried() throws {
        let server = try ScriptedServer([[Self.end, .send(Self.ok), Self.end, .send("HTTP/1.1 200 OK\r\n")], [.hold]])
        defer { server.stop() }
        let client = try HTTPClient(url: server.url)
        #expect(try get(client).status == 200)
        #expect(throws: HTTPClientError.connectionLost) { try get(client) }
        #expect(server.connections == 1)
    }

    @Test func interimAnswersAreSkipped() throws {
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        let server = try ScriptedServer([[Self.end, .send(interim + Self.ok)]])
        defer { server.stop() }
        #expect(try get(HTTPClient(url: server.url)).status == 200)
    }

    @Test func bodyUpToTheEndOfTheConnection() throws {
        let server = try ScriptedServer([[Self.end, .send("HTTP/1.1 200 OK\r\n\r\nuntil the end")]])
        defer { server.stop() }
        #expect(try get(HTTPClient(url: server.url)).body == Array("until the end".utf8))
    }

    @Test func surplusBytesSpoilTheConnection() throws {
        let server = try ScriptedServer([[Self.end, .send(Self.ok + "HTTP/1.1 500 Evil\r\n\r\n"), .hold], []])
        defer { server.stop() }
        let client = try HTTPClient(url: server.url)
        #expect(try get(client).status == 200)
        // The first server holds its connection, so the second request needs a new one: it must not take the surplus answer.
        #expect(throws: HTTPClientError.timeout) { try get(client, timeout: .milliseconds(300)) }
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\nX: y\r\n\r\n", HTTPParseError.bareLineFeed), ("SSH-2.0-OpenSSH_9\r\n", .malformedStatusLine),
        ("HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n", .bodyTooLarge),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", .unexpectedUpgrade),
    ])
    func badAnswers(text: String, error: HTTPParseError) throws {
        let server = try ScriptedServer([[Self.end, .send(text), .hold]])
        defer { server.stop() }
        #expect(throws: HTTPClientError.invalidResponse(error)) { try get(HTTPClient(url: server.url)) }
    }

    @Test func silentServer() throws {
        let server = try ScriptedServer([[Self.end, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), .hold]])
        defer { server.stop() }
        #expect(throws: HTTPClientError.timeout) { try get(HTTPClient(url: server.url), timeout: .milliseconds(300)) }
    }

    @Test func nobodyListens() throws {
        let (listener, address) = try Sockets.listen(
            try SocketAddress.resolve(host: "127.0.0.1", port: 0, listening: true)[0])
        Sockets.close(listener)
        let client = try HTTPClient(url: try HTTPURL("http://127.0.0.1:\(address.port)"))
        #expect(throws: HTTPClientError.cannotConnect(.system(111))) { try get(client) }
        let unknown = try HTTPClient(url: try HTTPURL("http://256.256.256.256"))
        #expect(throws: HTTPClientError.cannotConnect(.unknownHost)) { try get(unknown) }
    }

    @Test func badRequestsAreNotSent() throws {
        let client = try HTTPClient(url: try HTTPURL("http://127.0.0.1:1"))
        #expect(throws: HTTPClientError.invalidRequest(.invalidFieldValue)) {
            try client.send(HTTPRequest(method: "GET", path: "/", fields: ["a": "b\r\nc: d"]))
        }
        #expect(throws: HTTPClientError.invalidRequest(.invalidTarget)) {
            try client.send(HTTPRequest(method: "GET", path: "/ x"))
        }
    }

    @Test func earlyAnswerToALargeUpload() throws {
        let answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = try ScriptedServer([[Self.end, .send(answer), .hold], [Self.end, .send(Self.ok)]])
        defer { server.stop() }
        let client = try HTTPClient(url: server.url)
        let request = HTTPRequest(method: "POST", path: "/", body: [UInt8](repeating: 0, count: 50 << 20))
        #expect(try client.send(request, timeout: .seconds(10)).status == 413)
    }
}
