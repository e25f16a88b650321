// A server on a port of loopback, for tests that need sockets.

import DeviceClient
import HTTPClient
import HTTPCore
import HTTPServer
import StateStore
import Synchronization

@testable import LookupService

/// A running server; stops when it is released.
final class RunningServer: Sendable {
    let server: LookupServer
    let url: String
    let log: MemoryLog

    init(
        options: ServiceOptions = ServiceOptions(), store: (any EvaluationKeyStore)? = nil, dataFolder: String? = nil,
        load: @escaping @Sendable () throws -> ServiceSnapshot
    ) throws {
        let log = MemoryLog()
        self.log = log
        let box = LoadBox()
        let http = HTTPServerConfiguration(listeners: [ListenAddress(host: "127.0.0.1", port: 0)])
        server = LookupServer(
            configuration: LookupServerConfiguration(
                http: http, service: options, drain: .seconds(20), dataFolder: dataFolder),
            store: try store ?? InMemoryEvaluationKeyStore(), log: log
        ) { try box.load() }
        box.closure.withLock { $0 = load }
        self.box = box
        url = "http://\(try server.start()[0])"
    }

    private let box: LoadBox

    /// What the next reload gives.
    func willLoad(_ load: @escaping @Sendable () throws -> ServiceSnapshot) { box.closure.withLock { $0 = load } }

    func client() throws -> HTTPClient { try HTTPClient(url: HTTPURL(url)) }

    deinit { server.stop() }
}

private final class LoadBox: Sendable {
    let closure = Mutex<(@Sendable () throws -> ServiceSnapshot)?>(nil)

    func load() throws -> ServiceSnapshot {
        guard let closure = closure.withLock({ $0 }) else { throw NoReply() }
        return try closure()
    }
}
