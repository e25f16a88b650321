// The folder of the issuer and gateway keys: one file for each, whole or absent at every moment, private to its owner (service.md
// 2.2, 3.2, 8.5, 9).

import Glibc

/// What the folder's files look like from outside; equal while nobody changed them.
public struct KeyFolderStamp: Sendable, Equatable {
    fileprivate struct File: Sendable, Equatable {
        var name: String
        var inode: UInt64
        var bytes: Int
        var changed: [Int]
    }

    fileprivate var files: [File]
}

/// A folder of keys. Every call may block its thread for the disk. Several processes may use the folder: a reader sees each file
/// before or after a change, never within; who reads, decides and writes does so inside `locked`.
public struct KeyFolder: Sendable {
    /// Keys in a folder at most: they must not share the last byte of their ids (service.md 2.6).
    public static let mostKeys = 64

    private static let lockName = ".lock"

    /// The folder's path.
    public let path: String
    private let folder: PrivateFolder

    /// Names a folder; it is made (0700) by the first `save` or `locked`.
    public init(path: String) {
        self.path = path
        folder = PrivateFolder(path: path)
    }

    /// All keys, by the names of their files; none where there is no folder.
    ///
    /// - Throws: `StateStoreError`: `openToOthers` for a folder or file that others may open; `malformed`, `newerSchema` and
    ///   `fileTooLarge` (more than 64 KiB) with the file's path; `tooManyFiles`; `cannotOpen`. One bad file is an error of the
    ///   whole: a server that goes on without a key would refuse its tokens.
    public func load() throws(StateStoreError) -> [StoredKey] {
        var keys: [StoredKey] = []
        for name in try keyFiles() {
            // Another process may have removed it by now.
            guard let key = try key(in: name) else { continue }
            keys.append(key)
        }
        return keys
    }

    /// Writes a key, in the place of an earlier state of the same key. On return it is on the disk.
    ///
    /// - Throws: `StateStoreError`: `invalidValue` for a malformed record, or another key whose name begins alike;
    ///   `tooManyFiles`; what `load` throws for the file that is there; `diskFull`, `readOnly`, `cannotOpen`.
    public func save(_ key: StoredKey) throws(StateStoreError) {
        let content = try StoredKeyFile.content(of: key)
        try folder.make(for: path)
        let names = try keyFiles()
        let name = key.fileName
        if names.contains(name) {
            guard try self.key(in: name)?.name ?? key.name == key.name else {
                throw .invalidValue("another key's name begins with the same 16 digits")
            }
        } else if names.count >= Self.mostKeys {
            throw .tooManyFiles(path: path, limit: Self.mostKeys)
        }
        // A name that `load` does not look at; random, for a crash may have left one.
        let draft = ".\(name).\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        do throws(StateStoreError) {
            guard try folder.create(draft, content) else { throw .cannotOpen(path: path, reason: "name taken") }
            guard rename(folder.entry(draft), folder.entry(name)) == 0 else {
                throw PrivateFolder.failure(of: folder.entry(name))
            }
        } catch {
            unlink(folder.entry(draft))
            throw error
        }
        folder.synchronise()
    }

    /// Removes the key of this name.
    ///
    /// - Returns: false when there was none.
    /// - Throws: `StateStoreError`, as `load`; `readOnly`.
    @discardableResult
    public func remove(name: String) throws(StateStoreError) -> Bool {
        var isFound = false
        for file in try keyFiles() {
            guard let key = try key(in: file), key.name == name else { continue }
            try folder.remove(file)
            isFound = true
        }
        if isFound { folder.synchronise() }
        return isFound
    }

    /// Runs `body` while no other process or thread is inside `locked` of this folder; waits for them. Not to be nested.
    ///
    /// - Throws: `StateStoreError` when the lock file cannot be made; what `body` throws.
    public func locked<Outcome>(_ body: () throws -> Outcome) throws -> Outcome {
        try folder.make(for: path)
        let file = folder.entry(Self.lockName)
        let descriptor = Glibc.open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw PrivateFolder.failure(of: file) }
        // Closing gives the lock back.
        defer { Glibc.close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw PrivateFolder.failure(of: file) }
        }
        return try body()
    }

    /// Something to compare with a later one: they differ when a key was saved, removed or edited in between. Reads no file.
    ///
    /// - Throws: `StateStoreError`, as `load` for the folder.
    public func stamp() throws(StateStoreError) -> KeyFolderStamp {
        var files: [KeyFolderStamp.File] = []
        for name in try keyFiles() {
            var status = stat()
            guard lstat(folder.entry(name), &status) == 0 else { continue }
            files.append(
                KeyFolderStamp.File(
                    name: name, inode: UInt64(status.st_ino), bytes: Int(status.st_size),
                    changed: [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]))
        }
        return KeyFolderStamp(files: files)
    }

    /// The names of the files that hold keys.
    private func keyFiles() throws(StateStoreError) -> [String] {
        var status = Glibc.stat()
        if lstat(path, &status) != 0, errno == ENOENT { return [] }
        try folder.check(for: path)
        // Drafts, the lock and what else begins with a dot are no keys. A misspelt name must not make a key disappear silently.
        let names = try folder.entries().filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }
        guard names.count <= Self.mostKeys else { throw .tooManyFiles(path: path, limit: Self.mostKeys) }
        return names
    }

    /// Reads one file; nil when it is gone.
    private func key(in name: String) throws(StateStoreError) -> StoredKey? {
        let file = folder.entry(name)
        // Without waiting, for a pipe may lie there.
        let descriptor = Glibc.open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .cannotOpen(path: file, reason: errno == ELOOP ? "it is a link" : String(cString: strerror(errno)))
        }
        defer { Glibc.close(descriptor) }
        var status = Glibc.stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .cannotOpen(path: file, reason: "it is not a regular file")
        }
        guard status.st_mode & 0o077 == 0 else { throw .openToOthers(path: file, mode: status.st_mode & 0o7777) }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw .cannotOpen(path: file, reason: "it belongs to another user")
        }
        let content = try read(descriptor, of: file)
        let key = try StoredKeyFile.key(in: content, of: file)
        guard key.fileName == name else {
            throw .malformed(path: file, reason: "the file's name does not fit the kind and name of the key inside")
        }
        return key
    }

    /// The whole content, as far as a key's file may be long.
    private func read(_ descriptor: Int32, of file: String) throws(StateStoreError) -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 8_192)
        while content.count <= StoredKeyFile.mostBytes {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .cannotOpen(path: file, reason: String(cString: strerror(errno))) }
            if count == 0 { return content }
            content += buffer[..<count]
        }
        throw .fileTooLarge(path: file, limit: StoredKeyFile.mostBytes)
    }
}
