// `veilring keys`: the issuer's keys, listed, made, rotated and removed (service.md 2.2, 2.6).

import CallerDirectory
import FoundationEssentials
import Glibc
import LookupService
import PrivacyPass

/// Works on the folder of keys; a running server notices within a second or two.
struct KeysCommand: Command {
    let name = "keys"
    let summary = "lists, makes, rotates and removes the issuer's keys"
    let usage = """
        usage: veilring keys list   --config FILE [--gateway] [--json]
               veilring keys create --config FILE
               veilring keys rotate --config FILE [--tier NAME | --gateway]
               veilring keys remove --config FILE ID

        list    shows every key with its tier, its phase and its times
        create  gives every tier without a key its first one, as `serve` does
        rotate  announces the next key of a tier (default: of every tier) now; it is used as soon as no phone can have an older
                list of keys, and the old one goes on as long as somebody may need it
        remove  ends a key at once, in an emergency: every token that it signed is worthless. ID: how its id begins

        Exit status 0, 1 if it failed, 2 on bad usage.
        """
    let options = [
        Option(name: "--config", value: "FILE", help: "the configuration (veilring.json5)"),
        Option(name: "--tier", value: "NAME", help: "the tier (rotate)"),
        Option(name: "--gateway", help: "the gateway's keys instead of the issuer's (list, rotate)"),
        Option(name: "--json", help: "print an array of objects (list)"),
    ]

    func run(_ arguments: Arguments, output: any Output) throws -> ExitCode {
        let file = try arguments.required("--config")
        guard let action = arguments.rest.first, arguments.rest.count == (action == "remove" ? 2 : 1) else {
            throw UsageError("list, create, rotate or remove ID is needed")
        }
        let configuration = try VeilringConfiguration.load(path: file, environment: ProcessInfo.processInfo.environment)
        let folder = try IssuerKeyFolder(configuration.access)
        let now = Int64(time(nil))
        if arguments.has("--gateway") {
            try gateway(action, GatewayKeyFolder(configuration), now, isJSON: arguments.has("--json"), output)
            return .done
        }
        switch action {
        case "list": try list(folder, now, isJSON: arguments.has("--json"), output)
        case "create":
            let made = try folder.maintain(tiers: configuration.access.tierNames, at: now)
            output.result(made.isEmpty ? "every tier has a key" : made.map { "made \($0.prefix(8))" }.joined(separator: "\n"))
        case "rotate": try rotate(folder, configuration.access, arguments["--tier"], now, output)
        case "remove":
            let name = try folder.remove(prefix: arguments.rest[1], at: now)
            output.result("removed \(name.prefix(8)): its tokens are worthless from now on")
        default: throw UsageError("unknown action \(terminalText(action)); known: list create rotate remove")
        }
        return .done
    }

    private func rotate(
        _ folder: IssuerKeyFolder, _ access: AccessSettings, _ tier: String?, _ now: Int64, _ output: any Output
    ) throws {
        if let tier, !access.tierNames.contains(tier) {
            throw UsageError("no tier \(terminalText(tier)); known: \(access.tierNames.joined(separator: " "))")
        }
        for tier in tier.map({ [$0] }) ?? access.tierNames {
            let (name, begins) = try folder.rotate(tier: tier, at: now)
            output.result("\(tier): \(name.prefix(8)) is announced, and used from \(Self.utc(begins))")
        }
    }

    private func gateway(
        _ action: String, _ folder: GatewayKeyFolder, _ now: Int64, isJSON: Bool, _ output: any Output
    ) throws {
        switch action {
        case "list":
            let keys = try folder.list(at: now)
            if isJSON {
                func time(_ value: Int64?) -> JSONText { value.map { .int(Int($0)) } ?? .null }
                return output.result(
                    JSONText.array(
                        keys.map {
                            .object([
                                ("id", .int(Int($0.id))), ("phase", .string($0.phase.rawValue)),
                                ("created", time($0.times.created)), ("listedFrom", time($0.times.listedFrom)),
                                ("leavesList", time($0.times.leavesListAt)), ("opensUntil", time($0.times.opensUntil)),
                            ])
                        }
                    ).text)
            }
            for key in keys {
                var line = "\(key.id)  \(key.phase.rawValue), made \(Self.utc(key.times.created))"
                if let time = key.times.listedFrom, time > now { line += ", listed from \(Self.utc(time))" }
                if let time = key.times.opensUntil { line += ", opens requests until \(Self.utc(time))" }
                output.result(line)
            }
        case "rotate":
            let (id, begins) = try folder.rotate(at: now)
            output.result("gateway: key \(id) is made, and listed from \(Self.utc(begins))")
        default: throw UsageError("--gateway goes with list and rotate")
        }
    }

    private func list(_ folder: IssuerKeyFolder, _ now: Int64, isJSON: Bool, _ output: any Output) throws {
        let keys = try folder.list(at: now)
        if isJSON {
            func time(_ value: Int64?) -> JSONText { value.map { .int(Int($0)) } ?? .null }
            return output.result(
                JSONText.array(
                    keys.map {
                        .object([
                            ("id", .string($0.name)), ("tier", .string($0.tier)), ("phase", .string($0.phase.rawValue)),
                            ("created", time($0.times.created)), ("notBefore", time($0.times.notBefore)),
                            ("leavesDirectory", time($0.times.leavesDirectoryAt)), ("issueUntil", time($0.times.issueUntil)),
                            ("verifyUntil", time($0.times.verifyUntil)),
                        ])
                    }
                ).text)
        }
        if keys.isEmpty { return output.remark("no keys yet: `veilring keys create` or the first `veilring serve` makes them") }
        for key in keys {
            var line = "\(key.name.prefix(8))  \(key.tier)  \(key.phase.rawValue), made \(Self.utc(key.times.created))"
            if let time = key.times.notBefore, time > now { line += ", used from \(Self.utc(time))" }
            if let time = key.times.issueUntil { line += ", signs until \(Self.utc(time))" }
            if let time = key.times.verifyUntil { line += ", its tokens are good until \(Self.utc(time))" }
            output.result(line)
        }
    }

    /// `2026-11-30 12:00:00 UTC`
    static func utc(_ seconds: Int64) -> String {
        var value = time_t(seconds)
        var parts = tm()
        guard gmtime_r(&value, &parts) != nil else { return "\(seconds)" }
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) UTC"
    }
}
