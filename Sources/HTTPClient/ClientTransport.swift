// How a client gets from a URL to bytes: name, socket, TLS. Blocking, each call with a deadline.

import CLinux
import Glibc
import HTTPCore

/// Where to connect instead of a URL's own host and port: a rehearsal before names are set up. Names in TLS and in requests stay the
/// URL's.
public struct ConnectAddress: Sendable, Equatable {
    /// A name or a numeric address.
    public var host: String
    /// The port.
    public var port: UInt16

    /// An address.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}

/// Opens transports and waits on them.
enum ClientTransport {
    /// Connects to the first address that answers, of the URL's host or of `address`, with TLS if a context is given. `deadline`
    /// bounds all attempts (not the resolver). Gives what ALPN agreed on beside the transport.
    static func open(
        _ url: HTTPURL, at address: ConnectAddress?, tls: TLSClientContext?, deadline: ContinuousClock.Instant
    ) throws(HTTPClientError) -> (any ByteTransport, applicationProtocol: String?) {
        let descriptor = try connect(
            host: address?.host ?? url.host, port: address?.port ?? UInt16(clamping: url.port), deadline: deadline)
        guard let tls else { return (SocketTransport(descriptor: descriptor), nil) }
        let transport = try secure(descriptor, host: url.host, tls, deadline: deadline)
        return (transport, transport.applicationProtocol)
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

    /// Waits until a transport can go on: for input, and for room if something is to be written. 0 when the time is over.
    static func wait(_ transport: any ByteTransport, writing: Bool, _ deadline: ContinuousClock.Instant) -> Int32 {
        if transport.hasBufferedInput { return Int32(CLINUX_READ) }
        var needs = CLINUX_READ
        if writing && !transport.writeNeedsReadable || transport.readNeedsWritable { needs |= CLINUX_WRITE }
        return wait(transport.descriptor, needs, deadline)
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
