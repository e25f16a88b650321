// Addresses: text, loopback, counting, prefixes.

import HTTPCore
import Testing

@Suite struct SocketAddressTests {
    private func address(_ host: String) throws -> SocketAddress {
        try #require(try SocketAddress.resolve(host: host, port: 8).first)
    }

    @Test(arguments: [
        ("127.9.9.9", true), ("::1", true), ("::ffff:127.0.0.1", true), ("10.0.0.1", false), ("::2", false),
        ("::ffff:10.0.0.1", false),
    ])
    func loopback(host: String, isLoopback: Bool) throws { #expect(try address(host).isLoopback == isLoopback) }

    @Test func countingKeys() throws {
        #expect(try address("10.0.0.1").countingKey == address("::ffff:10.0.0.1").countingKey)
        #expect(try address("10.0.0.1").countingKey != address("10.0.0.2").countingKey)
        #expect(try address("2001:db8:1:2::1").countingKey == address("2001:db8:1:2:ffff::").countingKey)
        #expect(try address("2001:db8:1:2::1").countingKey != address("2001:db8:1:3::1").countingKey)
    }

    @Test(arguments: ["1.2.3.4", "2001:db8::1", "::1"])
    func text(host: String) throws {
        #expect(try address(host).host == host)
        #expect(try address(host).description == (host.contains(":") ? "[\(host)]:8" : "\(host):8"))
    }

    @Test func unknownHosts() {
        #expect(throws: SocketError.unknownHost) { try SocketAddress.resolve(host: "", port: 1) }
        #expect(throws: SocketError.unknownHost) { try SocketAddress.resolve(host: "a\0b", port: 1) }
        #expect(throws: SocketError.unknownHost) { try SocketAddress.resolve(host: "256.1.1.1.1", port: 1) }
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.0/8", "::ffff:10.0.0.1", true),
        ("0.0.0.0/0", "1.2.3.4", true), ("0.0.0.0/0", "2001:db8::1", false), ("1.2.3.4", "1.2.3.4", true),
        ("1.2.3.4", "1.2.3.5", false), ("1.2.3.4/31", "1.2.3.5", true), ("::/0", "2001:db8::1", true),
        ("::/0", "1.2.3.4", false), ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::", false),
        ("2001:db8::/64", "2001:db8::ffff", true), ("2001:db8::/65", "2001:db8::7fff:0:0:0", true),
        ("2001:db8::/65", "2001:db8::8000:0:0:0", false), ("2001:db8::1/128", "2001:db8::2", false),
    ])
    func prefix(text: String, host: String, isInside: Bool) throws {
        #expect(try #require(AddressPrefix(text)).contains(address(host)) == isInside)
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/8/8", "host", "10.0.0", "::/129", "::1/127", "::1%lo",
    ])
    func noPrefix(text: String) { #expect(AddressPrefix(text) == nil) }
}
