// TLS between our two sides over a pair of sockets: ALPN, names, trust, bytes in both directions, failures by kind.

import Glibc
import HTTPCore
import TestCertificates
import Testing

@Suite struct TLSTransportTests {
    private let certificates: TestCertificates
    private let pair: TestCertificates.Pair

    init() throws {
        certificates = try TestCertificates()
        pair = try certificates.make()
    }

    private func server(_ more: [TLSCertificateFiles] = []) throws -> TLSServerContext {
        try TLSServerContext(certificates: [TLSCertificateFiles(certificate: pair.certificate, key: pair.key)] + more)
    }

    @Test(arguments: [(["h2", "http/1.1"], "h2"), (["http/1.1"], "http/1.1"), (["other", "h2"], "h2"), ([], nil)])
    func agreesOnTheApplicationProtocol(offered: [String], expected: String?) throws {
        let client = try TLSClientContext(trust: .file(pair.certificate), protocols: offered)
        var ends = try Ends(server: server(), client: client)
        defer { ends.close() }
        #expect(ends.handshake() == Ends.both)
        #expect(ends.server.applicationProtocol == expected)
        #expect(ends.client.applicationProtocol == expected)
        #expect(ends.client.version == "TLSv1.3")
    }

    @Test func refusesAProtocolThatItDoesNotSpeak() throws {
        let client = try TLSClientContext(trust: .anyone, protocols: ["spdy/3"])
        var ends = try Ends(server: server(), client: client)
        defer { ends.close() }
        let result = ends.handshake()
        #expect(result.server == .failed(.applicationProtocol))
        #expect(result.client == .failed(.applicationProtocol))
    }

    @Test(arguments: [TestCertificates.KeyKind.ellipticCurve, .rsa])
    func movesBytesBothWays(kind: TestCertificates.KeyKind) throws {
        let own = try certificates.make("own", kind: kind)
        let context = try TLSServerContext(certificates: [TLSCertificateFiles(certificate: own.certificate, key: own.key)])
        var ends = try Ends(server: context, client: TLSClientContext(trust: .file(own.certificate)))
        defer { ends.close() }
        #expect(ends.handshake() == Ends.both)
        let message = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        #expect(try ends.carry(message, from: \.client, to: \.server) == message)
        #expect(try ends.carry(message, from: \.server, to: \.client) == message)
    }

    @Test func tellsTheEndAndOnlyAfterTheBytes() throws {
        var ends = try Ends(server: server(), client: TLSClientContext(trust: .anyone))
        defer { ends.close() }
        #expect(ends.handshake() == Ends.both)
        #expect(ends.client.write(Array("last words".utf8)[...], more: false) == .bytes(10))
        ends.client.endWriting()
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(ends.server.read(into: &buffer) == .bytes(10))
        #expect(ends.server.read(into: &buffer) == .ended)
    }

    @Test func aConnectionCutWithoutCloseNotifyIsAFailure() throws {
        var ends = try Ends(server: server(), client: TLSClientContext(trust: .anyone))
        #expect(ends.handshake() == Ends.both)
        var buffer = [UInt8](repeating: 0, count: 100)
        _ = ends.client.read(into: &buffer)  // takes the tickets, or the close would be a reset
        shutdown(ends.client.descriptor, Int32(SHUT_RDWR))
        #expect(ends.server.read(into: &buffer) == .failed)
        ends.close()
    }

    @Test func trustsNoStrangerAndNoOtherName() throws {
        let stranger = try certificates.make("stranger")
        for (trust, host, verdict) in [
            (TLSTrust.file(stranger.certificate), "localhost", TLSTransport.HandshakeStep.failed(.certificateUntrusted)),
            (.system, "localhost", .failed(.certificateUntrusted)),
            (.file(pair.certificate), "other.example", .failed(.certificateUntrusted)),
            (.file(pair.certificate), "127.0.0.2", .failed(.certificateUntrusted)),
            (.file(pair.certificate), "127.0.0.1", .done), (.file(pair.certificate), "localhost", .done),
            (.anyone, "other.example", .done),
        ] {
            var ends = try Ends(server: server(), client: TLSClientContext(trust: trust), host: host)
            #expect(ends.handshake().client == verdict, "\(trust) \(host)")
            ends.close()
        }
    }

    @Test func choosesTheCertificateByName() throws {
        let one = try certificates.make("one", names: ["one.example"])
        let wild = try certificates.make("wild", names: ["*.wild.example"])
        let context = try server([
            TLSCertificateFiles(names: ["One.example."], certificate: one.certificate, key: one.key),
            TLSCertificateFiles(names: ["*.wild.example"], certificate: wild.certificate, key: wild.key),
        ])
        for (host, expected) in [
            ("one.example", one), ("a.wild.example", wild), ("b.wild.example", wild), ("localhost", pair), ("127.0.0.1", pair),
        ] {
            var ends = try Ends(server: context, client: TLSClientContext(trust: .file(expected.certificate)), host: host)
            #expect(ends.handshake() == Ends.both, "\(host)")
            ends.close()
        }
    }

    @Test func refusesANameWithoutCertificate() throws {
        let one = try certificates.make("one", names: ["one.example"])
        let two = try certificates.make("two", names: ["two.example"])
        let context = try TLSServerContext(certificates: [
            TLSCertificateFiles(names: ["one.example"], certificate: one.certificate, key: one.key),
            TLSCertificateFiles(names: ["two.example"], certificate: two.certificate, key: two.key),
        ])
        var ends = try Ends(server: context, client: TLSClientContext(trust: .anyone), host: "three.example")
        defer { ends.close() }
        #expect(ends.handshake().server == .failed(.serverName))
    }

    @Test func garbageIsNotTLS() throws {
        for bytes in [Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), [UInt8](repeating: 0xFF, count: 600)] {
            var ends = try Ends(server: server(), client: TLSClientContext(trust: .anyone))
            defer { ends.close() }
            _ = bytes.withUnsafeBytes { send(ends.client.descriptor, $0.baseAddress, $0.count, 0) }
            #expect(ends.server.handshake() == .failed(.notTLS))
        }
        var ends = try Ends(server: server(), client: TLSClientContext(trust: .anyone))
        defer { ends.close() }
        shutdown(ends.client.descriptor, Int32(SHUT_RDWR))
        #expect(ends.server.handshake() == .failed(.peerGone))
    }
}

/// The two ends of one connection.
struct Ends {
    struct Result: Equatable {
        var server: TLSTransport.HandshakeStep
        var client: TLSTransport.HandshakeStep
    }

    static let both = Result(server: .done, client: .done)
    let server: TLSTransport
    let client: TLSTransport

    init(server: TLSServerContext, client: TLSClientContext, host: String = "localhost") throws {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
        self.server = try #require(server.transport(descriptor: pair[0]))
        self.client = try #require(client.transport(descriptor: pair[1], host: host))
    }

    /// Steps both sides until neither gets further.
    mutating func handshake() -> Result {
        var result = Result(server: .needsReadable, client: .needsReadable)
        for _ in 0..<20 {
            if !Self.isFinal(result.client) { result.client = client.handshake() }
            if !Self.isFinal(result.server) { result.server = server.handshake() }
        }
        // A side of TLS 1.3 that is done learns only by reading that the other has refused.
        return result
    }

    private static func isFinal(_ step: TLSTransport.HandshakeStep) -> Bool {
        if case .failed = step { return true }
        return step == .done
    }

    mutating func carry(
        _ message: [UInt8], from: KeyPath<Ends, TLSTransport>, to: KeyPath<Ends, TLSTransport>
    ) throws -> [UInt8] {
        let (source, target) = (self[keyPath: from], self[keyPath: to])
        var buffer = [UInt8](repeating: 0, count: 128 * 1024)
        var received: [UInt8] = []
        var sent = 0
        while received.count < message.count {
            if sent < message.count, case .bytes(let count) = source.write(message[sent...], more: false) { sent += count }
            switch target.read(into: &buffer) {
            case .bytes(let count): received += buffer[..<count]
            case .needsReadable, .needsWritable: continue
            case .ended, .failed: return received
            }
        }
        return received
    }

    mutating func close() {
        server.close()
        client.close()
    }
}
