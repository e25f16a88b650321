// Certificates looked at from outside: as a file holds them or a server sends them, judged as a phone will judge them (RFC 5280, 9525;
// service.md 3.11).

import COpenSSL
import Glibc

/// Why a client will not accept a server's certificates.
public enum CertificateFlaw: Sendable, Equatable, CustomStringConvertible {
    /// There is none.
    case missing
    /// It is for other names.
    case otherName
    /// Its time is over.
    case expired
    /// Its time has not come.
    case notYetValid
    /// It is signed by itself, and trusted by nobody.
    case selfSigned
    /// The authority that signed it is not among those sent or trusted.
    case incomplete
    /// The chain ends at an authority that is not trusted.
    case untrustedAuthority
    /// Anything else, in OpenSSL's words.
    case other(String)

    /// In words.
    public var description: String {
        switch self {
        case .missing: "there is no certificate"
        case .otherName: "the certificate is for other names"
        case .expired: "the certificate has expired"
        case .notYetValid: "the certificate is not valid yet"
        case .selfSigned: "the certificate is signed by itself"
        case .incomplete: "the chain is not complete: the certificate of the authority that signed it is missing"
        case .untrustedAuthority: "the chain ends at an authority that is not trusted"
        case .other(let reason): reason
        }
    }
}

/// A server's certificate and what it sends with it.
public struct CertificateChain: Sendable, Equatable {
    /// The certificates as DER, the server's own first.
    public let certificates: [[UInt8]]

    /// A chain of these.
    public init(_ certificates: [[UInt8]]) { self.certificates = certificates }

    /// Most certificates that a file may have.
    static let limit = 32

    /// Reads a PEM file: the server's own certificate first.
    ///
    /// - Throws: `TLSError.unreadableCertificate`.
    public init(pem path: String) throws(TLSError) {
        var status = stat()
        // A pipe would be waited for.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, let file = BIO_new_file(path, "r") else {
            ERR_clear_error()
            throw .unreadableCertificate(path: path)
        }
        defer { BIO_free(file) }
        var found: [[UInt8]] = []
        while found.count < Self.limit, let certificate = PEM_read_bio_X509(file, nil, withoutPassphrase, nil) {
            defer { X509_free(certificate) }
            if let bytes = Self.bytes(of: certificate) { found.append(bytes) }
        }
        // The end of the file is an error too.
        ERR_clear_error()
        guard !found.isEmpty else { throw .unreadableCertificate(path: path) }
        certificates = found
    }

    /// When the server's own certificate begins and ends, in seconds since 1970; nil if it cannot be read.
    public var validity: ClosedRange<Int64>? {
        withCertificates { list in
            guard let own = list.first, let start = TLSLibrary.seconds(X509_get0_notBefore(own)),
                let end = TLSLibrary.seconds(X509_get0_notAfter(own)), start <= end
            else { return nil }
            return start...end
        }
    }

    /// Whether the server's own certificate is for this name or numeric address.
    public func covers(_ host: String) -> Bool {
        withCertificates { list in
            guard let own = list.first else { return false }
            if AddressPrefix(host) != nil { return X509_check_ip_asc(own, host, 0) == 1 }
            // Names are in the extension, and a wildcard is a whole label (RFC 9525 section 6).
            let rules = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS
            return X509_check_host(own, host, host.utf8.count, UInt32(rules), nil) == 1
        }
    }

    /// What a client that trusts `trust` holds against it.
    ///
    /// - Parameters:
    ///   - host: the name or address that it asked for.
    ///   - time: seconds since 1970.
    /// - Returns: nothing for a chain that it accepts.
    /// - Throws: `TLSError.unreadableTrust`, `library`.
    public func flaws(host: String, trust: TLSTrust, at time: Int64) throws(TLSError) -> [CertificateFlaw] {
        guard let validity else { return [.missing] }
        var flaws: [CertificateFlaw] = covers(host) ? [] : [.otherName]
        if time > validity.upperBound { return flaws + [.expired] }
        if time < validity.lowerBound { return flaws + [.notYetValid] }
        if trust == .anyone { return flaws }
        guard let store = X509_STORE_new() else { throw .library }
        defer { X509_STORE_free(store) }
        switch trust {
        case .anyone: break
        case .system: guard X509_STORE_set_default_paths(store) == 1 else { throw .library }
        case .file(let path):
            guard X509_STORE_load_file(store, path) == 1 else {
                ERR_clear_error()
                throw .unreadableTrust(path: path)
            }
            X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        }
        let code = withCertificates { list in copenssl_verify_server(store, list.map { Optional($0) }, list.count, time_t(time))
        }
        ERR_clear_error()
        if let flaw = Self.flaw(ofCode: code) { flaws.append(flaw) }
        return flaws
    }

    private static func flaw(ofCode code: Int32) -> CertificateFlaw? {
        switch code {
        case X509_V_OK: nil
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSigned
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            .incomplete
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: .untrustedAuthority
        case X509_V_ERR_CERT_HAS_EXPIRED: .other("a certificate of the chain has expired")
        default: .other(X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "error \(code)")
        }
    }

    /// Gives OpenSSL's form of what can be read of them.
    private func withCertificates<Result>(_ body: ([OpaquePointer]) -> Result) -> Result {
        let list = certificates.compactMap { bytes in
            bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
                var start = buffer.baseAddress
                return d2i_X509(nil, &start, buffer.count)
            }
        }
        defer { for certificate in list { X509_free(certificate) } }
        return body(list)
    }

    /// A certificate as DER; nil if memory is short.
    static func bytes(of certificate: OpaquePointer) -> [UInt8]? {
        var start: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(certificate, &start)
        guard count > 0, let start else { return nil }
        defer { CRYPTO_free(start, nil, 0) }
        return Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }
}
