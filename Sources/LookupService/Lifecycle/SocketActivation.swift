// Listening sockets that the service manager holds and hands over, as sd_listen_fds(3) describes it: descriptors from 3 on,
// their number in LISTEN_FDS, for the process LISTEN_PID, with names in LISTEN_FDNAMES. Between two runs of the server
// connections wait in such a socket, so a restart refuses none.

import Glibc
import HTTPCore
import HTTPServer

/// A listening socket that was handed over.
public struct InheritedSocket: Sendable, Equatable {
    /// The descriptor.
    public var descriptor: Int32
    /// Its name in the socket unit (`FileDescriptorName=`); empty: none.
    public var name: String
    /// Where it listens.
    public var address: SocketAddress

    /// A socket.
    public init(descriptor: Int32, name: String, address: SocketAddress) {
        self.descriptor = descriptor
        self.name = name
        self.address = address
    }
}

/// Sockets that the service manager handed over.
public struct SocketActivation: Sendable, Equatable {
    /// First descriptor that is handed over.
    private static let firstDescriptor: Int32 = 3
    /// Descriptors looked at, at most.
    private static let most: Int32 = 256

    /// Sockets that no listener has taken yet.
    public private(set) var untaken: [InheritedSocket]
    /// Descriptors that are no listening TCP sockets.
    public private(set) var unusable: [Int32] = []

    /// Takes over what the environment announces for this process; call it once, before anything else opens descriptors.
    public init(environment: [String: String], process: Int32 = getpid()) {
        untaken = []
        guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == process,
            let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...Self.most).contains(count)
        else { return }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        for index in 0..<count {
            let descriptor = Self.firstDescriptor + index
            guard let address = Sockets.adopt(listener: descriptor) else {
                unusable.append(descriptor)
                continue
            }
            let name = Int(index) < names.count ? String(names[Int(index)]) : ""
            untaken.append(InheritedSocket(descriptor: descriptor, name: name, address: address))
        }
    }

    /// What was handed over.
    public init(_ sockets: [InheritedSocket]) { untaken = sockets }

    /// The socket for a listener: the one of its name, else one that listens on the same address (or on all addresses at the
    /// same port, where the listener wants all). Nil: none, the server opens its own. A socket is given once.
    ///
    /// - Parameters:
    ///   - name: `admin`, or `listen-0`, `listen-1`… in the order of the configuration.
    ///   - addresses: what the listener's host and port resolve to.
    public mutating func take(name: String, addresses: [SocketAddress]) -> InheritedSocket? {
        let index =
            untaken.firstIndex { $0.name == name }
            ?? untaken.firstIndex { socket in
                !Self.isReserved(socket.name) && addresses.contains { Self.serves(socket.address, $0) }
            }
        return index.map { untaken.remove(at: $0) }
    }

    /// Closes what no listener took, and gives a line for each.
    public mutating func discard() -> [String] {
        var lines = unusable.map { "descriptor \($0) of the service manager is no listening TCP socket; left alone" }
        for socket in untaken {
            Sockets.close(socket.descriptor)
            lines.append(
                "the service manager's socket on \(socket.address) belongs to no listener of the configuration; closed")
        }
        untaken = []
        unusable = []
        return lines
    }

    /// Names that say for which listener a socket is.
    private static func isReserved(_ name: String) -> Bool { name == "admin" || name.hasPrefix("listen-") }

    private static func serves(_ socket: SocketAddress, _ wanted: SocketAddress) -> Bool {
        guard socket.port == wanted.port, wanted.port != 0 else { return false }
        // A unit's `ListenStream=443` is [::]:443 and takes IPv4 too.
        let isForAll = socket.high == 0 && socket.low == 0 && wanted.high == 0 && wanted.low == 0
        return socket == wanted || isForAll && (socket.isVersion6 || !wanted.isVersion6)
    }
}
