// What an event loop asks of the connections it holds, and what one of them hands to the next: a new connection is an
// `IncomingConnection` until it is known which protocol it speaks.

import HTTPCore

/// A connection of an event loop. Everything is called on the loop's thread. An implementation closes its transport exactly
/// once, after `EventLoop.forget`.
protocol LoopConnection: AnyObject {
    /// What the loop knows it by.
    var id: UInt64 { get }
    /// What the loop waits on.
    var descriptor: Int32 { get }
    /// What the census counted it by.
    var censusKey: UInt64? { get }
    /// When `timeOut` is to be called; nil for never.
    var deadline: ContinuousClock.Instant? { get }
    /// The loop's own note of the deadline it knows.
    var scheduled: ContinuousClock.Instant? { get set }

    /// The descriptor is ready: `mask` of CLINUX_ values.
    func ready(mask: UInt32)
    /// A handler has answered the request of this number.
    func answer(_ outcome: HTTPReply.Outcome, request: UInt64)
    /// The deadline has passed.
    func timeOut()
    /// The server stops: nothing new is begun, what runs is finished.
    func shutdown()
    /// Ends at once.
    func close()
    /// The end of a turn in which the connection called `EventLoop.settleLater`.
    func settle()
}

extension LoopConnection {
    func settle() {}
}

/// What a connection can turn into when it is known what it speaks.
enum ConnectionVersion {
    case http1
    case http2
}

/// What a connection begins with.
struct ConnectionHandover {
    let id: UInt64
    let transport: any ByteTransport
    let peer: SocketAddress
    let censusKey: UInt64?
    let listener: ListenerTraits
    /// `http`, or `https` over TLS.
    let scheme: String
    /// What was read while the protocol was not known.
    let received: [UInt8]
    /// When the first byte of that arrived.
    let firstByte: ContinuousClock.Instant?
}
