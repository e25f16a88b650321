// Programs of others that tests run where they are installed.

import Foundation
import Testing

/// Where a program is; nil if it is not installed.
func path(of program: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// Runs a program to its end; standard output and error together.
func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(path(of: program)))
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
}

/// Ten million bytes that differ from place to place.
let foreignBody: Data = {
    let pattern = Data((0..<9_973).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 7) })
    var data = Data()
    while data.count < 10_000_000 { data += pattern }
    return data.prefix(10_000_000)
}()
