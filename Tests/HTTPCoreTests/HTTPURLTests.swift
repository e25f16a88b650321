// URL parsing: accepted forms and each refusal.

import HTTPCore
import Testing

@Suite struct HTTPURLTests {
    @Test(
        arguments: [
            ("http://example.com", "example.com", 80, "/", nil, "example.com"),
            ("HTTP://Example.COM:8080/a/b?c=d?e", "example.com", 8080, "/a/b", "c=d?e", "example.com:8080"),
            ("https://example.com:443/", "example.com", 443, "/", nil, "example.com"),
            ("https://[::1]:8443?x", "::1", 8443, "/", "x", "[::1]:8443"),
            ("http://127.0.0.1:1/%2e%2e", "127.0.0.1", 1, "/%2e%2e", nil, "127.0.0.1:1"),
        ] as [(String, String, Int, String, String?, String)])
    func accepted(text: String, host: String, port: Int, path: String, query: String?, authority: String) throws {
        let url = try HTTPURL(text)
        #expect(url.host == host)
        #expect(url.port == port)
        #expect(url.path == path)
        #expect(url.query == query)
        #expect(url.authority == authority)
        #expect(try HTTPURL(url.description) == url)
    }

    @Test(arguments: [
        ("ftp://example.com", HTTPURLError.unsupportedScheme), ("example.com", .unsupportedScheme), ("", .unsupportedScheme),
        ("http://", .missingHost), ("http:///x", .missingHost), ("http://:80", .missingHost), ("http://[]", .missingHost),
        ("http://exa^mple", .invalidHost), ("http://[::1", .invalidHost), ("http://[xyz::]", .invalidHost),
        ("http://[1]", .invalidHost), ("http://a:0", .invalidPort), ("http://a:65536", .invalidPort),
        ("http://a:", .invalidPort), ("http://a:8o", .invalidPort), ("http://[::1]80", .invalidPort),
        ("http://u:p@h", .userInformation), ("http://a/ b", .invalidPath), ("http://a/\u{e9}", .invalidPath),
        ("http://a/#x", .fragment),
    ])
    func refused(text: String, error: HTTPURLError) {
        #expect(throws: error) { try HTTPURL(text) }
    }
}
