// Independent HTTP/2 clients against the server: curl, nghttp, h2load and Python's h2. Skipped where they are not installed.

import Foundation
import HTTPCore
import HTTPServer
import TestCertificates
import Testing

@Suite struct ForeignHTTP2ClientTests {
    /// The same bytes in a file, and a place for what comes back.
    private static func withFiles(_ body: (_ sent: URL, _ received: URL, _ data: Data) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("veilring-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let sent = folder.appendingPathComponent("sent")
        let data = foreignBody
        try data.write(to: sent)
        try body(sent, folder.appendingPathComponent("received"), data)
    }

    @Suite(.enabled(if: path(of: "curl") != nil, "curl is not installed"))
    struct Curl {
        private let base = ["--http2-prior-knowledge", "-sS", "--max-time", "20", "--noproxy", "*"]

        /// One request a time: curl 7.88 cannot use a connection of prior knowledge again, whatever the server.
        @Test func getAndHead() throws {
            let server = try TestServer()
            let get = try run("curl", base + ["-i", server.url + "/one?two"])
            #expect(get.status == 0)
            #expect(get.output.contains("HTTP/2 200"))
            #expect(get.output.contains("x-path: /one"))
            let head = try run("curl", base + ["-I", server.url + "/h"])
            #expect(head.status == 0)
            #expect(head.output.contains("x-method: HEAD"))
        }

        @Test(arguments: [["-H", "Expect: 100-continue"], ["-H", "Content-Length:"], ["-H", "Expect:"]])
        func upload(options: [String]) throws {
            let server = try TestServer()
            try withFiles { sent, received, data in
                let result = try run(
                    "curl", base + options + ["--data-binary", "@\(sent.path)", "-o", received.path, server.url + "/up"])
                #expect(result.status == 0, "\(result.output)")
                #expect(try Data(contentsOf: received) == data)
            }
        }

        /// curl 7.88 loses an answer that is followed by a reset, NO_ERROR or not, while it still sends: the reset must wait.
        @Test(arguments: ["Expect: 100-continue", "Expect:"])
        func refusalBeforeTheBody(field: String) throws {
            let server = try TestServer(ClosureHandler(admit: { _ in .respond(HTTPResponse(status: 401)) }))
            for _ in 0..<10 {
                let result = try run("curl", base + ["-i", "-H", field, "-d", "secret", server.url + "/"])
                #expect(result.status == 0, "\(result.output)")
                #expect(result.output.contains("HTTP/2 401"))
            }
        }
    }

    @Suite(.enabled(if: path(of: "nghttp") != nil && path(of: "h2load") != nil, "nghttp2-client is not installed"))
    struct NGHTTP {
        @Test func manyRequests() throws {
            let server = try TestServer()
            try withFiles { sent, _, data in
                let urls = (0..<5).map { server.url + "/\($0)" }
                let result = try run("nghttp", ["-n", "-s", "-d", sent.path] + urls)
                #expect(result.status == 0, "\(result.output)")
                #expect(waitUntil { server.log.completed(200).count == 5 })
                #expect(server.log.completed(200).allSatisfy { $0 == data.count })
            }
        }

        @Test func load() throws {
            let server = try TestServer()
            let result = try run("h2load", ["-n", "2000", "-c", "20", "-m", "10", server.url + "/"])
            #expect(result.output.contains("2000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(result.output)")
            #expect(waitUntil { server.log.completed(200).count == 2000 })
        }
    }

    /// Over TLS, where ALPN chooses.
    @Suite(
        .enabled(
            if: ["curl", "nghttp", "h2load", "openssl"].allSatisfy { path(of: $0) != nil }, "clients or openssl are missing"))
    struct Secure {
        private let certificates: TestCertificates
        private let certificate: String
        private let server: TestServer
        private var url: String { "https://localhost:\(server.port)" }
        private var base: [String] {
            ["--http2", "-sS", "--max-time", "20", "--noproxy", "*", "--cacert", certificate]
        }

        init() throws {
            certificates = try TestCertificates()
            let pair = try certificates.make()
            certificate = pair.certificate
            let files = TLSCertificateFiles(certificate: pair.certificate, key: pair.key)
            server = try TestServer(tls: TLSServerContext(certificates: [files]))
        }

        @Test func curlUsesItsConnectionAgain() throws {
            let result = try run("curl", base + ["-i", url + "/one", url + "/two", url + "/three"])
            #expect(result.status == 0, "\(result.output)")
            for path in ["/one", "/two", "/three"] { #expect(result.output.contains("x-path: \(path)")) }
            #expect(result.output.contains("HTTP/2 200"))
            #expect(server.log.events.count { $0 == .connectionAccepted } == 1)
        }

        @Test func curlUploads() throws {
            try withFiles { sent, received, data in
                let result = try run(
                    "curl", base + ["--data-binary", "@\(sent.path)", "-o", received.path, url + "/up"])
                #expect(result.status == 0, "\(result.output)")
                #expect(try Data(contentsOf: received) == data)
            }
        }

        @Test func nghttp() throws {
            try withFiles { sent, _, data in
                let result = try run("nghttp", ["-n", "-s", "-d", sent.path, url + "/1", url + "/2"])
                #expect(result.status == 0, "\(result.output)")
                #expect(waitUntil { server.log.completed(200) == [data.count, data.count] })
            }
        }

        @Test func load() throws {
            let result = try run("h2load", ["-n", "1000", "-c", "10", "-m", "10", url + "/"])
            #expect(result.output.contains("1000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(result.output)")
            #expect(result.output.contains("Application protocol: h2"))
        }
    }

    private static let hasPythonH2 = path(of: "python3") != nil && (try? run("python3", ["-c", "import h2"]).status) == 0

    @Suite(.enabled(if: hasPythonH2, "Python's h2 is not installed"))
    struct Python {
        @Test func client() throws {
            let server = try TestServer()
            let script = """
                import socket, h2.connection, h2.config, h2.events
                s = socket.create_connection(('127.0.0.1', \(server.port)))
                s.settimeout(20)
                c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
                c.initiate_connection()
                bodies, sent, got, ended = {}, {}, {}, set()
                for n in (0, 1, 70000, 3000000):
                    i = c.get_next_available_stream_id()
                    bodies[i] = bytes(k % 251 for k in range(n))
                    sent[i], got[i] = 0, b''
                    c.send_headers(i, [(':method', 'POST'), (':scheme', 'http'), (':authority', 'h'), (':path', '/p')])
                def push():
                    for i, body in bodies.items():
                        while sent[i] is not None:
                            room = min(c.local_flow_control_window(i), c.max_outbound_frame_size)
                            part = body[sent[i]:sent[i] + room]
                            sent[i] += len(part)
                            done = sent[i] == len(body)
                            if not part and not done: break
                            c.send_data(i, part, end_stream=done)
                            if done: sent[i] = None
                    s.sendall(c.data_to_send())
                push()
                while len(ended) < len(bodies):
                    for e in c.receive_data(s.recv(65536)):
                        if isinstance(e, h2.events.DataReceived):
                            got[e.stream_id] += e.data
                            c.acknowledge_received_data(e.flow_controlled_length, e.stream_id)
                        elif isinstance(e, h2.events.StreamEnded): ended.add(e.stream_id)
                        elif isinstance(e, (h2.events.StreamReset, h2.events.ConnectionTerminated)): raise SystemExit(repr(e))
                    push()
                assert got == bodies
                print('fine')
                """
            let result = try run("python3", ["-c", script])
            #expect(result.output == "fine\n")
        }
    }
}

extension EventLog {
    /// Body bytes received with each HTTP/2 request that was answered with a status.
    fileprivate func completed(_ status: Int) -> [Int] {
        events.compactMap { event in
            if case .requestCompleted(status, let bytes, _, _, .http2) = event { bytes } else { nil }
        }
    }
}
