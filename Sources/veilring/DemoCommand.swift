// `veilring demo`: the whole of it in one command, on loopback, with a sample directory.

import CallerDirectory
import DeviceClient
import FoundationEssentials
import Glibc
import HTTPServer
import LookupService
import StateStore

/// Builds the sample directory, serves it, and plays a phone against it.
struct DemoCommand: Command {
    let name = "demo"
    let summary = "builds a sample directory, serves it on loopback and looks callers up like a phone"
    let usage = """
        usage: veilring demo

        Needs no files and no network beyond loopback. Everything that it makes is in a temporary folder and removed at the end.
        """
    let options = [Option(name: "--keep", help: "keep the folder, to look at it")]

    static let app = "net.example.lookup"
    static let callers = """
        number,name,company,title,category,block,cache_minutes
        +14085551212,Johnny Appleseed,,,person,no,60
        0912-345-678,黃先生,某某科技,業務經理,person,no,1440
        +886 2 2700 1234 #567,Example Ltd.,,,business,no,1440
        +1 650 555 0199,,,,,yes,

        """
    static let configuration = """
        { data: "var", region: "TW", listen: "127.0.0.1:0", users: [{ tier: "demo", tokens: ["AAAA"] }],
          useCases: { "\(app).identity": { kind: "identity", source: "callers.csv" },
                      "\(app).block":    { kind: "block",    source: "callers.csv" } } }

        """

    /// What goes wrong in a demonstration.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    func run(_ arguments: Arguments, output: any Output) throws -> ExitCode {
        guard arguments.rest.isEmpty else { throw UsageError("demo takes no arguments") }
        let folder = FileManager.default.temporaryDirectory.path + "/veilring-demo-\(getpid())"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let keep = arguments.has("--keep")
        defer { if !keep { try? FileManager.default.removeItem(atPath: folder) } }
        for (name, text) in [("callers.csv", Self.callers), ("veilring.json5", Self.configuration)] {
            guard FileManager.default.createFile(atPath: folder + "/" + name, contents: Data(text.utf8)) else {
                throw Failure(description: "\(folder)/\(name) cannot be written")
            }
        }
        output.result("1. A directory of four callers, \(folder)/callers.csv:")
        for line in Self.callers.split(separator: "\n") { output.result("     \(line)") }
        let configuration = try VeilringConfiguration.load(path: folder + "/veilring.json5", environment: [:])
        output.result("2. veilring build: every number becomes a keyword, every shard a block of encoded polynomials")
        let report = try DirectoryBuilder(configuration: configuration).run()
        for line in report.text.split(separator: "\n") { output.result("     \(line)") }
        let snapshots = DirectorySnapshots(log: SilentLog())
        var nothing = SocketActivation([])
        var settings = ServeCommand.settings(configuration, activation: &nothing)
        settings.dataFolder = nil
        settings.admin = nil
        let store = try ServeCommand.openStore(configuration)
        let server = LookupServer(
            configuration: settings, store: store, privacyPass: try ServeCommand.privacyPass(configuration),
            gateway: try ServeCommand.gateway(configuration), log: SilentLog()
        ) {
            try snapshots.load(data: configuration.data)
        }
        guard let address = try server.start().first else { throw Failure(description: "the server has no address") }
        defer { server.stop() }
        output.result("3. veilring serve: http://\(address), version \(report.version)")
        let relay = HTTPServer(
            configuration: HTTPServerConfiguration(listeners: [ListenAddress(host: "127.0.0.1", port: 0)], threads: 1),
            handler: try RelayHandler(gateway: "http://\(address)", trust: .system, bodyLimit: 13 << 20))
        guard let relayAddress = try relay.start().first else { throw Failure(description: "the relay has no address") }
        defer { relay.shutdown(drain: .zero) }
        output.result("   veilring relay: http://\(relayAddress), which sees sealed requests only, and the server no addresses")
        output.result("4. A phone gets tokens for its user token, fetches the configuration and uploads its evaluation key:")
        var device = try Device(
            serviceURL: "http://\(address)", userToken: "AAAA", app: Self.app, userAgent: Device.defaultUserAgent, state: nil,
            through: ObliviousRoute(gateway: "http://\(address)", relay: "http://\(relayAddress)"))
        let present = try device.prepare([device.blockUseCase, device.identityUseCase])
        if let supply = device.tokenSupply {
            let time = JSONText.milliseconds(supply.time).text
            output.result("     \(supply.count) tokens, signed blindly, in \(time) ms; each pays for one request")
        }
        output.result("5. A phone rings. It asks twice, encrypted:")
        let expected: [(String, Bool)] = [
            ("+14085551212", true), ("+886912345678", true), ("+886227001234", true), ("+16505550199", true),
            ("+886900000000", false),
        ]
        for (number, isThere) in expected {
            let answer = try device.lookUp(number, in: present)
            output.result("     " + LookupCommand.line(answer))
            guard answer.found == isThere else { throw Failure(description: "a number was answered wrongly") }
        }
        if let traffic = device.traffic { output.result("   " + LookupCommand.line(traffic)) }
        output.result("   The server answered without learning which numbers were asked, or whether they were found.")
        output.result("Next: put your callers into a CSV file like this one, write a veilring.json5, and run")
        output.result("     veilring build --config veilring.json5 && veilring serve --config veilring.json5")
        if keep { output.result("Kept: \(folder)") }
        return .done
    }
}
