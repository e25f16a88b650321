// The fuzzer: libFuzzer with the target that VEILRING_FUZZ_TARGET names (libFuzzer runs itself again with its own arguments,
// so the name cannot be one of them). `unpack FILE FOLDER` and `pack FOLDER FILE` handle corpora in one file, and
// `examples FOLDER` writes inputs to begin with. See scripts/fuzz.

import FoundationEssentials
import Glibc
import HostileInput

/// libFuzzer's own main function; the callback gets one input at a time.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// Global: a callback of C captures nothing.
private let target = ProcessInfo.processInfo.environment["VEILRING_FUZZ_TARGET"].flatMap { HostileInput(rawValue: $0) }

private func judge(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let target else { return -1 }
    let violations = target.judge(Array(UnsafeBufferPointer(start: start, count: count))[...]).violations
    // Stopping is the purpose: libFuzzer keeps the input.
    guard violations.isEmpty else { fatalError(violations.joined(separator: "; ")) }
    return 0
}

private func unpack(_ file: String, into folder: String) throws -> Int32 {
    guard let corpus = PackedCorpus(packed: Array(try Data(contentsOf: URL(filePath: file)))) else { return 1 }
    for (index, input) in corpus.inputs.enumerated() {
        try Data(input).write(to: URL(filePath: "\(folder)/\(index)"))
    }
    return 0
}

private func pack(_ folder: String, into file: String) throws -> Int32 {
    let inputs = try FileManager.default.contentsOfDirectory(atPath: folder).map { name in
        Array(try Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
    }
    // Short ones first, then by content: the same inputs always give the same file.
    let sorted = inputs.sorted { $0.count != $1.count ? $0.count < $1.count : $0.lexicographicallyPrecedes($1) }
    try Data(PackedCorpus(sorted).packed).write(to: URL(filePath: file))
    return 0
}

private func writeExamples(into folder: String) throws -> Int32 {
    for (index, input) in (target?.examples ?? []).enumerated() {
        try Data(input).write(to: URL(filePath: "\(folder)/example-\(index)"))
    }
    return 0
}

private func fuzz() -> Int32 {
    guard target != nil else {
        print(
            "veilring-fuzz: VEILRING_FUZZ_TARGET must be one of", HostileInput.allCases.map(\.rawValue).joined(separator: ", "))
        return 2
    }
    var count = CommandLine.argc
    var arguments = CommandLine.unsafeArgv
    return runFuzzer(&count, &arguments, judge)
}

let arguments = CommandLine.arguments
switch (arguments.dropFirst().first, arguments.count) {
case ("unpack", 4): exit(try unpack(arguments[2], into: arguments[3]))
case ("pack", 4): exit(try pack(arguments[2], into: arguments[3]))
case ("examples", 3): exit(try writeExamples(into: arguments[2]))
default: exit(fuzz())
}
