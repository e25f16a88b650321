// A deployment looked at without a running server: configuration, files, keys, data, machine (service.md 3.11, 9). Nothing is written.

import CallerDirectory
import HTTPCore
import PrivacyPass

/// What a check is told besides the configuration.
public struct CheckOptions: Sendable {
    /// What stands behind `Bearer ` in the test of tokens; nil: tokens are not tested.
    public var userToken: String?
    /// Where TXT records are looked up.
    public var textRecords = TextRecordSource.resolver
    /// Whose certificates are good.
    public var trust = TLSTrust.system
    /// How long each request may take.
    public var timeout = Duration.seconds(10)
    /// The machine.
    public var machine = Machine.current

    /// Public authorities, the system's resolver, this machine, no user token.
    public init() {}

    /// The user token in both of its forms.
    var forms: [String] { userToken.map { [$0] + BearerAuthorization.credentials(ofUserToken: $0) } ?? [] }
}

/// A check of a configuration and of what it names.
public struct ConfigurationCheck: Sendable {
    let configuration: VeilringConfiguration
    let options: CheckOptions
    let now: Int64
    var report = CheckReport()

    /// Seconds in a day.
    static let day: Int64 = 86_400

    /// Reads a configuration and looks at everything that it names.
    ///
    /// - Parameter environment: overrides, as for `veilring serve`.
    /// - Throws: `ConfigurationError` only through the report: it is a finding.
    public static func run(file: String, environment: [String: String], options: CheckOptions) -> CheckReport {
        do {
            let configuration = try VeilringConfiguration.load(path: file, environment: environment)
            return run(configuration, options: options)
        } catch {
            var report = CheckReport()
            for line in "\(error)".split(separator: "\n") {
                report.fail(.configuration, String(line), mend: "correct the file at the line and column that are named")
            }
            return report
        }
    }

    /// Looks at everything that a configuration names.
    public static func run(_ configuration: VeilringConfiguration, options: CheckOptions) -> CheckReport {
        var check = ConfigurationCheck(
            configuration: configuration, options: options, now: Int64(options.machine.now()))
        check.report.ok(
            .configuration, "\(configuration.file) can be used: \(counted(configuration.useCases.count, "use case"))")
        check.checkHosts()
        check.checkListeners()
        check.checkCertificates()
        check.checkAuthentication()
        check.checkUsers()
        check.checkUserToken()
        check.checkQuotasAndTiers()
        check.checkIssuerKeys()
        check.checkGateway()
        check.checkRelayConnections()
        check.checkData()
        check.checkTextRecords()
        check.checkFileModes()
        check.checkMachine()
        check.report.conceal(options.forms)
        return check.report
    }

    /// `1 use case`, `2 use cases`.
    static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)" + (count == 1 ? "" : "s") }

    /// The names of apps in the use cases, each once.
    var apps: [AppUseCases] { AppUseCases.all(in: configuration.useCases.map(\.name)) }
}

/// The use cases of one app, by their names (service.md 1.3).
struct AppUseCases: Sendable, Equatable {
    static let blockSuffix = ".block"
    static let identitySuffix = ".identity"
    static let filterSuffix = ".url.filtering"

    /// Bundle identifier of the extension, or of the app for a URL filter.
    var bundle: String
    var block: String?
    var identity: String?
    var filter: String?

    /// What the vendor looks for in the service's TXT records.
    var textRecords: [String] {
        (block != nil || identity != nil ? ["apple-live-caller-id-lookup=\(bundle)"] : [])
            + (filter != nil ? ["apple-url-filter=\(bundle)"] : [])
    }

    /// Names that belong to an app, grouped; in the order of the first of each.
    static func all(in names: [String]) -> [AppUseCases] {
        var apps: [AppUseCases] = []
        for name in names {
            for (suffix, place) in [
                (filterSuffix, \AppUseCases.filter), (blockSuffix, \.block), (identitySuffix, \.identity),
            ] where name.hasSuffix(suffix) {
                let bundle = String(name.dropLast(suffix.count))
                let index = apps.firstIndex { $0.bundle == bundle } ?? apps.count
                if index == apps.count { apps.append(AppUseCases(bundle: bundle)) }
                apps[index][keyPath: place] = name
            }
        }
        return apps
    }

    /// Whether a text has the form of a bundle identifier: letters, digits, hyphens and at least one dot between.
    static func isBundleIdentifier(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count >= 2
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.utf8.allSatisfy {
                        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D
                    }
            }
    }
}
