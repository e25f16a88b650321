// The seam between a connection and its bytes: a socket, or TLS on a socket (TLS/, service.md 5.2).

import CLinux
import Glibc

/// The outcome of a transport call that never blocks.
public enum TransportResult: Sendable, Equatable {
    /// This many bytes were moved, at least 1.
    case bytes(Int)
    /// Nothing can be moved until the descriptor is readable.
    case needsReadable
    /// Nothing can be moved until the descriptor is writable.
    case needsWritable
    /// The peer has ended its side.
    case ended
    /// The connection is broken.
    case failed
}

/// A connection's bytes. No call blocks. The owner waits on `descriptor` for what a result asks for.
public protocol ByteTransport: Sendable {
    /// What to wait on.
    var descriptor: Int32 { get }
    /// Whether bytes wait inside the transport although the descriptor may not be readable (TLS records).
    var hasBufferedInput: Bool { get }
    /// Whether the last read goes on only when the descriptor is writable (TLS).
    var readNeedsWritable: Bool { get }
    /// Whether the last write goes on only when the descriptor is readable (TLS).
    var writeNeedsReadable: Bool { get }
    /// Reads into the array's existing bytes.
    mutating func read(into buffer: inout [UInt8]) -> TransportResult
    /// Writes some of the bytes. `more` says that further bytes follow at once.
    mutating func write(_ bytes: ArraySlice<UInt8>, more: Bool) -> TransportResult
    /// Tells the peer that nothing more comes (FIN, close_notify).
    mutating func endWriting()
    /// Closes the descriptor; no call may follow.
    mutating func close()
}

extension ByteTransport {
    /// Never: reading waits for input.
    public var readNeedsWritable: Bool { false }
    /// Never: writing waits for room.
    public var writeNeedsReadable: Bool { false }
}

/// Cleartext over a connected non-blocking TCP socket. The owner calls `close` exactly once.
public struct SocketTransport: ByteTransport {
    /// The socket.
    public let descriptor: Int32

    /// Takes over a connected non-blocking socket.
    public init(descriptor: Int32) { self.descriptor = descriptor }

    /// Never: the kernel holds all input.
    public var hasBufferedInput: Bool { false }

    /// recv(2).
    public mutating func read(into buffer: inout [UInt8]) -> TransportResult {
        let count = clinux_receive(descriptor, &buffer, buffer.count)
        if count > 0 { return .bytes(count) }
        if count == 0 { return .ended }
        return count == -Int(EAGAIN) ? .needsReadable : .failed
    }

    /// send(2) without SIGPIPE.
    public mutating func write(_ bytes: ArraySlice<UInt8>, more: Bool) -> TransportResult {
        let count = bytes.withUnsafeBytes { clinux_send(descriptor, $0.baseAddress, $0.count, more ? 1 : 0) }
        if count > 0 { return .bytes(count) }
        return count == -Int(EAGAIN) || count == 0 ? .needsWritable : .failed
    }

    /// shutdown(2) of the writing side.
    public mutating func endWriting() { clinux_end_writing(descriptor) }

    /// close(2).
    public mutating func close() { clinux_close(descriptor) }
}

/// Listening and connecting sockets.
public enum Sockets {
    /// Listens on an address; port 0 lets the system choose. Gives the descriptor and the real address.
    public static func listen(_ address: SocketAddress, backlog: Int32 = 1024) throws(SocketError) -> (Int32, SocketAddress) {
        var wanted = address.c
        var bound = clinux_address()
        let descriptor = clinux_listen(&wanted, backlog, &bound)
        guard descriptor >= 0 else { throw SocketError(code: -descriptor) }
        return (descriptor, SocketAddress(bound))
    }

    /// Takes over a listening socket that another process opened and handed over; gives its address. Nil: it is no listening TCP
    /// socket.
    public static func adopt(listener descriptor: Int32) -> SocketAddress? {
        var bound = clinux_address()
        return clinux_adopt_listener(descriptor, &bound) == 0 ? SocketAddress(bound) : nil
    }

    /// Sends one datagram to a Unix socket, without blocking; a path that begins with `@` is in the abstract name space. False: it
    /// was not taken.
    public static func sendDatagram(_ bytes: [UInt8], to path: String) -> Bool {
        !path.utf8.contains(0) && clinux_send_datagram(path, bytes, bytes.count) == 0
    }

    /// Takes a waiting connection; nil if none waits or it went away meanwhile. Throws `system` when the process or the
    /// system is out of descriptors or memory.
    public static func accept(_ listener: Int32) throws(SocketError) -> AcceptResult {
        var peer = clinux_address()
        let descriptor = clinux_accept_address(listener, &peer)
        if descriptor >= 0 { return .connection(descriptor, SocketAddress(peer)) }
        switch -descriptor {
        case EAGAIN: return .none
        case ENOMEM, ENFILE, EMFILE, ENOBUFS: throw .system(-descriptor)
        default: return .gone
        }
    }

    /// The outcome of `accept`.
    public enum AcceptResult: Sendable, Equatable {
        /// A connected non-blocking socket.
        case connection(Int32, SocketAddress)
        /// A connection that went away before it was taken; there may be more.
        case gone
        /// None waits.
        case none
    }

    /// Starts a connection; wait until the descriptor is writable, then ask `connectError`.
    public static func connect(_ address: SocketAddress) throws(SocketError) -> Int32 {
        var wanted = address.c
        let descriptor = clinux_connect(&wanted)
        guard descriptor >= 0 else { throw SocketError(code: -descriptor) }
        return descriptor
    }

    /// How a started connection ended; nil if it is connected.
    public static func connectError(_ descriptor: Int32) -> SocketError? {
        let code = clinux_socket_error(descriptor)
        return code == 0 ? nil : SocketError(code: code)
    }

    /// Closes a descriptor.
    public static func close(_ descriptor: Int32) { clinux_close(descriptor) }
}
