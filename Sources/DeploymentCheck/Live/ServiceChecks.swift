// Issuer and service as a phone uses them: directory, tokens, configurations, and the test identity through the whole path (service.md
// 1.4, 1.9, 1.11.1, 2.4 to 2.8, 3.11).

import DeviceClient
import HTTPClient
import HTTPCore
import LookupMessages
import ObliviousHTTP
import PrivacyPass
import Protobuf

extension LiveCheck {
    /// What the oldest phones with caller lookup call themselves (service.md 1.13).
    static let oldestUserAgent = "com.apple.ciphermld/1.0 iOS/18.0"

    // MARK: Issuer

    mutating func checkDirectory() {
        guard let issuer else { return report.skip(.directory, "the issuer's URL cannot be used") }
        let answer: HTTPResponse
        do throws(HTTPClientError) {
            answer = try get(issuer, IssuerDirectory.path)
        } catch {
            return report.fail(.directory, "\(issuer.authority): \(error)", mend: "is this the issuer's host?")
        }
        guard answer.status == 200 else {
            return report.fail(
                .directory, "\(issuer.authority)\(IssuerDirectory.path): answered with \(answer.status)",
                mend: "is this the issuer's host? Is `authentication` privacy-pass?")
        }
        guard let directory = try? IssuerDirectory(json: answer.body) else {
            return report.fail(
                .directory, "it cannot be read, or one of its keys is not an RSA key of 2048 bits as RFC 9578 wants it",
                mend: "`veilring keys list`; let nothing in front change the answer")
        }
        if answer.fields["content-type"]?.lowercased().hasPrefix(IssuerDirectory.mediaType) != true {
            report.warn(
                .directory, "the media type is not \(IssuerDirectory.mediaType)", mend: "let nothing in front change it")
        }
        if CacheRule.seconds(answer.fields["cache-control"]) ?? 0 < Self.leastCacheTime {
            report.warn(.directory, "nobody may keep it for a minute", mend: "cache-control: max-age=86400")
        }
        guard directory.usableKey(at: Int64(options.machine.now())) != nil else {
            return report.fail(
                .directory, directory.keys.isEmpty ? "it has no keys" : "none of its keys is in use yet",
                mend: "`veilring keys create`, and look at both clocks")
        }
        report.ok(.directory, "\(ConfigurationCheck.counted(directory.keys.count, "key"))")
    }

    // MARK: Service

    mutating func checkService() {
        checkUnpaid()
        checkPublicConfig()
        if let service, silent.contains(service.authority) {
            return report.skip(.testIdentity, "\(service.authority) does not answer")
        }
        guard let token = options.userToken else {
            report.skip(.tokens, "no user token", mend: "--user-token TEXT: what you will give the vendor for its test")
            report.skip(.testIdentity, "without tokens nothing can be asked")
            return
        }
        if let flaw = ConfigurationCheck.flaw(ofUserToken: token) {
            return report.fail(.userToken, flaw, mend: "`veilring users mint` prints what stands behind `Bearer `")
        }
        guard !apps.isEmpty else {
            return report.skip(.configurations, "no app", mend: "--app BUNDLE: the bundle identifier of the extension")
        }
        for app in apps { checkLookups(app, token) }
        report.noteSizes()
    }

    private mutating func checkUnpaid() {
        guard let service else { return }
        let names = apps.compactMap { $0.identity ?? $0.filter }.prefix(1)
        let request = HTTPRequest(
            method: "POST", path: "/config",
            fields: [
                "content-type": "application/x-protobuf", "user-identifier": "A4C1E2B0-0000-4000-8000-00000000ABCD",
                "user-agent": Device.defaultUserAgent,
            ], body: ConfigRequest(usecases: Array(names)).encoded())
        do throws(HTTPClientError) {
            let answer = try client(service).send(request, timeout: options.timeout)
            switch answer.status {
            case 401: report.ok(.unpaid, "401")
            case 200: report.fail(.unpaid, "answered without a token", mend: "remove `authentication: \"none\"`")
            default:
                report.fail(.unpaid, "answered with \(answer.status)", mend: "is this the service's host? 401 was expected")
            }
        } catch {
            report.fail(.unpaid, "\(service.authority): \(error)", mend: "is this the service's host?")
        }
    }

    private mutating func checkPublicConfig() {
        guard let service, let answer = try? get(service, "/config") else { return }
        guard answer.status == 200, let message = try? ConfigResponse(decoding: answer.body) else {
            return report.warn(
                .publicConfig, "GET /config: answered with \(answer.status)",
                mend: "publicConfig: { serve: true }: phones from 27.3 fetch configurations without a token")
        }
        let missing = apps.flatMap { [$0.block, $0.identity, $0.filter].compactMap { $0 } }.filter {
            message.configs[$0] == nil
        }
        if missing.isEmpty {
            report.ok(.publicConfig, "GET /config: \(ConfigurationCheck.counted(message.configs.count, "use case"))")
        } else {
            report.fail(.publicConfig, "GET /config lacks \(missing.joined(separator: ", "))", mend: "build and serve them")
        }
    }

    // MARK: A phone

    private func device(_ app: AppUseCases, _ token: String, userAgent: String) throws(DeviceError) -> Device {
        try Device(
            serviceURL: target.service, issuerURL: target.issuer, userToken: token, app: app.bundle, userAgent: userAgent,
            trust: options.trust, at: target.address,
            through: gateway == nil ? nil : route, timeout: options.timeout)
    }

    private mutating func checkLookups(_ app: AppUseCases, _ token: String) {
        let names = [app.block, app.identity, app.filter].compactMap { $0 }
        var phone: Device
        do throws(DeviceError) {
            phone = try device(app, token, userAgent: Device.defaultUserAgent)
            let present = try phone.prepare(names)
            noteTokens(phone)
            for name in names {
                if let parameters = phone.parameters(of: name) {
                    report.judgeShards(name, count: parameters.shards.count)
                } else {
                    report.fail(
                        .configurations, "the service has no use case \(name): phones say \"missing configuration\"",
                        mend: "name it in the configuration as the phone asks for it, and build")
                }
            }
            if present.count == names.count { report.ok(.configurations, names.joined(separator: ", ")) }
            try askTestEntries(app, present, &phone)
        } catch {
            note(error)
            return
        }
        do throws(DeviceError) {
            if let isRefused = try phone.findsSpentTokenRefused() {
                if isRefused {
                    report.ok(.spentTokens, "401 the second time")
                } else {
                    report.fail(
                        .spentTokens, "a token was accepted twice", mend: "keep spent tokens in one store for all nodes")
                }
            }
        } catch {
            report.warn(.spentTokens, "\(error)", mend: "look at the service's log")
        }
        checkOlderSystems(app, token, names, phone)
    }

    private mutating func noteTokens(_ phone: Device) {
        if let supply = phone.tokenSupply {
            report.ok(.tokenKey, "in the directory and in use")
            report.ok(.tokens, "\(ConfigurationCheck.counted(supply.count, "token")) issued, and accepted")
        }
    }

    private mutating func askTestEntries(
        _ app: AppUseCases, _ present: Set<String>, _ phone: inout Device
    ) throws(DeviceError) {
        let way = gateway == nil ? "directly" : target.relay == nil ? "through the gateway" : "through relay and gateway"
        let number = Array(TestEntry.number.utf8)
        if let name = app.block, present.contains(name) {
            report.judgeTestBlock(try phone.ask(name, for: number), useCase: "\(name), \(way)")
        }
        if let name = app.identity, present.contains(name) {
            report.judgeTestIdentity(try phone.ask(name, for: number), useCase: "\(name), \(way)")
        }
        if let name = app.filter, present.contains(name) {
            report.judgeTestURL(try phone.ask(name, for: Array(TestEntry.url.utf8)), useCase: "\(name), \(way)")
        }
    }

    private mutating func checkOlderSystems(_ app: AppUseCases, _ token: String, _ names: [String], _ phone: Device) {
        var traffic = [phone.traffic].compactMap { $0 }
        do throws(DeviceError) {
            var older = try device(app, token, userAgent: Self.oldestUserAgent)
            let present = try older.prepare(names)
            if present.count == names.count {
                report.ok(.olderSystems, "iOS 18.0 gets \(ConfigurationCheck.counted(present.count, "configuration"))")
            }
            traffic += [older.traffic].compactMap { $0 }
        } catch {
            report.warn(
                .olderSystems, "iOS 18.0: \(error)",
                mend: "sharding by double-mod exists from 18.2 only; pir: { shardingFunction: { sha256: null } }")
        }
        for (path, sizes) in traffic.flatMap(\.largest).sorted(by: { $0.key < $1.key }) {
            report.sizes.grow(to: DeclaredSize(path: path, request: sizes.request, response: sizes.response))
        }
    }

    /// Puts the step at which a phone failed under its item.
    private mutating func note(_ error: DeviceError) {
        switch error {
        case .refused("/token-key-for-user-token", 401, _), .unusableUserToken:
            report.fail(
                .userToken, "\(error)", mend: "`veilring users add`; mind the two forms, text and base64 (docs/users.md)")
        case .refused("/token-key-for-user-token", _, _), .unusableIssuer:
            report.fail(
                .tokenKey, "\(error)", mend: "`veilring keys list`; directory and tier keys must be of one set, on all nodes")
        case .refused("/issue", _, _): report.fail(.tokens, "\(error)", mend: "look at the issuer's log and at the quotas")
        case .refused(_, 401, _):
            report.fail(.tokens, "\(error)", mend: "the service does not know the issuer's key: one folder of keys for both")
        case .refused("gateway", 413, _), .refused("/key", 413, _):
            report.fail(
                .limits, "\(error)",
                mend: "relay, gateway and what is in front must take the sizes that `veilring check --config` prints")
        case .refused("gateway", _, _), .refused(KeyConfiguration.wellKnownPath, _, _), .malformedAnswer("gateway"),
            .malformedAnswer(KeyConfiguration.wellKnownPath):
            report.fail(.encapsulation, "\(error)", mend: Self.remedy(error))
        case .unusableConfiguration, .noKeyConfiguration, .malformedAnswer, .refused("/config", _, _):
            report.fail(.configurations, "\(error)", mend: "build again with this version, and let nothing change the answers")
        default: report.fail(.testIdentity, "\(error)", mend: "look at the service's log")
        }
    }

    // MARK: What must not be seen

    mutating func checkHiddenPaths() {
        var seen: [String] = []
        var answers = 0
        for url in [service, issuer, gateway].compactMap({ $0 }) where !silent.contains(url.authority) {
            for path in ["/metrics", "/livez", "/readyz", "/version"] {
                guard let answer = try? get(url, path) else { continue }
                answers += 1
                guard (200...299).contains(answer.status) else { continue }
                if !seen.contains(url.authority + path) { seen.append(url.authority + path) }
            }
        }
        if answers == 0 {
            report.skip(.hiddenPaths, "nobody answers")
        } else if seen.isEmpty {
            report.ok(.hiddenPaths, "/metrics, /livez, /readyz and /version are not there")
        } else {
            report.fail(
                .hiddenPaths, "\(seen.joined(separator: ", ")) can be read by everybody",
                mend: "serve the admin listener on loopback, and let nothing in front pass these paths on")
        }
    }
}
