// Round trips of the server with our own client and with bare sockets: keep-alive, pipelining, admission, refusals.

import Glibc
import HTTPClient
import HTTPCore
import HTTPServer
import Synchronization
import Testing

private let hasIPv6: Bool = {
    guard let address = try? SocketAddress.resolve(host: "::1", port: 0, listening: true).first,
        let (descriptor, _) = try? Sockets.listen(address)
    else { return false }
    Sockets.close(descriptor)
    return true
}()

@Suite struct HTTPServerTests {
    @Test func roundTripKeepsTheConnection() throws {
        let server = try TestServer()
        let client = try server.client()
        for number in 0..<3 {
            let body = Array("hello \(number)".utf8)
            let answer = try client.send(HTTPRequest(method: "POST", path: "/echo", body: body))
            #expect(answer.status == 200)
            #expect(answer.body == body)
            #expect(answer.fields["x-path"] == "/echo")
            #expect(answer.fields["date"]?.hasSuffix(" GMT") == true)
            #expect(answer.fields["server"] == nil)
        }
        #expect(server.log.events.filter { $0 == .connectionAccepted }.count == 1)
    }

    @Test func tenMegabytesBothWays() throws {
        let server = try TestServer()
        let client = try server.client()
        let body = (0..<10_000_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
        let answer = try client.send(HTTPRequest(method: "POST", path: "/", body: body))
        #expect(answer.body == body)
        let chunked = try client.send(
            HTTPRequest(method: "POST", path: "/", fields: ["transfer-encoding": "chunked"], body: body))
        #expect(chunked.body == body)
    }

    @Test func requestValue() throws {
        let server = try TestServer(
            ClosureHandler(serve: { request, reply in
                var source = "other"
                if case .direct(let address) = request.source, address.isLoopback { source = "loopback" }
                let late = request.receivedAt.duration(to: request.deadline)
                reply.send(
                    HTTPResponse(
                        status: 200,
                        fields: [
                            "x-source": source, "x-late": "\(late == .seconds(30))", "x-query": request.query ?? "-",
                            "x-authority": request.authority, "x-cancelled": "\(request.isCancelled)",
                        ]))
            }))
        let answer = try server.client().send(HTTPRequest(method: "GET", path: "/a", query: "b=c"))
        #expect(answer.fields["x-source"] == "loopback")
        #expect(answer.fields["x-late"] == "true")
        #expect(answer.fields["x-query"] == "b=c")
        #expect(answer.fields["x-authority"] == "127.0.0.1:\(server.port)")
        #expect(answer.fields["x-cancelled"] == "false")
    }

    @Test func headHasLengthButNoBody() throws {
        let server = try TestServer(ClosureHandler(serve: { $1.send(HTTPResponse(status: 200, body: Array("body".utf8))) }))
        let client = try server.client()
        for method in ["HEAD", "GET", "HEAD"] {
            let answer = try client.send(HTTPRequest(method: method, path: "/"))
            #expect(answer.fields["content-length"] == "4")
            #expect(answer.body.count == (method == "GET" ? 4 : 0))
        }
        #expect(server.log.events.filter { $0 == .connectionAccepted }.count == 1)
    }

    @Test func pipelinedRequestsAreAnsweredInOrderOneAtATime() throws {
        let running = Mutex(0)
        let most = Mutex(0)
        let server = try TestServer(
            ClosureHandler(serve: { request, reply in
                let now = running.withLock { count in
                    count += 1
                    return count
                }
                most.withLock { $0 = max($0, now) }
                // The first takes longest: order must come from the server, not from luck.
                let thread = TestThread { [path = request.path] in
                    if path == "/0" { usleep(50_000) }
                    running.withLock { $0 -= 1 }
                    reply.send(HTTPResponse(status: 200, body: Array("[\(path)]".utf8)))
                }
                thread.detach()
            }))
        var peer = try server.peer()
        defer { peer.close() }
        peer.send(
            (0..<20).map { "GET /\($0) HTTP/1.1\r\nHost: h\r\n\(($0 == 19) ? "Connection: close\r\n" : "")\r\n" }.joined())
        let text = peer.receive()
        let expected = (0..<20).map { "[/\($0)]" }
        #expect(text.split(separator: "[").dropFirst().map { "[" + $0.prefix { $0 != "]" } + "]" } == expected)
        #expect(most.withLock { $0 } == 1)
    }

    @Test func versionsAndConnectionOptions() throws {
        let server = try TestServer()
        for (request, option) in [
            ("GET / HTTP/1.0\r\n\r\n", "connection: close"),
            ("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "connection: close"),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n", "connection: keep-alive"),
        ] {
            var peer = try server.peer()
            peer.send(request)
            let text = peer.receive()
            #expect(text.contains(option))
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(!text.contains("<"), "the server must close")
            peer.close()
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", 400, HTTPParseError.missingHost),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, .conflictingLength),
        ("GET / HTTP/3.0\r\n\r\n", 505, .unsupportedVersion),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n", 413, .bodyTooLarge),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n", 413, .bodyTooLarge),
        ("POST / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", 417, .unsupportedExpectation),
        ("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 501, .unsupportedMethod),
        ("GET /" + String(repeating: "a", count: 9000), 414, .requestLineTooLong),
        ("GET / HTTP/1.1\r\nA: " + String(repeating: "a", count: 40_000), 431, .headerSectionTooLarge),
    ])
    func refusalClosesTheConnection(request: String, status: Int, error: HTTPParseError) throws {
        let server = try TestServer(ClosureHandler(admit: { _ in .readBody(limit: 100) }))
        var peer = try server.peer()
        defer { peer.close() }
        // A request behind the faulty one must never be looked at.
        peer.send(request + "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
        let text = peer.receive()
        #expect(text.hasPrefix("HTTP/1.1 \(status) "))
        #expect(text.contains("connection: close\r\n"))
        #expect(text.components(separatedBy: "HTTP/1.1 ").count == 2)
        #expect(server.log.events.contains(.refused(.message(error))))
    }

    @Test func immediateAnswers() throws {
        let server = try TestServer(ClosureHandler(admit: { _ in .respond(HTTPResponse(status: 401)) }))
        let client = try server.client()
        #expect(try client.send(HTTPRequest(method: "GET", path: "/")).status == 401)
        #expect(try client.send(HTTPRequest(method: "GET", path: "/")).status == 401)
        #expect(server.log.events.filter { $0 == .connectionAccepted }.count == 1)
        // With a body the connection ends, and the client still gets its answer although most of the body is not read.
        let answer = try client.send(HTTPRequest(method: "POST", path: "/", body: [UInt8](repeating: 0, count: 5_000_000)))
        #expect(answer.status == 401)
        #expect(answer.fields["connection"] == "close")
    }

    @Test func immediateAnswerSkipsABodyThatIsThere() throws {
        let server = try TestServer(
            ClosureHandler(admit: { $0.path == "/no" ? .respond(HTTPResponse(status: 401)) : .readBody(limit: 10) }))
        var peer = try server.peer()
        defer { peer.close() }
        // The body looks like a request: it must be skipped, not answered.
        let body = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
        peer.send(
            "POST /no HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                + "GET /after HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        let text = peer.receive()
        #expect(text.hasPrefix("HTTP/1.1 401 "))
        #expect(text.contains("x-path: /after"))
        #expect(!text.contains("smuggled"))
    }

    @Test(.enabled(if: hasIPv6, "no IPv6 here"))
    func bothFamilies() throws {
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(
                listeners: [ListenAddress(host: "127.0.0.1", port: 0), ListenAddress(host: "::1", port: 0)]),
            handler: ClosureHandler())
        let addresses = try server.start()
        defer { server.shutdown(drain: .zero) }
        #expect(addresses.map(\.host) == ["127.0.0.1", "::1"])
        for address in addresses {
            let client = try HTTPClient(url: try HTTPURL("http://\(address)"))
            #expect(try client.send(HTTPRequest(method: "GET", path: "/")).status == 200)
        }
    }

    @Test func continueOnlyAfterAdmission() throws {
        let server = try TestServer(
            ClosureHandler(admit: { $0.path == "/no" ? .respond(HTTPResponse(status: 401)) : .readBody(limit: 10) }))
        let rest = " HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        var refused = try server.peer()
        refused.send("POST /no" + rest)
        let refusal = refused.receive()
        #expect(refusal.hasPrefix("HTTP/1.1 401 "))
        #expect(!refusal.contains("100 Continue"))
        refused.close()
        var accepted = try server.peer()
        accepted.send("POST /yes" + rest)
        #expect(accepted.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        accepted.send("hi")
        #expect(accepted.receive(until: "hi").hasPrefix("HTTP/1.1 200 OK"))
        accepted.close()
    }

    @Test func droppedReplyGives500() throws {
        let server = try TestServer(ClosureHandler(serve: { _, _ in }))
        let client = try server.client()
        #expect(try client.send(HTTPRequest(method: "GET", path: "/")).status == 500)
        #expect(server.log.events.contains(.refused(.replyDropped)))
    }

    @Test func secondAnswerIsIgnored() throws {
        let server = try TestServer(
            ClosureHandler(serve: { request, reply in
                reply.send(HTTPResponse(status: 200, body: Array(request.path.utf8)))
                reply.send(HTTPResponse(status: 500))
            }))
        let client = try server.client()
        for path in ["/1", "/2"] {
            #expect(try client.send(HTTPRequest(method: "GET", path: path)).body == Array(path.utf8))
        }
    }

    @Test func badAnswersBecome500() throws {
        var limits = HTTPLimits()
        limits.responseBody = 10
        let server = try TestServer(
            ClosureHandler(serve: { request, reply in
                let large = request.path == "/large"
                reply.send(
                    HTTPResponse(
                        status: 200, fields: large ? [:] : ["x": "a\r\nb: c"],
                        body: large ? [UInt8](repeating: 0, count: 11) : []))
            }), limits: limits)
        let client = try server.client()
        #expect(try client.send(HTTPRequest(method: "GET", path: "/large")).status == 500)
        let split = try client.send(HTTPRequest(method: "GET", path: "/split"))
        #expect(split.status == 500)
        #expect(split.fields["b"] == nil)
        #expect(split.fields["date"] != nil)
        #expect(server.log.events.contains(.refused(.responseTooLarge)))
        #expect(server.log.events.contains(.refused(.responseInvalid(.invalidFieldValue))))
    }

    @Test func eventsOfOneRequest() throws {
        let server = try TestServer()
        let client = try server.client()
        _ = try client.send(HTTPRequest(method: "POST", path: "/", body: [1, 2, 3]))
        client.closeConnection()
        #expect(server.log.waitFor(.connectionClosed))
        let events = server.log.events
        #expect(events.count == 3)
        #expect(events.first == .connectionAccepted)
        guard events.count == 3, case .requestCompleted(200, 3, 3, let duration, .http11) = events[1] else {
            Issue.record("the second event must be the completed request: \(events)")
            return
        }
        #expect(duration > .zero)
    }

    @Test func twoHundredConnectionsAtOnce() throws {
        let server = try TestServer()
        let failures = Mutex(0)
        let threads = (0..<200).map { number in
            TestThread {
                do {
                    let client = try server.client()
                    for round in 0..<5 {
                        let body = Array("\(number)/\(round)".utf8) + [UInt8](repeating: 1, count: number * 50)
                        let answer = try client.send(HTTPRequest(method: "POST", path: "/", body: body))
                        if answer.body != body { failures.withLock { $0 += 1 } }
                    }
                } catch {
                    failures.withLock { $0 += 1 }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == 0)
        #expect(server.log.events.filter { $0 == .connectionAccepted }.count == 200)
    }

    @Test func startErrors() throws {
        let none = HTTPServer(configuration: HTTPServerConfiguration(listeners: []), handler: ClosureHandler())
        #expect(throws: HTTPServerError.noListener) { try none.start() }
        let server = try TestServer()
        #expect(throws: HTTPServerError.alreadyStarted) { try server.server.start() }
        let address = ListenAddress(host: "127.0.0.1", port: server.port)
        let second = HTTPServer(configuration: HTTPServerConfiguration(listeners: [address]), handler: ClosureHandler())
        #expect(throws: HTTPServerError.cannotListen(on: address, because: .addressInUse)) { try second.start() }
        let unknown = ListenAddress(host: "no such host", port: 0)
        let third = HTTPServer(configuration: HTTPServerConfiguration(listeners: [unknown]), handler: ClosureHandler())
        #expect(throws: HTTPServerError.cannotListen(on: unknown, because: .unknownHost)) { try third.start() }
    }

    @Test(
        arguments: [
            ("127.0.0.1:80", "127.0.0.1", 80), ("[::1]:0", "::1", 0), (":8080", "", 8080),
            ("localhost:65535", "localhost", 65535),
        ] as [(String, String, UInt16)])
    func listenAddress(text: String, host: String, port: UInt16) {
        #expect(ListenAddress(text) == ListenAddress(host: host, port: port))
    }

    @Test(arguments: ["", "80", "host", "::1:80", "host:", "host:65536", "host:-1", "[::1]"])
    func noListenAddress(text: String) { #expect(ListenAddress(text) == nil) }
}
