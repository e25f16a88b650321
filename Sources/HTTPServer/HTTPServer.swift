// The server: opens listeners, runs event loops, stops in order (service.md 5.1, 5.4.5, 9).

import CLinux
import Dispatch
import Glibc
import HTTPCore
import Synchronization

/// A server of HTTP/1.1 and HTTP/2 on non-blocking sockets. It serves until `shutdown`, or until it is released.
public final class HTTPServer: Sendable {
    private struct Running {
        var threads: [LoopThread]
        var mailboxes: [LoopMailbox]
    }

    private enum State {
        case new
        case running(Running)
        case stopped
    }

    private let configuration: HTTPServerConfiguration
    private let handler: any HTTPHandler
    private let events: @Sendable (HTTPServerEvent) -> Void
    private let state = Mutex(State.new)
    private let tls: TLSContextSlot
    private let budget: BodyBudget

    /// A server that is not started. `events` is called on the event loops and must be quick.
    public init(
        configuration: HTTPServerConfiguration, handler: any HTTPHandler,
        events: @escaping @Sendable (HTTPServerEvent) -> Void = { _ in }
    ) {
        self.configuration = configuration
        tls = TLSContextSlot(configuration.tls)
        self.handler = handler
        self.events = events
        budget = BodyBudget(bytes: configuration.limits.bufferedBodies)
    }

    /// Bytes of request bodies in memory now; `HTTPLimits.bufferedBodies` bounds them.
    public var bufferedBodyBytes: Int { budget.held }

    deinit { shutdown(drain: .zero) }

    /// Opens all listeners and starts to serve. Gives the real addresses, in the order of the configuration (a name with
    /// several addresses gives several).
    public func start() throws(HTTPServerError) -> [SocketAddress] {
        let result = state.withLock { state -> Result<[SocketAddress], HTTPServerError> in
            guard case .new = state else { return .failure(.alreadyStarted) }
            return launch().map { running, addresses in
                state = .running(running)
                return addresses
            }
        }
        return try result.get()
    }

    /// Whether every event loop turns: asks each, and waits for their answers at most so long. False when it is not running.
    /// Must not be called on an event loop.
    public func answers(within time: Duration) -> Bool {
        let mailboxes = state.withLock { state -> [LoopMailbox] in
            if case .running(let running) = state { return running.mailboxes }
            return []
        }
        let answered = DispatchSemaphore(value: 0)
        let parts = max(time, .zero).components
        let end =
            DispatchTime.now()
            + .milliseconds(Int(min(parts.seconds, 3600)) * 1000 + Int(parts.attoseconds / 1_000_000_000_000_000))
        guard !mailboxes.isEmpty, mailboxes.allSatisfy({ $0.post(.ping { answered.signal() }) }) else { return false }
        return mailboxes.allSatisfy { _ in answered.wait(timeout: end) == .success }
    }

    /// Stops accepting, closes idle connections at once, lets running requests finish and closes their connections.
    /// Returns when all is done, at the latest after `drain` (a handler that blocks an event loop delays that). Must not be
    /// called from a handler on an event loop.
    public func shutdown(drain: Duration) {
        let running = state.withLock { state -> Running? in
            defer { state = .stopped }
            if case .running(let running) = state { return running }
            return nil
        }
        guard let running else { return }
        let end = ContinuousClock.Instant.now.advanced(by: max(.zero, drain))
        // The first loop tells the others, when it has accepted the last connection.
        running.mailboxes.first?.post(.shutdown(by: end))
        for thread in running.threads { thread.join() }
    }

    /// Puts other certificates in force for the connections that come from now on; open ones go on as they are.
    public func replaceTLS(_ context: TLSServerContext) { tls.current = context }

    /// What is open before the threads take it over.
    private struct Opened {
        var listeners: [Listener] = []
        var addresses: [SocketAddress] = []
        var epolls: [Int32] = []
        var mailboxes: [LoopMailbox] = []
    }

    /// Bytes from which on a block of memory goes back to the system when it is freed: bodies of many MiB come now and then, and what
    /// is kept for the next one would be kept by each thread. Ordinary requests stay far below.
    private static let largestKeptBlock: Int32 = 4 << 20

    private func launch() -> Result<(Running, [SocketAddress]), HTTPServerError> {
        clinux_return_blocks_from(Self.largestKeptBlock)
        var opened = Opened()
        do throws(HTTPServerError) {
            if configuration.listeners.isEmpty { throw .noListener }
            for address in configuration.listeners {
                if address.tls, tls.current == nil { throw .noCertificate(for: address) }
                try open(address, &opened)
            }
            for _ in 0..<max(1, configuration.threads) {
                let epoll = clinux_epoll_create()
                guard epoll >= 0 else { throw .noResources }
                opened.epolls.append(epoll)
                guard let mailbox = LoopMailbox() else { throw .noResources }
                opened.mailboxes.append(mailbox)
            }
            return .success((try startThreads(&opened), opened.addresses))
        } catch {
            for listener in opened.listeners { Sockets.close(listener.descriptor) }
            for epoll in opened.epolls { clinux_close(epoll) }
            return .failure(error)
        }
    }

    /// Starts one thread for each loop; each takes over its descriptors out of `opened`.
    private func startThreads(_ opened: inout Opened) throws(HTTPServerError) -> Running {
        let mailboxes = opened.mailboxes
        let context = ServerContext(
            limits: configuration.limits, exempt: configuration.exemptPrefixes, handler: handler, report: events,
            census: ConnectionCensus(limits: configuration.limits),
            budget: budget,
            answers: BodyBudget(bytes: configuration.limits.bufferedBodies), mailboxes: mailboxes, tls: tls)
        var threads: [LoopThread] = []
        // The first loop, which owns the listeners, starts last, so that nothing is accepted for a loop without thread.
        for (index, epoll) in opened.epolls.enumerated().reversed() {
            let own = index == 0 ? opened.listeners : []
            let thread = LoopThread {
                EventLoop(context: context, index: index, epoll: epoll, listeners: own).run()
            }
            guard let thread else {
                for mailbox in mailboxes { mailbox.post(.shutdown(by: .now)) }
                for thread in threads { thread.join() }
                throw .noResources
            }
            threads.append(thread)
            opened.epolls.removeLast()
            if index == 0 { opened.listeners = [] }
        }
        return Running(threads: threads, mailboxes: mailboxes)
    }

    private func open(
        _ address: ListenAddress, _ opened: inout Opened
    ) throws(HTTPServerError) {
        for descriptor in address.descriptors {
            guard let real = Sockets.adopt(listener: descriptor) else {
                throw .cannotListen(on: address, because: .system(EINVAL))
            }
            opened.listeners.append(Listener(descriptor: descriptor, traits: address.traits, isShared: true))
            opened.addresses.append(real)
        }
        if !address.descriptors.isEmpty { return }
        var failure = SocketError.unknownHost
        let before = opened.listeners.count
        do throws(SocketError) {
            for candidate in try SocketAddress.resolve(host: address.host, port: address.port, listening: true) {
                do throws(SocketError) {
                    let (descriptor, real) = try Sockets.listen(candidate)
                    opened.listeners.append(Listener(descriptor: descriptor, traits: address.traits))
                    opened.addresses.append(real)
                } catch {
                    // A machine without IPv6 still has its IPv4 addresses.
                    guard error == .system(EAFNOSUPPORT) || error == .system(EADDRNOTAVAIL) else { throw error }
                    failure = error
                }
            }
        } catch {
            throw .cannotListen(on: address, because: error)
        }
        if opened.listeners.count == before { throw .cannotListen(on: address, because: failure) }
    }
}

extension ListenAddress {
    /// What connections that come here are held to.
    fileprivate var traits: ListenerTraits {
        ListenerTraits(limitsPerAddress: limitsConnectionsPerAddress, carriesRelay: carriesRelay, tls: tls)
    }
}
