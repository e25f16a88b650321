// TLS over a non-blocking socket (service.md 5.2). Handshake first; then bytes like any other transport.

import CLinux
import COpenSSL
import Glibc

/// One TLS connection of either side. `handshake` must be done before bytes are moved. The owner calls `close` exactly once.
public final class TLSTransport: ByteTransport, @unchecked Sendable {
    // Vouched for: the owner uses it from one thread at a time, as it does every transport.

    /// How far the handshake is.
    public enum HandshakeStep: Sendable, Equatable {
        /// Bytes can be moved.
        case done
        /// Call again when the descriptor is readable.
        case needsReadable
        /// Call again when the descriptor is writable.
        case needsWritable
        /// It cannot succeed; close.
        case failed(TLSFailure)
    }

    /// The socket.
    public let descriptor: Int32
    /// Whether a read may give something although the descriptor is not readable.
    public private(set) var hasBufferedInput = false
    /// Whether reading goes on only when the descriptor is writable.
    public private(set) var readNeedsWritable = false
    /// Whether writing goes on only when the descriptor is readable.
    public private(set) var writeNeedsReadable = false

    private var session: OpaquePointer?
    private let owner: AnyObject
    private var isBroken = false

    /// Takes over session and descriptor; `owner` lives as long as the transport.
    init(session: OpaquePointer, descriptor: Int32, keeping owner: AnyObject) {
        self.session = session
        self.descriptor = descriptor
        self.owner = owner
    }

    deinit { if let session { SSL_free(session) } }

    /// Goes on with the handshake.
    public func handshake() -> HandshakeStep {
        guard let session else { return .failed(.peerGone) }
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        if result == 1 {
            // The first request may have come with the end of the handshake; the descriptor will not be readable for it.
            hasBufferedInput = SSL_has_pending(session) == 1
            return .done
        }
        switch SSL_get_error(session, result) {
        case SSL_ERROR_WANT_READ: return .needsReadable
        case SSL_ERROR_WANT_WRITE: return .needsWritable
        default:
            isBroken = true
            return .failed(TLSLibrary.failure())
        }
    }

    /// What ALPN agreed on; nil if the peer sent none.
    public var applicationProtocol: String? {
        guard let session else { return nil }
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(session, &bytes, &count)
        guard let bytes, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
    }

    /// `TLSv1.2` or `TLSv1.3`.
    public var version: String { session.flatMap { SSL_get_version($0) }.map { String(cString: $0) } ?? "" }

    /// What the peer sent as its certificates, its own first; empty before the handshake and on the server's side.
    public var peerCertificates: CertificateChain {
        guard let session else { return CertificateChain([]) }
        let count = copenssl_peer_chain_count(session)
        return CertificateChain(
            (0..<count).compactMap { copenssl_peer_chain_entry(session, $0).flatMap(CertificateChain.bytes(of:)) })
    }

    /// Whether an earlier session was resumed.
    public var isResumed: Bool { session.map { SSL_session_reused($0) == 1 } ?? false }

    /// Fills the array's existing bytes with as many records as have arrived.
    public func read(into buffer: inout [UInt8]) -> TransportResult {
        guard let session, !isBroken else { return .failed }
        readNeedsWritable = false
        hasBufferedInput = false
        var filled = 0
        while filled < buffer.count {
            ERR_clear_error()
            var count = 0
            let result = buffer.withUnsafeMutableBytes { bytes in
                bytes.baseAddress.map { SSL_read_ex(session, $0 + filled, bytes.count - filled, &count) } ?? 0
            }
            if result == 1 {
                filled += count
                continue
            }
            let outcome = self.outcome(session, result)
            if case .needsWritable = outcome { readNeedsWritable = true }
            guard filled > 0 else { return outcome }
            // What ended the reading is told at the next call, which the owner makes because of this flag.
            if outcome != .needsReadable { hasBufferedInput = true }
            return .bytes(filled)
        }
        hasBufferedInput = true
        return .bytes(filled)
    }

    /// Writes at most one record's worth; give the same bytes again (they may be longer, and elsewhere) until it is done.
    public func write(_ bytes: ArraySlice<UInt8>, more: Bool) -> TransportResult {
        guard let session, !isBroken else { return .failed }
        guard !bytes.isEmpty else { return .needsWritable }
        writeNeedsReadable = false
        ERR_clear_error()
        var count = 0
        let result = bytes.withUnsafeBytes { SSL_write_ex(session, $0.baseAddress, $0.count, &count) }
        if result == 1 { return .bytes(count) }
        let outcome = self.outcome(session, result)
        if case .needsReadable = outcome { writeNeedsReadable = true }
        return outcome
    }

    /// close_notify, once, without waiting for the peer's; then FIN.
    public func endWriting() {
        if let session, !isBroken, SSL_is_init_finished(session) == 1 {
            ERR_clear_error()
            if SSL_shutdown(session) < 0 { ERR_clear_error() }
        }
        clinux_end_writing(descriptor)
    }

    /// Frees the session and closes the descriptor.
    public func close() {
        guard let session else { return }
        if !isBroken, SSL_is_init_finished(session) == 1 {
            ERR_clear_error()
            if SSL_get_shutdown(session) & SSL_SENT_SHUTDOWN == 0, SSL_shutdown(session) < 0 { ERR_clear_error() }
        }
        SSL_free(session)
        self.session = nil
        clinux_close(descriptor)
    }

    private func outcome(_ session: OpaquePointer, _ result: Int32) -> TransportResult {
        switch SSL_get_error(session, result) {
        case SSL_ERROR_WANT_READ: return .needsReadable
        case SSL_ERROR_WANT_WRITE: return .needsWritable
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            isBroken = true
            ERR_clear_error()
            return .failed
        }
    }
}
