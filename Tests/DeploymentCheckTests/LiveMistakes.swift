// The mistakes that `veilring check --url` finds, one at a time. docs/check.md lists them under the same names.

import Cryptography
import Foundation
import HTTPCore
import ObliviousHTTP
import PrivacyPass
import Synchronization
import Testing

@testable import DeploymentCheck

/// What a test of a running deployment does differently from a good one.
struct LivePlan {
    var deployment: Deployment
    var certificate = (chain: "full.pem", key: "server.key")
    var targets = [Deployment.hosts.service, Deployment.hosts.issuer]
    var takesTokens = true
    var servesPublicConfig = true
    var throughGateway = true
    var intercept: Meddler.Interception = { _ in nil }
    var change: Meddler.Change = { _, _ in }
    var retarget: (inout LiveTarget) -> Void = { _ in }
}

/// A mistake of a running deployment.
struct LiveMistake: Sendable, CustomTestStringConvertible {
    var name: String
    var item: CheckItem
    var verdict: CheckVerdict
    var also: Set<CheckItem>
    var make: @Sendable (inout LivePlan) throws -> Void

    init(
        _ name: String, _ item: CheckItem, _ verdict: CheckVerdict = .failure, also: Set<CheckItem> = [],
        make: @escaping @Sendable (inout LivePlan) throws -> Void
    ) {
        (self.name, self.item, self.verdict, self.also, self.make) = (name, item, verdict, also, make)
    }

    var testDescription: String { name }

    static let all = addresses + gateway + access

    private static let addresses: [LiveMistake] = [
        LiveMistake("a URL with a path", .url) { $0.retarget = { $0.issuer? += "/issuer" } },
        LiveMistake("a URL that ends with a slash", .url) { $0.retarget = { $0.service += "/" } },
        LiveMistake("a URL with a port", .url) { $0.retarget = { $0.gateway? += ":443" } },
        LiveMistake("no URL at all", .url) { $0.retarget = { $0.gateway = "gateway.callers.example" } },
        LiveMistake("a certificate for another name", .certificate, also: everything) {
            $0.certificate = ("other.pem", "other.key")
        },
        LiveMistake("a certificate that is signed by itself", .certificate, also: everything) {
            $0.certificate = ("alone.pem", "alone.key")
        },
        LiveMistake("a chain without its authority", .certificate, also: everything) { $0.certificate.chain = "server.pem" },
        LiveMistake("a clock that is wrong by an hour", .clock) {
            $0.deployment.options.machine.now = { Date().timeIntervalSince1970 + 3600 }
        },
        LiveMistake("no TXT record", .dns) { try $0.deployment.write("dns", "") },
        LiveMistake("metrics for everybody", .hiddenPaths) {
            $0.intercept = { $0.path == "/metrics" ? HTTPResponse(status: 200) : nil }
        },
    ]

    /// Nobody who does not trust a certificate gets further.
    private static let everything = Set(CheckItem.allCases)

    private static let gateway: [LiveMistake] = [
        LiveMistake("a key configuration in the older form", .keyConfiguration, also: sealed) {
            $0.change = keys { Array($0.dropFirst(2)) }
        },
        LiveMistake("an empty key configuration", .keyConfiguration, also: sealed) { $0.change = keys { _ in [] } },
        LiveMistake("a page instead of the key configuration", .keyConfiguration, also: sealed) {
            $0.change = keys { _ in Array("<html>".utf8) }
        },
        LiveMistake("another KEM before X25519", .keyConfiguration) {
            // X-Wing with a key of 1216 bytes, as post-quantum gateways list it.
            $0.change = keys { [0x04, 0xC9, 7, 0x64, 0x7A] + [UInt8](repeating: 1, count: 1216) + [0, 4, 0, 1, 0, 1] + $0 }
        },
        LiveMistake("a key configuration without HKDF-SHA256", .keyConfiguration, also: sealed) {
            $0.change = keys { list in
                var list = list
                for index in stride(from: 2 + 3 + 32 + 2, to: list.count, by: 4) { list[index + 1] = 3 }
                return list
            }
        },
        LiveMistake("another media type for the key configuration", .keyConfiguration) {
            $0.change = { request, answer in
                if request.method == "GET", isKeys(request.path) {
                    answer.fields = ["content-type": "text/plain", "cache-control": "max-age=60"]
                }
            }
        },
        LiveMistake("a list of keys for each client", .keyConfiguration, also: sealed) {
            let keys = try [UInt8(1), 2].map { id in
                try GatewayKey(id: id, privateKey: .generate(), aeads: [.aes128GCM]).configuration
            }
            let count = Mutex(0)
            $0.change = { request, answer in
                guard request.method == "GET", isKeys(request.path) else { return }
                let index = count.withLock { count in
                    defer { count += 1 }
                    return count % 2
                }
                answer.body = KeyConfiguration.encodeList([keys[index]])
            }
        },
        LiveMistake("no key configuration", .keyConfiguration, also: sealed) {
            $0.intercept = { isKeys($0.path) && $0.method == "GET" ? HTTPResponse(status: 404) : nil }
        },
        LiveMistake("key configurations nobody may keep", .keyConfiguration, .warning) {
            $0.change = { request, answer in
                if request.method == "GET", isKeys(request.path) { answer.fields = ["content-type": "application/ohttp-keys"] }
            }
        },
        LiveMistake("keys at one path only", .gatewayRoutes, .warning) {
            $0.intercept = { $0.path == "/ohttp-keys" ? HTTPResponse(status: 404) : nil }
        },
        LiveMistake("published keys of another gateway", .encapsulation, also: sealed) {
            let other = try GatewayKey(id: 9, privateKey: .generate(), aeads: [.aes128GCM]).configuration
            $0.change = keys { _ in KeyConfiguration.encodeList([other]) }
        },
        LiveMistake("a gateway that does not know the service", .encapsulation, also: [.testIdentity, .configurations]) {
            $0.targets = [Deployment.hosts.issuer]
        },
        LiveMistake("a gateway that does not know the issuer", .encapsulation, also: [.tokenKey, .userToken, .testIdentity]) {
            $0.targets = [Deployment.hosts.service]
        },
        LiveMistake("a small body limit before the gateway", .limits) {
            $0.intercept = { $0.method == "POST" && $0.body.count > 100_000 ? HTTPResponse(status: 413) : nil }
        },
        LiveMistake("something in front that changes media types", .encapsulation, also: sealed) {
            $0.intercept = { $0.fields["content-type"] == "message/ohttp-req" ? HTTPResponse(status: 415) : nil }
        },
        LiveMistake("an unknown key that no client understands", .unknownKey, .warning) {
            $0.change = { request, answer in
                if request.method == "POST", answer.status == 400 { answer = HTTPResponse(status: 401) }
            }
        },
        LiveMistake("an unknown key id answered like a stranger", .unknownKey, .warning) {
            // The id stands in the file's name, and in a request's first byte.
            let name = try $0.deployment.file(in: "var/keys", from: "gateway-", to: ".json").split(separator: "-").last ?? ""
            let id = UInt8(name.prefix(2), radix: 16)
            $0.intercept = { request in
                let isSealed = request.fields["content-type"] == "message/ohttp-req"
                return isSealed && request.body.first != id ? HTTPResponse(status: 401) : nil
            }
        },
        LiveMistake("an open proxy", .foreignTargets, also: everything) {
            let key = try GatewayKey(id: 9, privateKey: .generate(), aeads: [.aes128GCM])
            let set = try GatewayKeySet([key])
            $0.intercept = { request in
                if isKeys(request.path), request.method == "GET" {
                    return HTTPResponse(
                        status: 200, fields: ["content-type": "application/ohttp-keys", "cache-control": "max-age=60"],
                        body: KeyConfiguration.encodeList([key.configuration]))
                }
                guard request.method == "POST", let opened = try? set.open(request.body),
                    let plain = try? BinaryResponse(status: 200, fields: [], content: Array("<html>".utf8)[...]).encoded(),
                    let sealed = try? opened.responseSealer.seal(plain)
                else { return nil }
                return HTTPResponse(status: 200, fields: ["content-type": "message/ohttp-res"], body: sealed)
            }
        },
    ]

    /// What fails when nothing can be sealed for the gateway.
    private static let sealed: Set<CheckItem> = [
        .encapsulation, .testIdentity, .configurations, .userToken, .tokenKey, .tokens, .keyConfiguration, .unknownKey,
    ]

    private static func isKeys(_ path: String) -> Bool { ["/.well-known/ohttp-gateway", "/ohttp-keys", "/"].contains(path) }

    private static func keys(_ change: @escaping @Sendable ([UInt8]) -> [UInt8]) -> Meddler.Change {
        { request, answer in
            if isKeys(request.path), request.method == "GET", answer.status == 200 { answer.body = change(answer.body) }
        }
    }

    private static let access: [LiveMistake] = [
        LiveMistake("no tokens needed", .unpaid, also: everything) { $0.takesTokens = false },
        LiveMistake("no directory at the issuer", .directory, also: everything) {
            $0.intercept = { $0.path == IssuerDirectory.path ? HTTPResponse(status: 504) : nil }
        },
        LiveMistake("a damaged directory", .directory) {
            $0.change = { request, answer in
                if request.path == IssuerDirectory.path { answer.body.removeLast(20) }
            }
        },
        LiveMistake("another media type for the directory", .directory, .warning) {
            $0.change = { request, answer in
                if request.path == IssuerDirectory.path { answer.fields = ["cache-control": "max-age=60"] }
            }
        },
        LiveMistake("only keys that are not in use yet", .directory, also: [.tokenKey]) {
            $0.throughGateway = false
            $0.change = { request, answer in
                guard request.path == IssuerDirectory.path, let directory = try? IssuerDirectory(json: answer.body) else {
                    return
                }
                let later = directory.keys.map {
                    IssuerDirectory.Entry(key: $0.key, notBefore: Int64(Date().timeIntervalSince1970) + 3600)
                }
                if let changed = try? IssuerDirectory(requestURI: directory.requestURI, keys: later) {
                    answer.body = changed.json
                }
            }
        },
        LiveMistake("a key for the user token that is not in the directory", .tokenKey) {
            $0.throughGateway = false
            let other = try TokenIssuerKey(RSAPrivateKey.generate()).publicKey.spki
            $0.change = { request, answer in
                if request.path == "/token-key-for-user-token", answer.status == 200 { answer.body = other }
            }
        },
        LiveMistake("a test user token that nobody knows", .userToken) {
            $0.deployment.options.userToken = "k3v0Zq8Lr2Yx7Wd6"
        },
        LiveMistake("an issuer that sends back what it got", .userToken) {
            $0.throughGateway = false
            $0.intercept = { request in
                guard request.path == "/token-key-for-user-token" else { return nil }
                return HTTPResponse(status: 401, body: Array((request.fields["authorization"] ?? "").utf8))
            }
        },
        LiveMistake("a test user token with `Bearer ` before it", .userToken) {
            $0.deployment.options.userToken = "Bearer k3v0Zq8Lr2Yx7Wd5"
        },
        LiveMistake("an issuer that gives no tokens", .tokens) {
            $0.throughGateway = false
            $0.intercept = { $0.path == "/issue" ? HTTPResponse(status: 503) : nil }
        },
        LiveMistake("a service that knows other issuer keys", .tokens) {
            $0.throughGateway = false
            $0.intercept = { $0.path == "/config" && $0.method == "POST" ? HTTPResponse(status: 401) : nil }
        },
        LiveMistake("tokens that pay twice", .spentTokens) {
            $0.throughGateway = false
            let last = Mutex<HTTPResponse?>(nil)
            $0.change = { request, answer in
                guard request.path == "/config", request.fields["authorization"] != nil else { return }
                let kept = last.withLock { last in
                    if answer.status == 200 { last = answer }
                    return last
                }
                if answer.status == 401, let kept { answer = kept }
            }
        },
        LiveMistake("another app than the use cases are named after", .configurations, also: [.dns, .publicConfig]) {
            $0.retarget = { $0.app = "net.callers.other" }
        },
        LiveMistake("configurations for tokens only", .publicConfig, .warning) { $0.servesPublicConfig = false },
        LiveMistake("no test identity", .testIdentity) {
            try $0.deployment.rebuild(
                callers: Deployment.callers.replacingOccurrences(of: "+14085551212", with: "+14085551213"))
        },
        LiveMistake("three shards", .shardCount) {
            try $0.deployment.change(
                "kind: \"block\",    source: \"callers.csv\"",
                "kind: \"block\", source: \"callers.csv\", pir: { sharding: { shardCount: 3 } }")
            try $0.deployment.rebuild()
        },
    ]
}
