// Independent implementations in Python (Tests/Oracles), which scripts/setup gives their packages in .build/oracle-venv.

import Foundation

/// A script of Tests/Oracles.
public struct PythonOracle: Sendable {
    /// It ended with another status than 0.
    public struct Failure: Error {
        /// The status.
        public let status: Int32
    }

    private let command: [String]

    /// The repository.
    public static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// A script by its file name.
    public init(_ script: String) {
        let own = Self.root.appending(path: ".build/oracle-venv/bin/python3").path
        command = [
            FileManager.default.isExecutableFile(atPath: own) ? own : "python3",
            Self.root.appending(path: "Tests/Oracles/" + script).path,
        ]
    }

    /// Whether its packages are here: each script has a command that only imports them.
    public var isAvailable: Bool { (try? output(["probe"])) != nil }

    /// Runs it, with something on its standard input.
    public func run(_ arguments: [String], input: Data = Data()) throws -> (status: Int32, output: Data) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command + arguments
        // Files rather than pipes: nothing to deadlock on.
        let folder = FileManager.default.temporaryDirectory.appending(path: "veilring-oracle-\(UUID().uuidString)")
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

    /// What it prints.
    ///
    /// - Throws: `Failure`.
    public func output(_ arguments: [String], input: Data = Data()) throws -> Data {
        let (status, output) = try run(arguments, input: input)
        guard status == 0 else { throw Failure(status: status) }
        return output
    }
}
