// `veilring lookup`: plays a phone against a server that speaks the protocol, and prints what the phone would show.

import Cryptography
import DeviceClient
import HTTPCore

/// Looks numbers or keywords up.
struct LookupCommand: Command {
    let name = "lookup"
    let summary = "plays a phone: looks numbers up in a running server without telling it which"
    let usage = """
        usage: veilring lookup --url URL --app BUNDLE NUMBER…
               veilring lookup --url URL --use-case NAME KEYWORD…

        Does what a phone does when a call comes: fetches tokens with the user token, fetches the configuration, uploads a key where the server asks for one,
        asks the use cases BUNDLE.block and BUNDLE.identity, and prints what would be shown. Numbers are written as + and
        digits. A use case that the server lacks counts as without rows. With --use-case any keyword use case is asked.

        Exit status 0 also when nothing is found, 1 if a step failed, 2 on bad usage.
        """
    let options = [
        Option(name: "--url", value: "URL", help: "the service: scheme, host and port"),
        Option(name: "--app", value: "BUNDLE", help: "bundle identifier of the extension"),
        Option(name: "--use-case", value: "NAME", help: "ask this use case; the arguments are keywords"),
        Option(name: "--user-token", value: "TEXT", help: "what stands behind `Bearer `, as `veilring users mint` prints it"),
        Option(name: "--issuer", value: "URL", help: "the issuer of tokens (default: the service's URL)"),
        Option(name: "--gateway", value: "URL", help: "seal every request for this Oblivious HTTP gateway"),
        Option(name: "--relay", value: "URL", help: "send sealed requests through this relay"),
        Option(name: "--chunked", help: "seal requests in pieces, a draft that the gateway takes with `gateway.chunked`"),
        Option(name: "--state", value: "DIR", help: "keep identifier and keys there between runs (default: thrown away)"),
        Option(name: "--user-agent", value: "TEXT", help: "what the phone calls itself (default: \(Device.defaultUserAgent))"),
        Option(name: "--ca", value: "FILE", help: "trust only the certificates in this PEM file (https)"),
        Option(name: "--insecure", help: "trust any certificate (https): for tests on your own machine"),
        Option(name: "--json", help: "print an array of objects instead of lines"),
    ]

    func run(_ arguments: Arguments, output: any Output) throws -> ExitCode {
        let url = try arguments.required("--url")
        let useCase = arguments["--use-case"]
        guard useCase == nil || arguments["--app"] == nil else {
            throw UsageError("--use-case names the whole use case: it and --app exclude each other")
        }
        let app = useCase == nil ? try arguments.required("--app") : ""
        guard !arguments.rest.isEmpty else {
            throw UsageError(useCase == nil ? "at least one number is needed" : "at least one keyword is needed")
        }
        if useCase == nil { try arguments.rest.forEach(Self.check) }
        let trust = try Self.trust(arguments)
        var device: Device
        do throws(DeviceError) {
            device = try Device(
                serviceURL: url, issuerURL: arguments["--issuer"], userToken: arguments["--user-token"], app: app,
                userAgent: arguments["--user-agent"] ?? Device.defaultUserAgent, state: arguments["--state"],
                trust: trust, through: try Self.route(arguments))
        } catch {
            if case .invalidURL = error { throw UsageError("\(error)") }
            throw error
        }
        if let useCase {
            try askKeywords(arguments, useCase, &device, output)
        } else {
            try lookUpNumbers(arguments, &device, output)
        }
        return .done
    }

    static func trust(_ arguments: Arguments) throws(UsageError) -> TLSTrust {
        guard let file = arguments["--ca"] else { return arguments.has("--insecure") ? .anyone : .system }
        if arguments.has("--insecure") { throw UsageError("--ca and --insecure exclude each other") }
        return .file(file)
    }

    private static func route(_ arguments: Arguments) throws(DeviceError) -> ObliviousRoute? {
        guard let gateway = arguments["--gateway"] else {
            guard arguments["--relay"] == nil else { throw .invalidURL("--relay needs --gateway") }
            guard !arguments.has("--chunked") else { throw .invalidURL("--chunked needs --gateway") }
            return nil
        }
        return ObliviousRoute(gateway: gateway, relay: arguments["--relay"], isChunked: arguments.has("--chunked"))
    }

    /// A number is `+` and 1 to 32 digits: directories may hold numbers that E.164 calls too long.
    private static func check(_ number: String) throws(UsageError) {
        let digits = number.utf8.dropFirst()
        guard number.utf8.first == UInt8(ascii: "+"), (1...32).contains(digits.count),
            digits.allSatisfy({ (0x30...0x39).contains($0) })
        else { throw UsageError("a number is written as + and digits, like +14085551212, not \"\(terminalText(number))\"") }
    }

    private func lookUpNumbers(_ arguments: Arguments, _ device: inout Device, _ output: any Output) throws {
        let present = try device.prepare([device.blockUseCase, device.identityUseCase])
        if present.isEmpty {
            output.remark(
                "the server has neither \(device.blockUseCase) nor \(device.identityUseCase): --app is the bundle identifier "
                    + "that its use cases are named after, and --url its scheme, host and port")
        }
        var answers: [JSONText] = []
        for number in arguments.rest {
            let answer = try device.lookUp(number, in: present)
            if arguments.has("--json") {
                answers.append(Self.json(answer))
            } else {
                output.result(Self.line(answer))
            }
        }
        if arguments.has("--json") { output.result(JSONText.array(answers).text) }
        if let traffic = device.traffic { output.remark(Self.line(traffic)) }
    }

    /// `4 sealed requests: 299,000 bytes up (298,600 inside), 50,100 bytes down (50,000 inside)`
    static func line(_ traffic: ObliviousTraffic) -> String {
        "\(traffic.count) sealed requests: \(traffic.sealedRequests) bytes up (\(traffic.plainRequests) inside), "
            + "\(traffic.sealedResponses) bytes down (\(traffic.plainResponses) inside)"
    }

    private func askKeywords(
        _ arguments: Arguments, _ useCase: String, _ device: inout Device, _ output: any Output
    ) throws {
        guard try device.prepare([useCase]).contains(useCase) else { throw DeviceError.unknownUseCase(useCase) }
        var answers: [JSONText] = []
        for keyword in arguments.rest {
            let start = ContinuousClock.now
            let value = try device.ask(useCase, for: Array(keyword.utf8))
            let time = ContinuousClock.now - start
            if arguments.has("--json") {
                answers.append(
                    .object([
                        ("keyword", .string(keyword)), ("found", .bool(value != nil)),
                        ("value", .optional(value.map(valueText))), ("hex", .optional(value.map(\.hexadecimal))),
                        ("ms", .milliseconds(time)),
                    ]))
            } else {
                let shown = value.map(valueText) ?? "not found"
                output.result("\(terminalText(keyword)): \(shown) [\(JSONText.milliseconds(time).text) ms]")
            }
        }
        if arguments.has("--json") { output.result(JSONText.array(answers).text) }
    }

    /// `+14085551212: Johnny Appleseed, person, not blocked [block 21.0 ms, identity 40.2 ms]`
    static func line(_ answer: CallerAnswer) -> String {
        var parts: [String] = []
        if let name = answer.name { parts.append(name.isEmpty ? "(no name)" : terminalText(name)) }
        if let category = answer.category, category != .unspecified { parts.append(category.rawValue) }
        if answer.found { parts.append(answer.block ? "blocked" : "not blocked") } else { parts.append("not found") }
        var times: [String] = []
        if let time = answer.blockTime { times.append("block \(JSONText.milliseconds(time).text) ms") }
        if let time = answer.identityTime { times.append("identity \(JSONText.milliseconds(time).text) ms") }
        let end = times.isEmpty ? "" : " [\(times.joined(separator: ", "))]"
        return "\(answer.number): \(parts.joined(separator: ", "))\(end)"
    }

    static func json(_ answer: CallerAnswer) -> JSONText {
        .object([
            ("number", .string(answer.number)), ("found", .bool(answer.found)), ("name", .optional(answer.name)),
            ("category", .optional(answer.category?.rawValue)),
            ("cacheMinutes", answer.cacheMinutes.map { .int($0) } ?? .null), ("block", .bool(answer.block)),
            ("identityMs", answer.identityTime.map { .milliseconds($0) } ?? .null),
            ("blockMs", answer.blockTime.map { .milliseconds($0) } ?? .null),
        ])
    }
}
