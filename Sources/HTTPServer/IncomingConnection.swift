// A connection whose protocol is not known yet (service.md 5.1). On cleartext its first bytes decide: the 24 bytes of the
// HTTP/2 preface, or anything else for HTTP/1.1. It then puts the right connection in its place.

import CLinux
import HTTPCore

final class IncomingConnection: LoopConnection {
    let id: UInt64
    var censusKey: UInt64? { accepted.censusKey }
    var descriptor: Int32 { transport.descriptor }
    private(set) var deadline: ContinuousClock.Instant?
    var scheduled: ContinuousClock.Instant?

    private let accepted: AcceptedConnection
    private unowned let loop: EventLoop
    private var transport: any ByteTransport
    private var received: [UInt8] = []
    private var firstByte: ContinuousClock.Instant?
    private var mask = UInt32(CLINUX_READ)
    private var isDone = false

    init(id: UInt64, transport: any ByteTransport, accepted: AcceptedConnection, loop: EventLoop) {
        self.id = id
        self.transport = transport
        self.accepted = accepted
        self.loop = loop
        let limits = loop.context.limits
        deadline = loop.now.advanced(by: loop.isShuttingDown ? min(limits.idleTime, limits.drainTime) : limits.idleTime)
    }

    func ready(mask events: UInt32) {
        while !isDone {
            let result = transport.read(into: &loop.scratch)
            switch result {
            case .bytes(let count): sniff(loop.scratch[..<count])
            case .needsReadable: return wait(UInt32(CLINUX_READ))
            case .needsWritable: return wait(UInt32(CLINUX_WRITE))
            case .ended, .failed: return close()
            }
            if !transport.hasBufferedInput { break }
        }
        if !isDone { wait(UInt32(CLINUX_READ)) }
    }

    /// There is no request yet that could be answered.
    func answer(_ outcome: HTTPReply.Outcome, request: UInt64) {}

    func timeOut() {
        // Whoever began something gets an answer in the language that it cannot be blamed for not speaking.
        if received.isEmpty {
            close()
        } else {
            promote(to: .http1, received: received)
        }
    }

    /// Who has just connected still gets a moment to ask: closing now would look like a refusal.
    func shutdown() {
        guard received.isEmpty else { return }
        ready(mask: UInt32(CLINUX_READ))
        guard !isDone, received.isEmpty else { return }
        deadline = min(deadline ?? .now, loop.now.advanced(by: loop.context.limits.drainTime))
        loop.schedule(self)
    }

    func close() {
        if isDone { return }
        isDone = true
        deadline = nil
        loop.forget(self)
        transport.close()
    }

    /// Decides as soon as the bytes differ from the preface.
    private func sniff(_ bytes: ArraySlice<UInt8>) {
        if firstByte == nil {
            firstByte = loop.now
            deadline = loop.now.advanced(by: loop.context.limits.headerTime)
        }
        received += bytes
        let compared = min(received.count, HTTP2Preface.bytes.count)
        guard received[..<compared] == HTTP2Preface.bytes[..<compared] else { return promote(to: .http1, received: received) }
        if compared == HTTP2Preface.bytes.count { promote(to: .http2, received: received) }
    }

    /// Puts the connection of this protocol in the place of this one; `received` is what it has not seen yet.
    private func promote(to version: ConnectionVersion, received: [UInt8]) {
        if isDone { return }
        if mask != UInt32(CLINUX_READ), !loop.watch(self, mask: UInt32(CLINUX_READ)) { return close() }
        isDone = true
        deadline = nil
        let handover = ConnectionHandover(
            id: id, transport: transport, peer: accepted.peer, censusKey: accepted.censusKey, listener: accepted.listener,
            scheme: "http", received: received, firstByte: firstByte)
        loop.promote(self, to: version, handover)
    }

    private func wait(_ wanted: UInt32) {
        if wanted != mask {
            mask = wanted
            if !loop.watch(self, mask: wanted) { return close() }
        }
        loop.schedule(self)
    }
}
