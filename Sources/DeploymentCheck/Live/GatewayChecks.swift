// The gateway from outside: its keys in words, and what it does with sealed requests, good and bad (service.md 3.1 to 3.8; field cases
// F46, F47).

import DeviceClient
import HTTPClient
import HTTPCore
import ObliviousHTTP
import PrivacyPass

extension LiveCheck {
    static let keysType = "application/ohttp-keys"
    /// Seconds for which keys and directory should be kept at least.
    static let leastCacheTime = 60

    /// The way of sealed requests.
    var route: ObliviousRoute { ObliviousRoute(gateway: target.gateway ?? "", relay: target.relay, keys: target.keys) }

    mutating func checkGateway() {
        guard let gateway else { return }
        guard !silent.contains(gateway.authority) else {
            return report.skip(.keyConfiguration, "\(gateway.authority) does not answer")
        }
        guard let first = checkKeyConfiguration(gateway) else {
            for item in [CheckItem.encapsulation, .unknownKey, .foreignTargets] {
                report.skip(item, "there is no key configuration that could be used")
            }
            return
        }
        checkRoutes(gateway)
        checkUnknownKey(gateway, first)
        do throws(DeviceError) {
            let path = try ObliviousPath(
                route, at: target.address, trust: options.trust)
            guard checkEncapsulation(path) else { return }
            checkForeignTargets(path)
        } catch {
            report.fail(.encapsulation, "\(error)", mend: "correct --gateway or --relay")
        }
    }

    // MARK: Keys

    /// The configuration that a phone would use.
    private mutating func checkKeyConfiguration(_ gateway: HTTPURL) -> KeyConfiguration? {
        var url = gateway
        var path = KeyConfiguration.wellKnownPath
        if let text = target.keys {
            guard let given = try? HTTPURL(text) else {
                report.fail(
                    .keyConfiguration, "--keys is no URL", mend: "https://gateway.example.net\(KeyConfiguration.wellKnownPath)")
                return nil
            }
            url = given
            path = given.path
        }
        let answer: HTTPResponse
        do throws(HTTPClientError) {
            answer = try get(url, path, ["accept": Self.keysType])
        } catch {
            report.fail(.keyConfiguration, "\(url.authority)\(path): \(error)", mend: "is this the gateway's host?")
            return nil
        }
        guard answer.status == 200 else {
            report.fail(
                .keyConfiguration, "\(url.authority)\(path): answered with \(answer.status)",
                mend: "give --keys the configuration's own URL, or switch the gateway on")
            return nil
        }
        if answer.fields["content-type"]?.lowercased() != Self.keysType {
            report.fail(
                .keyConfiguration, "\(path): the media type is not \(Self.keysType)",
                mend: "let the gateway send its own fields")
        }
        if CacheRule.seconds(answer.fields["cache-control"]) ?? 0 < Self.leastCacheTime {
            report.warn(
                .keyConfiguration, "\(path): nobody may keep it for a minute",
                mend: "cache-control: max-age=86400")
        }
        if let again = try? get(url, path, ["accept": Self.keysType]), again.body != answer.body {
            report.fail(
                .keyConfiguration, "\(path): two requests got different lists, by which phones could be told apart",
                mend: "give all nodes the same keys")
        }
        return judge(answer.body, path)
    }

    private mutating func judge(_ list: [UInt8], _ path: String) -> KeyConfiguration? {
        let entries: [KeyConfiguration.Entry]
        do throws(KeyConfigurationError) {
            entries = try KeyConfiguration.entries(list)
        } catch {
            let isOldForm = ((try? KeyConfiguration.decode(list)) ?? nil) != nil
            report.fail(
                .keyConfiguration, isOldForm ? "\(path): one configuration without the length before it" : "\(path): \(error)",
                mend: isOldForm
                    ? "serve the list of RFC 9458; the older form belongs under /ohttp-configs"
                    : "serve a list as RFC 9458 has it")
            return nil
        }
        guard let first = entries.first else {
            report.fail(.keyConfiguration, "\(path): the list is empty", mend: "make a key: `veilring keys rotate --gateway`")
            return nil
        }
        let usable = entries.compactMap(\.known).first { $0.preferredAEAD != nil }
        guard let known = first.known else {
            report.fail(
                .keyConfiguration,
                "the first key's KEM is 0x\(String(first.kem, radix: 16)): phones that meet another than X25519 (0x20) give up",
                mend: "put X25519 first, or publish nothing else")
            return usable
        }
        guard let aead = known.preferredAEAD else {
            report.fail(
                .keyConfiguration, "key \(known.id): no pair of HKDF-SHA256 with an AEAD that is known",
                mend: "list HKDF-SHA256 with AES-128-GCM")
            return usable
        }
        if known.algorithms.first?.known == nil {
            report.warn(
                .keyConfiguration, "key \(known.id): its first algorithms are not HKDF-SHA256 with a known AEAD",
                mend: "put HKDF-SHA256 with AES-128-GCM first")
        }
        if Set(entries.map(\.id)).count != entries.count {
            report.fail(.keyConfiguration, "two keys have the same id", mend: "give each key an id of its own")
        }
        let names = known.algorithms.map { $0.known.map(Self.name) ?? "unknown" }.joined(separator: ", ")
        report.ok(
            .keyConfiguration,
            "\(ConfigurationCheck.counted(entries.count, "key")), first \(known.id): X25519, HKDF-SHA256 with \(names); phones would use \(Self.name(aead))"
        )
        return known
    }

    private static func name(_ aead: HPKEAEAD) -> String {
        switch aead {
        case .aes128GCM: "AES-128-GCM"
        case .aes256GCM: "AES-256-GCM"
        case .chaCha20Poly1305: "ChaCha20-Poly1305"
        }
    }

    private mutating func checkRoutes(_ gateway: HTTPURL) {
        var missing: [String] = []
        for path in [KeyConfiguration.wellKnownPath, "/ohttp-keys", "/"] {
            let answer = try? get(gateway, path, ["accept": Self.keysType])
            if answer?.status != 200 || answer?.fields["content-type"] != Self.keysType { missing.append(path) }
        }
        if missing.isEmpty {
            report.ok(.gatewayRoutes, "\(KeyConfiguration.wellKnownPath), /ohttp-keys and /")
        } else {
            report.warn(
                .gatewayRoutes, "no keys at \(missing.joined(separator: ", "))",
                mend: "the vendor is told one URL; RFC 9540 clients look at \(KeyConfiguration.wellKnownPath)")
        }
    }

    // MARK: Sealed requests

    /// A request for the issuer's directory, through gateway and relay. Whether it worked.
    private mutating func checkEncapsulation(_ path: ObliviousPath) -> Bool {
        guard let issuer else { return false }
        do throws(DeviceError) {
            let answer = try path.send(Self.inner(issuer, IssuerDirectory.path), step: "gateway", timeout: options.timeout)
            guard answer.status != 403 else {
                report.fail(
                    .encapsulation, "the gateway does not know \(issuer.authority) as its own",
                    mend: "name it under `hosts`; several nodes behind one gateway are not supported")
                return true
            }
            guard answer.status == 200 else {
                report.fail(
                    .encapsulation, "the issuer's directory is answered with \(answer.status) inside",
                    mend: "look at what the gateway sends requests on to")
                return true
            }
            report.ok(
                .encapsulation,
                "opened, answered with \(answer.status) and sealed" + (target.relay == nil ? "" : ", through the relay"))
        } catch {
            report.fail(.encapsulation, "\(error)", mend: Self.remedy(error))
            return false
        }
        // The service may have a host of its own, which must be known too.
        guard let service, service.authority != issuer.authority else { return true }
        if let answer = try? path.send(Self.inner(service, "/config"), step: "gateway", timeout: options.timeout),
            answer.status == 403
        {
            report.fail(
                .encapsulation, "the gateway does not know \(service.authority) as its own", mend: "name it under `hosts`")
        }
        return true
    }

    static func remedy(_ error: DeviceError) -> String {
        guard case .refused(_, let status, _) = error else { return "look at the gateway's log" }
        switch status {
        case 400: return "the gateway has not the private key of what it publishes: give all nodes the same keys"
        case 404, 405: return "the gateway's resource is at another path: --gateway https://host/path"
        case 413: return "something in front has a smaller body limit: 12 MiB and 64 KiB are needed"
        case 415: return "something in front changes the media type message/ohttp-req"
        default: return "look at the gateway's log"
        }
    }

    private static func inner(_ url: HTTPURL, _ path: String) -> HTTPRequest {
        var request = HTTPRequest(method: "GET", path: path, fields: [:], body: [])
        request.scheme = url.scheme.rawValue
        request.authority = url.authority
        return request
    }

    /// Two requests that nobody can open: for an id that is not in the list, and under another key of an id that is.
    private mutating func checkUnknownKey(_ gateway: HTTPURL, _ known: KeyConfiguration) {
        let problem = "https://iana.org/assignments/http-problem-types#ohttp-key"
        var right = 0
        for id in [known.id &+ 128, known.id] {
            let what = id == known.id ? "the wrong key of id \(id)" : "the unknown id \(id)"
            do {
                let plain = try BinaryRequest(
                    method: "GET", scheme: "https", authority: gateway.authority, path: "/", fields: [], content: []
                ).encoded()
                let stranger = try GatewayKey(id: id, privateKey: .generate(), aeads: known.algorithms.compactMap(\.known))
                let sealed = try stranger.configuration.encapsulate(plain)
                let answer = try client(gateway).send(
                    HTTPRequest(
                        method: "POST", path: gateway.path, fields: ["content-type": "message/ohttp-req"], body: sealed.bytes),
                    timeout: options.timeout)
                if answer.status == 400, String(decoding: answer.body.prefix(1000), as: UTF8.self).contains(problem) {
                    right += 1
                } else if answer.status == 200 {
                    report.fail(.unknownKey, "\(what): 200", mend: "nobody can open this request: look at what answers there")
                } else {
                    report.warn(
                        .unknownKey, "\(what): \(answer.status), and not 400 with the problem type ohttp-key",
                        mend: "phones with an old key would not fetch the keys again (RFC 9458 section 5.3)")
                }
            } catch {
                report.warn(.unknownKey, "\(what): \(error)", mend: "look at the gateway's log")
            }
        }
        if right == 2 { report.ok(.unknownKey, "400 with the problem type ohttp-key, for an unknown id and for a wrong key") }
    }

    /// Requests for others, which must be refused, inside or before.
    private mutating func checkForeignTargets(_ path: ObliviousPath) {
        let foreign = [
            ("https", "example.com", "/"), ("https", "169.254.169.254", "/latest/meta-data/"),
            ("http", "localhost:9090", "/metrics"), ("https", "localhost:5432", "/"),
        ]
        var passed: [String] = []
        var untold = 0
        for (scheme, authority, place) in foreign {
            var request = HTTPRequest(method: "GET", path: place, fields: [:], body: [])
            (request.scheme, request.authority) = (scheme, authority)
            do throws(DeviceError) {
                let status = try path.send(request, step: "gateway", timeout: options.timeout).status
                // 400 and 403 as ours says it, 421 as others do; anything else somebody else has answered.
                if ![400, 403, 421].contains(status) { passed.append("\(authority) (\(status))") }
            } catch {
                if case .refused(_, 400...499, _) = error { continue }
                untold += 1
            }
        }
        if let service,
            let answer = try? path.send(Self.inner(service, "/metrics"), step: "gateway", timeout: options.timeout),
            (200...299).contains(answer.status)
        {
            report.fail(
                .hiddenPaths, "\(service.authority)/metrics can be read through the gateway",
                mend: "serve it on the admin listener only")
        }
        if !passed.isEmpty {
            report.fail(
                .foreignTargets, "it sends requests on to \(passed.joined(separator: ", "))",
                mend: "an allow-list of the service's and the issuer's hosts, nothing else")
        } else if untold > 0 {
            report.warn(
                .foreignTargets, "\(untold) of \(foreign.count) requests for others got no answer, so it may have sent them on",
                mend: "an allow-list answers 403 at once")
        } else {
            report.ok(.foreignTargets, "\(foreign.count) requests for others were refused")
        }
    }
}

/// How long an answer may be kept (RFC 9111 section 5.2.2).
enum CacheRule {
    /// Seconds of `max-age`; 0 with `no-store` or `no-cache`; nil where nothing is said.
    static func seconds(_ field: String?) -> Int? {
        let parts = (field ?? "").split(separator: ",").map { $0.filter { $0 != " " }.lowercased() }
        if parts.contains("no-store") || parts.contains("no-cache") { return 0 }
        return parts.lazy.compactMap { $0.hasPrefix("max-age=") ? Int($0.dropFirst(8)) : nil }.first
    }
}
