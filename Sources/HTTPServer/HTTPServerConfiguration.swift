// What a server is told at start (service.md 5.1): listeners, limits, number of event loops.

import Glibc
import HTTPCore

/// Where a server listens.
public struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// A numeric address, a name, or empty for all addresses of the machine. An IPv6 address without brackets.
    public var host: String
    /// The port; 0 lets the system choose.
    public var port: UInt16
    /// Whether `HTTPLimits.connectionsPerAddress` holds here. False where few peers open many connections (gateway).
    public var limitsConnectionsPerAddress: Bool
    /// Whether few connections carry many phones each here: `HTTPLimits.http2Relay` holds instead of `http2`.
    public var carriesRelay: Bool
    /// Listening sockets that were handed over (socket activation), taken instead of opening some; empty: the server opens its
    /// own. Closing them at the end leaves those of the service manager open.
    public var descriptors: [Int32] = []
    /// Whether TLS is spoken here.
    public var tls: Bool

    /// An address.
    public init(
        host: String, port: UInt16, tls: Bool = false, limitsConnectionsPerAddress: Bool = true, carriesRelay: Bool = false
    ) {
        self.tls = tls
        self.host = host
        self.port = port
        self.limitsConnectionsPerAddress = limitsConnectionsPerAddress
        self.carriesRelay = carriesRelay
    }

    /// Parses `host:port`, `[v6]:port` or `:port`; nil if the text has another form.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]"), host.count > 2 {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") || host.contains("[") || host.contains("]") {
            return nil
        }
        self.init(host: host, port: port)
    }

    /// `host:port`.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// What a server is told at start.
public struct HTTPServerConfiguration: Sendable {
    /// Where it listens; at least one.
    public var listeners: [ListenAddress]
    /// The certificates of its TLS listeners.
    public var tls: TLSServerContext?
    /// Limits and times.
    public var limits: HTTPLimits
    /// Networks whose addresses are not limited by `HTTPLimits.connectionsPerAddress`: a proxy in front, a balancer.
    public var exemptPrefixes: [AddressPrefix]
    /// Number of event loops, each with a thread; at least 1.
    public var threads: Int

    /// A configuration; by default as many loops as cores, at most 2.
    public init(
        listeners: [ListenAddress], tls: TLSServerContext? = nil, limits: HTTPLimits = HTTPLimits(),
        exemptPrefixes: [AddressPrefix] = [], threads: Int? = nil
    ) {
        self.listeners = listeners
        self.tls = tls
        self.limits = limits
        self.exemptPrefixes = exemptPrefixes
        self.threads = threads ?? min(2, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    }
}

/// Why a server could not start.
public enum HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The configuration has no listener.
    case noListener
    /// A listener speaks TLS, and there is no certificate.
    case noCertificate(for: ListenAddress)
    /// `start` was called before.
    case alreadyStarted
    /// A listener could not be opened.
    case cannotListen(on: ListenAddress, because: SocketError)
    /// The operating system refused an epoll, an eventfd or a thread.
    case noResources

    /// What happened.
    public var description: String {
        switch self {
        case .noListener: "at least one address to listen on is needed"
        case .noCertificate(let address): "the listener \(address) speaks TLS but no certificate is configured"
        case .alreadyStarted: "the server was started before"
        case .cannotListen(let address, let error): "cannot listen on \(address): \(error)"
        case .noResources: "the operating system has no descriptors or threads left for the event loops"
        }
    }
}
