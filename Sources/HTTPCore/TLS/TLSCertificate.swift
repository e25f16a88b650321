// Certificates as the configuration names them, and the choice among them by the host name that a client asks for (SNI,
// RFC 6066 section 3).

import Glibc

/// A certificate chain and its private key, both in PEM files, and the names they answer to.
public struct TLSCertificateFiles: Sendable, Equatable, Hashable {
    /// Host names, also `*.domain` for one label; empty: for every name that no other entry has.
    public var names: [String]
    /// Path of the chain, the server's own certificate first.
    public var certificate: String
    /// Path of the private key.
    public var key: String

    /// An entry.
    public init(names: [String] = [], certificate: String, key: String) {
        self.names = names
        self.certificate = certificate
        self.key = key
    }
}

/// What a file looked like when it was read: enough to notice that it was written or exchanged since.
public struct FileStamp: Sendable, Equatable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// The file behind a path now (links followed); nil if there is none.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
    }
}

/// Which entry answers to a name. Names compare without case and without a final dot.
struct ServerNames: Sendable, Equatable {
    private var exact: [String: Int] = [:]
    private var wildcard: [String: Int] = [:]
    private var fallback: Int?

    init(_ entries: [TLSCertificateFiles]) throws(TLSError) {
        for (index, entry) in entries.enumerated() {
            if entry.names.isEmpty {
                if fallback == nil { fallback = index }
            }
            for given in entry.names {
                let isWildcard = given.hasPrefix("*.")
                let name = Self.normal(isWildcard ? String(given.dropFirst(2)) : given)
                guard Self.isHostName(name) else { throw .invalidName(certificate: entry.certificate) }
                let before = isWildcard ? wildcard.updateValue(index, forKey: name) : exact.updateValue(index, forKey: name)
                if before != nil { throw .repeatedName(given) }
            }
        }
        // A single certificate answers to every name, as clients will judge it for themselves.
        if entries.count == 1 { fallback = 0 }
    }

    /// The entry for a name; for no name the general entry, else the first. Nil: no certificate for this name.
    func entry(for name: String?) -> Int? {
        guard let name else { return fallback ?? 0 }
        let normal = Self.normal(name)
        if let index = exact[normal] { return index }
        if let dot = normal.firstIndex(of: "."), let index = wildcard[String(normal[normal.index(after: dot)...])] {
            return index
        }
        return fallback
    }

    private static func normal(_ name: String) -> String {
        HTTPFields.lowercased(name.hasSuffix(".") ? String(name.dropLast()) : name)
    }

    private static func isHostName(_ name: String) -> Bool {
        guard (1...253).contains(name.utf8.count) else { return false }
        return name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count)
                && label.utf8.allSatisfy {
                    (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D || $0 == 0x5F
                }
        }
    }
}
