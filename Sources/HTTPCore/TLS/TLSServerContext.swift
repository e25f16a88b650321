// The server's side of TLS by OpenSSL (service.md 5.2): versions, suites, ALPN, and one certificate per host name.

import COpenSSL
import Glibc

/// Certificates and settings for new connections. It never changes: to exchange certificates make another one and use it for
/// the connections that come then; those that are open keep theirs.
public final class TLSServerContext: @unchecked Sendable {
    // Vouched for: after `init` the contexts are only read, and OpenSSL counts references to them atomically.
    private let contexts: [OpaquePointer]
    private let names: ServerNames
    private let watched: [String]
    private let stamps: [FileStamp?]
    /// When it was made. Its keys for session tickets live as long as it does: make a new one daily.
    public let made = ContinuousClock.Instant.now
    /// When the first of its certificates expires, in seconds since 1970.
    public let expires: Int64

    /// Suites of TLS 1.2 that HTTP/2 (RFC 9113 appendix A) and the phone's transport security both allow.
    static let suites = """
        ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:\
        ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305
        """
    static let groups = "X25519:P-256"

    /// Reads all files; throws `TLSError` for the first that cannot be used.
    public init(certificates: [TLSCertificateFiles]) throws(TLSError) {
        guard !certificates.isEmpty else { throw .noCertificate }
        TLSLibrary.prepare()
        names = try ServerNames(certificates)
        watched = certificates.flatMap { [$0.certificate, $0.key] }
        // Before reading: a change meanwhile is noticed later rather than missed.
        stamps = watched.map(FileStamp.init(path:))
        var contexts: [OpaquePointer] = []
        var expires = Int64.max
        do throws(TLSError) {
            for files in certificates {
                let context = try Self.context(files)
                contexts.append(context)
                expires = min(expires, TLSLibrary.expiry(of: context))
            }
        } catch {
            for context in contexts { SSL_CTX_free(context) }
            throw error
        }
        self.contexts = contexts
        self.expires = expires
        for context in contexts {
            copenssl_set_server_name_callback(context, chooseByServerName, Unmanaged.passUnretained(self).toOpaque())
        }
    }

    deinit { for context in contexts { SSL_CTX_free(context) } }

    /// Whether any of its files has changed since it was read.
    public var isOutdated: Bool { watched.map(FileStamp.init(path:)) != stamps }

    /// The session for an accepted socket, which it takes over; nil if memory is short (the socket stays the caller's).
    public func transport(descriptor: Int32) -> TLSTransport? {
        guard let first = contexts.first, let session = SSL_new(first) else { return nil }
        guard SSL_set_fd(session, descriptor) == 1 else {
            SSL_free(session)
            return nil
        }
        SSL_set_accept_state(session)
        // The callback that chooses a certificate needs this context for as long as the session lives.
        return TLSTransport(session: session, descriptor: descriptor, keeping: self)
    }

    private static func context(_ files: TLSCertificateFiles) throws(TLSError) -> OpaquePointer {
        var status = stat()
        if stat(files.key, &status) == 0, status.st_mode & 0o004 != 0 { throw .exposedKey(path: files.key) }
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw .library }
        do throws(TLSError) {
            guard copenssl_set_min_version(context, TLS1_2_VERSION) == 1, SSL_CTX_set_cipher_list(context, suites) == 1,
                copenssl_set_groups(context, groups) == 1
            else { throw .library }
            copenssl_set_server_options(context)
            SSL_CTX_set_default_passwd_cb(context, withoutPassphrase)
            copenssl_set_modes(context)
            copenssl_set_read_ahead(context)
            SSL_CTX_set_alpn_select_cb(context, chooseApplicationProtocol, nil)
            ERR_clear_error()
            guard SSL_CTX_use_certificate_chain_file(context, files.certificate) == 1 else {
                if TLSLibrary.takeReasons().contains(where: { $0 == SSL_R_EE_KEY_TOO_SMALL || $0 == SSL_R_CA_MD_TOO_WEAK }) {
                    throw .weakCertificate(path: files.certificate)
                }
                throw .unreadableCertificate(path: files.certificate)
            }
            guard SSL_CTX_use_PrivateKey_file(context, files.key, SSL_FILETYPE_PEM) == 1 else {
                let isOther = TLSLibrary.takeReasons().contains {
                    $0 == X509_R_KEY_VALUES_MISMATCH || $0 == X509_R_KEY_TYPE_MISMATCH
                }
                if isOther { throw .keyMismatch(certificate: files.certificate, key: files.key) }
                throw .unreadableKey(path: files.key)
            }
            guard SSL_CTX_check_private_key(context) == 1 else {
                throw .keyMismatch(certificate: files.certificate, key: files.key)
            }
        } catch {
            SSL_CTX_free(context)
            throw error
        }
        return context
    }

    /// The context for a name, or nil.
    fileprivate func context(for name: String?) -> OpaquePointer? {
        names.entry(for: name).flatMap { contexts.indices.contains($0) ? contexts[$0] : nil }
    }
}

/// RFC 6066 section 3: takes the certificate of the name asked for, or ends the handshake with unrecognized_name.
private let chooseByServerName:
    @convention(c) (OpaquePointer?, UnsafeMutablePointer<Int32>?, UnsafeMutableRawPointer?) -> Int32 =
        { session, alert, argument in
            guard let session, let argument else { return SSL_TLSEXT_ERR_NOACK }
            let owner = Unmanaged<TLSServerContext>.fromOpaque(argument).takeUnretainedValue()
            let name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
            guard let context = owner.context(for: name) else {
                alert?.pointee = TLS1_AD_UNRECOGNIZED_NAME
                return SSL_TLSEXT_ERR_ALERT_FATAL
            }
            SSL_set_SSL_CTX(session, context)
            return name == nil ? SSL_TLSEXT_ERR_NOACK : SSL_TLSEXT_ERR_OK
        }

/// RFC 7301: our order decides; nothing in common ends the handshake with no_application_protocol.
private let chooseApplicationProtocol:
    @convention(c) (
        OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?, UnsafePointer<UInt8>?,
        UInt32, UnsafeMutableRawPointer?
    ) -> Int32 = { _, chosen, chosenLength, offered, offeredLength, _ in
        guard let chosen, let chosenLength, let offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
        let list = UnsafeBufferPointer(start: offered, count: Int(offeredLength))
        for wanted in ["h2", "http/1.1"] {
            var index = 0
            while index < list.count {
                let length = Int(list[index])
                guard length > 0, index + 1 + length <= list.count else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                if list[(index + 1)..<(index + 1 + length)].elementsEqual(wanted.utf8) {
                    chosen.pointee = offered + index + 1
                    chosenLength.pointee = UInt8(length)
                    return SSL_TLSEXT_ERR_OK
                }
                index += 1 + length
            }
        }
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
