// The life of a server: listeners, first load, ready line, reload, stop (service.md 9). The admin listener starts first and
// stops last, so that probes see the whole of it.

import CallerDirectory
import Dispatch
import Glibc
import HTTPCore
import HTTPServer
import StateStore
import Synchronization

/// What a server is told at start.
public struct LookupServerConfiguration: Sendable {
    /// Listeners, limits and event loops.
    public var http: HTTPServerConfiguration
    /// The admin listener; nil: none.
    public var admin: HTTPServerConfiguration?
    /// Whether the server does without the admin listener, with a warning, when its address cannot be had.
    public var toleratesMissingAdmin: Bool
    /// Bounds and times of the routes.
    public var service: ServiceOptions
    /// How long `/readyz` says no before the listeners close, so that a balancer sends nothing more.
    public var unreadyTime: Duration
    /// How long running requests may take when the server stops.
    public var drain: Duration
    /// The data folder in which the server says which version it serves, for `build --wait`; nil: nowhere.
    public var dataFolder: String?
    /// How often the store is told to let go of what is too old.
    public var evictionInterval: Duration
    /// Who is told how the server does.
    public var manager = SdNotify.none

    /// A configuration.
    public init(
        http: HTTPServerConfiguration, admin: HTTPServerConfiguration? = nil, toleratesMissingAdmin: Bool = false,
        service: ServiceOptions = ServiceOptions(), unreadyTime: Duration = .zero, drain: Duration = .seconds(20),
        dataFolder: String? = nil, evictionInterval: Duration = .seconds(300)
    ) {
        self.http = http
        self.admin = admin
        self.toleratesMissingAdmin = toleratesMissingAdmin
        self.service = service
        self.unreadyTime = unreadyTime
        self.drain = drain
        self.dataFolder = dataFolder
        self.evictionInterval = evictionInterval
    }
}

/// Runs a `LookupService` behind an `HTTPServer`.
public final class LookupServer: Sendable {
    /// The service behind the listeners.
    public let service: LookupService

    private let configuration: LookupServerConfiguration
    private let server: HTTPServer
    private let admin: HTTPServer?
    private let store: any EvaluationKeyStore
    private let load: @Sendable () throws -> ServiceSnapshot
    private let certificates: @Sendable () throws -> [TLSCertificateFiles]
    private let privacyPass: PrivacyPassRoles?
    private let access: (@Sendable () throws -> AccessSettings)?
    private let keeper = Mutex<CertificateKeeper?>(nil)
    private let reloads = DispatchQueue(label: "reload")
    private let waitingReloads = Mutex(0)
    private let eviction = DispatchQueue(label: "eviction")
    private let tokenUpkeep = DispatchQueue(label: "token-upkeep")
    private let isStopped = Atomic<Bool>(false)
    private let adminAddressList = Mutex<[SocketAddress]>([])
    private let watchdog = Mutex<Watchdog?>(nil)
    /// A piece of work that takes longer than this is not slow but stuck: all deadlines are shorter.
    private static let stuckAfter: Duration = .seconds(120)

    /// A server that is not started.
    ///
    /// - Parameters:
    ///   - store: the evaluation keys; closed when the server stops.
    ///   - log: takes the request lines and the lines about the server.
    ///   - load: gives the snapshot to serve, at start and at every reload, or throws; its error's text goes to the log.
    ///   - certificates: gives the certificates of the TLS listeners, at start and at every reload.
    ///   - privacyPass: issuer keys, users and spent tokens; closed when the server stops. Nil: everyone may ask.
    ///   - gateway: opens encapsulated requests; nil: they are not taken.
    ///   - access: gives users and tiers at every reload; nil: they stay.
    public init(
        configuration: LookupServerConfiguration, store: any EvaluationKeyStore, privacyPass: PrivacyPassRoles? = nil,
        gateway: ObliviousGateway? = nil, log: any LogWriter,
        certificates: @escaping @Sendable () throws -> [TLSCertificateFiles] = { [] },
        access: (@Sendable () throws -> AccessSettings)? = nil,
        load: @escaping @Sendable () throws -> ServiceSnapshot
    ) {
        self.certificates = certificates
        self.configuration = configuration
        self.store = store
        self.load = load
        self.privacyPass = privacyPass
        self.access = access
        let service = LookupService(
            options: configuration.service, store: store, privacyPass: privacyPass, gateway: gateway, log: log)
        self.service = service
        server = HTTPServer(configuration: configuration.http, handler: service) { event in
            service.metrics.take(event)
            // What the front refuses by itself never reaches the service; only its kind is logged. Peers go all the time.
            if case .refused(let refusal) = event, refusal != .peerGone {
                log.note(.refusedByFront(reason: FrontRefusal(refusal).rawValue))
            }
        }
        admin = configuration.admin.map { [server] in
            HTTPServer(
                configuration: $0,
                handler: Self.adminHandler(service, server, bodyLimit: configuration.http.limits.bufferedBodies))
        }
    }

    private static func adminHandler(_ service: LookupService, _ server: HTTPServer, bodyLimit: Int) -> AdminHandler {
        let page = MetricsPage(
            service: service, bodies: { [weak server] in (server?.bufferedBodyBytes ?? 0, bodyLimit) },
            isReady: { service.readiness.isReady })
        return AdminHandler(readiness: { service.readiness }, metrics: page.text, version: { service.versionReport })
    }

    /// Opens the listeners, loads, and says on the log that it is ready.
    ///
    /// - Returns: the real addresses.
    /// - Throws: `HTTPServerError`, `TLSError`, or what `load` and `certificates` throw; nothing is left open then.
    public func start() throws -> [SocketAddress] {
        try startAdmin()
        let addresses: [SocketAddress]
        do {
            try loadCertificates()
            addresses = try server.start()
            if configuration.service.hosts == nil {
                service.gateway?.replaceTargets(Self.targets(addresses, of: configuration.http))
            }
            let snapshot = try load()
            service.swap(to: snapshot)
            noteServing(snapshot.version)
            log.note(.ready(addresses: addresses.map(\.description), version: snapshot.version))
            configuration.manager.ready("serving version \(snapshot.version)")
        } catch {
            stop(drain: .zero)
            throw error
        }
        scheduleEviction()
        keepTokensInOrder()
        watchCertificates()
        startWatchdog()
        return addresses
    }

    /// Without names of our own the addresses that we listen on are ours; http for those in cleartext on loopback (service.md 3.8).
    private static func targets(_ addresses: [SocketAddress], of http: HTTPServerConfiguration) -> GatewayTargets {
        var (secure, cleartext): ([String], [String]) = ([], [])
        for (listener, address) in zip(http.listeners, addresses) {
            // As it is, and as it is written in the configuration with the port that the system chose.
            var written = listener
            written.port = address.port
            var names = [address.description, written.description]
            if address.isLoopback {
                written.host = "localhost"
                names.append(written.description)
            }
            secure += names
            if !listener.tls, address.isLoopback { cleartext += names }
        }
        return GatewayTargets(secure: secure, cleartext: cleartext)
    }

    /// Signs of life for the service manager, if it wants them, as long as event loops and computing threads do their work.
    private func startWatchdog() {
        guard let interval = configuration.manager.watchdogInterval else { return }
        let manager = configuration.manager
        let watchdog = Watchdog(interval: interval) { [weak self] time in
            guard let self else { return false }
            return server.answers(within: time) && service.computing.figures.longestRun < Self.stuckAfter
        } sign: {
            manager.alive()
        }
        watchdog.start()
        self.watchdog.withLock { $0 = watchdog }
    }

    private func loadCertificates() throws {
        let files = try certificates()
        guard !files.isEmpty else { return }
        let context = try TLSServerContext(certificates: files)
        server.replaceTLS(context)
        let server = server
        let keeper = CertificateKeeper(files: files, current: context, log: log) { server.replaceTLS($0) }
        self.keeper.withLock { $0 = keeper }
    }

    /// Looks at the certificate files again and again until the server has stopped.
    private func watchCertificates() {
        guard let keeper = keeper.withLock({ $0 }) else { return }
        reloads.asyncAfter(deadline: .now() + .nanoseconds(CertificateKeeper.interval.nanoseconds)) { [weak self] in
            guard let self, !isStopped.load(ordering: .acquiring) else { return }
            keeper.check()
            watchCertificates()
        }
    }

    /// The addresses of the admin listener; empty without one.
    public var adminAddresses: [SocketAddress] { adminAddressList.withLock { $0 } }

    private func startAdmin() throws(HTTPServerError) {
        guard let admin else { return }
        do throws(HTTPServerError) {
            let addresses = try admin.start()
            adminAddressList.withLock { $0 = addresses }
            log.note(.adminListening(addresses: addresses.map(\.description)))
        } catch {
            guard configuration.toleratesMissingAdmin else { throw error }
            log.note(.noAdminListener(reason: "\(error)"))
        }
    }

    private var log: any LogWriter { service.log }

    /// Loads again and puts the new snapshot in force; the old one stays when that fails, and the log says why.
    ///
    /// - Returns: whether a new snapshot is in force.
    @discardableResult
    public func reload() -> Bool {
        let snapshot: ServiceSnapshot
        configuration.manager.reloading()
        do {
            snapshot = try load()
            if let privacyPass, let access { try privacyPass.reload(try access()) }
        } catch {
            configuration.manager.ready("reload failed (see the log), still serving version \(service.version ?? "none")")
            service.metrics.reloads[.failed]?.add()
            log.note(.notReloaded(version: service.version ?? "none", reason: "\(error)"))
            return false
        }
        service.swap(to: snapshot)
        do {
            if let keeper = keeper.withLock({ $0 }) { keeper.check(files: try certificates()) }
        } catch {
            log.note(.certificatesNotLoaded(reason: "\(error)"))
        }
        service.metrics.reloads[.succeeded]?.add()
        log.note(.reloaded(version: snapshot.version))
        noteServing(snapshot.version)
        configuration.manager.ready("serving version \(snapshot.version)")
        return true
    }

    /// Reloads on a thread of its own; several wishes that come while one reload runs make one more.
    public func requestReload() {
        let isNew = waitingReloads.withLock { count in
            count += 1
            return count == 1
        }
        guard isNew else { return }
        reloads.async { [weak self] in
            guard let self, !isStopped.load(ordering: .acquiring) else { return }
            waitingReloads.withLock { $0 = 0 }
            reload()
        }
    }

    /// Stops: no new connections, running requests end (at most for the drain time), then the store is closed.
    public func stop() { stop(drain: configuration.drain) }

    private func stop(drain: Duration) {
        guard isStopped.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        configuration.manager.stopping()
        watchdog.withLock { $0?.end() }
        service.beginStopping()
        if drain > .zero, configuration.unreadyTime > .zero, !adminAddresses.isEmpty {
            usleep(UInt32(clamping: configuration.unreadyTime.nanoseconds / 1000))
        }
        server.shutdown(drain: drain)
        // Another server may have taken the folder over meanwhile.
        if let versions, versions.serving()?.pid == getpid() { versions.forgetServing() }
        do throws(StateStoreError) {
            try store.close()
        } catch {
            service.noteStore(error)
        }
        tokenUpkeep.sync { privacyPass?.close(log: log) }
        admin?.shutdown(drain: .zero)
    }

    /// Obeys signals until SIGTERM or SIGINT, then stops. Call it on the main thread, with `SignalWaiter.block` called before
    /// any thread was made. SIGHUP reloads.
    public func runUntilTerminated() {
        while true {
            switch SignalWaiter.next() {
            case .hangUp: requestReload()
            case .terminate:
                log.note(.stopping)
                stop()
                return
            }
        }
    }

    private var versions: DirectoryVersions? { configuration.dataFolder.map { DirectoryVersions(data: $0) } }

    /// Says for `build --wait` what is served. A full disk is no reason not to serve what is there.
    private func noteServing(_ version: String) {
        do {
            try versions?.recordServing(ServingRecord(pid: getpid(), version: version))
        } catch {
            log.note(.servingNotRecorded(reason: "\(error)"))
        }
    }

    /// Rotates keys, reads users again, writes counters down, every second until the server has stopped.
    private func keepTokensInOrder() {
        guard privacyPass != nil || service.gateway != nil else { return }
        tokenUpkeep.asyncAfter(deadline: .now() + 1) { [weak self] in
            guard let self, !isStopped.load(ordering: .acquiring) else { return }
            privacyPass?.maintain(log: log)
            do throws(IssuerKeyError) {
                try service.gateway?.refresh()
            } catch {
                log.note(.tokenUpkeepFailed(reason: "\(error)"))
            }
            keepTokensInOrder()
        }
    }

    /// Tells the store to let go of what is too old, again and again until the server has stopped.
    private func scheduleEviction() {
        let interval = max(configuration.evictionInterval, .seconds(1))
        eviction.asyncAfter(deadline: .now() + .nanoseconds(interval.nanoseconds)) { [weak self] in
            guard let self, !isStopped.load(ordering: .acquiring) else { return }
            do throws(StateStoreError) {
                let gone = try store.evict(at: Int64(secondsSince1970()))
                if gone > 0 { log.note(.keysEvicted(count: gone)) }
            } catch {
                service.noteStore(error)
            }
            scheduleEviction()
        }
    }
}
