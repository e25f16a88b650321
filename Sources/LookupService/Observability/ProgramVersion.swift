// What runs: version, compiler, kernels. The same data for `/version`, `veilring --version` and the metrics.

import KeywordPIR

/// The program that runs.
public struct ProgramVersion: Sendable, Equatable {
    /// Version of Veilring.
    public var version: String
    /// The commit that it was built from; nil where the build does not know.
    public var commit: String?
    /// Version of Swift that compiled it, at least.
    public var swift: String
    /// The kernels that compute here: `avx2` or `portable`.
    public var kernels: String

    /// This program.
    public static let current = ProgramVersion(
        version: "0.4.0", commit: nil, swift: compiler, kernels: PIREngine.kernels)

    /// Names and texts, without what is not known.
    public var members: [(name: String, text: String)] {
        [("version", version)] + (commit.map { [("commit", $0)] } ?? []) + [("swift", swift), ("kernels", kernels)]
    }

    /// One JSON object without line end.
    public var json: String { JSONLine.object(members.map { ($0.name, .text($0.text)) }) }

    /// One line for a person.
    public var line: String {
        "veilring \(version)" + (commit.map { " (\($0))" } ?? "") + ", Swift \(swift), kernels \(kernels)"
    }

    private static var compiler: String {
        #if compiler(>=6.5)
            "6.5 or newer"
        #elseif compiler(>=6.4)
            "6.4"
        #elseif compiler(>=6.3.2)
            "6.3.2"
        #elseif compiler(>=6.3.1)
            "6.3.1"
        #else
            "6.3"
        #endif
    }
}
