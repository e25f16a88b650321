// What both sides need of OpenSSL: one-time preparation, and its error queue as values of ours.

import COpenSSL
import Glibc
import Synchronization

/// OpenSSL asks it for a passphrase, and else the terminal.
let withoutPassphrase: @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
    _, _, _, _ in 0
}

enum TLSLibrary {
    private static let isPrepared = Atomic<Bool>(false)

    /// OpenSSL writes to sockets with write(2), which raises SIGPIPE when the peer has gone; a process without a handler of
    /// its own for that signal would end.
    static func prepare() {
        guard isPrepared.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged else {
            return
        }
        var present = sigaction()
        if sigaction(SIGPIPE, nil, &present) == 0, present.__sigaction_handler.sa_handler == nil { signal(SIGPIPE, SIG_IGN) }
    }

    /// Empties the thread's error queue; gives the reason codes in it.
    static func takeReasons() -> [Int32] {
        var reasons: [Int32] = []
        while true {
            let code = ERR_get_error()
            if code == 0 { return reasons }
            reasons.append(ERR_GET_REASON(code))
        }
    }

    /// When the certificate of a context expires, in seconds since 1970; the far future if it cannot be told.
    static func expiry(of context: OpaquePointer) -> Int64 {
        SSL_CTX_get0_certificate(context).flatMap { seconds(X509_get0_notAfter($0)) } ?? .max
    }

    /// A time of a certificate in seconds since 1970; nil if it is none.
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Int64(timegm(&parts))
    }

    /// The kind of failure behind the thread's error queue, which is emptied.
    static func failure() -> TLSFailure {
        let reasons = takeReasons()
        for reason in reasons {
            switch reason {
            case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_WRONG_VERSION_NUMBER, SSL_R_BAD_RECORD_TYPE:
                return .notTLS
            case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
                SSL_R_UNKNOWN_PROTOCOL:
                return .version
            case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SHARED_GROUPS, SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_CIPHERS_AVAILABLE,
                SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
                return .cipher
            case SSL_R_NO_APPLICATION_PROTOCOL, SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: return .applicationProtocol
            case SSL_R_CALLBACK_FAILED, SSL_R_TLSV1_UNRECOGNIZED_NAME: return .serverName
            case SSL_R_TLSV1_ALERT_UNKNOWN_CA, SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
                SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
                SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, SSL_R_TLSV1_ALERT_ACCESS_DENIED:
                return .certificateRefused
            case SSL_R_CERTIFICATE_VERIFY_FAILED: return .certificateUntrusted
            case SSL_R_UNEXPECTED_EOF_WHILE_READING: return .peerGone
            default: continue
            }
        }
        return reasons.isEmpty ? .peerGone : .malformed
    }
}
