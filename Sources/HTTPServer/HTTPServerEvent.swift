// What a server reports for metrics: a closed list without any private value (service.md 8.1).

import HTTPCore

/// Why a request or connection was refused by the server itself.
public enum HTTPRefusal: Sendable, Equatable {
    /// The message breaks a rule or limit of the parser.
    case message(HTTPParseError)
    /// The header section did not arrive in time (408).
    case headerTimeout
    /// The body did not arrive in time or too slowly (408).
    case bodyTimeout
    /// The peer took the response too slowly; closed.
    case writeTimeout
    /// The sum of buffered bodies is used up (503).
    case bodyBudget
    /// The handler gave no answer in `HTTPLimits.handlerTime` (503).
    case handlerTimeout
    /// The handler dropped its reply (500).
    case replyDropped
    /// The handler's response is above `HTTPLimits.responseBody` (500).
    case responseTooLarge
    /// The handler's response cannot be put on the wire (500).
    case responseInvalid(HTTPSerializationError)
    /// The peer went away before it had the answer.
    case peerGone
    /// The address has too many connections; closed.
    case connectionsPerAddress
}

/// Why accepting pauses for a moment.
public enum HTTPAcceptPause: Sendable, Equatable {
    /// `HTTPLimits.connections` is reached.
    case connections
    /// The process or the system is out of descriptors or memory.
    case descriptors
}

/// Why an HTTP/2 stream was refused before it was a request (REFUSED_STREAM: the client may send it again).
public enum HTTP2StreamRefusal: String, Sendable, Equatable, CaseIterable {
    /// More streams at once than the settings allow.
    case concurrency
    /// Too many, counting the work of streams that were reset but whose handlers have not stopped yet.
    case workInFlight
}

/// Why an HTTP/2 connection was ended with GOAWAY.
public enum HTTP2Ending: Sendable, Hashable {
    /// The server stops.
    case shutdown
    /// `HTTP2Limits.connectionAge` is reached.
    case age
    /// `HTTP2Limits.requestsPerConnection` is reached.
    case requests
    /// No stream for `HTTP2Limits.idleTime`.
    case idle
    /// The settings were not acknowledged in `HTTPLimits.headerTime`.
    case settingsTimeout
    /// A header section was not complete in `HTTPLimits.headerTime`.
    case headerTimeout
    /// The peer broke a rule, or did too much of something (`enhanceYourCalm`).
    case fault(HTTP2ErrorCode)
}

/// Something that happened in a server. The callback runs on an event loop and must be quick.
public enum HTTPServerEvent: Sendable, Equatable {
    /// A connection was taken.
    case connectionAccepted
    /// A connection has ended.
    case connectionClosed
    /// A TLS handshake was finished: `TLSv1.2` or `TLSv1.3`, whether a session was resumed, time since the connection came.
    case handshakeCompleted(version: String, isResumed: Bool, duration: Duration)
    /// A TLS handshake failed; the connection is closed.
    case handshakeFailed(TLSFailure)
    /// Accepting pauses.
    case acceptPaused(HTTPAcceptPause)
    /// The server itself refused something; if an answer was sent, `requestCompleted` follows.
    case refused(HTTPRefusal)
    /// An answer left completely: status, body bytes in and out, time since the head was complete, protocol of the request
    /// (HTTP/1.1 if it was refused before that was known).
    case requestCompleted(status: Int, requestBytes: Int, responseBytes: Int, duration: Duration, version: HTTPVersion)
    /// An HTTP/2 stream was refused.
    case streamRefused(HTTP2StreamRefusal)
    /// An HTTP/2 connection is ended.
    case goAwaySent(HTTP2Ending)
}
