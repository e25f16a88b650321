// The deployment of the tests, running on loopback behind somebody who can change what goes through: proxies and other people's servers do.

import CallerDirectory
import Foundation
import HTTPClient
import HTTPCore
import HTTPServer
import ObliviousHTTP
import StateStore

@testable import DeploymentCheck
@testable import LookupService

/// Stands before a service, and changes requests and answers.
final class Meddler: HTTPHandler {
    /// An answer of its own, instead of the service's.
    typealias Interception = @Sendable (HTTPRequest) -> HTTPResponse?
    /// What becomes of an answer; the body counts for the request.
    typealias Change = @Sendable (HTTPRequest, inout HTTPResponse) -> Void

    private let service: any HTTPHandler
    private let intercept: Interception
    private let change: Change

    init(_ service: any HTTPHandler, intercept: @escaping Interception, change: @escaping Change) {
        (self.service, self.intercept, self.change) = (service, intercept, change)
    }

    // Every body is read, so that each request comes to `handle`.
    func begin(_ head: HTTPRequestHead) -> HTTPAdmission { .readBody(limit: 13 << 20) }

    func handle(_ request: HTTPRequest, reply: HTTPReply) {
        if let own = intercept(request) { return reply.send(own) }
        let changing = HTTPReply { [change] response in
            var response = response
            change(request, &response)
            reply.send(response)
        }
        switch service.begin(request.head) {
        case .respond(let response): changing.send(response)
        case .readBody(let limit):
            request.body.count <= limit ? service.handle(request, reply: changing) : changing.send(HTTPResponse(status: 413))
        }
    }
}

/// A deployment that runs. It stops when it is released.
final class RunningDeployment {
    let deployment: Deployment
    let server: HTTPServer
    let port: UInt16
    private let roles: PrivacyPassRoles?
    private let log = MemoryLog()

    /// - Parameters:
    ///   - certificate: names of files in the deployment's folder.
    ///   - targets: what the gateway takes for its own.
    init(
        _ deployment: Deployment, certificate: (chain: String, key: String) = ("full.pem", "server.key"),
        targets: [String] = [Deployment.hosts.service, Deployment.hosts.issuer], takesTokens: Bool = true,
        servesPublicConfig: Bool = true, intercept: @escaping Meddler.Interception = { _ in nil },
        change: @escaping Meddler.Change = { _, _ in }
    ) throws {
        self.deployment = deployment
        let configuration = try deployment.load()
        roles =
            takesTokens
            ? try PrivacyPassRoles(
                access: configuration.access, data: configuration.data, issuerNames: [Deployment.hosts.issuer]) : nil
        let gateway = try ObliviousGateway(
            folder: deployment.gatewayKeys(configuration), targets: GatewayTargets(secure: targets))
        var options = ServiceOptions()
        options.servesPublicConfig = servesPublicConfig
        options.hosts = RoleHosts([
            .service: Deployment.hosts.service, .issuer: Deployment.hosts.issuer, .gateway: Deployment.hosts.gateway,
        ])
        let service = LookupService(
            options: options, store: try InMemoryEvaluationKeyStore(), privacyPass: roles, gateway: gateway, log: log)
        service.swap(to: try DirectorySnapshots(log: log).load(data: configuration.data))
        let context = try TLSServerContext(certificates: [
            TLSCertificateFiles(
                certificate: deployment.path(certificate.chain), key: deployment.path(certificate.key))
        ])
        server = HTTPServer(
            configuration: HTTPServerConfiguration(
                listeners: [ListenAddress(host: "127.0.0.1", port: 0, tls: true)], tls: context, threads: 1),
            handler: Meddler(service, intercept: intercept, change: change))
        guard let address = try server.start().first else { throw CocoaError(.fileNoSuchFile) }
        port = address.port
    }

    deinit {
        server.shutdown(drain: .zero)
        roles?.close(log: log)
    }

    /// Where it is, as an operator would say it; without gateway phones ask directly.
    func target(throughGateway: Bool = true) -> LiveTarget {
        var target = LiveTarget(service: "https://" + Deployment.hosts.service)
        target.issuer = "https://" + Deployment.hosts.issuer
        target.gateway = throughGateway ? "https://" + Deployment.hosts.gateway : nil
        target.app = Deployment.app
        target.address = ConnectAddress(host: "127.0.0.1", port: port)
        return target
    }
}
