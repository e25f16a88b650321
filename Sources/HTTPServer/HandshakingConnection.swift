// A connection on a TLS listener until its handshake is done (service.md 5.2); ALPN then decides the protocol.

import CLinux
import HTTPCore

final class HandshakingConnection: LoopConnection {
    let id: UInt64
    var censusKey: UInt64? { accepted.censusKey }
    var descriptor: Int32 { transport.descriptor }
    private(set) var deadline: ContinuousClock.Instant?
    var scheduled: ContinuousClock.Instant?

    private let accepted: AcceptedConnection
    private let transport: TLSTransport
    private unowned let loop: EventLoop
    private let start: ContinuousClock.Instant
    private let end: ContinuousClock.Instant
    private var mask = UInt32(CLINUX_READ)
    private var place = Place.none
    private var isDone = false

    /// Whether it has one of the loop's places for handshakes.
    private enum Place {
        /// The peer has sent nothing yet.
        case none
        case awaited
        case taken
    }

    init(id: UInt64, transport: TLSTransport, accepted: AcceptedConnection, loop: EventLoop) {
        self.id = id
        self.transport = transport
        self.accepted = accepted
        self.loop = loop
        start = loop.now
        end = start.advanced(by: loop.context.limits.handshakeTime)
        deadline = end
    }

    /// It has a place now.
    func begin() {
        place = .taken
        deadline = min(end, loop.now.advanced(by: HandshakePlaces.safeTime))
        wait(UInt32(CLINUX_READ))
    }

    func ready(mask events: UInt32) {
        guard !isDone else { return }
        if place != .taken, events & UInt32(CLINUX_FAILED) != 0 { return fail(.peerGone) }
        if place == .none {
            guard loop.takeHandshakePlace(self) else {
                place = .awaited
                return wait(0)
            }
            begin()
        }
        guard place == .taken, !isDone else { return }
        switch loop.handshakeStep(transport.handshake) {
        case nil: return
        case .done: promote()
        case .needsReadable: wait(UInt32(CLINUX_READ))
        case .needsWritable: wait(UInt32(CLINUX_WRITE))
        case .failed(let failure): fail(failure)
        }
    }

    /// There is no request yet that could be answered.
    func answer(_ outcome: HTTPReply.Outcome, request: UInt64) {}

    func timeOut() {
        if end <= loop.now || (place == .taken && loop.handshakesWait) { return fail(.timeout) }
        deadline = min(end, loop.now.advanced(by: HandshakePlaces.safeTime))
    }

    /// Who has begun to connect is still served, and told to close then; the drain bounds it.
    func shutdown() {}

    func close() {
        if isDone { return }
        isDone = true
        deadline = nil
        loop.forget(self)
        transport.close()
        if place == .taken { loop.endHandshake() }
    }

    private func fail(_ failure: TLSFailure) {
        loop.context.report(.handshakeFailed(failure))
        close()
    }

    private func promote() {
        if mask != UInt32(CLINUX_READ), !loop.watch(self, mask: UInt32(CLINUX_READ)) { return close() }
        isDone = true
        deadline = nil
        loop.context.report(
            .handshakeCompleted(version: transport.version, isResumed: transport.isResumed, duration: start.duration(to: .now)))
        loop.endHandshake()
        let handover = ConnectionHandover(
            id: id, transport: transport, peer: accepted.peer, censusKey: accepted.censusKey, listener: accepted.listener,
            scheme: "https", received: [], firstByte: nil)
        loop.promote(self, to: transport.applicationProtocol == "h2" ? .http2 : .http1, handover)
    }

    private func wait(_ wanted: UInt32) {
        if wanted != mask {
            mask = wanted
            if !loop.watch(self, mask: wanted) { return close() }
        }
        loop.schedule(self)
    }
}
