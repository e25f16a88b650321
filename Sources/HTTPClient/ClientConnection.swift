// What the client asks of a connection, whatever version of HTTP it speaks. Blocking calls with a deadline.

import HTTPCore

/// One connection of a client.
protocol ClientConnection: Sendable {
    /// Whether the server has ended the connection, or wants no more on it, since the last answer.
    mutating func isStale() -> Bool
    /// Whether the last request may be sent again, on another connection, although it failed: the server has not answered
    /// a byte, or says that it has not looked at it.
    var mayRetry: Bool { get }
    /// Sends a request and reads its answer, also when it comes before the request has left completely. The flag tells
    /// whether the connection can be used again.
    mutating func exchange(
        _ request: HTTPRequest, deadline: ContinuousClock.Instant
    ) throws(HTTPClientError) -> (HTTPResponse, reusable: Bool)
    mutating func close()
}
