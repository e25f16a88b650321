// A client that sends any bytes it likes, for what a proper client would never send.

import Glibc
import HTTPCore
import Testing

struct RawPeer {
    private var transport: SocketTransport
    private var isClosed = false

    init(port: UInt16) throws {
        let address = try #require(try SocketAddress.resolve(host: "127.0.0.1", port: port).first)
        transport = SocketTransport(descriptor: try Sockets.connect(address))
        var descriptor = pollfd(fd: transport.descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&descriptor, 1, 5000)
        try #require(Sockets.connectError(transport.descriptor) == nil)
    }

    /// A hundredth of a second of patience between two looks at something.
    static func pause() { usleep(5_000) }

    /// Sends all bytes; false when the connection broke or ten seconds passed.
    @discardableResult mutating func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    @discardableResult mutating func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch transport.write(rest, more: false) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .needsReadable, .needsWritable: if !wait(POLLOUT) { return false }
            case .ended, .failed: return false
            }
        }
        return true
    }

    /// What arrives until the server ends the connection, `until` is found, or ten seconds pass without a byte.
    mutating func receive(until: String? = nil) -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            switch transport.read(into: &buffer) {
            case .bytes(let count):
                text += buffer[..<count]
                if let until, String(decoding: text, as: UTF8.self).contains(until) {
                    return String(decoding: text, as: UTF8.self)
                }
            case .needsReadable, .needsWritable: if !wait(POLLIN) { return String(decoding: text, as: UTF8.self) + "<timeout>" }
            case .ended: return String(decoding: text, as: UTF8.self)
            case .failed: return String(decoding: text, as: UTF8.self) + "<reset>"
            }
        }
    }

    /// Some bytes; nil at the end, or when ten seconds pass without any.
    mutating func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            switch transport.read(into: &buffer) {
            case .bytes(let count): return Array(buffer[..<count])
            case .needsReadable, .needsWritable: if !wait(POLLIN) { return nil }
            case .ended, .failed: return nil
            }
        }
    }

    mutating func endWriting() { transport.endWriting() }

    mutating func close() {
        if !isClosed { transport.close() }
        isClosed = true
    }

    private func wait(_ event: Int32) -> Bool {
        var descriptor = pollfd(fd: transport.descriptor, events: Int16(event), revents: 0)
        return poll(&descriptor, 1, 10_000) > 0
    }
}
