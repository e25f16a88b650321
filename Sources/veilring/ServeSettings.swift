// From the configuration file to what the server's floors are told: sizes, times, listeners (service.md 7).

import CallerDirectory
import HTTPCore
import HTTPServer
import LookupService

extension ServeCommand {
    /// The server's settings out of the configuration; listeners take over the sockets that are theirs.
    static func settings(
        _ configuration: VeilringConfiguration, activation: inout SocketActivation
    ) -> LookupServerConfiguration {
        var listeners = HTTPServerConfiguration(
            listeners: configuration.listen.map { .init(host: $0.address.host, port: $0.address.port, tls: $0.tls) },
            limits: httpLimits(configuration.limits),
            exemptPrefixes: configuration.limits.exemptPrefixes.compactMap { AddressPrefix($0) })
        takeOver(&activation, for: &listeners) { "listen-\($0)" }
        var service = serviceOptions(configuration.limits)
        service.hosts = configuration.hosts.map(roleHosts)
        service.servesPublicConfig = configuration.access.publicConfig.serve
        service.publicConfigMaxAge = configuration.access.publicConfig.maxAgeSeconds
        // Probes and a scraper or two.
        var adminLimits = HTTPLimits()
        adminLimits.connections = 256
        let admin = configuration.admin.address.map { address -> HTTPServerConfiguration in
            var admin = HTTPServerConfiguration(
                listeners: [.init(host: address.host, port: address.port)], limits: adminLimits, threads: 1)
            takeOver(&activation, for: &admin) { _ in "admin" }
            return admin
        }
        return LookupServerConfiguration(
            http: listeners, admin: admin, toleratesMissingAdmin: configuration.admin.isDefault, service: service,
            drain: .seconds(configuration.limits.drainSeconds), dataFolder: configuration.data)
    }

    /// The certificates of the TLS listeners.
    static func certificates(_ configuration: VeilringConfiguration) -> [TLSCertificateFiles] {
        configuration.tls.map { TLSCertificateFiles(names: $0.names, certificate: $0.certificate, key: $0.key) }
    }

    /// Gives listeners the sockets that were handed over for them.
    private static func takeOver(
        _ activation: inout SocketActivation, for configuration: inout HTTPServerConfiguration, name: (Int) -> String
    ) {
        for index in configuration.listeners.indices {
            let (host, port) = (configuration.listeners[index].host, configuration.listeners[index].port)
            let addresses = (try? SocketAddress.resolve(host: host, port: port, listening: true)) ?? []
            while let socket = activation.take(name: name(index), addresses: addresses) {
                configuration.listeners[index].descriptors.append(socket.descriptor)
            }
        }
    }

    /// The log on standard error.
    static func log(_ settings: LogSettings) -> SampledLog {
        SampledLog(
            StandardErrorLog(format: settings.format.flatMap { LogFormat(rawValue: $0.rawValue) }),
            level: LogLevel(rawValue: settings.level.rawValue) ?? .info)
    }

    /// Bounds and times of the routes and of the waiting line.
    static func serviceOptions(_ limits: LimitSettings) -> ServiceOptions {
        var service = ServiceOptions()
        service.configBody = limits.configBodyBytes
        service.keyBody = limits.requestBodyBytes
        service.queriesBody = limits.requestBodyBytes
        service.answerBody = limits.responseBodyBytes
        service.useCasesPerRequest = limits.useCasesPerRequest
        service.keysPerRequest = limits.keysPerRequest
        service.queriesPerRequest = limits.queriesPerRequest
        service.decodedKeyBytes = limits.decodedKeyBytes
        service.waitingQueries = limits.queuedQueries
        service.waitingClerical = limits.queuedUpkeep
        service.waitingTime = .milliseconds(limits.queuedMilliseconds)
        service.queriesTime = .seconds(limits.queriesSeconds)
        service.configTime = .seconds(limits.configSeconds)
        service.issueTime = .seconds(limits.configSeconds)
        service.keyTime = .seconds(limits.keySeconds)
        service.computeNiceness = limits.queryNiceness
        service.waitingWork = limits.queuedWorkMilliseconds.map { .milliseconds($0) }
        service.clientShare = Double(limits.queuedPercentPerClient) / 100
        service.blockQueriesInARow = limits.blockQueriesInARow
        service.sharedAddresses = limits.exemptPrefixes.compactMap { AddressPrefix($0) }
        if let threads = limits.queryThreads { service.computeThreads = threads }
        return service
    }

    /// The names of the roles.
    static func roleHosts(_ hosts: HostSettings) -> RoleHosts {
        let names: [ServiceRole: String?] = [.service: hosts.service, .issuer: hosts.issuer, .gateway: hosts.gateway]
        return RoleHosts(names.compactMapValues { $0 })
    }

    /// Bounds and times of HTTP.
    static func httpLimits(_ limits: LimitSettings) -> HTTPLimits {
        var http = HTTPLimits()
        http.connections = limits.connections
        http.connectionsPerAddress = limits.connectionsPerAddress
        http.responseBody = limits.responseBodyBytes
        http.requestLine = limits.http.requestLineBytes
        http.headerSection = limits.http.headerBytes
        http.fieldCount = limits.http.headerFields
        http.headerTime = .seconds(limits.http.headerSeconds)
        http.idleTime = .seconds(limits.http.idleSeconds)
        http.bodyTime = .seconds(limits.http.bodySeconds)
        http.bodyProgressTime = .seconds(limits.http.bodyProgressSeconds)
        http.writeProgressTime = .seconds(limits.http.writeProgressSeconds)
        http.progressBytes = limits.http.progressBytes
        if let bytes = limits.http.bufferedBodyBytes { http.bufferedBodies = bytes }
        http.handshakeTime = .seconds(limits.http.handshakeSeconds)
        http.handshakes = limits.http.handshakes
        http.http2.concurrentStreams = limits.http.http2Streams
        http.http2.streamWindow = limits.http.http2StreamWindowBytes
        http.http2.connectionWindow = limits.http.http2ConnectionWindowBytes
        http.http2.headerList = limits.http.headerBytes
        http.http2.resetBurst = limits.http.http2ResetBurst
        http.http2.resetRate = limits.http.http2ResetsPerSecond
        http.http2.idleTime = .seconds(limits.http.http2IdleSeconds)
        http.http2.requestsPerConnection = limits.http.http2RequestsPerConnection
        http.http2.connectionAge = .seconds(limits.http.http2ConnectionMinutes * 60)
        // The front's own backstop must not come before the service's deadlines.
        let longest = max(limits.queriesSeconds, limits.configSeconds, limits.keySeconds)
        http.requestTime = max(http.requestTime, .seconds(longest))
        http.handlerTime = max(http.handlerTime, .seconds(longest + 10))
        return http
    }
}
