// Independent HTTP/1.1 clients against the server: curl and Python's http.client. Skipped where they are not installed.

import Foundation
import HTTPCore
import HTTPServer
import Testing

@Suite struct ForeignClientTests {
    @Suite(.enabled(if: path(of: "curl") != nil, "curl is not installed"))
    struct Curl {
        private let base = ["--http1.1", "-sS", "--max-time", "20", "--noproxy", "*"]

        @Test func getHeadAndReuse() throws {
            let server = try TestServer()
            let get = try run("curl", base + ["-i", server.url + "/one", server.url + "/two"])
            #expect(get.status == 0)
            #expect(get.output.contains("x-path: /one"))
            #expect(get.output.contains("x-path: /two"))
            let head = try run("curl", base + ["-I", server.url + "/h"])
            #expect(head.status == 0)
            #expect(head.output.contains("x-method: HEAD"))
            #expect(server.log.events.filter { $0 == .connectionAccepted }.count == 2)
        }

        @Test(arguments: [["-H", "Expect: 100-continue"], ["-H", "Transfer-Encoding: chunked"], ["-H", "Expect:"]])
        func upload(options: [String]) throws {
            let server = try TestServer()
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("veilring-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let sent = folder.appendingPathComponent("sent")
            let received = folder.appendingPathComponent("received")
            let data = foreignBody
            try data.write(to: sent)
            let result = try run(
                "curl",
                base + options + ["-v", "--data-binary", "@\(sent.path)", "-o", received.path, server.url + "/up"])
            #expect(result.status == 0, "\(result.output)")
            #expect(try Data(contentsOf: received) == data)
            // curl expects 100 for large chunked bodies without being told.
            #expect(result.output.contains("100 Continue") == !options.contains("Expect:"))
        }

        @Test func refusalBeforeTheBody() throws {
            let server = try TestServer(ClosureHandler(admit: { _ in .respond(HTTPResponse(status: 401)) }))
            let result = try run(
                "curl", base + ["-i", "-H", "Expect: 100-continue", "-d", "secret", server.url + "/"])
            #expect(result.status == 0)
            #expect(result.output.contains("401 Unauthorized"))
            #expect(!result.output.contains("100 Continue"))
        }
    }

    @Suite(.enabled(if: path(of: "python3") != nil, "python3 is not installed"))
    struct Python {
        @Test func httpClient() throws {
            let server = try TestServer()
            let script = """
                import http.client
                c = http.client.HTTPConnection('127.0.0.1', \(server.port), timeout=20)
                for n in (0, 1, 70000, 3000000):
                    body = bytes(i % 251 for i in range(n))
                    c.request('POST', '/p?q', body)
                    r = c.getresponse()
                    assert r.status == 200 and r.read() == body and r.getheader('x-path') == '/p', n
                def parts():
                    for i in range(100):
                        yield b'abc' * i
                c.request('POST', '/chunks', parts(), encode_chunked=True, headers={'Transfer-Encoding': 'chunked'})
                assert c.getresponse().read() == b''.join(parts())
                c.request('HEAD', '/')
                r = c.getresponse()
                assert r.read() == b'' and r.getheader('x-method') == 'HEAD'
                print('fine')
                """
            let result = try run("python3", ["-c", script])
            #expect(result.output == "fine\n")
            #expect(server.log.events.filter { $0 == .connectionAccepted }.count == 1)
        }
    }
}
