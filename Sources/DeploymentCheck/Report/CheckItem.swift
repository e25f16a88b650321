// What is looked at (service.md 3.11, 9): the closed list that reports, documentation and tests share.

/// One thing that a deployment needs.
public enum CheckItem: String, Sendable, Hashable, CaseIterable {
    // Of a configuration.
    case configuration
    case hosts
    case listeners
    case certificate
    case authentication
    case users
    case userToken = "user-token"
    case quotas
    case tiers
    case issuerKeys = "issuer-keys"
    case gateway
    case gatewayKeys = "gateway-keys"
    case publicConfig = "public-config"
    case data
    case freshness
    case useCaseNames = "use-case-names"
    case shardCount = "shard-count"
    case noise
    case limits
    case relayConnections = "relay-connections"
    case adminListener = "admin-listener"
    case retention
    case fileModes = "file-modes"
    case disk
    case openFiles = "open-files"
    case versions
    // Of both.
    case testIdentity = "test-identity"
    case sizes
    case dns
    case clock
    // Of a running deployment.
    case url
    case tls
    case alpn
    case http2
    case http1
    case keyConfiguration = "key-configuration"
    case gatewayRoutes = "gateway-routes"
    case encapsulation
    case unknownKey = "unknown-key"
    case foreignTargets = "foreign-targets"
    case hiddenPaths = "hidden-paths"
    case directory
    case tokenKey = "token-key"
    case tokens
    case spentTokens = "spent-tokens"
    case unpaid
    case configurations
    case olderSystems = "older-systems"

    /// What it asks, for a person.
    public var question: String {
        switch self {
        case .configuration: "the configuration can be used"
        case .hosts: "service, issuer and gateway have host names of their own"
        case .listeners: "something listens where phones and the relay come"
        case .certificate: "certificates are right for the host names, complete, trusted and not about to expire"
        case .authentication: "only tokens pay for requests"
        case .users: "somebody has a user token, and none can be guessed"
        case .userToken: "the test user token can stand behind `Bearer ` and is known"
        case .quotas: "a phone's largest batch of tokens fits into the quotas"
        case .tiers: "tiers will work on systems that know none"
        case .issuerKeys: "every tier has a key that signs, and all keys can be opened"
        case .gateway: "the gateway is on, and opens what phones seal"
        case .gatewayKeys: "there is a gateway key that is published and can be opened"
        case .publicConfig: "configurations are served without a token, as systems from 27.3 ask"
        case .data: "every use case is built and loads"
        case .freshness: "what is served is not older than its sources"
        case .useCaseNames: "use cases are named as phones ask for them"
        case .shardCount: "shard counts are powers of two up to 65536, as systems from 27.3 require"
        case .noise: "replies have noise budget to spare"
        case .limits: "the largest messages fit into the limits"
        case .relayConnections: "the relay's few addresses are not limited like a phone's"
        case .adminListener: "the admin listener cannot be reached from outside"
        case .retention: "old configurations are answered while phones use them"
        case .fileModes: "secrets can be read by their owner only, and state can be written"
        case .disk: "there is room for the next build and for state"
        case .openFiles: "the process may open as many files as the limits need"
        case .versions: "the libraries are recent enough"
        case .testIdentity: "the test identity is there and right"
        case .sizes: "the sizes to declare to the relay"
        case .dns: "the service's host has the TXT record of each app"
        case .clock: "the clock is right"
        case .url: "URLs have the form that phones and the vendor accept"
        case .tls: "TLS 1.2 and 1.3 are spoken"
        case .alpn: "ALPN agrees on h2"
        case .http2: "HTTP/2 is really spoken"
        case .http1: "HTTP/1.1 is spoken too"
        case .keyConfiguration: "the gateway's key configuration is one that phones can use"
        case .gatewayRoutes: "the key configuration is served where clients look for it"
        case .encapsulation: "a sealed request is opened, answered and sealed again"
        case .unknownKey: "an unknown key makes clients fetch the keys again"
        case .foreignTargets: "the gateway is no open proxy"
        case .hiddenPaths: "metrics and probes cannot be reached from outside"
        case .directory: "the issuer's directory holds keys that phones can use"
        case .tokenKey: "the key for the user token is in the directory and in use"
        case .tokens: "tokens are issued and accepted"
        case .spentTokens: "a token pays once"
        case .unpaid: "requests without a token are refused"
        case .configurations: "phones get the configurations of their use cases"
        case .olderSystems: "phones before 18.2 get theirs in the older form"
        }
    }
}
