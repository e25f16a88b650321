// A folder of which only its owner sees the inside (service.md 8.5), and the system calls on its files that must last.

import FoundationEssentials
import Glibc

/// A folder with mode 0700, by its path.
struct PrivateFolder: Sendable {
    /// The path as given.
    let path: String

    /// The folder part of a path; "." for a bare name.
    static func holding(_ path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The path of an entry.
    func entry(_ name: String) -> String { "\(path)/\(name)" }

    /// Makes the folder (0700) where absent; its parent must exist. Refuses one that other users can enter.
    ///
    /// - Parameter file: the path that errors name.
    func make(for file: String) throws(StateStoreError) {
        if mkdir(path, 0o700) == 0 {
            PrivateFolder(path: Self.holding(path)).synchronise()
        } else if errno != EEXIST {
            throw .cannotOpen(path: file, reason: "its folder cannot be made: \(Self.lastError())")
        }
        try check(for: file)
    }

    /// Refuses what is no folder, or one that other users can enter.
    func check(for file: String) throws(StateStoreError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw .cannotOpen(path: file, reason: "its folder cannot be read: \(Self.lastError())")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .cannotOpen(path: file, reason: "its folder is not a folder") }
        guard status.st_mode & 0o077 == 0 else { throw .openToOthers(path: path, mode: status.st_mode & 0o7777) }
    }

    /// Makes changed entries of the folder durable; where the system refuses (a folder one may not read), it is left to the
    /// system.
    func synchronise() {
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        Glibc.close(descriptor)
    }

    /// The names in the folder, sorted.
    func entries() throws(StateStoreError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw .cannotOpen(path: path, reason: "the folder cannot be read")
        }
    }

    /// Makes a new file (0600) with this content, durable with the next `synchronise`.
    ///
    /// - Returns: false when the name is taken.
    func create(_ name: String, _ content: [UInt8] = []) throws(StateStoreError) -> Bool {
        let file = entry(name)
        let descriptor = Glibc.open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return false }
            throw Self.failure(of: file)
        }
        defer { Glibc.close(descriptor) }
        // The process's mask can only have narrowed the mode.
        var rest = content[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, Array(rest), rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure(of: file) }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw Self.failure(of: file) }
        return true
    }

    /// Removes an entry; its absence is no error.
    func remove(_ name: String) throws(StateStoreError) {
        guard unlink(entry(name)) == 0 || errno == ENOENT else { throw Self.failure(of: entry(name)) }
    }

    /// Whether there is an entry of this name. What cannot be asked throws: absence must be certain.
    func contains(_ name: String) throws(StateStoreError) -> Bool {
        var status = stat()
        if lstat(entry(name), &status) == 0 { return true }
        guard errno == ENOENT else { throw Self.failure(of: entry(name)) }
        return false
    }

    /// The last failed system call on a file as an error of ours.
    static func failure(of file: String) -> StateStoreError {
        switch errno {
        case EROFS, EACCES, EPERM: .readOnly(path: file)
        case ENOSPC, EDQUOT: .diskFull(path: file)
        default: .cannotOpen(path: file, reason: lastError())
        }
    }

    private static func lastError() -> String { String(cString: strerror(errno)) }
}
