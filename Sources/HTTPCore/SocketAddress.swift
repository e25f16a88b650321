// Internet addresses and name resolution, without pointers to sockaddr.

import CLinux
import Glibc

/// An IPv4 or IPv6 address with a port. Its text is for configuration and start-up messages, never for logs about requests
/// (service.md 8.1).
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// The most significant half of an IPv6 address; 0 for IPv4.
    public let high: UInt64
    /// The least significant half of an IPv6 address, or the IPv4 address.
    public let low: UInt64
    /// The scope of a link-local address.
    public let scope: UInt32
    /// The port.
    public let port: UInt16
    /// Whether it is an IPv6 address.
    public let isVersion6: Bool

    init(_ address: clinux_address) {
        high = address.high
        low = address.low
        scope = address.scope
        port = address.port
        isVersion6 = address.version == 6
    }

    var c: clinux_address {
        clinux_address(high: high, low: low, scope: scope, port: port, version: isVersion6 ? 6 : 4)
    }

    /// The IPv4 address inside an IPv4-mapped IPv6 address, or of an IPv4 address.
    fileprivate var version4: UInt64? {
        if !isVersion6 { return low }
        return high == 0 && low >> 32 == 0xFFFF ? low & 0xFFFF_FFFF : nil
    }

    /// 127.0.0.0/8 or ::1.
    public var isLoopback: Bool {
        if let version4 { return version4 >> 24 == 127 }
        return high == 0 && low == 1
    }

    /// What connections are counted by: the IPv4 address, or the /64 of an IPv6 address; without port.
    public var countingKey: UInt64 { version4 ?? (high | 1 << 63) }

    /// `1.2.3.4:80` or `[::1]:80`.
    public var description: String { isVersion6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// The address without port and brackets.
    public var host: String {
        var address = c
        var text = [CChar](repeating: 0, count: 64)
        clinux_address_text(&address, &text)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The addresses of a name or numeric address, at most 16; for `listening` an empty host means all addresses.
    /// Blocks while the resolver works. Throws `SocketError.unknownHost`.
    public static func resolve(host: String, port: UInt16, listening: Bool = false) throws(SocketError) -> [SocketAddress] {
        guard !host.utf8.contains(0), listening || !host.isEmpty else { throw .unknownHost }
        var found = [clinux_address](repeating: clinux_address(), count: 16)
        let count = clinux_resolve(host, port, listening ? 1 : 0, &found, 16)
        guard count > 0 else { throw .unknownHost }
        return found.prefix(Int(count)).map(SocketAddress.init)
    }
}

/// A network such as `10.0.0.0/8` or `2001:db8::/32`; an address without length stands for itself.
public struct AddressPrefix: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64
    private let length: Int
    private let isVersion6: Bool

    /// Parses a prefix; nil if the text is no numeric address with an optional length, or has bits behind the length.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), !parts[0].utf8.contains(0) else { return nil }
        var parsed = clinux_address()
        guard clinux_parse_address(String(parts[0]), &parsed) == 0 else { return nil }
        isVersion6 = parsed.version == 6
        high = parsed.high
        low = parsed.low
        let longest = isVersion6 ? 128 : 32
        if parts.count == 2 {
            guard let number = HTTPSyntax.decimal(parts[1].utf8, digits: 3), number <= longest else { return nil }
            length = number
        } else {
            length = longest
        }
        guard Self.masked(high, low, length: length, isVersion6) == (high, low) else { return nil }
    }

    /// Whether an address lies in the network. An IPv4-mapped IPv6 address counts as IPv4.
    public func contains(_ address: SocketAddress) -> Bool {
        if let version4 = address.version4 {
            return !isVersion6 && Self.masked(0, version4, length: length, false) == (high, low)
        }
        return isVersion6 && Self.masked(address.high, address.low, length: length, true) == (high, low)
    }

    /// The address with all bits behind the length cleared.
    private static func masked(_ high: UInt64, _ low: UInt64, length: Int, _ isVersion6: Bool) -> (UInt64, UInt64) {
        // Smart shifts: by 64 or more they give 0.
        if !isVersion6 { return (0, low & (UInt64(0xFFFF_FFFF) << UInt64(32 - length))) }
        return (high & (UInt64.max << UInt64(max(0, 64 - length))), low & (UInt64.max << UInt64(min(64, 128 - length))))
    }
}

/// A failed socket call.
public enum SocketError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The host name has no address.
    case unknownHost
    /// The address or port is in use.
    case addressInUse
    /// The operating system refused; its error number.
    case system(Int32)

    init(code: Int32) { self = code == EADDRINUSE ? .addressInUse : .system(code) }

    /// What happened.
    public var description: String {
        switch self {
        case .unknownHost: "the host name has no address"
        case .addressInUse: "the address is in use by another program"
        case .system(ECONNREFUSED): "nothing listens there (connection refused)"
        case .system(let code): "the operating system refused (error \(code), \(String(cString: strerror(code))))"
        }
    }
}
