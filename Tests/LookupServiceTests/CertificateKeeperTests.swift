// Certificates of a running server: exchanged files are noticed, and what cannot be read changes nothing.

import Foundation
import HTTPClient
import HTTPCore
import HTTPServer
import StateStore
import Synchronization
import TestCertificates
import Testing

@testable import LookupService

@Suite("Certificates of a running server")
struct CertificateKeeperTests {
    private let certificates: TestCertificates
    private let files: [TLSCertificateFiles]
    private let log = MemoryLog()

    init() throws {
        certificates = try TestCertificates()
        let pair = try certificates.make()
        files = [TLSCertificateFiles(certificate: pair.certificate, key: pair.key)]
    }

    private func keeper(_ installed: Installed) throws -> CertificateKeeper {
        CertificateKeeper(files: files, current: try TLSServerContext(certificates: files), log: log) { _ in
            installed.count.withLock { $0 += 1 }
        }
    }

    private final class Installed: Sendable {
        let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
    }

    private var kinds: [String] { log.records.map(\.event.kind) }

    @Test("nothing changed: nothing is read, nothing is said")
    func unchanged() throws {
        let installed = Installed()
        let keeper = try keeper(installed)
        for _ in 0..<3 { keeper.check() }
        #expect(installed.value == 0)
        #expect(kinds.isEmpty)
    }

    @Test("exchanged files are in force after the next look")
    func exchanged() throws {
        let installed = Installed()
        let keeper = try keeper(installed)
        _ = try certificates.make()
        keeper.check()
        #expect(installed.value == 1)
        #expect(kinds == ["certificates_loaded"])
        keeper.check()
        #expect(installed.value == 1)
    }

    @Test("a key without its certificate is not worth a word at once, but when it lasts, and then once")
    func halfWritten() throws {
        let installed = Installed()
        let keeper = try keeper(installed)
        let other = try certificates.make("other")
        let key = try Data(contentsOf: URL(fileURLWithPath: files[0].key))
        try FileManager.default.removeItem(atPath: files[0].key)
        try FileManager.default.copyItem(atPath: other.key, toPath: files[0].key)
        keeper.check()
        #expect(kinds.isEmpty)
        for _ in 0..<3 { keeper.check() }
        #expect(kinds == ["certificates_not_loaded"])
        #expect(installed.value == 0)
        // The old key again, in a new file: loaded, as far as anybody can tell.
        try FileManager.default.removeItem(atPath: files[0].key)
        try key.write(to: URL(fileURLWithPath: files[0].key))
        _ = chmod(files[0].key, 0o600)
        keeper.check()
        #expect(kinds == ["certificates_not_loaded", "certificates_loaded"])
        #expect(installed.value == 1)
    }

    @Test("a reload may name other files; a wrong one is told at once")
    func renamed() throws {
        let installed = Installed()
        let keeper = try keeper(installed)
        let other = try certificates.make("other")
        let absent = TLSCertificateFiles(certificate: certificates.folder + "/absent.pem", key: other.key)
        keeper.check(files: [absent])
        #expect(kinds == ["certificates_not_loaded"])
        keeper.check(files: [TLSCertificateFiles(certificate: other.certificate, key: other.key)])
        #expect(kinds == ["certificates_not_loaded", "certificates_loaded"])
        #expect(installed.value == 1)
    }

    @Test("a running server shows the new certificate after a reload, and a wrong one stops neither it nor its data")
    func server() throws {
        let box = try Box(files: files, log: log)
        defer { box.server.stop() }
        func ask(_ trust: String) throws -> Int {
            try HTTPClient(url: HTTPURL("https://localhost:\(box.port)"), trust: .file(trust))
                .send(HTTPRequest(method: "GET", path: "/nothing")).status
        }
        #expect(try ask(files[0].certificate) == 404)
        let other = try certificates.make("other")
        box.files.value = [TLSCertificateFiles(certificate: other.certificate, key: files[0].key)]
        #expect(box.server.reload())
        #expect(try ask(files[0].certificate) == 404)
        box.files.value = [TLSCertificateFiles(certificate: other.certificate, key: other.key)]
        #expect(box.server.reload())
        #expect(try ask(other.certificate) == 404)
        #expect(throws: HTTPClientError.tls(.certificateUntrusted)) { try ask(files[0].certificate) }
    }

    /// A server with a TLS listener and no data.
    private final class Box: Sendable {
        let files: Named
        let server: LookupServer
        let port: UInt16

        init(files: [TLSCertificateFiles], log: MemoryLog) throws {
            let named = Named(files)
            self.files = named
            server = LookupServer(
                configuration: LookupServerConfiguration(
                    http: HTTPServerConfiguration(listeners: [ListenAddress(host: "127.0.0.1", port: 0, tls: true)])),
                store: try InMemoryEvaluationKeyStore(), log: log, certificates: { named.value },
                load: { ServiceSnapshot(version: "1", current: []) })
            port = try server.start()[0].port
        }
    }

    /// What the configuration says at the moment.
    private final class Named: Sendable {
        private let files: Mutex<[TLSCertificateFiles]>
        init(_ files: [TLSCertificateFiles]) { self.files = Mutex(files) }
        var value: [TLSCertificateFiles] {
            get { files.withLock { $0 } }
            set { files.withLock { $0 = newValue } }
        }
    }
}
