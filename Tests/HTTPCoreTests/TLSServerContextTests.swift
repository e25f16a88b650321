// Certificate files that cannot be used, and noticing that files were exchanged.

import Foundation
import HTTPCore
import TestCertificates
import Testing

@Suite struct TLSServerContextTests {
    private let certificates: TestCertificates
    private let pair: TestCertificates.Pair

    init() throws {
        certificates = try TestCertificates()
        pair = try certificates.make()
    }

    private func context(_ certificate: String, _ key: String, names: [String] = []) throws -> TLSServerContext {
        try TLSServerContext(certificates: [TLSCertificateFiles(names: names, certificate: certificate, key: key)])
    }

    private func write(_ text: String, _ file: String) throws -> String {
        let path = certificates.folder + "/" + file
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func saysWhichFileIsWrong() throws {
        let other = try certificates.make("other")
        let absent = certificates.folder + "/absent.pem"
        let empty = try write("", "empty.pem")
        let garbage = try write("-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n", "garbage.pem")
        #expect(throws: TLSError.noCertificate) { try TLSServerContext(certificates: []) }
        for bad in [absent, empty, garbage, pair.key] {
            #expect(throws: TLSError.unreadableCertificate(path: bad)) { try context(bad, pair.key) }
        }
        for bad in [absent, empty, garbage] {
            _ = chmod(bad, 0o600)
            #expect(throws: TLSError.unreadableKey(path: bad)) { try context(pair.certificate, bad) }
        }
        #expect(throws: TLSError.keyMismatch(certificate: pair.certificate, key: other.key)) {
            try context(pair.certificate, other.key)
        }
        _ = chmod(pair.key, 0o644)
        #expect(throws: TLSError.exposedKey(path: pair.key)) { try context(pair.certificate, pair.key) }
    }

    @Test func namesMustBeHostNamesAndStandOnce() throws {
        for bad in ["", "a b", "https://a", "a..b", "*", "*.", "a/*", String(repeating: "a", count: 64)] {
            #expect(throws: TLSError.invalidName(certificate: pair.certificate)) {
                try context(pair.certificate, pair.key, names: [bad])
            }
        }
        #expect(throws: TLSError.repeatedName("A.example.")) {
            try context(pair.certificate, pair.key, names: ["a.example", "A.example."])
        }
        #expect(throws: Never.self) {
            try context(pair.certificate, pair.key, names: ["a.example", "*.a.example", "*.example", "b-1.example"])
        }
    }

    @Test func noticesExchangedFiles() throws {
        let present = try context(pair.certificate, pair.key)
        #expect(!present.isOutdated)
        _ = try certificates.make()
        #expect(present.isOutdated)
        #expect(try !context(pair.certificate, pair.key).isOutdated)
        try FileManager.default.removeItem(atPath: pair.key)
        #expect(present.isOutdated)
    }

    @Test func knowsWhenTheFirstCertificateExpires() throws {
        let expires = try context(pair.certificate, pair.key).expires
        let days = (Double(expires) - Date().timeIntervalSince1970) / 86_400
        #expect(days > 1.9 && days < 2.1)
    }

    @Test func trustMustBeReadable() throws {
        let absent = certificates.folder + "/absent.pem"
        #expect(throws: TLSError.unreadableTrust(path: absent)) { try TLSClientContext(trust: .file(absent)) }
        let empty = try write("", "empty.pem")
        #expect(throws: TLSError.unreadableTrust(path: empty)) { try TLSClientContext(trust: .file(empty)) }
    }
}
