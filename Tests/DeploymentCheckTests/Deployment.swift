// A deployment in a folder of its own that `veilring check` finds nothing wrong with, until a test spoils something.

import CallerDirectory
import Foundation
import LookupService
import TestCertificates

@testable import DeploymentCheck

/// A deployment that can be spoilt. The folder goes with it.
final class Deployment: @unchecked Sendable {
    // Vouched for: the template is read only once it is made, and every test has a copy of its own.
    static let app = "net.callers.lookup"
    static let userToken = "k3v0Zq8Lr2Yx7Wd5"
    static let hosts = (
        service: "service.callers.example", issuer: "issuer.callers.example", gateway: "gateway.callers.example"
    )
    static let callers = """
        number,name,company,title,block
        +14085551212,Johnny Appleseed,,,no
        +886912345678,黃先生,某某科技,業務經理,no
        +16505550199,,,,yes

        """
    static let configuration = """
        { data: "var", region: "TW", listen: "0.0.0.0:443", tls: { certificate: "full.pem", key: "server.key" },
          hosts: { service: "service.callers.example", issuer: "issuer.callers.example", gateway: "gateway.callers.example" },
          limits: { exemptPrefixes: ["192.0.2.0/24"] },
          users: [{ tier: "tier1", tokens: ["k3v0Zq8Lr2Yx7Wd5"] }],
          useCases: { "net.callers.lookup.identity": { kind: "identity", source: "callers.csv" },
                      "net.callers.lookup.block":    { kind: "block",    source: "callers.csv" } } }

        """

    /// What every test begins with, built once.
    private static let template = Result { try Deployment(empty: ()).prepared() }

    let folder: String
    var options = CheckOptions()

    /// A copy of the template.
    convenience init() throws {
        let template = try Self.template.get()
        try self.init(empty: ())
        // With modes and times.
        try Self.run("/bin/cp", ["-a", template.folder + "/.", folder])
    }

    private init(empty: ()) throws {
        folder = NSTemporaryDirectory() + "veilring-check-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        options.userToken = Self.userToken
        options.textRecords = .file(folder + "/dns")
        options.trust = .file(folder + "/root.pem")
        // Only servers that never answer take so long.
        options.timeout = .seconds(5)
        options.machine.isClockDisciplined = true
        options.machine.freeBytes = { _ in 100 << 30 }
        options.machine.openFiles = 65_536
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func prepared() throws -> Deployment {
        try write("callers.csv", Self.callers)
        try write("veilring.json5", Self.configuration, mode: 0o600)
        try write("dns", "\(Self.hosts.service) TXT \"apple-live-caller-id-lookup=\(Self.app)\"\n")
        let certificates = try TestCertificates()
        let names = [Self.hosts.service, Self.hosts.issuer, Self.hosts.gateway]
        let root = try certificates.make("root", names: ["root"], addresses: [], days: 365)
        let middle = try certificates.make(
            "middle", names: ["middle"], addresses: [], signedBy: root, isAuthority: true, days: 365)
        let server = try certificates.make("server", names: names, addresses: [], signedBy: middle, days: 90)
        let other = try certificates.make("other", names: ["other.example"], addresses: [], signedBy: root, days: 90)
        let alone = try certificates.make("alone", names: names, addresses: [], days: 90)
        for pair in [root, middle, server, other, alone] {
            for path in [pair.certificate, pair.key] { try Self.run("/bin/cp", [path, folder]) }
        }
        try write("full.pem", read("server.pem") + read("middle.pem"))
        for key in ["server.key", "other.key", "alone.key"] { try mode(key, 0o600) }
        try build()
        let configuration = try load()
        _ = try IssuerKeyFolder(configuration.access).maintain(tiers: configuration.access.tierNames, at: Int64(time(nil)))
        _ = try gatewayKeys(configuration).rotate(at: Int64(time(nil)))
        return self
    }

    func gatewayKeys(_ configuration: VeilringConfiguration) -> GatewayKeyFolder {
        GatewayKeyFolder(path: configuration.access.tokens.keys, rules: .init(), isScheduled: true)
    }

    // MARK: Spoiling

    func path(_ file: String) -> String { folder + "/" + file }

    func read(_ file: String) throws -> String { try String(contentsOfFile: path(file), encoding: .utf8) }

    func write(_ file: String, _ text: String, mode bits: Int? = nil) throws {
        // In place, so that modes stay.
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(file)))
        if let bits { try mode(file, bits) }
    }

    func mode(_ file: String, _ bits: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: bits], ofItemAtPath: path(file))
    }

    /// Replaces a part of the configuration, which must be there.
    func change(_ old: String, _ new: String, in file: String = "veilring.json5") throws {
        let text = try read(file)
        guard text.contains(old) else { throw CocoaError(.fileReadCorruptFile) }
        try write(file, text.replacingOccurrences(of: old, with: new), mode: file == "veilring.json5" ? 0o600 : nil)
    }

    /// Adds a member to the configuration.
    func add(_ member: String) throws { try change("{ data:", "{ \(member), data:") }

    /// Changes the callers and builds again.
    func rebuild(callers: String? = nil) throws {
        if let callers { try write("callers.csv", callers) }
        try build()
    }

    func load() throws -> VeilringConfiguration {
        try VeilringConfiguration.load(path: path("veilring.json5"), environment: [:])
    }

    private func build() throws { _ = try DirectoryBuilder(configuration: load()).run() }

    /// The first file below a folder whose name begins so and ends so.
    func file(in folder: String, from prefix: String, to suffix: String) throws -> String {
        let names = try FileManager.default.subpathsOfDirectory(atPath: path(folder)).sorted()
        guard
            let name = names.first(where: { $0.split(separator: "/").last?.hasPrefix(prefix) == true && $0.hasSuffix(suffix) })
        else { throw CocoaError(.fileNoSuchFile) }
        return folder + "/" + name
    }

    static func run(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
    }

    /// What the check says.
    func check() -> CheckReport {
        ConfigurationCheck.run(file: path("veilring.json5"), environment: [:], options: options)
    }
}
