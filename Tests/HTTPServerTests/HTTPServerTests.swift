// Round trips of the server with our own client, and its behaviour as a whole.

import Glibc
import HTTPClient
import HTTPCore
import HTTPServer
import Synchronization
import Testing

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
}
