// The gateway as a configuration has it: what the server runs, and what `veilring keys` and `veilring check` look at.

import CallerDirectory
import ObliviousHTTP

extension GatewayRules {
    /// What the settings say.
    public init(_ settings: GatewaySettings) {
        self.init()
        aeads = settings.aeads.compactMap { HPKEAEAD(configurationName: $0) }
        paddingMultiple = settings.paddingBytes
        isChunked = settings.chunked
        (path, keysPath) = (settings.path, settings.keysPath)
    }
}

extension GatewayKeyFolder {
    /// The folder of a configuration: the gateway's keys lie beside the issuer's.
    public init(_ configuration: VeilringConfiguration) {
        let settings = configuration.gateway
        self.init(
            path: configuration.access.tokens.keys,
            rules: GatewayRotationRules(
                listMaxAge: Int64(settings.keyMaxAgeSeconds), period: Int64(max(1, settings.rotationDays)) * 86_400),
            isScheduled: settings.rotationDays > 0)
    }
}

extension HPKEAEAD {
    /// An AEAD by its name in the configuration.
    fileprivate init?(configurationName name: String) {
        switch name {
        case "aes-128-gcm": self = .aes128GCM
        case "aes-256-gcm": self = .aes256GCM
        case "chacha20-poly1305": self = .chaCha20Poly1305
        default: return nil
        }
    }
}
