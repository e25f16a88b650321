// The times of an HTTP/2 connection and of its streams (service.md 7): which comes next, and what to do when it has passed.

import HTTPCore

struct HTTP2Times {
    /// A window of time in which something must leave.
    private struct Window {
        let end: ContinuousClock.Instant
        let written: Int
        let data: Int
    }

    let start: ContinuousClock.Instant
    /// Since when no stream is open.
    var idleSince: ContinuousClock.Instant
    private var streams = Deadlines()
    private var writing: Window?

    init(start: ContinuousClock.Instant, idleSince: ContinuousClock.Instant) {
        self.start = start
        self.idleSince = idleSince
    }

    /// Notes the deadline of an exchange.
    mutating func schedule(_ exchange: HTTP2Exchange) {
        guard let deadline = exchange.deadline else { return }
        if let scheduled = exchange.scheduled, scheduled <= deadline { return }
        exchange.scheduled = deadline
        streams.add(deadline, UInt64(UInt32(bitPattern: exchange.stream)))
    }

    /// The stream whose noted time has passed.
    mutating func popDue(_ now: ContinuousClock.Instant) -> (time: ContinuousClock.Instant, stream: Int32)? {
        streams.popDue(now).map { ($0.time, Int32(truncatingIfNeeded: $0.id)) }
    }

    /// The next time at which the connection has something to look at.
    func next(of connection: HTTP2Connection) -> ContinuousClock.Instant? {
        switch connection.stage {
        case .closed: return nil
        case .closing(let until), .lingering(let until): return until
        case .open, .noticed, .leaving: break
        }
        var next: ContinuousClock.Instant?
        func consider(_ time: ContinuousClock.Instant?) {
            if let time { next = min(time, next ?? time) }
        }
        if case .open = connection.stage {
            consider(start.advanced(by: connection.http2.connectionAge))
            if connection.exchanges.isEmpty { consider(idleSince.advanced(by: connection.http2.idleTime)) }
        }
        if case .noticed(let until) = connection.stage { consider(until) }
        if !connection.session.isSettled { consider(start.advanced(by: connection.limits.headerTime)) }
        consider(connection.session.headersSince?.advanced(by: connection.limits.headerTime))
        consider(streams.first)
        consider(writing?.end)
        return next
    }

    /// Begins or ends the window in which something must leave.
    mutating func watchWriting(_ connection: HTTP2Connection) {
        let waits = connection.writing > 0 || connection.output.next != nil
        if !waits {
            writing = nil
        } else if writing == nil {
            restartWriting(connection)
        }
    }

    mutating func restartWriting(_ connection: HTTP2Connection) {
        writing = Window(
            end: connection.loop.now.advanced(by: connection.http2.writeProgressTime), written: connection.output.written,
            data: connection.session.dataSent)
    }

    /// Whether the window has ended, and if so whether the peer took too little in it.
    func judgeWriting(_ connection: HTTP2Connection) -> (hasEnded: Bool, isStalled: Bool) {
        guard let writing, writing.end <= connection.loop.now else { return (false, false) }
        let least = connection.limits.progressBytes
        let isBlocked = connection.output.next != nil && connection.output.written - writing.written < least
        let isHeldBack = connection.session.isHeldBack && connection.session.dataSent - writing.data < least
        return (true, isBlocked || isHeldBack)
    }
}

extension HTTP2Connection {
    /// Does what the passed times ask for.
    func timesPassed() {
        let now = loop.now
        switch stage {
        case .closed: return
        case .closing, .lingering: return close()
        case .noticed(let until): if until <= now { finishShutdown() }
        case .open:
            if exchanges.isEmpty, times.idleSince.advanced(by: http2.idleTime) <= now {
                endIdle()
            } else if times.start.advanced(by: http2.connectionAge) <= now {
                beginShutdown(.age)
            }
        case .leaving: break
        }
        if !session.isSettled, times.start.advanced(by: limits.headerTime) <= now {
            return fail(.settingsTimeout, .settingsTimeout)
        }
        if let since = session.headersSince, since.advanced(by: limits.headerTime) <= now {
            report(.refused(.headerTimeout))
            return fail(.headerTimeout, .enhanceYourCalm)
        }
        let (hasEnded, isStalled) = times.judgeWriting(self)
        if isStalled {
            report(.refused(.writeTimeout))
            return close()
        }
        if hasEnded { times.restartWriting(self) }
        while let (time, stream) = times.popDue(now) {
            guard let exchange = exchanges[stream], exchange.scheduled == time else { continue }
            exchange.scheduled = nil
            if let deadline = exchange.deadline, deadline <= now { timeOut(exchange) }
            times.schedule(exchange)
        }
    }
}
