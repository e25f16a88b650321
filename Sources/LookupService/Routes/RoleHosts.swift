// Which host answers which routes (service.md 1.1, 1.5; field case F21): with names configured each answers its own roles only.

/// A part that one process may play under a name of its own.
public enum ServiceRole: String, Sendable, Equatable, CaseIterable {
    /// `/config`, `/key`, `/queries`.
    case service
    /// Token issuance.
    case issuer
    /// The Oblivious HTTP gateway.
    case gateway
}

/// Roles by host name.
public struct RoleHosts: Sendable, Equatable {
    private var roles: [String: Set<ServiceRole>] = [:]

    /// Names by role; a name may play several. Letter case does not count.
    public init(_ names: [ServiceRole: String]) {
        for (role, name) in names { roles[Self.name(of: name), default: []].insert(role) }
    }

    /// The roles of the host that a request names; nil if it is none of ours.
    func roles(of authority: String) -> Set<ServiceRole>? { roles[Self.name(of: authority)] }

    /// A host as it is compared: without port, without one dot at its end, in lower case.
    static func name(of authority: String) -> String {
        var name = authority[...]
        if let colon = name.lastIndex(of: ":"), name[name.index(after: colon)...].utf8.allSatisfy({ (48...57).contains($0) }),
            !name[..<colon].contains(":") || name[..<colon].hasSuffix("]")
        {
            name = name[..<colon]
        }
        if name.hasSuffix(".") { name = name.dropLast() }
        return name.lowercased()
    }
}

extension RouteName {
    /// Who answers the route; nil: nobody knows it. A new route needs its line here and its work in `LookupService.handle`.
    var role: ServiceRole? {
        switch self {
        case .config, .key, .queries: .service
        case .issuerDirectory, .userTokenKey, .issue: .issuer
        case .gateway, .gatewayKeys: .gateway
        case .unknown: nil
        }
    }
}

extension LookupService {
    /// The route behind a path, as the configuration has it.
    func name(ofPath path: String) -> RouteName {
        if let gateway {
            if path == gateway.rules.path { return .gateway }
            if path == gateway.rules.keysPath { return .gatewayKeys }
        }
        return RouteName(path: path)
    }

    /// The route of a request, if the host that it names answers it.
    func route(path: String, authority: String) throws(ServiceFailure) -> RouteName {
        let route = name(ofPath: path)
        guard let hosts = options.hosts else { return route }
        guard let roles = hosts.roles(of: authority) else { throw .misdirected }
        guard let role = route.role, roles.contains(role) else { throw .notFound }
        return route
    }
}
