// The routes by the names under which logs and metrics know them (service.md 1.5).

import ObliviousHTTP

/// What the service knows a request as.
enum RouteName: String, Sendable, CaseIterable {
    case config
    case key
    case queries
    /// The issuer's public keys (RFC 9578 section 4).
    case issuerDirectory = "issuer_directory"
    /// The key that a user's tier issues with (service.md 2.5).
    case userTokenKey = "user_token_key"
    /// Blind signatures.
    case issue
    /// The gateway's resource: encapsulated requests (RFC 9458).
    case gateway
    /// The gateway's key configuration.
    case gatewayKeys = "gateway_keys"
    case unknown

    init(path: String) {
        switch path {
        case "/config": self = .config
        case "/key": self = .key
        case "/queries": self = .queries
        case "/.well-known/private-token-issuer-directory": self = .issuerDirectory
        case "/token-key-for-user-token": self = .userTokenKey
        case "/issue": self = .issue
        case "/", "/gateway", KeyConfiguration.wellKnownPath: self = .gateway
        case "/ohttp-keys", "/ohttp-configs": self = .gatewayKeys
        default: self = .unknown
        }
    }

    /// How a request is authenticated.
    enum Credential: Sendable {
        /// Not at all.
        case none
        /// By a user token.
        case userToken
        /// By a Privacy Pass token.
        case token
    }

    /// What a request with this method is authenticated by.
    func credential(method: String) -> Credential {
        switch self {
        case .config: method == "POST" ? .token : .none
        case .key, .queries: .token
        case .userTokenKey, .issue: .userToken
        case .issuerDirectory, .gateway, .gatewayKeys, .unknown: .none
        }
    }
}
