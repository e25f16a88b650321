// Secrets in files (service.md 8.5): read only when nobody else may read them, and made where they are missing.

import Cryptography
import Glibc

/// Reads and makes small secret files.
enum SecretFile {
    static let mostBytes = 4096

    /// The first line of a passphrase's file.
    static func passphrase(_ path: String) throws(IssuerKeyError) -> [UInt8] {
        guard let content = try read(path) else { throw .secretFile(path: path, reason: "there is no such file") }
        let line = Array(content.prefix { $0 != 0x0A && $0 != 0x0D })
        guard !line.isEmpty else { throw .secretFile(path: path, reason: "its first line is empty") }
        return line
    }

    /// A secret that somebody else made: at least 16 bytes, a line feed at its end not counted.
    static func shared(_ path: String) throws(IssuerKeyError) -> [UInt8] {
        guard var content = try read(path) else { throw .secretFile(path: path, reason: "there is no such file") }
        while let last = content.last, last == 0x0A || last == 0x0D { content.removeLast() }
        guard content.count >= 16 else {
            throw .secretFile(path: path, reason: "a secret has at least 16 bytes, this one has \(content.count)")
        }
        return content
    }

    /// The 32 bytes in a file, which is made if it is missing. Its folder is made too (0700).
    static func own(_ path: String) throws(IssuerKeyError) -> [UInt8] {
        if let content = try read(path) {
            guard content.count == 32 else {
                throw .secretFile(path: path, reason: "32 bytes are expected, and it has \(content.count)")
            }
            return content
        }
        let fresh: [UInt8]
        do {
            fresh = try secureRandomBytes(32)
        } catch {
            throw .secretFile(path: path, reason: "there are no random bytes for it")
        }
        if let slash = path.lastIndex(of: "/"), slash != path.startIndex { mkdir(String(path[..<slash]), 0o700) }
        let draft = "\(path).\(getpid())"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer { unlink(draft) }
        let isWritten = write(descriptor, fresh, fresh.count) == fresh.count && fsync(descriptor) == 0
        close(descriptor)
        guard isWritten else { throw failure(path) }
        // A link fails where another process was first, whose secret then counts.
        if link(draft, path) == 0 { return fresh }
        guard errno == EEXIST, let content = try read(path), content.count == 32 else { throw failure(path) }
        return content
    }

    /// The content; nil if there is no file.
    private static func read(_ path: String) throws(IssuerKeyError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure(path)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .secretFile(path: path, reason: "it is no regular file")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw .secretFile(
                path: path,
                reason: "others may read it (mode \(String(status.st_mode & 0o777, radix: 8))); chmod 600 mends that")
        }
        guard status.st_size <= mostBytes else {
            throw .secretFile(path: path, reason: "it is longer than \(mostBytes) bytes")
        }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: mostBytes + 1)
        while content.count <= mostBytes {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(path) }
            if count == 0 { return content }
            content += buffer[..<count]
        }
        throw .secretFile(path: path, reason: "it is longer than \(mostBytes) bytes")
    }

    private static func failure(_ path: String) -> IssuerKeyError {
        .secretFile(path: path, reason: String(cString: strerror(errno)))
    }
}
