// The client against our server and against scripted ones.

import HTTPClient
import HTTPCore
import HTTPServer
import Testing

@Suite struct HTTPClientTests {
    @Test func httpsComesLater() throws {
        let url = try HTTPURL("https://example.com")
        #expect(throws: HTTPClientError.tlsNotAvailable) { try HTTPClient(url: url) }
    }
}
