// A server on a port of loopback, for tests that need sockets.

import DeviceClient
import Glibc
import HTTPClient
import HTTPCore
import HTTPServer
import StateStore
import Synchronization

@testable import LookupService

/// A running server with an admin listener; stops when it is released.
final class RunningServer: Sendable {
    let server: LookupServer
    let url: String
    let log: MemoryLog

    init(
        options: ServiceOptions = ServiceOptions(), store: (any EvaluationKeyStore)? = nil, dataFolder: String? = nil,
        limits: HTTPLimits = HTTPLimits(), unreadyTime: Duration = .zero, drain: Duration = .seconds(20),
        gateway: ObliviousGateway? = nil,
        load: @escaping @Sendable () throws -> ServiceSnapshot
    ) throws {
        let log = MemoryLog()
        self.log = log
        let box = LoadBox()
        let listener = ListenAddress(host: "127.0.0.1", port: 0)
        server = LookupServer(
            configuration: LookupServerConfiguration(
                http: HTTPServerConfiguration(listeners: [listener], limits: limits),
                admin: HTTPServerConfiguration(listeners: [listener], threads: 1), service: options, unreadyTime: unreadyTime,
                drain: drain, dataFolder: dataFolder),
            store: try store ?? InMemoryEvaluationKeyStore(), gateway: gateway, log: log
        ) { try box.load() }
        box.closure.withLock { $0 = load }
        self.box = box
        url = "http://\(try server.start()[0])"
    }

    private let box: LoadBox

    /// What the next reload gives.
    func willLoad(_ load: @escaping @Sendable () throws -> ServiceSnapshot) { box.closure.withLock { $0 = load } }

    func client() throws -> HTTPClient { try HTTPClient(url: HTTPURL(url)) }

    /// A client of the admin listener.
    func adminClient() throws -> HTTPClient {
        guard let address = server.adminAddresses.first else { throw NoReply() }
        return try HTTPClient(url: HTTPURL("http://\(address)"))
    }

    /// Sends bytes as they are, and gives what comes back until the server closes, or until ten seconds pass without a byte.
    func sendRaw(_ text: String) throws -> String {
        let url = try HTTPURL(url)
        guard let address = try SocketAddress.resolve(host: url.host, port: UInt16(url.port)).first else { throw NoReply() }
        var transport: any ByteTransport = SocketTransport(descriptor: try Sockets.connect(address))
        defer { transport.close() }
        func wait(_ event: Int32) -> Bool {
            var descriptor = pollfd(fd: transport.descriptor, events: Int16(event), revents: 0)
            return poll(&descriptor, 1, 10_000) > 0
        }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty, wait(POLLOUT), case .bytes(let count) = transport.write(rest, more: false) {
            rest = rest.dropFirst(count)
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while wait(POLLIN), case .bytes(let count) = transport.read(into: &buffer) { answer += buffer[..<count] }
        return String(decoding: answer, as: UTF8.self)
    }

    deinit { server.stop() }
}

private final class LoadBox: Sendable {
    let closure = Mutex<(@Sendable () throws -> ServiceSnapshot)?>(nil)

    func load() throws -> ServiceSnapshot {
        guard let closure = closure.withLock({ $0 }) else { throw NoReply() }
        return try closure()
    }
}
