// `veilring serve`: the server process.

import CallerDirectory
import FoundationEssentials
import Glibc
import HTTPCore
import HTTPServer
import LookupService
import StateStore

/// Serves the data that `build` published.
struct ServeCommand: Command {
    let name = "serve"
    let summary = "serves what was built"
    let usage = """
        usage: veilring serve --config FILE

        Listens, loads the newest version under the data folder and says `ready` on standard error; request lines follow there.
        SIGHUP loads the newest version: all use cases are exchanged in one step, and the old data stays when the new fails its
        checks. A changed configuration needs a restart. SIGTERM ends the server: at once when it is idle, else when the running
        requests end, after 20 seconds at most.

        Under systemd it says when it is ready, reloads and stops, gives signs of life, and takes listening sockets over
        (NOTIFY_SOCKET, WATCHDOG_USEC, LISTEN_FDS).

        Exit status 0 after SIGTERM, 1 if it could not start, 2 on bad usage.
        """
    let options = [Option(name: "--config", value: "FILE", help: "the configuration (veilring.json5)")]

    func run(_ arguments: Arguments, output: any Output) throws -> ExitCode {
        let file = try arguments.required("--config")
        guard arguments.rest.isEmpty else { throw UsageError("serve takes options only") }
        // Before anything makes a thread, so that all inherit it.
        SignalWaiter.block()
        CoreDumps.forbid()
        OpenFiles.allowMost()
        let environment = ProcessInfo.processInfo.environment
        // Before anything opens a descriptor, so that only what was handed over is taken for it.
        var activation = SocketActivation(environment: environment)
        let configuration = try VeilringConfiguration.load(path: file, environment: environment)
        let log = Self.log(configuration.log)
        defer { log.flush() }
        for notice in configuration.notices { log.note(.configurationNotice(notice)) }
        let store = try Self.openStore(configuration)
        let privacyPass = try Self.privacyPass(configuration)
        if privacyPass == nil {
            log.note(.configurationNotice("authentication is \"none\": whoever reaches a listener may ask; for tests only"))
        }
        if configuration.gateway.serve, configuration.hosts == nil,
            configuration.listen.contains(where: { !$0.address.isLoopback })
        {
            log.note(
                .configurationNotice(
                    "without `hosts` the gateway answers sealed requests for the addresses in `listen` only: name the hosts "
                        + "that phones ask for"))
        }
        let snapshots = DirectorySnapshots(log: log)
        var settings = Self.settings(configuration, activation: &activation)
        settings.manager = SdNotify(environment: environment)
        for left in activation.discard() { log.note(.configurationNotice(left)) }
        // Read again at each reload, so that a file that became invalid is noticed then, not at the next start.
        let read = { @Sendable in try VeilringConfiguration.load(path: file, environment: environment) }
        let server = LookupServer(
            configuration: settings, store: store, privacyPass: privacyPass,
            gateway: try Self.gateway(configuration), log: log,
            certificates: { Self.certificates(try read()) }, access: { try read().access }
        ) {
            let now = try read()
            return try snapshots.load(data: now.data, expected: now.useCases.map(\.name))
        }
        _ = try server.start()
        server.runUntilTerminated()
        return .done
    }

    /// Issuer, users and spent tokens of a deployment; nil without authentication.
    static func privacyPass(_ configuration: VeilringConfiguration) throws -> PrivacyPassRoles? {
        guard configuration.authentication == .privacyPass else { return nil }
        let hosts = configuration.hosts?.issuer.map { [$0] } ?? configuration.listen.map(\.description)
        return try PrivacyPassRoles(access: configuration.access, data: configuration.data, issuerNames: hosts)
    }

    /// The gateway of a deployment; nil if it is switched off.
    static func gateway(_ configuration: VeilringConfiguration) throws -> ObliviousGateway? {
        guard configuration.gateway.serve else { return nil }
        return try ObliviousGateway(
            folder: GatewayKeyFolder(configuration), rules: GatewayRules(configuration.gateway),
            targets: GatewayTargets(secure: configuration.hosts?.names ?? []))
    }

    /// The key store of a deployment: `<data>/state/keys.sqlite`.
    static func openStore(_ configuration: VeilringConfiguration) throws -> SQLiteEvaluationKeyStore {
        var status = stat()
        guard stat(configuration.data, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw MissingDataFolder(path: configuration.data)
        }
        let limits = EvaluationKeyLimits(
            maxKeysPerIdentifier: configuration.limits.keysPerUser,
            maxTotalBytes: configuration.limits.evaluationKeyStoreBytes,
            maxIdleSeconds: Int64(configuration.limits.evaluationKeyIdleHours) * 3600)
        return try SQLiteEvaluationKeyStore(path: configuration.data + "/state/keys.sqlite", limits: limits)
    }
}

/// There is nothing to serve from.
struct MissingDataFolder: Error, CustomStringConvertible {
    var path: String
    var description: String { "\(path) is no folder: `veilring build` makes it, and what is served from it" }
}
