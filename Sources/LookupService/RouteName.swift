// The routes by the names under which logs and metrics know them (service.md 1.5).

/// What the service knows a request as.
enum RouteName: String, Sendable, CaseIterable {
    case config
    case key
    case queries
    case unknown

    init(path: String) {
        switch path {
        case "/config": self = .config
        case "/key": self = .key
        case "/queries": self = .queries
        default: self = .unknown
        }
    }
}
