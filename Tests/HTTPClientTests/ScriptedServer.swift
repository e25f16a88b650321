// A server that answers with prepared bytes, one script for each connection, to show the client what a good server never does.

import Foundation
import HTTPCore
import Synchronization

final class ScriptedServer: Sendable {
    enum Action: Sendable {
        /// Waits until this text has come.
        case expect(String)
        case send(String)
        /// Waits; the client must not.
        case hold
    }

    let port: UInt16
    private let listener: Int32
    private let accepted = Mutex(0)
    private let stopped = Mutex(false)

    /// Each connection runs one script, then it is closed.
    init(_ scripts: [[Action]]) throws {
        let (listener, address) = try Sockets.listen(try SocketAddress.resolve(host: "127.0.0.1", port: 0, listening: true)[0])
        self.listener = listener
        port = address.port
        Thread { [weak self] in
            for script in scripts {
                guard let descriptor = self?.accept() else { return }
                var transport = SocketTransport(descriptor: descriptor)
                for action in script { self?.run(action, &transport) }
                transport.close()
            }
        }.start()
    }

    deinit { Sockets.close(listener) }

    var url: HTTPURL { get throws { try HTTPURL("http://127.0.0.1:\(port)") } }
    var connections: Int { accepted.withLock { $0 } }
    func stop() { stopped.withLock { $0 = true } }

    private func accept() -> Int32? {
        while !stopped.withLock({ $0 }) {
            if case .connection(let descriptor, _)? = try? Sockets.accept(listener) {
                accepted.withLock { $0 += 1 }
                return descriptor
            }
            usleep(2_000)
        }
        return nil
    }

    private func run(_ action: Action, _ transport: inout SocketTransport) {
        switch action {
        case .send(let text):
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                guard case .bytes(let count) = transport.write(rest, more: false) else { return }
                rest = rest.dropFirst(count)
            }
        case .expect(let text):
            var seen: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while !String(decoding: seen, as: UTF8.self).contains(text), !stopped.withLock({ $0 }) {
                switch transport.read(into: &buffer) {
                case .bytes(let count): seen += buffer[..<count]
                case .needsReadable, .needsWritable: usleep(2_000)
                case .ended, .failed: return
                }
            }
        case .hold: while !stopped.withLock({ $0 }) { usleep(2_000) }
        }
    }
}
