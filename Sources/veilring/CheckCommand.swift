// `veilring check`: whether a deployment is ready, a line for each thing that was looked at, and how to mend it.

import DeploymentCheck
import FoundationEssentials
import HTTPClient
import HTTPCore

/// Checks a configuration, a running deployment, or both.
struct CheckCommand: Command {
    let name = "check"
    let summary = "says whether a deployment is ready for phones and for the vendor, and how to mend what is not"
    let usage = """
        usage: veilring check --config FILE [--user-token TEXT]
               veilring check --url URL [--issuer URL] [--gateway URL [--relay URL]] --app BUNDLE --user-token TEXT

        With --config it looks at the files of this machine: configuration, certificates, keys, data, modes, disk, clock. With --url at
        a running deployment from outside, as a phone and the vendor do: URLs, TLS, HTTP/2, keys, tokens, and the test identity
        asked through the whole oblivious path. Both may be given. Nothing is written; looking from outside costs some tokens of the
        user, and leaves evaluation keys of phones that never come again.

        A line for each thing: ok, warning, failure, or skipped, and behind an arrow how to mend it. At the end come the sizes to
        declare to the vendor's relay.

        Exit status 0 without failures (with --strict: and without warnings), 1 with some, 2 on bad usage.
        """
    let options = [
        Option(name: "--config", value: "FILE", help: "the configuration (veilring.json5)"),
        Option(name: "--url", value: "URL", help: "the service: https:// and its host"),
        Option(name: "--issuer", value: "URL", help: "the issuer (default: the service's URL)"),
        Option(name: "--gateway", value: "URL", help: "the gateway, where sealed requests go"),
        Option(name: "--keys", value: "URL", help: "its key configuration (default: the well-known path of RFC 9540)"),
        Option(name: "--relay", value: "URL", help: "send sealed requests through this relay"),
        Option(name: "--app", value: "BUNDLE", help: "bundle identifier of the caller-lookup extension"),
        Option(name: "--filter-app", value: "BUNDLE", help: "bundle identifier of the app with a URL filter"),
        Option(name: "--user-token", value: "TEXT", help: "what you will give the vendor: what stands behind `Bearer `"),
        Option(
            name: "--user-token-file", value: "FILE", help: "the same, from a file's first line: others see a command's words"),
        Option(
            name: "--dns-file", value: "FILE", help: "TXT records to use instead of the resolver's: lines `NAME TXT \"text\"`"),
        Option(name: "--connect", value: "HOST:PORT", help: "connect there instead of the URLs' hosts: before DNS is set up"),
        Option(name: "--ca", value: "FILE", help: "trust only the certificates in this PEM file"),
        Option(name: "--insecure", help: "trust any certificate: for tests on your own machine"),
        Option(name: "--strict", help: "warnings are failures"),
        Option(name: "--json", help: "print one object instead of lines"),
    ]

    func run(_ arguments: Arguments, output: any Output) throws -> ExitCode {
        guard arguments.rest.isEmpty else { throw UsageError("check takes options only") }
        guard arguments["--config"] != nil || arguments["--url"] != nil else {
            throw UsageError("--config or --url is needed, or both")
        }
        if arguments["--url"] == nil {
            for name in ["--issuer", "--gateway", "--keys", "--relay", "--app", "--filter-app", "--connect"]
            where arguments[name] != nil { throw UsageError("\(name) needs --url") }
        }
        guard arguments["--relay"] == nil || arguments["--gateway"] != nil else { throw UsageError("--relay needs --gateway") }
        var options = CheckOptions()
        options.userToken = arguments["--user-token"]
        if let file = arguments["--user-token-file"] {
            guard options.userToken == nil else { throw UsageError("--user-token and --user-token-file exclude each other") }
            guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw UsageError("--user-token-file: \(terminalText(file)) cannot be read as text")
            }
            options.userToken = String(text.prefix { $0 != "\n" && $0 != "\r" && $0 != "\r\n" })
        }
        options.trust = try LookupCommand.trust(arguments)
        if let file = arguments["--dns-file"] { options.textRecords = .file(file) }
        var report = CheckReport()
        if let file = arguments["--config"] {
            report.append(
                ConfigurationCheck.run(file: file, environment: ProcessInfo.processInfo.environment, options: options))
        }
        if arguments["--url"] != nil { report.append(LiveCheck.run(try Self.target(arguments), options: options)) }
        let hasFailed = report.hasFailures || arguments.has("--strict") && report.count(.warning) > 0
        if arguments.has("--json") {
            output.result(Self.json(report, hasFailed: hasFailed))
        } else {
            for line in Self.lines(report) { output.result(line) }
        }
        return hasFailed ? .failed : .done
    }

    private static func target(_ arguments: Arguments) throws(UsageError) -> LiveTarget {
        var target = LiveTarget(service: try arguments.required("--url"))
        target.issuer = arguments["--issuer"]
        target.gateway = arguments["--gateway"]
        target.keys = arguments["--keys"]
        target.relay = arguments["--relay"]
        target.app = arguments["--app"]
        target.filterApp = arguments["--filter-app"]
        if let text = arguments["--connect"] {
            guard let url = try? HTTPURL("http://" + text), url.path == "/", text.last != "/" else {
                throw UsageError("--connect is written as host:port, not \"\(terminalText(text))\"")
            }
            target.address = ConnectAddress(host: url.host, port: UInt16(clamping: url.port))
        }
        return target
    }

    // MARK: Output

    /// Texts may hold what a server sent.
    static func lines(_ report: CheckReport) -> [String] {
        let width = report.findings.map(\.item.rawValue.utf8.count).max() ?? 0
        var lines: [String] = []
        for finding in report.findings {
            let item = finding.item.rawValue
            let verdict = finding.verdict.rawValue
            lines.append(
                verdict + String(repeating: " ", count: 9 - verdict.utf8.count) + item
                    + String(repeating: " ", count: width + 2 - item.utf8.count) + terminalText(finding.text))
            if let remedy = finding.remedy {
                lines.append(String(repeating: " ", count: 9 + width + 2) + "→ " + terminalText(remedy))
            }
        }
        if !report.sizes.isEmpty {
            lines.append("Declare to the relay at least: " + declaration(report.sizes))
        }
        let counts = CheckVerdict.allCases.map { (report.count($0), $0.rawValue) }.filter { $0.0 > 0 }
        lines.append(counts.map { "\($0.0) \($0.1)" }.joined(separator: ", "))
        return lines
    }

    /// `requests of 612,345 bytes (/key), answers of 25,000 bytes (/queries)`
    private static func declaration(_ sizes: [DeclaredSize]) -> String {
        let request = sizes.max { $0.request < $1.request }
        let response = sizes.max { $0.response < $1.response }
        guard let request, let response else { return "" }
        return
            "requests of \(request.request) bytes (\(request.path)), answers of \(response.response) bytes (\(response.path))"
    }

    static func json(_ report: CheckReport, hasFailed: Bool) -> String {
        JSONText.object([
            ("ready", .bool(!hasFailed)),
            (
                "counts",
                .object(CheckVerdict.allCases.map { ($0.rawValue, .int(report.count($0))) })
            ),
            (
                "findings",
                .array(
                    report.findings.map {
                        .object([
                            ("item", .string($0.item.rawValue)), ("question", .string($0.item.question)),
                            ("verdict", .string($0.verdict.rawValue)), ("text", .string($0.text)),
                            ("remedy", .optional($0.remedy)),
                        ])
                    })
            ),
            (
                "sizes",
                .array(
                    report.sizes.map {
                        .object([
                            ("path", .string($0.path)), ("requestBytes", .int($0.request)),
                            ("responseBytes", .int($0.response)),
                        ])
                    })
            ),
        ]).text
    }
}
