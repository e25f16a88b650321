// Settings from the environment: `VEILRING_A_B` overrides `a.b`; use cases cannot be overridden (design.md, Configuration).
// A capital inside a name begins a word: `limits.requestBodyBytes` is VEILRING_LIMITS_REQUEST_BODY_BYTES.

/// The settings that the environment can override, and how.
struct EnvironmentOverrides {
    /// How the text of a variable becomes a value.
    enum Form {
        case string
        case integer
        case bool
        /// Parts separated by commas.
        case list
    }

    /// Dotted path and form of every setting outside `useCases`.
    static let settings: [(path: String, form: Form)] =
        [
            ("data", .string), ("region", .string), ("listen", .list), ("authentication", .string),
            ("allowUnauthenticated", .bool), ("admin", .string), ("tls.certificate", .string), ("tls.key", .string),
            ("limits.exemptPrefixes", .list), ("userSources.file", .string), ("userSources.signingSecret", .string),
            ("userSources.endpoint.url", .string), ("tokens.keys", .string), ("tokens.passphrase", .string),
            ("tokens.directoryMaxAgeSeconds", .integer), ("tokens.lifetimeHours", .integer),
            ("tokens.rotationDays", .integer), ("tokens.challenge", .string), ("tokens.issuerNames", .list),
            ("tokens.defaultKeyForAll", .bool), ("publicConfig.serve", .bool), ("publicConfig.maxAgeSeconds", .integer),
            ("gateway.serve", .bool), ("gateway.path", .string), ("gateway.keysPath", .string), ("gateway.aeads", .list),
            ("gateway.keyMaxAgeSeconds", .integer), ("gateway.rotationDays", .integer), ("gateway.paddingBytes", .integer),
            ("gateway.chunked", .bool),
        ] + HostSettings.keys.map { ("hosts.\($0)", .string) } + LogSettings.keys.map { ("log.\($0)", .string) }
        + RetentionSettings.keys.map { ("retention.\($0)", .integer) }
        + LimitSettings.fields.map { ("limits.\($0.name)", .integer) }
        + HTTPLimitSettings.fields.map { ("limits.http.\($0.name)", .integer) }

    /// The variable of a dotted path.
    static func variable(for path: String) -> String {
        var name = "VEILRING_"
        for scalar in path.unicodeScalars {
            if scalar == "." {
                name += "_"
            } else {
                if scalar.properties.isUppercase { name += "_" }
                name += String(scalar).uppercased()
            }
        }
        return name
    }

    /// `root` with the values of `environment` in place. Variables beginning with VEILRING_ that override nothing but
    /// nearly have a setting's name become notices.
    static func apply(_ environment: [String: String], to root: JSON5Value, log: SettingsLog) -> JSON5Value {
        var result = root
        var names: [String] = []
        for setting in settings {
            let name = variable(for: setting.path)
            names.append(name)
            guard let text = environment[name] else { continue }
            log.variables[setting.path] = name
            if setting.path.hasPrefix("tls."), case .array = result.member("tls")?.kind {
                log.report(
                    setting.path, TextPosition(line: 0, column: 0), expected: "one certificate in the file", came: "a list")
                continue
            }
            let value = JSON5Value(kind(of: text, form: setting.form), at: TextPosition(line: 0, column: 0))
            result = replacing(setting.path.split(separator: ".").map(String.init), in: result, with: value)
        }
        for name in environment.keys.sorted() where name.hasPrefix("VEILRING_") && !names.contains(name) {
            let rest = String(name.dropFirst("VEILRING_".count))
            let candidates = names.map { String($0.dropFirst("VEILRING_".count)) }
            guard let nearest = NearestName.of(rest, among: candidates) else { continue }
            log.notice("environment variable \(name) overrides nothing (did you mean VEILRING_\(nearest)?)")
        }
        return result
    }

    private static func kind(of text: String, form: Form) -> JSON5Value.Kind {
        switch form {
        case .string: return .string(text)
        case .integer:
            guard let value = Int64(text) else { return .string(text) }
            return .number(JSON5Number(text: text, double: Double(value), integer: value))
        case .bool:
            switch text.lowercased() {
            case "true", "1", "yes": return .bool(true)
            case "false", "0", "no": return .bool(false)
            default: return .string(text)
            }
        case .list:
            let parts = text.split(separator: ",").map {
                JSON5Value(.string(trimmed($0)), at: TextPosition(line: 0, column: 0))
            }
            return .array(parts)
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }

    private static func replacing(_ path: [String], in value: JSON5Value, with new: JSON5Value) -> JSON5Value {
        guard let name = path.first else { return new }
        guard case .object(var members) = value.kind else { return value }
        let rest = Array(path.dropFirst())
        if let index = members.firstIndex(where: { $0.name == name }) {
            if !rest.isEmpty, members[index].value.kind == .null {
                members[index].value.kind = .object([])
            }
            members[index].value = replacing(rest, in: members[index].value, with: new)
        } else {
            let inner = JSON5Value(.object([]), at: new.position)
            let made = rest.isEmpty ? new : replacing(rest, in: inner, with: new)
            members.append(JSON5Member(name: name, namePosition: new.position, value: made))
        }
        return JSON5Value(.object(members), at: value.position)
    }
}

extension JSON5Value {
    /// The member of an object by its name.
    fileprivate func member(_ name: String) -> JSON5Value? {
        guard case .object(let members) = kind else { return nil }
        return members.first { $0.name == name }?.value
    }
}
