// Two builds of this tool measured in turn, so that whatever else the machine does falls on both.

import Foundation

/// Runs two programs alternately.
struct PairedRuns {
    /// The program to compare with.
    var other: String
    /// How often each is run.
    var rounds: Int
    /// `engine` or `build`, and its options.
    var words: [String]
    /// Runs a program with arguments and gives what it wrote to its standard output; tests put their own here.
    var launch: (_ program: String, _ arguments: [String]) throws -> Data = PairedRuns.launch

    /// Figures of the other program (first) and this one (second).
    func run() throws -> [ComparedFigure] {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var pairs: [(MeasuredResult, MeasuredResult)] = []
        for _ in 0..<rounds {
            let first = try MeasuredResult(try launch(other, words + ["--json"]), name: other)
            let second = try MeasuredResult(try launch(own, words + ["--json"]), name: "this program")
            pairs.append((first, second))
        }
        return try ResultComparison.compare(pairs)
    }

    private static func launch(_ program: String, _ arguments: [String]) throws -> Data {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardOutput = output
        do {
            try process.run()
        } catch {
            throw BenchError.failed("cannot run \(program)")
        }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchError.failed("\(program) \(arguments.joined(separator: " ")): exit status \(process.terminationStatus)")
        }
        return data
    }
}
