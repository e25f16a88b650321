// Certificates for tests, made by the `openssl` command in a temporary folder, so that none expires in the tree.

import Foundation

/// A folder with certificates, removed when it is released.
public final class TestCertificates: Sendable {
    /// A certificate chain and its key.
    public struct Pair: Sendable, Equatable {
        /// Path of the certificate in PEM form.
        public let certificate: String
        /// Path of the key in PEM form.
        public let key: String
    }

    /// The kind of a key.
    public enum KeyKind: Sendable {
        /// P-256.
        case ellipticCurve
        /// RSA with 2048 bits.
        case rsa
    }

    /// `openssl` failed.
    public struct Failure: Error, CustomStringConvertible {
        /// Its output.
        public let description: String
    }

    /// The folder.
    public let folder: String

    /// An empty folder.
    public init() throws {
        folder = NSTemporaryDirectory() + "veilring-certificates-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Makes a certificate for host names and addresses in `<file>.pem` and `<file>.key`, valid for some days from now; signed by
    /// itself or by an authority, and perhaps an authority itself. What is there is replaced by renaming, key first.
    public func make(
        _ file: String = "server", names: [String] = ["localhost"], addresses: [String] = ["127.0.0.1"],
        kind: KeyKind = .ellipticCurve, signedBy authority: Pair? = nil, isAuthority: Bool = false, days: Int = 2
    ) throws -> Pair {
        let pair = Pair(certificate: "\(folder)/\(file).pem", key: "\(folder)/\(file).key")
        let alternatives = (names.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }).joined(separator: ",")
        let key = kind == .rsa ? ["rsa:2048"] : ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        try Self.openssl(
            ["req", "-x509", "-newkey"] + key + [
                "-nodes", "-days", "\(days)", "-subj", "/CN=\(names.first ?? "test")", "-addext",
                "subjectAltName=\(alternatives)",
                "-keyout", pair.key + ".new", "-out", pair.certificate + ".new",
            ]
                + (authority.map {
                    ["-CA", $0.certificate, "-CAkey", $0.key, "-addext", "basicConstraints=critical,CA:\(isAuthority)"]
                } ?? []))
        for path in [pair.key, pair.certificate] { rename(path + ".new", path) }
        return pair
    }

    @discardableResult
    private static func openssl(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(description: output) }
        return output
    }
}
