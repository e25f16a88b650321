// The Oblivious HTTP gateway in the configuration (service.md 3.1 to 3.3, 3.8, 3.10).

/// What the operator decides about the gateway.
public struct GatewaySettings: Sendable, Equatable {
    static let keys = ["serve", "path", "keysPath", "aeads", "keyMaxAgeSeconds", "rotationDays", "paddingBytes", "chunked"]
    /// The AEADs that there are, the preferred one first.
    static let aeadNames = ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"]
    /// Whether the gateway's routes are answered.
    public var serve = true
    /// One more path of the gateway's resource, besides `/`, `/gateway` and the well-known one.
    public var path: String?
    /// One more path of the key configuration, besides `/ohttp-keys` and the well-known one.
    public var keysPath: String?
    /// Names of the AEADs that are listed and accepted, the preferred one first.
    public var aeads = GatewaySettings.aeadNames
    /// How long the key configuration may be cached.
    public var keyMaxAgeSeconds = 86_400
    /// Days after which there is a new key; 0: only by `veilring keys rotate --gateway`.
    public var rotationDays = 30
    /// Answers are padded to a multiple of so many bytes before they are sealed; 0: not.
    public var paddingBytes = 0
    /// Whether requests in the chunked form are taken, which is a draft so far (service.md 3.10).
    public var chunked = false

    /// The defaults.
    public init() {}
}

extension ConfigurationReader {
    func readGateway() -> GatewaySettings {
        var settings = GatewaySettings()
        guard let gateway = section.section("gateway", known: GatewaySettings.keys) else { return settings }
        settings.serve = gateway.bool("serve") ?? settings.serve
        settings.path = readPath(gateway, "path")
        settings.keysPath = readPath(gateway, "keysPath")
        settings.keyMaxAgeSeconds = gateway.integer("keyMaxAgeSeconds", in: 0...518_400) ?? settings.keyMaxAgeSeconds
        settings.rotationDays = gateway.integer("rotationDays", in: 0...3660) ?? settings.rotationDays
        settings.paddingBytes = gateway.integer("paddingBytes", in: 0...65_536) ?? settings.paddingBytes
        settings.chunked = gateway.bool("chunked") ?? settings.chunked
        if let names = gateway.strings("aeads", expected: "a list of \(NearestName.list(GatewaySettings.aeadNames))") {
            settings.aeads = []
            for (text, value) in names {
                guard GatewaySettings.aeadNames.contains(text), !settings.aeads.contains(text) else {
                    let known = NearestName.list(GatewaySettings.aeadNames)
                    gateway.report("aeads", expected: "\(known), each once", came: value.summary, at: value)
                    continue
                }
                settings.aeads.append(text)
            }
        }
        return settings
    }

    private func readPath(_ section: SettingsSection, _ name: String) -> String? {
        let expected = "a path that begins with / and is none of the service's"
        guard let path = section.string(name, expected: expected), let value = section.value(name) else { return nil }
        let taken = ["/config", "/key", "/queries", "/issue", "/token-key-for-user-token", "/report"]
        let isPlain = path.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard path.hasPrefix("/"), path.utf8.count <= 255, isPlain, !taken.contains(path),
            path == "/.well-known/ohttp-gateway" || !path.hasPrefix("/.well-known/")
        else {
            section.report(name, expected: expected, came: value.summary)
            return nil
        }
        return path
    }
}
