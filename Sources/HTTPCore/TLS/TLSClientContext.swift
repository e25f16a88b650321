// The client's side of TLS by OpenSSL: whom to trust, and the name that a certificate must be for (RFC 9525).

import COpenSSL

/// Whom a client trusts.
public enum TLSTrust: Sendable, Equatable, Hashable {
    /// The authorities of the system.
    case system
    /// Only the certificates in this PEM file: authorities, or the server's own certificate.
    case file(String)
    /// Everyone. For tests on one's own machine.
    case anyone
}

/// A version of TLS.
public enum TLSVersion: String, Sendable, Equatable, CaseIterable {
    /// RFC 5246.
    case tls12 = "TLS 1.2"
    /// RFC 8446.
    case tls13 = "TLS 1.3"

    fileprivate var number: Int32 { self == .tls12 ? TLS1_2_VERSION : TLS1_3_VERSION }
}

/// Settings for a client's connections.
public final class TLSClientContext: @unchecked Sendable {
    // Vouched for: after `init` the context is only read, and OpenSSL counts references to it atomically.
    private let context: OpaquePointer
    private let trust: TLSTrust

    /// Reads the trusted certificates. `protocols` are offered by ALPN, the preferred one first; `only` offers one version of TLS
    /// instead of all.
    public init(
        trust: TLSTrust, protocols: [String] = ["h2", "http/1.1"], only: TLSVersion? = nil
    ) throws(TLSError) {
        TLSLibrary.prepare()
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw .library }
        self.trust = trust
        self.context = context
        copenssl_set_modes(context)
        copenssl_set_read_ahead(context)
        var offered: [UInt8] = []
        for name in protocols where (1...255).contains(name.utf8.count) {
            offered += [UInt8(name.utf8.count)] + Array(name.utf8)
        }
        guard copenssl_set_min_version(context, only?.number ?? TLS1_2_VERSION) == 1,
            copenssl_set_max_version(context, only?.number ?? 0) == 1,
            SSL_CTX_set_alpn_protos(context, offered, UInt32(offered.count)) == 0
        else { throw .library }
        ERR_clear_error()
        switch trust {
        case .system:
            guard SSL_CTX_set_default_verify_paths(context) == 1 else { throw .library }
        case .file(let path):
            guard SSL_CTX_load_verify_file(context, path) == 1 else {
                ERR_clear_error()
                throw .unreadableTrust(path: path)
            }
            // So that a server's own certificate can be given, whoever signed it.
            X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), UInt(X509_V_FLAG_PARTIAL_CHAIN))
        case .anyone: break
        }
        SSL_CTX_set_verify(context, trust == .anyone ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nil)
    }

    deinit { SSL_CTX_free(context) }

    /// A session over a connected socket, which it takes over, with the server of this name or numeric address; nil if memory
    /// is short or the name cannot be asked for (the socket stays the caller's).
    public func transport(descriptor: Int32, host: String) -> TLSTransport? {
        guard let session = SSL_new(context) else { return nil }
        let isAddress = AddressPrefix(host) != nil
        var isReady = SSL_set_fd(session, descriptor) == 1
        // Server names are names only (RFC 6066 section 3).
        if !isAddress { isReady = isReady && copenssl_send_server_name(session, host) == 1 }
        if trust != .anyone, let parameters = SSL_get0_param(session) {
            let named =
                isAddress
                ? X509_VERIFY_PARAM_set1_ip_asc(parameters, host)
                : X509_VERIFY_PARAM_set1_host(parameters, host, host.utf8.count)
            isReady = isReady && named == 1
        }
        guard isReady else {
            SSL_free(session)
            return nil
        }
        SSL_set_connect_state(session)
        return TLSTransport(session: session, descriptor: descriptor, keeping: self)
    }
}
