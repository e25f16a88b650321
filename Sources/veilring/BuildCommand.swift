// `veilring build`: from a company's sources to shards.

import CallerDirectory
import FoundationEssentials
import Glibc
import Synchronization

/// Builds and publishes a version.
struct BuildCommand: Command {
    let name = "build"
    let summary = "turns sources into shards and publishes them as a new version"
    let usage = """
        usage: veilring build --config FILE

        Reads the sources of every use case, writes the shards whose rows changed, finds every row again, asks a sample by real
        queries, and publishes the whole as one new version. If anything fails the old version stays as it was. A running
        server takes the new version at SIGHUP.

        Exit status 0 if a version was published, 1 if not: also when rows were rejected, unless --allow-rejects says how many
        may be.
        """
    let options = [
        Option(name: "--config", value: "FILE", help: "the configuration (veilring.json5)"),
        Option(name: "--allow-rejects", value: "N", help: "publish although up to N rows were rejected (default: 0)"),
        Option(name: "--threads", value: "N", help: "threads to use (default: one per core)"),
        Option(name: "--rebuild-all", help: "write all shards anew, also unchanged ones"),
        Option(name: "--wait", value: "SECONDS", help: "wait until the running server reports the new version"),
        Option(name: "--json", help: "print the report as JSON"),
    ]

    func run(_ arguments: Arguments, output: any Output) throws -> ExitCode {
        let file = try arguments.required("--config")
        guard arguments.rest.isEmpty else { throw UsageError("build takes options only") }
        var options = BuildOptions()
        options.allowRejects = try arguments.number("--allow-rejects", in: 0...Int.max) ?? 0
        options.threads = try arguments.number("--threads", in: 1...1024)
        options.rebuildAll = arguments.has("--rebuild-all")
        let wait = try arguments.number("--wait", in: 0...86400)
        let configuration = try VeilringConfiguration.load(path: file, environment: ProcessInfo.processInfo.environment)
        for notice in configuration.notices { output.remark(notice) }
        let progress = ProgressLine()
        options.progress = { progress.show($0) }
        let report: BuildReport
        do {
            defer { progress.end() }
            report = try DirectoryBuilder(configuration: configuration, options: options).run()
        }
        output.result(arguments.has("--json") ? try report.json() : report.text)
        guard let wait else { return .done }
        return try Self.wait(seconds: wait, for: report.version, data: configuration.data, output)
    }

    /// Waits until the server on this data folder serves the version.
    static func wait(seconds: Int, for version: String, data: String, _ output: any Output) throws -> ExitCode {
        let versions = DirectoryVersions(data: data)
        let deadline = ContinuousClock.now + .seconds(seconds)
        var state = versions.serving()
        while state?.version != version, ContinuousClock.now < deadline {
            usleep(50_000)
            state = versions.serving()
        }
        guard let state else {
            output.remark("no server runs on \(data); version \(version) is published")
            return .failed
        }
        guard state.version == version else {
            output.remark(
                "after \(seconds) s process \(state.pid) still serves version \(state.version): send it SIGHUP, and see its log"
            )
            return .failed
        }
        output.remark("process \(state.pid) serves version \(version)")
        return .done
    }
}

extension Arguments {
    /// The value of an option as a whole number.
    func number(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            let upper = range.upperBound == .max ? "on" : "to \(range.upperBound)"
            throw UsageError("\(name): expected a whole number from \(range.lowerBound) \(upper), got \(terminalText(text))")
        }
        return value
    }
}

/// Progress on a terminal: one line that is written over; nothing in a pipe.
final class ProgressLine: Sendable {
    private struct State {
        var start = ContinuousClock.now
        var stage = ""
        var shown = ContinuousClock.now - .seconds(1)
        var wrote = false
    }
    private let isTerminal = isatty(2) == 1
    private let state = Mutex(State())

    /// Shows how far a stage is, at most ten times a second.
    func show(_ progress: BuildProgress) {
        guard isTerminal else { return }
        state.withLock { state in
            let now = ContinuousClock.now
            let stage = "\(progress.useCase) \(progress.stage.rawValue)"
            if stage != state.stage {
                state.stage = stage
                state.start = now
            } else if now - state.shown < .milliseconds(100), progress.done < progress.total {
                return
            }
            state.shown = now
            state.wrote = true
            let elapsed =
                Double((now - state.start).components.seconds) + 1e-18 * Double((now - state.start).components.attoseconds)
            var line = "\(stage): \(progress.done) of \(progress.total)"
            if elapsed > 0.5, progress.done > 0 {
                let rate = Double(progress.done) / elapsed
                line += ", \(Int(rate)) per s, \(Int(Double(progress.total - progress.done) / rate)) s left"
            }
            Self.write("\r\u{1b}[K" + line)
        }
    }

    /// Clears the line.
    func end() { state.withLock { if $0.wrote { Self.write("\r\u{1b}[K") } } }

    private static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(2, bytes, bytes.count)
    }
}
