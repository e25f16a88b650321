// A small blocking HTTP/1.1 client for the device's side of the protocol, tests and the load generator.

import HTTPCore
import Synchronization

/// A client for one server, with one kept connection. Calls block; calls from several threads wait for each other.
public final class HTTPClient: Sendable {
    /// Where it sends to.
    public let url: HTTPURL

    private let limits: HTTPLimits
    private let tls: TLSClientContext?
    private let kept = Mutex<ClientConnection?>(nil)

    /// A client for a base URL; connects at the first request. A path of the URL other than `/` is put before the path of
    /// each request. The answer's size is limited by `limits.clientResponseBody`. `trust` says whose certificates are good
    /// enough for an https URL; throws `trust` if its file cannot be read.
    public init(url: HTTPURL, trust: TLSTrust = .system, limits: HTTPLimits = HTTPLimits()) throws(HTTPClientError) {
        do throws(TLSError) {
            tls = url.scheme == .https ? try TLSClientContext(trust: trust, protocols: ["http/1.1"]) : nil
        } catch {
            throw .trust(error)
        }
        self.url = url
        self.limits = limits
    }

    deinit { closeConnection() }

    /// Sends a request and waits for its answer. An empty authority is replaced by the URL's. A request with the field
    /// `transfer-encoding: chunked` is sent so. `timeout` bounds everything but name resolution. If a kept connection turns
    /// out to be closed before any byte of the answer, the request is sent once more on a new one.
    public func send(_ request: HTTPRequest, timeout: Duration = .seconds(30)) throws(HTTPClientError) -> HTTPResponse {
        let deadline = ContinuousClock.Instant.now.advanced(by: timeout)
        let chunks: [[UInt8]]
        do throws(HTTPSerializationError) {
            chunks = try serialize(request)
        } catch {
            throw .invalidRequest(error)
        }
        let method = request.method
        let closes = request.fields.list("connection", contains: "close")
        let result = kept.withLock { slot -> Result<HTTPResponse, HTTPClientError> in
            do throws(HTTPClientError) {
                return .success(try exchange(method, chunks, closes: closes, deadline: deadline, slot: &slot))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Closes the kept connection; the next request makes a new one.
    public func closeConnection() {
        kept.withLock { slot in
            slot?.close()
            slot = nil
        }
    }

    private func exchange(
        _ method: String, _ chunks: [[UInt8]], closes: Bool, deadline: ContinuousClock.Instant,
        slot: inout ClientConnection?
    ) throws(HTTPClientError) -> HTTPResponse {
        if var connection = slot {
            slot = nil
            if connection.isStale {
                connection.close()
            } else {
                do throws(HTTPClientError) {
                    return try exchange(method, chunks, closes, deadline, on: &connection, slot: &slot)
                } catch {
                    guard error == .connectionLost, !connection.hasReceivedBytes else { throw error }
                }
            }
        }
        var connection = try ClientConnection(
            host: url.host, port: UInt16(clamping: url.port), tls: tls, limits: limits, deadline: deadline)
        return try exchange(method, chunks, closes, deadline, on: &connection, slot: &slot)
    }

    /// One attempt; the connection is kept in the slot or closed.
    private func exchange(
        _ method: String, _ chunks: [[UInt8]], _ closes: Bool, _ deadline: ContinuousClock.Instant,
        on connection: inout ClientConnection, slot: inout ClientConnection?
    ) throws(HTTPClientError) -> HTTPResponse {
        do throws(HTTPClientError) {
            let (response, reusable) = try connection.exchange(method: method, chunks, deadline: deadline)
            if reusable && !closes {
                slot = connection
            } else {
                connection.close()
            }
            return response
        } catch {
            connection.close()
            throw error
        }
    }

    private func serialize(_ request: HTTPRequest) throws(HTTPSerializationError) -> [[UInt8]] {
        var head = request.head
        if head.authority.isEmpty { head.authority = url.authority }
        if url.path != "/" {
            head.path = (url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path) + head.path
        }
        let chunked = request.fields.list("transfer-encoding", contains: "chunked")
        let closes = request.fields.list("connection", contains: "close")
        let start = try HTTP1Serializer.requestHead(
            head, contentLength: request.body.count, chunked: chunked, closes: closes)
        let body = chunked ? HTTP1Serializer.chunks(request.body) : request.body
        return body.count <= 16 * 1024 ? [start + body] : [start, body]
    }
}
