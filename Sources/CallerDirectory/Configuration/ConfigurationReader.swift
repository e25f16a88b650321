// Reads `veilring.json5` into a `VeilringConfiguration`: syntax, unknown keys, types, bounds, relations between settings,
// environment overrides, relative paths (design.md, Configuration).

extension VeilringConfiguration {
    /// Longest configuration file, in bytes.
    public static let fileSizeLimit = 1 << 20

    /// Reads the file at `path`. Relative paths in it start at its folder.
    /// - Parameters:
    ///   - path: the file, absolute or relative to `workingDirectory`.
    ///   - workingDirectory: absolute; nil: the process's.
    ///   - environment: variables; those of `VEILRING_A_B` form override settings.
    ///   - allowInsecureParameters: accept the insecure parameter sets. Only tests pass true.
    /// - Throws: `ConfigurationError` with up to twenty findings.
    public static func load(
        path: String, workingDirectory: String? = nil, environment: [String: String] = [:],
        allowInsecureParameters: Bool = false
    ) throws(ConfigurationError) -> VeilringConfiguration {
        let base = workingDirectory ?? FilePathText.currentDirectory()
        let absolute = FilePathText.resolve(path, in: base)
        let text: [UInt8]
        do {
            text = try ChunkedFile.readWhole(absolute, limit: fileSizeLimit)
        } catch {
            let finding = SourceFinding(
                position: SourcePosition(file: path, line: 0), expected: "a readable configuration file", came: "\(error)")
            throw ConfigurationError(findings: [finding], count: 1)
        }
        return try parse(
            text, file: path, directory: FilePathText.directory(of: absolute), environment: environment,
            allowInsecureParameters: allowInsecureParameters)
    }

    /// Reads the text of a configuration file.
    /// - Parameters:
    ///   - text: UTF-8 JSON5.
    ///   - file: its name in messages.
    ///   - directory: absolute folder where relative paths start.
    ///   - environment: variables; those of `VEILRING_A_B` form override settings.
    ///   - allowInsecureParameters: accept the insecure parameter sets. Only tests pass true.
    /// - Throws: `ConfigurationError` with up to twenty findings.
    public static func parse(
        _ text: [UInt8], file: String, directory: String, environment: [String: String] = [:],
        allowInsecureParameters: Bool = false
    ) throws(ConfigurationError) -> VeilringConfiguration {
        let log = SettingsLog(file: file)
        var configuration: VeilringConfiguration?
        do {
            let root = EnvironmentOverrides.apply(environment, to: try JSON5Reader.read(text), log: log)
            if let section = SettingsSection(root, path: "", known: ConfigurationReader.known, log: log) {
                let reader = ConfigurationReader(
                    section: section, directory: directory, allowInsecureParameters: allowInsecureParameters)
                configuration = reader.read()
            }
        } catch {
            log.report("", error.position, expected: error.expected, came: error.came)
        }
        guard log.count == 0, var configuration else { throw log.error }
        configuration.notices = log.notices
        return configuration
    }
}

/// Reads the root object. Every method reports what is wrong and goes on, so that one run shows all errors.
struct ConfigurationReader {
    static let known = [
        "data", "region", "listen", "tls", "admin", "hosts", "log", "authentication", "allowUnauthenticated", "users",
        "userSources", "tiers", "tokens", "publicConfig", "gateway", "useCases", "retention", "limits",
    ]
    static let knownInUseCase = ["kind", "source", "format", "numbers", "nameFormat", "icons", "iconPolicy", "pir"]
    static let useCasesAtMost = 1000

    let section: SettingsSection
    let directory: String
    let allowInsecureParameters: Bool

    func read() -> VeilringConfiguration {
        let data = section.string("data", expected: "the path of a folder")
        if section.value("data") == nil { section.report("data", expected: "the path of a folder", came: "nothing") }
        let region = readRegion()
        let certificates = readCertificates()
        let listen = readListen(hasCertificates: section.value("tls") != nil)
        if !certificates.isEmpty, !listen.contains(where: \.tls), let value = section.value("tls") {
            section.log.notice("tls", value.position, "no listener uses it")
        }
        let allowUnauthenticated = section.bool("allowUnauthenticated") ?? false
        let authentication = readAuthentication(listen: listen, allowUnauthenticated: allowUnauthenticated)
        let useCases = readUseCases()
        let folder = FilePathText.resolve(data ?? "", in: directory)
        return VeilringConfiguration(
            file: section.log.file, data: folder, region: region, listen: listen,
            tls: certificates, admin: readAdmin(listen: listen), hosts: readHosts(certificates: certificates), log: readLog(),
            authentication: authentication, allowUnauthenticated: allowUnauthenticated,
            access: readAccess(data: folder, useCases: useCases), gateway: readGateway(), useCases: useCases,
            retention: readRetention(), limits: readLimits(), notices: [])
    }

    private func readRegion() -> String? {
        guard let region = section.string("region", expected: "a two-letter region such as \"TW\"") else { return nil }
        guard PhoneNumberRegion.isKnown(region) else {
            let upper = region.uppercased()
            let hint = PhoneNumberRegion.isKnown(upper) ? " (did you mean \"\(upper)\"?)" : ""
            section.report("region", expected: "a two-letter region such as \"TW\"\(hint)", came: "\"\(region)\"")
            return nil
        }
        return region
    }

    private func readAuthentication(listen: [ListenerSettings], allowUnauthenticated: Bool) -> AuthenticationMode {
        let modes = [("privacy-pass", AuthenticationMode.privacyPass), ("none", .none)]
        guard section.choice("authentication", modes) == AuthenticationMode.none else { return .privacyPass }
        if let open = listen.first(where: { !$0.address.isLoopback }), !allowUnauthenticated {
            section.report(
                "authentication",
                expected: "listeners on loopback only with \"none\", or allowUnauthenticated: true to let everyone in",
                came: "a listener on \(open)")
        }
        return .none
    }

    private func readRetention() -> RetentionSettings {
        var settings = RetentionSettings()
        guard let section = section.section("retention", known: RetentionSettings.keys) else { return settings }
        settings.versions = section.integer("versions", in: 1...1000) ?? settings.versions
        settings.hours = section.integer("hours", in: 0...8784) ?? settings.hours
        return settings
    }

    // MARK: Use cases

    private func readUseCases() -> [UseCaseConfiguration] {
        guard let useCases = section.section("useCases", known: nil) else {
            if section.value("useCases") == nil {
                section.report("useCases", expected: "an object of use cases by name", came: "nothing")
            }
            return []
        }
        if useCases.members.isEmpty || useCases.members.count > ConfigurationReader.useCasesAtMost {
            section.report(
                "useCases", expected: "1 to \(ConfigurationReader.useCasesAtMost) use cases", came: "\(useCases.members.count)")
            return []
        }
        return useCases.members.compactMap { readUseCase($0, in: useCases) }
    }

    private func readUseCase(_ member: JSON5Member, in useCases: SettingsSection) -> UseCaseConfiguration? {
        let path = useCases.path(of: member.name)
        guard ConfigurationReader.isUseCaseName(member.name) else {
            section.log.report(
                useCases.path, member.namePosition,
                expected: "a name of 1 to 200 letters, digits, dots, hyphens and underscores, no dot first",
                came: "\"\(member.name)\"")
            return nil
        }
        let known = ConfigurationReader.knownInUseCase
        guard let useCase = SettingsSection(member.value, path: path, known: known, log: section.log) else { return nil }
        let kind = useCase.choice("kind", [("identity", UseCaseKind.identity), ("block", .block), ("keyword", .keyword)])
        if useCase.value("kind") == nil {
            useCase.report("kind", expected: "\"identity\", \"block\" or \"keyword\"", came: "nothing")
        }
        let sources = useCase.strings("source", expected: "the path of a file, or a list of paths")
        if useCase.value("source") == nil {
            useCase.report("source", expected: "the path of a file, or a list of paths", came: "nothing")
        }
        if let kind, kind != .keyword, section.value("region") == nil {
            section.report(
                "region", expected: "a two-letter region such as \"TW\", needed by \(kind.rawValue) sources", came: "nothing",
                at: member.value)
        }
        if let kind { noteUnused(useCase, kind) }
        let icons = useCase.string("icons", expected: "the path of a folder")
        return UseCaseConfiguration(
            name: member.name, kind: kind ?? .keyword,
            sources: (sources ?? []).map { FilePathText.resolve($0.text, in: directory) },
            format: readFormat(useCase, kind: kind),
            numbers: useCase.choice("numbers", [("lenient", NumberPolicy.lenient), ("strict", .strict)]) ?? .lenient,
            nameFormat: readNameFormat(useCase), icons: icons.map { FilePathText.resolve($0, in: directory) },
            iconPolicy: useCase.choice("iconPolicy", [("refuse", IconPolicy.refuse), ("drop-icon", .dropIcon)]) ?? .refuse,
            pir: readPIR(useCase))
    }

    /// A key that its kind of use case does not look at is most likely a misunderstanding.
    private func noteUnused(_ useCase: SettingsSection, _ kind: UseCaseKind) {
        let unused =
            switch kind {
            case .identity: [String]()
            case .block: ["nameFormat", "icons", "iconPolicy"]
            case .keyword: ["numbers", "nameFormat", "icons", "iconPolicy"]
            }
        for name in unused {
            guard let value = useCase.value(name) else { continue }
            let text = "has no effect in a use case of kind \"\(kind.rawValue)\""
            useCase.log.notice(useCase.path(of: name), value.position, text)
        }
    }

    private func readFormat(_ useCase: SettingsSection, kind: UseCaseKind?) -> SourceFormat? {
        let choices: [(String, SourceFormat)] =
            kind == .keyword
            ? [("keywords", .keywords)] : [("csv", .csv), ("jsonl", .jsonl), ("identities", .identities)]
        return useCase.choice("format", choices)
    }

    private func readNameFormat(_ useCase: SettingsSection) -> NameTemplate {
        guard let text = useCase.string("nameFormat", expected: "a template such as \"\(NameTemplate.defaultText)\"") else {
            return .standard
        }
        do {
            return try NameTemplate(text)
        } catch {
            useCase.report("nameFormat", expected: error.expected, came: "\"\(text)\"")
            return .standard
        }
    }

    private func readPIR(_ useCase: SettingsSection) -> PIRSettings {
        let known = PIRSettingsReader.known + PIRSettingsReader.ignored
        guard let section = useCase.section("pir", known: known) else { return PIRSettings() }
        var reader = PIRSettingsReader(section: section, allowInsecureParameters: allowInsecureParameters)
        return reader.read()
    }

    /// Names become folder names and metric labels, hence the small alphabet.
    static func isUseCaseName(_ name: String) -> Bool {
        guard (1...200).contains(name.utf8.count), name.first != "." else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                return true
            default: return false
            }
        }
    }
}
