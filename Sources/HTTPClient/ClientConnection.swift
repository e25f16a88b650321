// One connection of a client: blocking calls with a deadline over a non-blocking transport.

import CLinux
import Glibc
import HTTPCore

struct ClientConnection: Sendable {
    private var transport: any ByteTransport
    private var parser: HTTP1ResponseParser
    private var scratch = [UInt8](repeating: 0, count: 64 * 1024)

    /// Connects to the first address that answers, with TLS if a context is given. `deadline` bounds all attempts (not the
    /// resolver).
    init(
        host: String, port: UInt16, tls: TLSClientContext?, limits: HTTPLimits, deadline: ContinuousClock.Instant
    ) throws(HTTPClientError) {
        parser = HTTP1ResponseParser(limits: limits)
        let descriptor = try Self.connect(host: host, port: port, deadline: deadline)
        if let tls {
            transport = try Self.secure(descriptor, host: host, tls, deadline: deadline)
        } else {
            transport = SocketTransport(descriptor: descriptor)
        }
    }

    private static func connect(
        host: String, port: UInt16, deadline: ContinuousClock.Instant
    ) throws(HTTPClientError) -> Int32 {
        var failure = SocketError.unknownHost
        let addresses: [SocketAddress]
        do throws(SocketError) {
            addresses = try SocketAddress.resolve(host: host, port: port)
        } catch {
            throw .cannotConnect(error)
        }
        for address in addresses {
            do throws(SocketError) {
                return try connect(address, deadline: deadline)
            } catch {
                failure = error
            }
            if deadline <= .now { throw .connectTimeout }
        }
        throw .cannotConnect(failure)
    }

    private static func connect(
        _ address: SocketAddress, deadline: ContinuousClock.Instant
    ) throws(SocketError) -> Int32 {
        let descriptor = try Sockets.connect(address)
        let writable = wait(descriptor, CLINUX_WRITE, deadline)
        let error = writable == 0 ? SocketError.system(ETIMEDOUT) : Sockets.connectError(descriptor)
        guard let error else { return descriptor }
        Sockets.close(descriptor)
        throw error
    }

    private static func secure(
        _ descriptor: Int32, host: String, _ tls: TLSClientContext, deadline: ContinuousClock.Instant
    ) throws(HTTPClientError) -> TLSTransport {
        guard let transport = tls.transport(descriptor: descriptor, host: host) else {
            Sockets.close(descriptor)
            throw .tls(.malformed)
        }
        while true {
            let wanted: Int
            switch transport.handshake() {
            case .done: return transport
            case .needsReadable: wanted = CLINUX_READ
            case .needsWritable: wanted = CLINUX_WRITE
            case .failed(let failure):
                transport.close()
                throw .tls(failure)
            }
            if wait(descriptor, wanted, deadline) == 0 {
                transport.close()
                throw .connectTimeout
            }
        }
    }

    mutating func close() { transport.close() }

    /// Whether the server has ended the connection, or sent something unasked for, since the last answer.
    var isStale: Bool { parser.bufferedBytes > 0 || clinux_poll(transport.descriptor, Int32(CLINUX_READ), 0) != 0 }

    /// Whether any byte of the current answer has come.
    var hasReceivedBytes: Bool { parser.hasReceivedBytes }

    /// Sends a request and reads its answer, also when it comes before the request has left completely. The flag tells
    /// whether the connection can be used again.
    mutating func exchange(
        method: String, _ chunks: [[UInt8]], deadline: ContinuousClock.Instant
    ) throws(HTTPClientError) -> (HTTPResponse, reusable: Bool) {
        parser.expect(method: method)
        var index = 0
        var offset = 0
        var canWrite = true
        var broken = false
        while true {
            var needs = CLINUX_READ
            while canWrite, index < chunks.count {
                let chunk = chunks[index]
                guard offset < chunk.count else {
                    index += 1
                    offset = 0
                    continue
                }
                switch transport.write(chunk[offset...], more: index + 1 < chunks.count) {
                case .bytes(let count): offset += count
                case .needsWritable, .needsReadable: canWrite = false  // TLS may want to read first: see below
                case .ended, .failed:
                    // The server may have answered before it closed; the answer is read below.
                    index = chunks.count
                    broken = true
                }
            }
            if index < chunks.count, !transport.writeNeedsReadable { needs |= CLINUX_WRITE }
            if transport.readNeedsWritable { needs |= CLINUX_WRITE }
            let ready = transport.hasBufferedInput ? Int32(CLINUX_READ) : Self.wait(transport.descriptor, needs, deadline)
            if ready == 0 { throw .timeout }
            if ready & Int32(CLINUX_WRITE) != 0 || transport.writeNeedsReadable { canWrite = true }
            guard ready & Int32(CLINUX_READ | CLINUX_FAILED) != 0 || transport.readNeedsWritable else { continue }
            if let (response, keepsAlive) = try read() { return (response, keepsAlive && !broken && index == chunks.count) }
        }
    }

    /// One read; the answer if it is complete now.
    private mutating func read() throws(HTTPClientError) -> (HTTPResponse, Bool)? {
        do throws(HTTPParseError) {
            switch transport.read(into: &scratch) {
            case .bytes(let count): parser.append(scratch[..<count])
            case .needsReadable, .needsWritable: return nil
            case .ended: return (try parser.end(), false)
            case .failed: throw .truncated
            }
            while true {
                switch try parser.next() {
                case .needMore: return nil
                case .interim: continue
                case .response(let response, let keepsAlive): return (response, keepsAlive)
                }
            }
        } catch {
            throw error == .truncated ? .connectionLost : .invalidResponse(error)
        }
    }

    /// Waits for any of the wanted; 0 when the time is over.
    private static func wait(_ descriptor: Int32, _ mask: Int, _ deadline: ContinuousClock.Instant) -> Int32 {
        while true {
            let left = ContinuousClock.Instant.now.duration(to: deadline)
            if left <= .zero { return 0 }
            let (seconds, attoseconds) = left.components
            let milliseconds = Int32(min(seconds, 3600)) * 1000 + Int32(attoseconds / 1_000_000_000_000_000) + 1
            let ready = clinux_poll(descriptor, Int32(mask), milliseconds)
            if ready < 0 { return Int32(CLINUX_FAILED) }
            if ready > 0 { return ready }
        }
    }
}
