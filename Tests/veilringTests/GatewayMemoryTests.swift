// Large uploads through `veilring relay` and `veilring serve` as processes of their own: their memory goes back to where it was.

import CallerDirectory
import Foundation
import HTTPCore
import Testing

@testable import DeviceClient

@Suite("The memory of relay and gateway")
struct GatewayMemoryTests {
    struct NotSeen: Error { var text: String }

    /// The program beside the test bundle.
    private static let program: String? = {
        [CommandLine.arguments.first ?? "", Bundle.main.executablePath ?? ""]
            .map { URL(filePath: $0).deletingLastPathComponent().path() + "veilring" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    private let folder = FileManager.default.temporaryDirectory.path + "/veilring-memory-\(UUID().uuidString)"

    /// A subcommand that listens, and where.
    private func start(_ words: [String], logging name: String) throws -> (process: Process, url: String) {
        let process = Process()
        process.executableURL = URL(filePath: try #require(Self.program))
        process.arguments = words
        let log = URL(filePath: folder + "/" + name)
        try Data().write(to: log)
        process.standardError = try FileHandle(forWritingTo: log)
        try process.run()
        let end = ContinuousClock.now.advanced(by: .seconds(30))
        while ContinuousClock.now < end {
            let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
            if let address = text.firstMatch(of: /listening on ([0-9.:]+:[0-9]+)[,\n]/)?.1 {
                // The gateway answers from now on.
                return (process, "http://\(address)")
            }
            usleep(2000)
        }
        process.terminate()
        throw NotSeen(text: name)
    }

    /// Bytes that a process has in memory.
    private static func residentBytes(_ process: Process) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(process.processIdentifier)/statm", encoding: .utf8)
        let pages = try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    @Test(
        "forty uploads of 11.9 MiB leave nothing behind",
        .enabled(if: program != nil, "the program is not beside the tests"))
    func returnsToBase() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("number,name\n+14085551212,Johnny\n".utf8).write(to: URL(filePath: folder + "/callers.csv"))
        let text = """
            { data: "var", region: "US", listen: "127.0.0.1:0", admin: "off", authentication: "none",
              gateway: { chunked: true },
              useCases: { "net.example.test.identity": { kind: "identity", source: "callers.csv" } } }
            """
        try Data(text.utf8).write(to: URL(filePath: folder + "/veilring.json5"))
        let configuration = try VeilringConfiguration.parse(Array(text.utf8), file: "veilring.json5", directory: folder)
        _ = try DirectoryBuilder(configuration: configuration).run()
        let (gateway, url) = try start(["serve", "--config", folder + "/veilring.json5"], logging: "gateway")
        defer { gateway.terminate() }
        let (relay, relayURL) = try start(["relay", "--listen", "127.0.0.1:0", "--gateway", url], logging: "relay")
        defer { relay.terminate() }

        let size = 119 << 20 / 10
        let request = HTTPRequest(
            method: "POST", path: "/key", fields: ["user-identifier": "u"], body: [UInt8](repeating: 0x5A, count: size))
        let paths = try [false, true].map { isChunked in
            try RequestPath(
                to: HTTPURL(url),
                through: ObliviousPath(ObliviousRoute(gateway: url, relay: relayURL, isChunked: isChunked), trust: .system),
                trust: .system)
        }
        /// It arrives at the route, where it is no message.
        func upload(_ count: Int) throws {
            for number in 0..<count {
                let answer = try paths[number % paths.count].send(request, step: "key", timeout: .seconds(60))
                #expect(answer.status == 400)
            }
        }
        let before = try [gateway, relay].map(Self.residentBytes)
        try upload(40)
        for (name, (process, before)) in zip(["gateway", "relay"], zip([gateway, relay], before)) {
            // The answer comes a moment before its request is let go.
            var after = try Self.residentBytes(process)
            for _ in 0..<1000 where after - before >= size {
                usleep(5000)
                after = try Self.residentBytes(process)
            }
            // What else a process makes at its first requests is far less than one body.
            #expect(after - before < size, "\(name): \(before) bytes, later \(after)")
        }
    }
}
