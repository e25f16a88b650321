// What can be wrong with certificates given to us, and with a handshake. No case carries a byte of a key or of a message.

/// Why certificates or trust anchors cannot be used. The texts name files of the configuration, never their content.
public enum TLSError: Error, Sendable, Equatable, CustomStringConvertible {
    /// No certificate was given.
    case noCertificate
    /// The file cannot be read, or holds no certificate in PEM form.
    case unreadableCertificate(path: String)
    /// The file cannot be read, or holds no unencrypted private key in PEM form.
    case unreadableKey(path: String)
    /// Others than owner and group may read the key file.
    case exposedKey(path: String)
    /// The private key belongs to another certificate.
    case keyMismatch(certificate: String, key: String)
    /// A certificate uses an algorithm or key size that clients refuse.
    case weakCertificate(path: String)
    /// A host name stands in two entries.
    case repeatedName(String)
    /// Neither host name nor wildcard: which entry.
    case invalidName(certificate: String)
    /// The file of trusted certificates cannot be read.
    case unreadableTrust(path: String)
    /// The TLS library refused to make a context (out of memory).
    case library

    /// What was expected.
    public var description: String {
        switch self {
        case .noCertificate: "at least one certificate is needed for a TLS listener"
        case .unreadableCertificate(let path): "\(path) cannot be read as a certificate chain in PEM form"
        case .unreadableKey(let path): "\(path) cannot be read as an unencrypted private key in PEM form"
        case .exposedKey(let path): "the private key \(path) can be read by everyone; expected mode 0600 or 0640"
        case .keyMismatch(let certificate, let key): "the private key \(key) does not belong to the certificate \(certificate)"
        case .weakCertificate(let path): "\(path): the certificate's key or signature is too weak for TLS clients"
        case .repeatedName(let name): "the host name \(name) has two certificates"
        case .invalidName(let path): "a name for the certificate \(path) is neither a host name nor *.domain"
        case .unreadableTrust(let path): "\(path) cannot be read as trusted certificates in PEM form"
        case .library: "the TLS library could not make a context"
        }
    }
}

/// How a handshake or a TLS connection failed: a closed list for logs and metrics.
public enum TLSFailure: String, Error, Sendable, Equatable, CaseIterable, CustomStringConvertible {
    /// The first bytes were no TLS.
    case notTLS = "not_tls"
    /// No version in common.
    case version
    /// No cipher suite or group in common.
    case cipher
    /// ALPN without a protocol that we speak.
    case applicationProtocol = "alpn"
    /// No certificate for the name that the client asked for.
    case serverName = "sni"
    /// The peer refused our certificate.
    case certificateRefused = "certificate_refused"
    /// We do not trust the peer's certificate, or it is for another name (client side).
    case certificateUntrusted = "certificate_untrusted"
    /// The peer went away in the middle.
    case peerGone = "peer_gone"
    /// Not finished in time.
    case timeout
    /// A broken record or message.
    case malformed

    /// What happened.
    public var description: String {
        switch self {
        case .notTLS: "what came is not TLS"
        case .version: "no TLS version in common; 1.2 and 1.3 are spoken here"
        case .cipher: "no cipher suite or group in common"
        case .applicationProtocol: "no application protocol in common; h2 and http/1.1 are spoken here"
        case .serverName: "there is no certificate for the name that was asked for"
        case .certificateRefused: "the peer does not accept the certificate"
        case .certificateUntrusted: "the server's certificate is not trusted, or is for another name"
        case .peerGone: "the peer went away during the handshake"
        case .timeout: "the handshake did not end in time"
        case .malformed: "a TLS record or message is malformed"
        }
    }
}
