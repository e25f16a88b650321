// A small blocking client (HTTP/1.1, HTTP/2, TLS) for the device's side of the protocol, tests and the load generator.

import HTTPCore
import Synchronization

/// Which versions of HTTP a client speaks.
public enum HTTPClientVersions: Sendable, Equatable {
    /// Over TLS what ALPN agrees on, HTTP/2 preferred; in cleartext HTTP/1.1.
    case negotiated
    /// HTTP/1.1 only.
    case http1
    /// HTTP/2 only; in cleartext with prior knowledge.
    case http2
}

/// A client for one server, with one kept connection. Calls block; calls from several threads wait for each other.
public final class HTTPClient: Sendable {
    /// Where it sends to.
    public let url: HTTPURL

    private let limits: HTTPLimits
    private let versions: HTTPClientVersions
    private let tls: TLSClientContext?
    private let address: ConnectAddress?
    private let kept = Mutex<(any ClientConnection)?>(nil)

    /// A client for a base URL; connects at the first request. A path of the URL other than `/` is put before the path of
    /// each request. The answer's size is limited by `limits.clientResponseBody`. `trust` says whose certificates are good
    /// enough for an https URL; throws `trust` if its file cannot be read. `address`: where to connect instead of the URL's host.
    public init(
        url: HTTPURL, at address: ConnectAddress? = nil, trust: TLSTrust = .system,
        versions: HTTPClientVersions = .negotiated, limits: HTTPLimits = HTTPLimits()
    ) throws(HTTPClientError) {
        let offered =
            switch versions {
            case .negotiated: ["h2", "http/1.1"]
            case .http1: ["http/1.1"]
            case .http2: ["h2"]
            }
        self.versions = versions
        do throws(TLSError) {
            tls = url.scheme == .https ? try TLSClientContext(trust: trust, protocols: offered) : nil
        } catch {
            throw .trust(error)
        }
        self.url = url
        self.address = address
        self.limits = limits
    }

    deinit { closeConnection() }

    /// Sends a request and waits for its answer. An empty authority is replaced by the URL's. A request with the field
    /// `transfer-encoding: chunked` is sent so. `timeout` bounds everything but name resolution. If a kept connection turns
    /// out to be closed before any byte of the answer, the request is sent once more on a new one.
    public func send(_ request: HTTPRequest, timeout: Duration = .seconds(30)) throws(HTTPClientError) -> HTTPResponse {
        let deadline = ContinuousClock.Instant.now.advanced(by: timeout)
        let addressed = addressed(request)
        do throws(HTTPSerializationError) {
            // Before a connection is made for it. What HTTP/1.1 cannot carry HTTP/2 cannot either.
            _ = try HTTP1Serializer.requestHead(addressed.head, contentLength: addressed.body.count)
        } catch {
            throw .invalidRequest(error)
        }
        let result = kept.withLock { slot -> Result<HTTPResponse, HTTPClientError> in
            do throws(HTTPClientError) {
                return .success(try exchange(addressed, deadline: deadline, slot: &slot))
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
        _ request: HTTPRequest, deadline: ContinuousClock.Instant, slot: inout (any ClientConnection)?
    ) throws(HTTPClientError) -> HTTPResponse {
        if var connection = slot {
            slot = nil
            if connection.isStale() {
                connection.close()
            } else {
                do throws(HTTPClientError) {
                    return try exchange(request, deadline, on: &connection, slot: &slot)
                } catch {
                    guard error == .connectionLost, connection.mayRetry else { throw error }
                }
            }
        }
        var connection = try open(deadline: deadline)
        return try exchange(request, deadline, on: &connection, slot: &slot)
    }

    private func open(deadline: ContinuousClock.Instant) throws(HTTPClientError) -> any ClientConnection {
        var (transport, agreed) = try ClientTransport.open(url, at: address, tls: tls, deadline: deadline)
        let isHTTP2 = tls == nil ? versions == .http2 : agreed == "h2"
        if !isHTTP2 {
            if versions != .http2 { return HTTP1ClientConnection(transport, limits: limits) }
            transport.close()
            throw .noHTTP2
        }
        guard let connection = HTTP2ClientConnection(transport, limits: limits) else {
            transport.close()
            throw .connectionLost
        }
        return connection
    }

    /// One attempt; the connection is kept in the slot or closed.
    private func exchange(
        _ request: HTTPRequest, _ deadline: ContinuousClock.Instant, on connection: inout any ClientConnection,
        slot: inout (any ClientConnection)?
    ) throws(HTTPClientError) -> HTTPResponse {
        do throws(HTTPClientError) {
            let (response, reusable) = try connection.exchange(request, deadline: deadline)
            if reusable {
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

    /// The request with authority, scheme and path of the URL.
    private func addressed(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        if request.authority.isEmpty { request.authority = url.authority }
        request.scheme = url.scheme.rawValue
        if url.path != "/" {
            request.path = (url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path) + request.path
        }
        return request
    }
}
