// What a subcommand is, and the list of them. Exit statuses: 0 done, 1 failed, 2 bad usage.

import CallerDirectory
import Glibc
import LookupService

/// A subcommand.
protocol Command: Sendable {
    /// The word after `veilring`.
    var name: String { get }
    /// One line for the list of commands.
    var summary: String { get }
    /// The help above the options: how it is called, and what it does.
    var usage: String { get }
    /// Its options, without `--help`.
    var options: [Option] { get }
    /// Does it. A thrown `UsageError` is exit status 2, any other error 1; its text goes to standard error.
    func run(_ arguments: Arguments, output: any Output) throws -> ExitCode
}

/// How a command ends.
enum ExitCode: Int32, Sendable {
    case done = 0
    case failed = 1
    case badUsage = 2
}

/// Where a command writes: results to one side, everything else to the other.
protocol Output: Sendable {
    /// Takes a line of the result.
    func result(_ line: String)
    /// Takes a line for the person.
    func remark(_ line: String)
}

/// Standard output and standard error.
struct StandardOutput: Output {
    func result(_ line: String) { Self.write(line, to: 1) }
    func remark(_ line: String) { Self.write(line, to: 2) }

    private static func write(_ line: String, to descriptor: Int32) {
        let bytes = Array((line + "\n").utf8)
        var written = 0
        while written < bytes.count {
            let rest = Array(bytes[written...])
            let count = Glibc.write(descriptor, rest, rest.count)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { return }
            written += count
        }
    }
}

/// The program: finds the command, runs it, and turns errors into exit statuses.
struct Program: Sendable {
    var commands: [any Command]

    func run(_ words: [String], output: any Output) -> ExitCode {
        guard let first = words.first else {
            output.remark(overview)
            return .badUsage
        }
        var words = words
        if first == "--help" || first == "-h" || first == "help" {
            guard first == "help", words.count == 2 else {
                output.result(overview)
                return .done
            }
            // `veilring help build` is `veilring build --help`.
            words = [words[1], "--help"]
        }
        if first == "--version" {
            // The same data as the admin listener's `/version`.
            guard words.count == 1 || words == ["--version", "--json"] else {
                output.remark("veilring: --version takes no arguments but --json")
                return .badUsage
            }
            output.result(words.count == 1 ? ProgramVersion.current.line : ProgramVersion.current.json)
            return .done
        }
        guard let command = commands.first(where: { $0.name == words[0] }) else {
            let known = commands.map(\.name).joined(separator: " ")
            output.remark("veilring: unknown command \(terminalText(words[0])); known: \(known)\n`veilring --help` says more")
            return .badUsage
        }
        do {
            let rest = words.dropFirst().map { $0 == "-h" ? "--help" : $0 }
            let arguments = try Arguments(rest, options: command.options + [.help])
            if arguments.has("--help") {
                output.result(help(of: command))
                return .done
            }
            return try command.run(arguments, output: output)
        } catch let error as UsageError {
            output.remark("veilring \(command.name): \(error)\n`veilring \(command.name) --help` says more")
            return .badUsage
        } catch {
            output.remark(Self.text(of: error, in: command.name))
            return .failed
        }
    }

    /// Findings stand in lines of their own that begin with `file:line`, as editors and scripts expect; the command's name
    /// stands before what sums them up.
    private static func text(of error: any Error, in name: String) -> String {
        var lines = "\(error)".split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if let wrong = error as? ConfigurationError {
            lines.append("the configuration cannot be used: \(wrong.count) \(wrong.count == 1 ? "error" : "errors")")
        }
        lines.append("veilring \(name): " + lines.removeLast())
        return lines.joined(separator: "\n")
    }

    private var overview: String {
        let width = commands.map(\.name.count).max() ?? 0
        let list = commands.map { "  " + $0.name + String(repeating: " ", count: width - $0.name.count) + "  " + $0.summary }
        return "usage: veilring COMMAND …\n\n" + list.joined(separator: "\n")
            + "\n\n`veilring COMMAND --help` explains a command, `veilring --version [--json]` says what this is."
            + "\nExit status: 0 done, 1 failed, 2 bad usage."
    }

    private func help(of command: any Command) -> String {
        let options = command.options + [.help]
        let left = options.map { $0.name + ($0.value.map { " " + $0 } ?? "") }
        let width = left.map(\.count).max() ?? 0
        let list = zip(left, options).map { "  " + $0 + String(repeating: " ", count: width - $0.count) + "  " + $1.help }
        return command.usage + "\n\noptions:\n" + list.joined(separator: "\n")
    }
}
