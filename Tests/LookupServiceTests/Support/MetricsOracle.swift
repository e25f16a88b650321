// The Prometheus project's own parser (PyPI `prometheus_client`, Tests/Oracles/metrics_oracle.py), and how to run it.

import Foundation

/// A page as the parser reads it.
struct ParsedMetrics: Codable {
    struct Family: Codable {
        var type: String
        var help: String
        var samples: [Sample]
    }

    struct Sample: Codable {
        var name: String
        var labels: [String: String]
        var value: Double

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            name = try list.decode(String.self)
            labels = try list.decode([String: String].self)
            let text = try list.decode(String.self)
            guard let number = Double(text) else { throw NoReply() }
            value = number
        }
    }
}

enum MetricsOracle {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static let isAvailable: Bool = (try? run(["probe"]).status) == 0

    /// The families by name; nil if the parser refuses the page.
    static func parse(_ page: String) throws -> [String: ParsedMetrics.Family]? {
        let (status, output) = try run(["parse"], input: Data(page.utf8))
        return status == 0 ? try JSONDecoder().decode([String: ParsedMetrics.Family].self, from: output) : nil
    }

    private static func run(_ arguments: [String], input: Data = Data()) throws -> (status: Int32, output: Data) {
        let own = root.appending(path: ".build/oracle-venv/bin/python3").path
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [FileManager.default.isExecutableFile(atPath: own) ? own : "python3"]
            + [root.appending(path: "Tests/Oracles/metrics_oracle.py").path] + arguments
        // Files rather than pipes: nothing to deadlock on.
        let folder = FileManager.default.temporaryDirectory.appending(path: "veilring-metrics-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (inputFile, outputFile) = (folder.appending(path: "input"), folder.appending(path: "output"))
        try input.write(to: inputFile)
        try Data().write(to: outputFile)
        process.standardInput = try FileHandle(forReadingFrom: inputFile)
        process.standardOutput = try FileHandle(forWritingTo: outputFile)
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, try Data(contentsOf: outputFile))
    }
}
