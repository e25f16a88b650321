// What a server asks of the floor above, and the one-time answer it hands out (service.md 5.5).

import HTTPCore
import Synchronization

/// Answers requests. Both methods run on an event loop and must not block; the server is HTTP and knows nothing else.
public protocol HTTPHandler: Sendable {
    /// Called as soon as a head is complete. Decide quickly: answer at once (a refusal, or a cheap route that needs no
    /// body), or accept a body of at most some bytes; a request without body then goes on with an empty one.
    func begin(_ head: HTTPRequestHead) -> HTTPAdmission

    /// Called with the complete request, which nobody else keeps: its body may be changed in place. The answer is given later, from
    /// any thread, through `reply`, once.
    func handle(_ request: consuming HTTPRequest, reply: HTTPReply)
}

/// The decision about a head.
public enum HTTPAdmission: Sendable {
    /// The answer. If the request has a body that has not arrived yet, the connection is closed after it.
    case respond(HTTPResponse)
    /// Read the body, up to this many bytes (413 above), then call `handle`.
    case readBody(limit: Int)
}

/// The place for the answer to one request. The first `send` counts; without any, the peer gets 500.
public final class HTTPReply: Sendable {
    enum Outcome: Sendable {
        case response(HTTPResponse)
        case dropped
    }

    private let deliver: Mutex<(@Sendable (Outcome) -> Void)?>

    init(outcome: @escaping @Sendable (Outcome) -> Void) { deliver = Mutex(outcome) }

    /// A reply that calls `deliver` once: for requests that come from elsewhere than a connection of this server
    /// (the gateway's inner requests, tests). If it is dropped without an answer, it delivers a 500.
    public convenience init(_ deliver: @escaping @Sendable (HTTPResponse) -> Void) {
        self.init { outcome in
            switch outcome {
            case .response(let response): deliver(response)
            case .dropped: deliver(HTTPResponse(status: 500))
            }
        }
    }

    deinit { finish(.dropped) }

    /// Gives the answer, from any thread. Later calls have no effect.
    public func send(_ response: HTTPResponse) { finish(.response(response)) }

    private func finish(_ outcome: Outcome) {
        let action = deliver.withLock { slot in
            let action = slot
            slot = nil
            return action
        }
        action?(outcome)
    }
}
