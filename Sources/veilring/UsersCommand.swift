// `veilring users`: who may have tokens (service.md 1.6.2; field case F53).

import CallerDirectory
import FoundationEssentials
import Glibc
import LookupService
import StateStore

/// Works on the database of users, and makes user tokens in the forms that phones need.
struct UsersCommand: Command {
    let name = "users"
    let summary = "adds, revokes, lists and imports users, and makes user tokens"
    let usage = """
        usage: veilring users mint   [--token-file FILE] [--json]
               veilring users mint   --config FILE --signed --subject WHO [--tier NAME] [--days N] [--json]
               veilring users add    --config FILE [--tier NAME] [--label TEXT] [--days N] [--token-file FILE] [--json]
               veilring users revoke --config FILE (ID | --token-file FILE)
               veilring users list   --config FILE [--json]
               veilring users import --config FILE LIST

        mint    makes a user token, or takes the one in a file, and prints it as the extension needs it; nothing is stored. With
                --signed it is one like your own back end makes (docs/users.md)
        add     does the same, and lets its user in
        revoke  shuts a user out; tokens that a phone has already stay good for up to a week
        list    shows users, never their tokens
        import  adds a JSON5 list of { tier, tokens }, all or nothing; the same list may be imported again

        Tokens are read from files, or made, so that none stands in a shell's history. A running server notices at once.
        Exit status 0, 1 if it failed, 2 on bad usage.
        """
    let options = [
        Option(name: "--config", value: "FILE", help: "the configuration (veilring.json5)"),
        Option(name: "--tier", value: "NAME", help: "the tier (default: the default tier)"),
        Option(name: "--label", value: "TEXT", help: "your own note about the user; never logged"),
        Option(name: "--days", value: "N", help: "days until it expires (default: never; signed: 90)"),
        Option(name: "--token-file", value: "FILE", help: "the user token in a file, all of it"),
        Option(name: "--signed", help: "make a signed token (mint)"),
        Option(name: "--subject", value: "WHO", help: "who the user is to you (mint --signed)"),
        Option(name: "--json", help: "print JSON"),
    ]

    func run(_ arguments: Arguments, output: any Output) throws -> ExitCode {
        guard let action = arguments.rest.first else { throw UsageError("mint, add, revoke, list or import is needed") }
        let needed = action == "import" || action == "revoke" && arguments["--token-file"] == nil ? 2 : 1
        guard arguments.rest.count == needed else {
            throw UsageError("\(terminalText(action)): too many words, or one missing")
        }
        if action == "mint", !arguments.has("--signed") {
            Self.show(UserTokenForms(try Self.token(arguments)), nil, arguments, output)
            return .done
        }
        let file = try arguments.required("--config")
        let configuration = try VeilringConfiguration.load(path: file, environment: ProcessInfo.processInfo.environment)
        switch action {
        case "mint": try mintSigned(configuration, arguments, output)
        case "add": try add(configuration, arguments, output)
        case "revoke":
            let register = try UserRegister(data: configuration.data)
            if arguments["--token-file"] != nil {
                try register.revoke(token: try Self.token(arguments))
            } else {
                guard let id = Int64(arguments.rest[1]) else {
                    throw UsageError("the id of a user is a number, as `list` shows it")
                }
                try register.revoke(id: id)
            }
            output.result("revoked")
        case "list": try list(configuration, arguments, output)
        case "import":
            let groups = try VeilringConfiguration.loadUsers(path: Self.absolute(arguments.rest[1]))
            let count = try UserRegister(data: configuration.data).importGroups(groups)
            output.result("\(groups.reduce(0) { $0 + $1.tokens.count }) users in the list, \(count) new")
        default: throw UsageError("unknown action \(terminalText(action)); known: mint add revoke list import")
        }
        return .done
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// The token in the file, or a new one.
    private static func token(_ arguments: Arguments) throws -> String {
        guard let file = arguments["--token-file"] else { return try UserTokenForms.random() }
        guard let data = FileManager.default.contents(atPath: file), data.count <= 4096,
            let text = String(validating: data, as: UTF8.self), !text.isEmpty
        else { throw UsageError("\(file): a file of 1 to 4096 bytes of text is needed") }
        return text
    }

    private static func expiry(_ arguments: Arguments, standard: Int64?) throws -> Int64? {
        guard let text = arguments["--days"] else { return standard.map { Int64(time(nil)) + $0 * 86_400 } }
        guard let days = Int64(text), (1...36_500).contains(days) else { throw UsageError("--days takes 1 to 36500") }
        return Int64(time(nil)) + days * 86_400
    }

    private static func tier(_ arguments: Arguments, _ access: AccessSettings) throws -> String {
        guard let tier = arguments["--tier"] else { return access.defaultTier }
        guard access.tierNames.contains(tier) else {
            throw UsageError(
                "no tier \(terminalText(tier)) in the configuration; known: \(access.tierNames.joined(separator: " "))")
        }
        return tier
    }

    private func mintSigned(
        _ configuration: VeilringConfiguration, _ arguments: Arguments, _ output: any Output
    ) throws {
        guard let secret = configuration.access.sources.signingSecret else {
            throw UsageError("userSources.signingSecret is not in the configuration: it names the file of the secret")
        }
        let token = try UserTokenForms.signed(
            secretFile: secret, subject: try arguments.required("--subject"),
            tier: try Self.tier(arguments, configuration.access),
            expires: try Self.expiry(arguments, standard: 90) ?? 0)
        Self.show(UserTokenForms(token), nil, arguments, output)
    }

    private func add(_ configuration: VeilringConfiguration, _ arguments: Arguments, _ output: any Output) throws {
        let token = try Self.token(arguments)
        let forms = UserTokenForms(token)
        if token.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw UsageError("the token has a control character, perhaps a line feed at its end: `printf %s` writes none")
        }
        let user = try UserRegister(data: configuration.data).add(
            token: token, tier: try Self.tier(arguments, configuration.access), label: arguments["--label"],
            expires: try Self.expiry(arguments, standard: nil))
        Self.show(forms, user, arguments, output)
    }

    private static func show(_ forms: UserTokenForms, _ user: UserRecord?, _ arguments: Arguments, _ output: any Output) {
        for warning in forms.warnings { output.remark("warning: \(warning)") }
        if arguments.has("--json") {
            return output.result(
                JSONText.object([
                    ("id", user.map { .int(Int($0.id)) } ?? .null), ("tier", .optional(user?.tier)),
                    ("userToken", .string(forms.text)), ("base64", .string(forms.base64)),
                ]).text)
        }
        if let user { output.result("user \(user.id), tier \(user.tier)") }
        output.result("user token:        \(terminalText(forms.text))")
        output.result("in the extension:  userTierToken: Data(base64Encoded: \"\(forms.base64)\")!")
        output.result("on the wire:       Authorization: Bearer \(forms.base64)")
    }

    private func list(_ configuration: VeilringConfiguration, _ arguments: Arguments, _ output: any Output) throws {
        let users = try UserRegister(data: configuration.data).list()
        if arguments.has("--json") {
            func time(_ value: Int64?) -> JSONText { value.map { .int(Int($0)) } ?? .null }
            return output.result(
                JSONText.array(
                    users.map {
                        .object([
                            ("id", .int(Int($0.id))), ("tier", .string($0.tier)), ("label", .optional($0.label)),
                            ("created", time($0.created)), ("expires", time($0.expires)), ("revoked", time($0.revoked)),
                        ])
                    }
                ).text)
        }
        if users.isEmpty { return output.remark("no users in the database; those of the configuration are not listed here") }
        for user in users {
            var line = "\(user.id)  \(user.tier)  added \(KeysCommand.utc(user.created))"
            if let time = user.expires { line += ", expires \(KeysCommand.utc(time))" }
            if let time = user.revoked { line += ", revoked \(KeysCommand.utc(time))" }
            if let label = user.label { line += ", \(terminalText(label))" }
            output.result(line)
        }
    }
}
