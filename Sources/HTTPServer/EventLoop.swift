// One event loop: epoll over its connections, its mailbox and (first loop) the listeners. Everything here runs on the
// loop's own thread.

import CLinux
import HTTPCore
import Synchronization

/// What all loops of a server share.
struct ServerContext: Sendable {
    let limits: HTTPLimits
    let exempt: [AddressPrefix]
    let handler: any HTTPHandler
    let report: @Sendable (HTTPServerEvent) -> Void
    let census: ConnectionCensus
    let budget: BodyBudget
    /// The same for answers on their way out.
    let answers: BodyBudget
    let mailboxes: [LoopMailbox]
    let tls: TLSContextSlot
}

/// The certificates in force, for the connections that come from now on.
final class TLSContextSlot: Sendable {
    private let slot: Mutex<TLSServerContext?>

    init(_ context: TLSServerContext?) { slot = Mutex(context) }

    var current: TLSServerContext? {
        get { slot.withLock { $0 } }
        set { slot.withLock { $0 = newValue } }
    }
}

/// An open listening socket.
struct Listener: Sendable {
    let descriptor: Int32
    let traits: ListenerTraits
    /// Another process holds the socket as well: what waits in it is for the next server.
    var isShared = false
}

/// What a connection inherits from the listener that took it.
struct ListenerTraits: Sendable {
    let limitsPerAddress: Bool
    /// Few connections carry many phones each.
    let carriesRelay: Bool
    let tls: Bool
}

final class EventLoop {
    private static let mailboxID: UInt64 = 0
    private static let firstConnectionID: UInt64 = 1 << 16
    /// Pause of accepting when descriptors or connections are used up.
    private static let acceptPause: Duration = .milliseconds(100)
    /// Time for handshakes in one turn: a flood of them must not keep the loop from its other connections.
    private static let handshakeTimePerTurn: Duration = .milliseconds(2)

    let context: ServerContext
    let mailbox: LoopMailbox
    /// Time of the current turn.
    private(set) var now = ContinuousClock.Instant.now
    private(set) var isShuttingDown = false
    /// Where connections read into.
    var scratch = [UInt8](repeating: 0, count: 128 * 1024)

    private let epoll: Int32
    private var listeners: [Listener]
    /// Whether this is the loop that owns the listeners.
    private let isAccepting: Bool
    private var connections: [UInt64: any LoopConnection] = [:]
    private var deadlines = Deadlines()
    private var unsettled: Set<UInt64> = []
    private var nextID = firstConnectionID
    private var nextLoop = 0
    private var acceptResumes: ContinuousClock.Instant?
    private var shutdownEnd: ContinuousClock.Instant?
    private var handshakeTimeLeft: Duration = .zero
    private var handshakes: HandshakePlaces
    private var dateText = ""
    private var dateTime: Int64 = -1

    /// Takes over the epoll descriptor and the listeners.
    init(context: ServerContext, index: Int, epoll: Int32, listeners: [Listener]) {
        self.context = context
        self.mailbox = context.mailboxes[index]
        self.epoll = epoll
        self.listeners = listeners
        isAccepting = index == 0
        nextLoop = index
        handshakes = HandshakePlaces(limit: context.limits.handshakes / context.mailboxes.count)
    }

    func run() {
        _ = clinux_epoll_set(epoll, mailbox.wakeup, 0, UInt32(CLINUX_READ), Self.mailboxID)
        watchListeners(true)
        var events = [clinux_event](repeating: clinux_event(), count: 256)
        while !isDone {
            let count = clinux_epoll_wait(epoll, &events, 256, waitTime)
            now = .now
            handshakeTimeLeft = Self.handshakeTimePerTurn
            if count < 0 { break }  // only EBADF and the like: the loop cannot go on
            for event in events.prefix(Int(count)) { dispatch(event) }
            settle()
            fireDeadlines()
            if let acceptResumes, acceptResumes <= now { resumeAccepting() }
        }
        for connection in connections.values { connection.close() }
        for message in mailbox.close() {
            if case .connection(let accepted) = message { refuse(accepted) }
        }
        closeListeners()
        clinux_close(epoll)
    }

    /// `Date` of now, made once a second.
    var date: String {
        let time = clinux_unix_time()
        if time != dateTime {
            dateTime = time
            dateText = HTTPDate.text(unixTime: time)
        }
        return dateText
    }

    // Services for connections.

    /// Changes what a connection waits for; false if the kernel refused.
    func watch(_ connection: any LoopConnection, mask: UInt32) -> Bool {
        clinux_epoll_set(epoll, connection.descriptor, 1, mask, connection.id) == 0
    }

    func schedule(_ connection: any LoopConnection) {
        guard let deadline = connection.deadline else { return }
        if let scheduled = connection.scheduled, scheduled <= deadline { return }
        connection.scheduled = deadline
        deadlines.add(deadline, connection.id)
    }

    /// Has a connection's `settle` called when the events of this turn are dealt with, so that answers that come together leave
    /// together.
    func settleLater(_ connection: any LoopConnection) { unsettled.insert(connection.id) }

    /// Puts a connection that speaks `version` in the place of one whose protocol is known now.
    func promote(_ old: any LoopConnection, to version: ConnectionVersion, _ handover: ConnectionHandover) {
        switch version {
        case .http1:
            let connection = HTTP1Connection(handover, loop: self)
            replace(old, by: connection)
            connection.start()
        case .http2:
            guard let connection = HTTP2Connection(handover, loop: self) else {
                forget(old)
                var transport = handover.transport
                return transport.close()
            }
            replace(old, by: connection)
            connection.start()
        }
    }

    /// Puts another object in a connection's place, under the same id and with what the loop knows of it.
    private func replace(_ old: any LoopConnection, by new: any LoopConnection) {
        guard connections[old.id] === old else { return }
        new.scheduled = old.scheduled
        connections[old.id] = new
        schedule(new)
    }

    func forget(_ connection: any LoopConnection) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        clinux_epoll_remove(epoll, connection.descriptor)
        context.census.leave(connection.censusKey)
        context.report(.connectionClosed)
    }

    // Turns.

    private var isDone: Bool {
        guard let shutdownEnd else { return false }
        return connections.isEmpty || shutdownEnd <= now
    }

    /// Milliseconds to wait, rounded up so that a deadline is never met too early; -1 for ever.
    private var waitTime: Int32 {
        guard let next = [deadlines.first, acceptResumes, shutdownEnd].compactMap({ $0 }).min() else { return -1 }
        let (seconds, attoseconds) = next.duration(to: .now).components
        // `next` lies ahead when the duration from it to now is negative.
        if seconds > 0 || attoseconds > 0 { return 0 }
        if seconds <= -3600 { return 3_600_000 }
        return Int32(-seconds) * 1000 + Int32(-attoseconds / 1_000_000_000_000_000) + 1
    }

    private func dispatch(_ event: clinux_event) {
        if event.id == Self.mailboxID {
            for message in mailbox.take() { receive(message) }
        } else if event.id < Self.firstConnectionID {
            accept(Int(event.id) - 1)
        } else {
            connections[event.id]?.ready(mask: event.mask)
        }
    }

    private func settle() {
        guard !unsettled.isEmpty else { return }
        let ids = unsettled
        unsettled.removeAll(keepingCapacity: true)
        for id in ids { connections[id]?.settle() }
    }

    private func receive(_ message: LoopMessage) {
        switch message {
        case .connection(let accepted): open(accepted)
        case .reply(let connection, let request, let outcome): connections[connection]?.answer(outcome, request: request)
        case .ping(let answer): answer()
        case .shutdown(let end):
            shutdownEnd = min(end, shutdownEnd ?? end)
            isShuttingDown = true
            if acceptResumes == nil {
                // Who waits in a socket that ends now would be reset.
                for index in listeners.indices where !listeners[index].isShared { accept(index) }
            }
            closeListeners()
            // This loop accepts; the others hear of the end after the last connection that they got.
            for other in context.mailboxes where other !== mailbox && isAccepting { other.post(message) }
            for connection in connections.values { connection.shutdown() }
        }
    }

    private func fireDeadlines() {
        while let (time, id) = deadlines.popDue(now) {
            guard let connection = connections[id], connection.scheduled == time else { continue }
            connection.scheduled = nil
            if let deadline = connection.deadline, deadline <= now { connection.timeOut() }
            schedule(connection)
        }
    }

    // Accepting.

    private func accept(_ index: Int) {
        guard listeners.indices.contains(index), acceptResumes == nil else { return }
        let listener = listeners[index]
        for _ in 0..<64 {
            if context.census.isFull { return pauseAccepting(.connections) }
            do {
                switch try Sockets.accept(listener.descriptor) {
                case .none: return
                case .gone: continue
                case .connection(let descriptor, let peer): admit(descriptor, peer, listener)
                }
            } catch {
                return pauseAccepting(.descriptors)
            }
        }
    }

    private func admit(_ descriptor: Int32, _ peer: SocketAddress, _ listener: Listener) {
        let isFree = !listener.traits.limitsPerAddress || peer.isLoopback || context.exempt.contains { $0.contains(peer) }
        let key = isFree ? nil : peer.countingKey
        guard context.census.admit(key) else {
            Sockets.close(descriptor)
            context.report(.refused(.connectionsPerAddress))
            return
        }
        context.report(.connectionAccepted)
        let accepted = AcceptedConnection(descriptor: descriptor, peer: peer, censusKey: key, listener: listener.traits)
        let target = context.mailboxes[nextLoop]
        nextLoop = (nextLoop + 1) % context.mailboxes.count
        if target === mailbox {
            open(accepted)
        } else if !target.post(.connection(accepted)) {
            refuse(accepted)
        }
    }

    private func open(_ accepted: AcceptedConnection) {
        let id = nextID
        nextID += 1
        let added = clinux_epoll_set(epoll, accepted.descriptor, 0, UInt32(CLINUX_READ), id)
        guard added == 0 else {
            clinux_epoll_remove(epoll, accepted.descriptor)
            return refuse(accepted)
        }
        let connection: any LoopConnection
        if accepted.listener.tls {
            guard let transport = context.tls.current?.transport(descriptor: accepted.descriptor) else {
                clinux_epoll_remove(epoll, accepted.descriptor)
                return refuse(accepted)
            }
            connection = HandshakingConnection(id: id, transport: transport, accepted: accepted, loop: self)
        } else {
            connection = IncomingConnection(
                id: id, transport: SocketTransport(descriptor: accepted.descriptor), accepted: accepted, loop: self)
        }
        connections[id] = connection
        schedule(connection)
    }

    // Handshakes.

    /// Takes a step of a handshake, from microseconds to a millisecond (a signature); nil if this turn has no time left for
    /// it. The event comes again then.
    func handshakeStep(_ step: () -> TLSTransport.HandshakeStep) -> TLSTransport.HandshakeStep? {
        guard handshakeTimeLeft > .zero else { return nil }
        let start = ContinuousClock.Instant.now
        defer { handshakeTimeLeft -= start.duration(to: .now) }
        return step()
    }

    /// Whether a handshake may begin; if not, `begin` is called when it may.
    func takeHandshakePlace(_ connection: HandshakingConnection) -> Bool { handshakes.take(connection.id) }

    /// Whether others wait for a place.
    var handshakesWait: Bool { handshakes.isAwaited }

    /// A handshake is over, whatever came of it; the next begins.
    func endHandshake() {
        handshakes.leave()
        while let id = handshakes.next() {
            if let connection = connections[id] as? HandshakingConnection {
                connection.begin()
            } else {
                handshakes.leave()
            }
        }
    }

    private func refuse(_ accepted: AcceptedConnection) {
        Sockets.close(accepted.descriptor)
        context.census.leave(accepted.censusKey)
        context.report(.connectionClosed)
    }

    /// The listeners leave the epoll, or a full process would spin on a backlog that it cannot take.
    private func pauseAccepting(_ reason: HTTPAcceptPause) {
        watchListeners(false)
        acceptResumes = now.advanced(by: Self.acceptPause)
        context.report(.acceptPaused(reason))
    }

    private func resumeAccepting() {
        if context.census.isFull {
            acceptResumes = now.advanced(by: Self.acceptPause)
        } else {
            acceptResumes = nil
            watchListeners(true)
        }
    }

    private func watchListeners(_ wanted: Bool) {
        for (index, listener) in listeners.enumerated() {
            if wanted {
                _ = clinux_epoll_set(epoll, listener.descriptor, 0, UInt32(CLINUX_READ), UInt64(index) + 1)
            } else {
                clinux_epoll_remove(epoll, listener.descriptor)
            }
        }
    }

    private func closeListeners() {
        for listener in listeners { Sockets.close(listener.descriptor) }
        listeners = []
        acceptResumes = nil
    }
}
