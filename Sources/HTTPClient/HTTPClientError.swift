// What can go wrong between a client and a server. No case carries a byte of a message.

import HTTPCore

/// A failed request.
public enum HTTPClientError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The trusted certificates cannot be used.
    case trust(TLSError)
    /// The TLS handshake failed.
    case tls(TLSFailure)
    /// The host name has no address, or no address could be connected to.
    case cannotConnect(SocketError)
    /// The time was over before the connection was made.
    case connectTimeout
    /// The time was over before the answer was complete.
    case timeout
    /// The server does not speak HTTP/2.
    case noHTTP2
    /// The server ended the HTTP/2 stream of the request.
    case streamReset(HTTP2ErrorCode)
    /// The connection broke before the answer was complete.
    case connectionLost
    /// The request cannot be put on the wire.
    case invalidRequest(HTTPSerializationError)
    /// The answer breaks a rule or limit of the parser.
    case invalidResponse(HTTPParseError)

    /// What happened.
    public var description: String {
        switch self {
        case .trust(let error): "\(error)"
        case .tls(let failure): "no secure connection: \(failure)"
        case .cannotConnect(let error): "no connection: \(error)"
        case .connectTimeout: "no connection within the time limit"
        case .timeout: "no complete answer within the time limit"
        case .noHTTP2: "the server does not speak HTTP/2"
        case .streamReset(let code): "the server gave the request up (\(code))"
        case .connectionLost: "the connection was lost before the answer was complete"
        case .invalidRequest(let error): "the request cannot be sent: \(error)"
        case .invalidResponse(let error): "the answer is not acceptable: \(error)"
        }
    }
}
