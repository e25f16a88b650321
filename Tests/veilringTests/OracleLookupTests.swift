// The independent model of the protocol plays a phone against the program: several shards, both sharding functions, one to
// three hash functions, long values, a killed server. Skipped where the model is not beside the project.

import Foundation
import LookupMessages
import Testing

@testable import veilring

/// Where the model is, if it and what it needs are here.
private enum Oracle {
    static let folder: String? = {
        var at = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        while at.path != "/" {
            let candidate = at.deletingLastPathComponent().appendingPathComponent("shared/oracle")
            if FileManager.default.fileExists(atPath: candidate.path + "/oracle.py") { return candidate.path }
            at.deleteLastPathComponent()
        }
        return nil
    }()

    static let isUsable: Bool = {
        guard folder != nil, let result = try? run("/usr/bin/env", ["python3", "-c", "import numpy, cryptography"]) else {
            return false
        }
        return result.status == 0
    }()

    static let program: String? = {
        [CommandLine.arguments.first ?? "", Bundle.main.executablePath ?? ""]
            .map { URL(filePath: $0).deletingLastPathComponent().path() + "veilring" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    static func run(_ path: String, _ arguments: [String]) throws -> (status: Int32, output: Data) {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }
}

@Suite(
    "The independent phone",
    .enabled(
        if: Oracle.isUsable && Oracle.program != nil,
        "shared/oracle, python3 with numpy and cryptography, or the program is missing"))
struct OracleLookupTests {
    private struct Summary: Decodable {
        struct Counts: Decodable { let found: Int, absent: Int, wrong: Int, error: Int }
        struct UseCase: Decodable { let keyUploaded: Bool }
        let counts: Counts
        let problems: [String]
        let useCases: [UseCase]
    }

    private let folder = FileManager.default.temporaryDirectory.path + "/veilring-oracle-\(UUID().uuidString)"
    private static let set = "n_4096_logq_27_28_28_logt_5"
    private static let useCases: [(name: String, rows: String, pir: String)] = [
        ("net.example.t.default", "short", "{}"),
        ("net.example.t.hash1", "short", "{ sharding: { shardCount: 2 }, cuckooTableArguments: { hashFunctionCount: 1 } }"),
        (
            "net.example.t.hash3", "short",
            "{ rlweParameters: '\(set)', sharding: { shardCount: 4 }, cuckooTableArguments: { hashFunctionCount: 3 } }"
        ),
        (
            "net.example.t.double", "short",
            "{ sharding: { shardCount: 3 }, shardingFunction: { doubleMod: 5 }, keyCompression: 'maxCompression' }"
        ),
        ("net.example.t.long", "long", "{ rlweParameters: 'n_8192_logq_3x55_logt_24', dimensionCount: 2 }"),
        ("net.example.t.one", "short", "{ rlweParameters: 'n_4096_logq_27_28_28_logt_13', dimensionCount: 1 }"),
    ]

    private func prepare() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, lengths) in [("short", (0..<400).map { 1 + $0 % 40 }), ("long", [1, 30_000, 60_000, 12, 5])] {
            let rows = lengths.enumerated().map { i, length in
                KeywordDatabaseRow(
                    keyword: Array("example.com/\(i)".utf8)[...],
                    value: [UInt8]((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ i) })[...])
            }
            try Data(KeywordDatabase(rows: rows).encoded()).write(to: URL(filePath: folder + "/\(name).binpb"))
        }
        let list = Self.useCases.map { "\"\($0.name)\": { kind: \"keyword\", source: \"\($0.rows).binpb\", pir: \($0.pir) }" }
        let text = """
            { data: "var", listen: "127.0.0.1:0", admin: "off", authentication: "none", useCases: { \(list.joined(separator: ",\n")) } }
            """
        try Data(text.utf8).write(to: URL(filePath: folder + "/veilring.json5"))
    }

    private func serve() throws -> (Process, String) {
        let process = Process()
        process.executableURL = URL(filePath: try #require(Oracle.program))
        process.arguments = ["serve", "--config", folder + "/veilring.json5"]
        let log = folder + "/log"
        FileManager.default.createFile(atPath: log, contents: nil)
        process.standardError = try FileHandle(forWritingTo: URL(filePath: log))
        try process.run()
        let end = ContinuousClock.now.advanced(by: .seconds(30))
        while ContinuousClock.now < end {
            let text = try String(contentsOfFile: log, encoding: .utf8)
            if let address = text.firstMatch(of: /listening on ([0-9.:]+),/)?.1 { return (process, "http://\(address)") }
            usleep(2000)
        }
        process.terminate()
        throw CocoaError(.fileReadUnknown)
    }

    private func lookUp(_ url: String, _ extra: [String] = []) throws -> Summary {
        let oracle = try #require(Oracle.folder) + "/oracle.py"
        var arguments = ["python3", oracle, "lookup", "--url", url, "--sample", "2", "--absent", "1", "--json"] + extra
        for useCase in Self.useCases { arguments += ["--rows", "\(useCase.name)=\(folder)/\(useCase.rows).binpb"] }
        let result = try Oracle.run("/usr/bin/env", arguments)
        #expect(result.status == 0)
        return try JSONDecoder().decode(Summary.self, from: result.output)
    }

    @Test func findsEverythingAlsoAfterAKill() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try prepare()
        let program = try #require(Oracle.program)
        #expect(try Oracle.run(program, ["build", "--config", folder + "/veilring.json5"]).status == 0)
        let count = Self.useCases.count
        var (process, url) = try serve()
        let first = try lookUp(url, ["--seed", "3"])
        #expect(first.counts.found == 2 * count && first.counts.absent == count)
        #expect(first.counts.wrong == 0 && first.counts.error == 0 && first.problems == [])
        #expect(first.useCases.contains { $0.keyUploaded })
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()

        (process, url) = try serve()
        defer { process.terminate() }
        let second = try lookUp(url, ["--seed", "3"])
        #expect(second.counts.found == 2 * count && second.counts.wrong == 0 && second.counts.error == 0)
        #expect(!second.useCases.contains { $0.keyUploaded }, "acknowledged keys are still there")
        let carried = try lookUp(url, ["--embed-key"])
        #expect(carried.counts.found == 2 * count && carried.problems == [])
    }
}
