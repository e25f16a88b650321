// HTTP/2 on one connection of a client (RFC 9113): one request at a time, as its calls block.

import CLinux
import HTTPCore

final class HTTP2ClientConnection: ClientConnection, @unchecked Sendable {
    // Vouched for: the client uses its connection under a lock.

    private var transport: any ByteTransport
    private let session: HTTP2ClientSession
    private var scratch = [UInt8](repeating: 0, count: 64 * 1024)
    private var pending: ArraySlice<UInt8> = []
    private var hasEnded = false
    private(set) var mayRetry = false

    /// Takes over an open transport; nil if there is no memory (the transport stays the caller's).
    init?(_ transport: any ByteTransport, limits: HTTPLimits) {
        guard let session = HTTP2ClientSession(limits: limits) else { return nil }
        self.transport = transport
        self.session = session
    }

    func close() {
        if !hasEnded {
            session.close()
            _ = flush()
        }
        transport.close()
    }

    /// Takes what has arrived since, settings and pings among it.
    func isStale() -> Bool {
        while !hasEnded, transport.hasBufferedInput || clinux_poll(transport.descriptor, Int32(CLINUX_READ), 0) != 0 {
            guard receive() else { break }
        }
        _ = session.takeEvents()
        return hasEnded || !session.acceptsRequests || session.isFinished
    }

    func exchange(
        _ request: HTTPRequest, deadline: ContinuousClock.Instant
    ) throws(HTTPClientError) -> (HTTPResponse, reusable: Bool) {
        mayRetry = true
        let stream: Int32
        do throws(HTTP2SendError) {
            stream = try session.send(request)
        } catch {
            switch error {
            case .invalidRequest(let reason): throw .invalidRequest(reason)
            case .notAccepted: throw .connectionLost
            }
        }
        let before = session.dataReceived
        while true {
            let isBlocked = flush()
            if let response = try outcome(of: stream, before: before) {
                return (response, session.acceptsRequests && !hasEnded)
            }
            let ready = ClientTransport.wait(transport, writing: isBlocked, deadline)
            if ready == 0 {
                session.cancel(stream: stream)
                mayRetry = false
                throw .timeout
            }
            if ready & Int32(CLINUX_READ | CLINUX_FAILED) != 0 || transport.readNeedsWritable { _ = receive() }
        }
    }

    /// The answer if it is there.
    private func outcome(of stream: Int32, before: Int) throws(HTTPClientError) -> HTTPResponse? {
        for event in session.takeEvents() {
            switch event {
            case .response(stream, let response): return response
            case .failed(stream, let failure):
                mayRetry = failure.isRetryable || (failure == .connectionEnded && session.dataReceived == before)
                switch failure {
                case .notProcessed, .connectionEnded: throw .connectionLost
                case .reset(let code): throw .streamReset(code)
                case .invalidResponse(let error): throw .invalidResponse(error)
                }
            case .response, .failed, .goAway, .connectionFailed: continue
            }
        }
        return nil
    }

    /// Writes what the session has to say; true if the transport took not all of it.
    private func flush() -> Bool {
        while !hasEnded {
            if pending.isEmpty { pending = session.nextOutput(atMost: 256 * 1024)[...] }
            if pending.isEmpty { return false }
            switch transport.write(pending, more: false) {
            case .bytes(let count): pending = pending.dropFirst(count)
            case .needsReadable, .needsWritable: return true
            case .ended, .failed:
                // What the server said before it went is read before this counts.
                pending = []
                while receive() {}
                end()
            }
        }
        return false
    }

    /// One read; false if nothing came.
    private func receive() -> Bool {
        if hasEnded { return false }
        switch transport.read(into: &scratch) {
        case .bytes(let count):
            session.receive(scratch[..<count])
            return true
        case .needsReadable, .needsWritable: return false
        case .ended, .failed:
            end()
            return false
        }
    }

    private func end() {
        if hasEnded { return }
        hasEnded = true
        session.connectionEnded()
    }
}
