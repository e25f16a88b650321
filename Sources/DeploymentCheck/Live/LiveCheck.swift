// A running deployment looked at from outside, as the vendor, the relay and a phone see it (service.md 1, 3.11, 9).

import DeviceClient
import HTTPClient
import HTTPCore

/// Where a deployment is.
public struct LiveTarget: Sendable, Equatable {
    /// Scheme and host of the service.
    public var service: String
    /// The same of the issuer; nil: the service's.
    public var issuer: String?
    /// The same of the gateway; nil: it is not looked at.
    public var gateway: String?
    /// Where its key configuration is, if not at the gateway's well-known path.
    public var keys: String?
    /// A relay through which sealed requests go; nil: they go to the gateway.
    public var relay: String?
    /// Bundle identifier of the caller-lookup extension.
    public var app: String?
    /// Bundle identifier of the app with a URL filter.
    public var filterApp: String?
    /// Where to connect instead of the hosts of the URLs.
    public var address: ConnectAddress?

    /// A deployment.
    public init(service: String) { self.service = service }
}

/// A check of a running deployment. Calls block; each request has a time limit.
public struct LiveCheck: Sendable {
    let target: LiveTarget
    let options: CheckOptions
    var report = CheckReport()
    /// URLs that can be parsed, by role.
    var service: HTTPURL?
    var issuer: HTTPURL?
    var gateway: HTTPURL?
    /// Hosts that do not really speak HTTP/2.
    var withoutHTTP2: Set<String> = []
    /// Hosts that do not answer, which are not asked again.
    var silent: Set<String> = []

    /// The apps whose use cases are looked at.
    var apps: [AppUseCases] {
        var names: [String] = []
        if let app = target.app { names += [app + AppUseCases.blockSuffix, app + AppUseCases.identitySuffix] }
        if let app = target.filterApp { names.append(app + AppUseCases.filterSuffix) }
        return AppUseCases.all(in: names)
    }

    /// Looks at everything.
    public static func run(_ target: LiveTarget, options: CheckOptions) -> CheckReport {
        var check = LiveCheck(target: target, options: options)
        check.checkURLs()
        check.checkTransports()
        check.checkClock()
        check.checkDirectory()
        check.checkGateway()
        check.checkService()
        check.checkHiddenPaths()
        check.checkTextRecords()
        check.report.conceal(options.forms)
        return check.report
    }

    // MARK: URLs

    private mutating func checkURLs() {
        service = checkURL(target.service, "service")
        issuer = checkURL(target.issuer ?? target.service, target.issuer == nil ? nil : "issuer")
        if let text = target.gateway {
            gateway = checkURL(text, "gateway")
        } else {
            report.skip(
                .gateway, "no --gateway: phones from the store come through it only",
                mend: "--gateway https://gateway.example.net")
        }
    }

    /// The URL; `role` nil: it was judged under another role.
    private mutating func checkURL(_ text: String, _ role: String?) -> HTTPURL? {
        let url: HTTPURL
        do throws(HTTPURLError) {
            url = try HTTPURL(text)
        } catch {
            if let role { report.fail(.url, "\(role): \(error)", mend: "https:// and a host name, nothing else") }
            return nil
        }
        guard let role else { return url }
        var flaws = Self.flaws(of: url, as: text)
        if role == "gateway", url.path != "/", url.query == nil {
            flaws.removeAll { $0.hasPrefix("it has a path") }
            report.warn(
                .url, "gateway: it has a path",
                mend: "the same form as the others is surer: the gateway takes requests on / too")
        }
        for flaw in flaws { report.fail(.url, "\(role): \(flaw)", mend: "give the vendor \"https://\(url.host)\"") }
        if flaws.isEmpty { report.ok(.url, "\(role): \(text)") }
        return url
    }

    /// What a store build, the relay or the vendor's form will not take (service.md 1.2, 3.11; field case F21).
    static func flaws(of url: HTTPURL, as text: String) -> [String] {
        var flaws: [String] = []
        if url.scheme != .https { flaws.append("http, where https is needed") }
        // Also a port that is the scheme's own; an IPv6 address has colons too.
        let authority = text.dropFirst(url.scheme.rawValue.count + 3).prefix { $0 != "/" && $0 != "?" }
        let afterHost = authority[(authority.lastIndex(of: "]") ?? authority.startIndex)...]
        if url.port != url.scheme.defaultPort || afterHost.contains(":") { flaws.append("it has a port") }
        if url.path != "/" || url.query != nil {
            flaws.append("it has a path, which systems from 26.4 do not take")
        } else if text.hasSuffix("/") {
            flaws.append("it ends with a slash")
        }
        if let flaw = ConfigurationCheck.flaw(ofPublicName: url.host) { flaws.append("\(url.host) \(flaw)") }
        return flaws
    }

    // MARK: Small steps

    /// A client for a URL's host.
    func client(_ url: HTTPURL, versions: HTTPClientVersions = .negotiated) throws(HTTPClientError) -> HTTPClient {
        guard !silent.contains(url.authority), let base = try? HTTPURL("\(url.scheme.rawValue)://\(url.authority)") else {
            throw .connectTimeout
        }
        let isOld = versions == .negotiated && withoutHTTP2.contains(url.authority)
        return try HTTPClient(
            url: base, at: target.address, trust: options.trust, versions: isOld ? .http1 : versions)
    }

    func get(
        _ url: HTTPURL, _ path: String, _ fields: HTTPFields = [:], versions: HTTPClientVersions = .negotiated
    ) throws(HTTPClientError) -> HTTPResponse {
        try client(url, versions: versions).send(
            HTTPRequest(method: "GET", path: path, fields: fields, body: []), timeout: options.timeout)
    }

    private mutating func checkTextRecords() {
        guard let service else { return report.skip(.dns, "the service's URL cannot be used") }
        report.checkTextRecords(of: service.host, for: apps, in: options.textRecords)
    }
}
