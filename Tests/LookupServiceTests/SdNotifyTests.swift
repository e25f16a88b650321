// What the service manager is told, and what it hands over (sd_notify(3), sd_listen_fds(3)), against a socket of the test.

import Dispatch
import Foundation
import HTTPClient
import HTTPCore
import HTTPServer
import StateStore
import Synchronization
import Testing

@testable import LookupService

/// The manager's end: a datagram socket in a folder.
private final class ManagerSocket: Sendable {
    let path: String
    private let descriptor: Int32

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/veilring-notify-\(UUID().uuidString.prefix(8))"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(code == 0)
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    /// The next message, as its lines. Waits for it.
    func next() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The next message that is no sign of life.
    func nextEvent() -> [String] {
        while true {
            let message = next()
            if message != ["WATCHDOG=1"] { return message }
        }
    }
}

@Suite("The service manager")
struct ServiceManagerTests {
    private static let long = DispatchTime.now() + .seconds(60)

    @Test("the environment says where, and whether signs of life are wanted")
    func environment() {
        let none = SdNotify(environment: [:])
        #expect(!none.hasManager && none.watchdogInterval == nil)
        let some = SdNotify(
            environment: ["NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "7"], process: 7)
        #expect(some.hasManager && some.watchdogInterval == .seconds(2))
        let other = SdNotify(
            environment: ["NOTIFY_SOCKET": "@abstract", "WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "8"], process: 7)
        #expect(other.hasManager && other.watchdogInterval == nil)
        for wrong in ["relative", "", "@", "/", "vsock:1:2", "/" + String(repeating: "x", count: 200)] {
            #expect(!SdNotify(environment: ["NOTIFY_SOCKET": wrong]).hasManager, "\(wrong)")
        }
        #expect(
            SdNotify(environment: ["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "-1"]).watchdogInterval == nil)
        // Nobody there: nothing happens.
        SdNotify(environment: ["NOTIFY_SOCKET": "/nowhere/at/all"]).stopping()
    }

    @Test("a server's life: ready, reload, failed reload, signs of life, stop")
    func life() throws {
        let manager = try ManagerSocket()
        let sample = try ServiceUnderTest()
        let fails = Mutex(false)
        let http = HTTPServerConfiguration(listeners: [ListenAddress(host: "127.0.0.1", port: 0)])
        var configuration = LookupServerConfiguration(http: http)
        configuration.manager = SdNotify(
            environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"])
        let snapshot = sample.snapshot
        let server = LookupServer(configuration: configuration, store: try InMemoryEvaluationKeyStore(), log: MemoryLog()) {
            if fails.withLock({ $0 }) { throw NoReply() }
            return snapshot
        }
        _ = try server.start()
        #expect(manager.nextEvent() == ["READY=1", "STATUS=serving version one"])
        #expect(manager.next() == ["WATCHDOG=1"])
        server.reload()
        let reloading = manager.nextEvent()
        #expect(reloading.first == "RELOADING=1" && reloading.count == 2)
        #expect(reloading.last?.firstMatch(of: /^MONOTONIC_USEC=[1-9][0-9]*$/) != nil)
        #expect(manager.nextEvent() == ["READY=1", "STATUS=serving version one"])
        fails.withLock { $0 = true }
        server.reload()
        #expect(manager.nextEvent().first == "RELOADING=1")
        #expect(manager.nextEvent() == ["READY=1", "STATUS=reload failed (see the log), still serving version one"])
        server.stop()
        #expect(manager.nextEvent() == ["STOPPING=1", "STATUS=stopping: running requests end"])
    }

    @Test("no sign of life while something does not answer, and again when it does")
    func watchdog() {
        let isWell = Atomic<Bool>(false)
        let asked = DispatchSemaphore(value: 0)
        let signs = Atomic<Int>(0)
        let signed = DispatchSemaphore(value: 0)
        let watchdog = Watchdog(interval: .milliseconds(2)) { _ in
            asked.signal()
            return isWell.load(ordering: .acquiring)
        } sign: {
            signs.add(1, ordering: .relaxed)
            signed.signal()
        }
        watchdog.start()
        for _ in 0..<5 { #expect(asked.wait(timeout: Self.long) == .success) }
        #expect(signs.load(ordering: .relaxed) == 0)
        isWell.store(true, ordering: .releasing)
        for _ in 0..<3 { #expect(signed.wait(timeout: Self.long) == .success) }
        watchdog.end()
    }

    @Test("event loops answer as long as they turn")
    func loops() throws {
        let gate = DispatchSemaphore(value: 0)
        let entered = DispatchSemaphore(value: 0)
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(listeners: [ListenAddress(host: "127.0.0.1", port: 0)], threads: 1),
            handler: BlockingHandler(gate: gate, entered: entered))
        #expect(!server.answers(within: .seconds(60)), "not started")
        let address = try server.start()[0]
        #expect(server.answers(within: .seconds(60)))
        DispatchQueue(label: "client").async {
            _ = try? HTTPClient(url: HTTPURL("http://\(address)")).send(HTTPRequest(method: "GET", path: "/"))
        }
        #expect(entered.wait(timeout: Self.long) == .success)
        #expect(!server.answers(within: .milliseconds(20)), "the loop is blocked")
        gate.signal()
        #expect(server.answers(within: .seconds(60)))
        server.shutdown(drain: .zero)
        #expect(!server.answers(within: .seconds(60)), "stopped")
    }

    @Test("sockets find their listeners by name or address")
    func matching() throws {
        func address(_ host: String, _ port: UInt16) throws -> SocketAddress {
            try #require(try SocketAddress.resolve(host: host, port: port, listening: true).first)
        }
        let web = InheritedSocket(descriptor: 3, name: "veilring.socket", address: try address("0.0.0.0", 443))
        let all = InheritedSocket(descriptor: 4, name: "", address: try address("::", 8443))
        let admin = InheritedSocket(descriptor: 5, name: "admin", address: try address("127.0.0.1", 9090))
        let second = InheritedSocket(descriptor: 6, name: "listen-1", address: try address("127.0.0.1", 7))
        var activation = SocketActivation([web, all, admin, second])
        #expect(activation.take(name: "listen-0", addresses: [try address("127.0.0.1", 443)]) == nil)
        #expect(activation.take(name: "listen-0", addresses: [try address("0.0.0.0", 443)]) == web)
        #expect(activation.take(name: "listen-0", addresses: [try address("0.0.0.0", 443)]) == nil)
        // A unit's ListenStream=8443 takes both versions.
        #expect(activation.take(name: "listen-2", addresses: [try address("0.0.0.0", 8443)]) == all)
        // A name wins over the address, and a socket with such a name is for nobody else.
        #expect(activation.take(name: "listen-3", addresses: [try address("127.0.0.1", 7)]) == nil)
        #expect(activation.take(name: "listen-1", addresses: [try address("127.0.0.1", 0)]) == second)
        #expect(activation.take(name: "admin", addresses: []) == admin)
        #expect(activation.untaken.isEmpty && activation.discard().isEmpty)
        #expect(SocketActivation(environment: [:]).untaken.isEmpty)
        for wrong in [["LISTEN_PID": "1", "LISTEN_FDS": "1"], ["LISTEN_PID": "7"], ["LISTEN_PID": "7", "LISTEN_FDS": "0"]] {
            #expect(SocketActivation(environment: wrong, process: 7) == SocketActivation([]))
        }
    }

    @Test("between two servers on a socket that was handed over, connections wait and none is refused")
    func restart() throws {
        let any = try #require(try SocketAddress.resolve(host: "127.0.0.1", port: 0).first)
        let (held, address) = try Sockets.listen(any)
        defer { Sockets.close(held) }
        let url = try HTTPURL("http://\(address)")
        func server() throws -> HTTPServer {
            var listener = ListenAddress(host: "127.0.0.1", port: address.port)
            listener.descriptors = [dup(held)]
            let server = HTTPServer(
                configuration: HTTPServerConfiguration(listeners: [listener]), handler: BlockingHandler(gate: nil, entered: nil)
            )
            #expect(try server.start() == [address])
            return server
        }
        let first = try server()
        #expect(try HTTPClient(url: url).send(HTTPRequest(method: "GET", path: "/")).status == 404)
        first.shutdown(drain: .seconds(60))
        let status = Mutex(0)
        let done = DispatchSemaphore(value: 0)
        let began = DispatchSemaphore(value: 0)
        DispatchQueue(label: "client").async {
            began.signal()
            let answer = try? HTTPClient(url: url).send(HTTPRequest(method: "GET", path: "/"))
            status.withLock { $0 = answer?.status ?? -1 }
            done.signal()
        }
        #expect(began.wait(timeout: Self.long) == .success)
        // Nobody serves now: a fresh connection waits in the socket's backlog.
        let waiting = try Sockets.connect(address)
        let second = try server()
        #expect(done.wait(timeout: Self.long) == .success)
        #expect(status.withLock { $0 } == 404 && Sockets.connectError(waiting) == nil)
        Sockets.close(waiting)
        second.shutdown(drain: .zero)
    }
}

/// Answers 404, after the gate if there is one.
private struct BlockingHandler: HTTPHandler {
    let gate: DispatchSemaphore?
    let entered: DispatchSemaphore?

    func begin(_ head: HTTPRequestHead) -> HTTPAdmission {
        entered?.signal()
        gate?.wait()
        return .respond(HTTPResponse(status: 404))
    }

    func handle(_ request: HTTPRequest, reply: HTTPReply) { reply.send(HTTPResponse(status: 404)) }
}
