// One request on an HTTP/2 connection, from its head to the end of its stream.

import HTTPCore

final class HTTP2Exchange {
    enum Phase {
        /// The body arrives.
        case body(end: ContinuousClock.Instant)
        /// The handler works.
        case handling
        /// The answer leaves.
        case writing
        /// The answer has left, or the stream was reset by us; its end follows.
        case done
    }

    let stream: Int32
    /// Nil if it was not acceptable.
    let head: HTTPRequestHead?
    let start: ContinuousClock.Instant
    var phase = Phase.handling
    /// When the connection is to look at it; nil for never.
    var deadline: ContinuousClock.Instant?
    /// The connection's own note of the deadline it knows.
    var scheduled: ContinuousClock.Instant?

    var body: [UInt8] = []
    /// The most that the route takes.
    var bodyLimit = 0
    /// The most that the body can come to.
    var bodyBound = 0
    var bodyLease: BodyBudget.Lease?
    var requestBytes = 0
    /// Body bytes, in or out, at the beginning of the window of progress.
    var windowStart = 0

    var cancellation: HTTPCancellation?
    var status = 0
    var responseBytes = 0
    var answerLease: BodyBudget.Lease?

    /// How far the lease of a body is ahead of what has arrived.
    static let leaseStep = 16 * 1024
    /// The storage of a body is made at once only when so much of it has arrived.
    private static let earnest = 256 * 1024

    init(stream: Int32, head: HTTPRequestHead?, start: ContinuousClock.Instant) {
        self.stream = stream
        self.head = head
        self.start = start
    }

    func append(_ bytes: [UInt8]) {
        if body.count < Self.earnest, body.count + bytes.count >= Self.earnest, let length = head?.contentLength {
            body.reserveCapacity(min(length, bodyLimit))
        }
        body += bytes
    }

    func takeBody() -> [UInt8] {
        defer { body = [] }
        return body
    }
}
