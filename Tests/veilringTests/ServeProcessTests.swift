// The program as a process: ready line, lookup from outside, SIGHUP, SIGTERM.

import CallerDirectory
import DeviceClient
import Foundation
import Testing

@testable import veilring

@Suite("veilring serve as a process", .serialized)
struct ServeProcessTests {
    private let folder = FileManager.default.temporaryDirectory.path + "/veilring-serve-\(UUID().uuidString)"

    /// The program beside the test bundle.
    private static let program: String? = {
        let candidates = [CommandLine.arguments.first ?? "", Bundle.main.executablePath ?? ""]
            .map { URL(filePath: $0).deletingLastPathComponent().path() + "veilring" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    private static var isBuilt: Bool { program != nil }

    private func build(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let rows = "number,name\n+14085551212,\(name)\n"
        try Data(rows.utf8).write(to: URL(filePath: folder + "/callers.csv"))
        let text = """
            { data: "var", region: "US", listen: "127.0.0.1:0", admin: "127.0.0.1:0", authentication: "none",
              useCases: { "net.example.test.identity": { kind: "identity", source: "callers.csv" } } }
            """
        try Data(text.utf8).write(to: URL(filePath: folder + "/veilring.json5"))
        let configuration = try VeilringConfiguration.parse(Array(text.utf8), file: "veilring.json5", directory: folder)
        _ = try DirectoryBuilder(configuration: configuration).run()
    }

    /// The log so far, as soon as it holds a text.
    private func log(containing text: String) throws -> String {
        let end = ContinuousClock.now.advanced(by: .seconds(30))
        while ContinuousClock.now < end {
            let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
            if log.contains(text) { return log }
            usleep(2000)
        }
        throw NotSeen(text: text)
    }

    private struct NotSeen: Error { var text: String }

    private func start() throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: try #require(Self.program))
        process.arguments = ["serve", "--config", folder + "/veilring.json5"]
        FileManager.default.createFile(atPath: folder + "/log", contents: nil)
        process.standardError = try FileHandle(forWritingTo: URL(filePath: folder + "/log"))
        try process.run()
        return process
    }

    @Test(
        "ready, looked up, reloaded by SIGHUP, ended by SIGTERM with status 0",
        .enabled(if: isBuilt, "the program is not beside the tests"))
    func life() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try build("Johnny")
        let process = try start()
        defer { process.terminate() }
        let ready = try log(containing: "ready: listening on ")
        let address = try #require(ready.firstMatch(of: /listening on ([0-9.:]+),/)?.1)
        let limits = try String(contentsOfFile: "/proc/\(process.processIdentifier)/limits", encoding: .utf8)
        #expect(limits.contains(/Max core file size +0 +0/), "no core dumps")
        var device = try Device(serviceURL: "http://\(address)", app: "net.example.test")
        let present = try device.prepare([device.identityUseCase, device.blockUseCase])
        #expect(try device.lookUp("+14085551212", in: present).name == "Johnny")
        try build("Jenny")
        kill(process.processIdentifier, SIGHUP)
        _ = try log(containing: "reloaded: version")
        #expect(try device.lookUp("+14085551212", in: present).name == "Jenny")
        let versions = DirectoryVersions(data: folder + "/var")
        #expect(versions.serving()?.pid == process.processIdentifier)

        let start = ContinuousClock.now
        kill(process.processIdentifier, SIGTERM)
        process.waitUntilExit()
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(process.terminationStatus == 0 && process.terminationReason == .exit)
        #expect(versions.serving() == nil)
        // Standard error is a file here, so every line is a JSON object.
        let lines = try log(containing: "\"kind\":\"stopping\"").split(separator: "\n")
        let kinds = try lines.map { line in
            (try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["kind"] as? String
        }
        // The first says that everyone may ask.
        #expect(kinds.prefix(3) == ["configuration_notice", "admin_listening", "ready"])
        #expect(kinds.contains("request") && kinds.contains("reloaded") && !kinds.contains(nil))
    }

    @Test("nothing built: status 1 and what to do", .enabled(if: isBuilt, "the program is not beside the tests"))
    func nothingBuilt() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try build("Johnny")
        try FileManager.default.removeItem(atPath: folder + "/var")
        let process = try start()
        process.waitUntilExit()
        #expect(process.terminationStatus == 1 && process.terminationReason == .exit)
        #expect(try log(containing: "veilring build").contains("veilring build"))
    }
}
