// A server with a gateway on a port of loopback, and the relay of `veilring relay` before it.

import Glibc
import HTTPCore
import HTTPServer
import LookupMessages
import ObliviousHTTP
import StateStore
import Synchronization

@testable import DeviceClient
@testable import LookupService
@testable import veilring

/// Phone's side, relay, gateway and routes, with sockets between them.
final class RelayedGateway {
    private let under: GatewayUnderTest
    private let relay: HTTPServer
    let running: RunningServer
    let relayURL: String
    let store: RecordingStore
    var identity: ServedUseCase { under.subject.identity }

    init(limits: HTTPLimits = HTTPLimits(), relayLimit: Int = 13 << 20) throws {
        under = try GatewayUnderTest.chunked()
        store = try RecordingStore()
        var options = ServiceOptions()
        options.keysPerRequest = 1000
        options.keyTime = .seconds(60)
        let subject = under.subject
        running = try RunningServer(options: options, store: store, limits: limits, gateway: under.gateway) { subject.snapshot }
        relay = HTTPServer(
            configuration: HTTPServerConfiguration(listeners: [ListenAddress(host: "127.0.0.1", port: 0)], threads: 1),
            handler: try RelayHandler(gateway: running.url, trust: .system, bodyLimit: relayLimit))
        relayURL = "http://\(try relay.start()[0])"
    }

    deinit { relay.shutdown(drain: .zero) }

    /// A phone's way to the gateway.
    func path(isChunked: Bool, throughRelay: Bool = true) throws -> ObliviousPath {
        try ObliviousPath(
            ObliviousRoute(gateway: running.url, relay: throughRelay ? relayURL : nil, isChunked: isChunked), trust: .system)
    }

    /// A request for a route behind the gateway.
    func request(_ path: String, _ body: [UInt8]) -> HTTPRequest {
        HTTPRequest(
            method: "POST", scheme: "http", authority: String(running.url.dropFirst(7)), path: path,
            fields: ["user-identifier": "u", "user-agent": "com.apple.ciphermld/1.0 iOS/18.2"], body: body)
    }

    /// Sends bytes to the relay or to the gateway, so many at a time, and gives the answer that ends with the connection.
    func sendRaw(_ bytes: [UInt8], to text: String, piece: Int) throws -> HTTPResponse {
        let url = try HTTPURL(text)
        guard let address = try SocketAddress.resolve(host: url.host, port: UInt16(url.port)).first else { throw NoReply() }
        var transport: any ByteTransport = SocketTransport(descriptor: try Sockets.connect(address))
        defer { transport.close() }
        var isOn: Int32 = 1
        setsockopt(
            transport.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        func wait(_ event: Int32) -> Bool {
            var descriptor = pollfd(fd: transport.descriptor, events: Int16(event), revents: 0)
            return poll(&descriptor, 1, 20_000) > 0
        }
        var rest = bytes[...]
        while !rest.isEmpty, wait(POLLOUT) {
            if case .bytes(let count) = transport.write(rest.prefix(piece), more: false) { rest = rest.dropFirst(count) }
        }
        var parser = HTTP1ResponseParser()
        parser.expect(method: "POST")
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while wait(POLLIN) {
            guard case .bytes(let count) = transport.read(into: &buffer) else { break }
            parser.append(buffer[..<count])
            if case .response(let response, _) = try parser.next() { return response }
        }
        throw NoReply()
    }
}

/// A store that keeps what one upload brought, all of it.
final class RecordingStore: EvaluationKeyStore {
    private let store: InMemoryEvaluationKeyStore
    private let records = Mutex<[EvaluationKeyRecord]>([])

    init() throws { store = try InMemoryEvaluationKeyStore(limits: EvaluationKeyLimits(maxKeysPerIdentifier: 1000)) }

    /// The records of the last upload.
    var taken: [EvaluationKeyRecord] { records.withLock { $0 } }

    func store(_ records: [EvaluationKeyRecord], at now: Int64) throws(StateStoreError) {
        self.records.withLock { $0 = records }
        try store.store(records, at: now)
    }

    func newestTimestamp(userIdentifier: String, configurationHash: [UInt8]) throws(StateStoreError) -> UInt64? {
        try store.newestTimestamp(userIdentifier: userIdentifier, configurationHash: configurationHash)
    }

    func key(
        userIdentifier: String, configurationHash: [UInt8], timestamp: UInt64, at now: Int64
    ) throws(StateStoreError) -> EvaluationKeyMatch? {
        try store.key(userIdentifier: userIdentifier, configurationHash: configurationHash, timestamp: timestamp, at: now)
    }

    func evict(at now: Int64) throws(StateStoreError) -> Int { try store.evict(at: now) }

    func statistics() throws(StateStoreError) -> EvaluationKeyStatistics { try store.statistics() }

    func close() throws(StateStoreError) { try store.close() }
}
