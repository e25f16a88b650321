// One TLS handshake, looked at and ended: for a check of what a server offers (service.md 3.11, 5.2).

import HTTPCore

/// What a server agreed on in a handshake.
public struct TLSProbe: Sendable, Equatable {
    /// `TLSv1.2` or `TLSv1.3`.
    public let version: String
    /// What ALPN agreed on; nil if the server does not know it.
    public let applicationProtocol: String?
    /// What the server sent as its certificates. They are not judged.
    public let certificates: CertificateChain

    /// Makes a handshake.
    ///
    /// - Parameters:
    ///   - url: an https URL; host and port count.
    ///   - address: where to connect instead of the URL's host and port.
    ///   - protocols: what is offered by ALPN.
    ///   - only: the one version of TLS that is offered; nil: all that are spoken here.
    ///   - timeout: for everything but the name's resolution.
    /// - Throws: `HTTPClientError.cannotConnect`, `connectTimeout`, `tls`, `trust`.
    public init(
        _ url: HTTPURL, at address: ConnectAddress? = nil, protocols: [String] = ["h2", "http/1.1"], only: TLSVersion? = nil,
        timeout: Duration = .seconds(10)
    ) throws(HTTPClientError) {
        let context: TLSClientContext
        do throws(TLSError) {
            context = try TLSClientContext(trust: .anyone, protocols: protocols, only: only)
        } catch {
            throw .trust(error)
        }
        var (transport, agreed) = try ClientTransport.open(
            url, at: address, tls: context, deadline: .now.advanced(by: timeout))
        defer { transport.close() }
        applicationProtocol = agreed
        version = (transport as? TLSTransport)?.version ?? ""
        certificates = (transport as? TLSTransport)?.peerCertificates ?? CertificateChain([])
    }
}
