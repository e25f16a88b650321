// System calls on files with typed errors: writing with durability, reading at an offset, mapping, locking, renaming. The
// only code of the building half that touches memory by address.

import CLinux
import FoundationEssentials
import Glibc

/// An open file.
final class DiskFile {
    let path: String
    private let descriptor: Int32

    private init(path: String, flags: Int32) throws {
        self.path = path
        descriptor = open(path, flags | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw DiskFile.failure("open", path) }
    }

    deinit { close(descriptor) }

    /// For reading; refuses what is no regular file.
    static func reading(_ path: String) throws -> DiskFile {
        let file = try DiskFile(path: path, flags: O_RDONLY | O_NOFOLLOW)
        _ = try file.size()
        return file
    }

    /// A new, empty file.
    static func creating(_ path: String) throws -> DiskFile { try DiskFile(path: path, flags: O_RDWR | O_CREAT | O_EXCL) }

    /// A file for locking, made if it is not there.
    static func locking(_ path: String) throws -> DiskFile { try DiskFile(path: path, flags: O_RDWR | O_CREAT) }

    static func failure(_ what: String, _ path: String) -> DirectoryError {
        DirectoryError(.fileSystem, "\(path): \(what) failed: \(String(cString: strerror(errno)))")
    }

    /// Bytes of a regular file.
    func size() throws -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw DiskFile.failure("stat", path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw DirectoryError(.fileSystem, "\(path): expected a regular file, got something else")
        }
        return Int(status.st_size)
    }

    /// Writes all bytes at `offset`.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
        var done = 0
        while done < bytes.count {
            let n = pwrite(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
            if n < 0 && errno == EINTR { continue }
            guard n > 0 else { throw DiskFile.failure("write", path) }
            done += n
        }
    }

    /// Writes all bytes at `offset`.
    func write(_ bytes: [UInt8], at offset: Int) throws { try bytes.withUnsafeBytes { try write($0, at: offset) } }

    /// Exactly `count` bytes at `offset`.
    func read(_ count: Int, at offset: Int) throws -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let n = pread(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(offset + filled))
                if n < 0 && errno == EINTR { continue }
                if n < 0 { failed = true }
                if n <= 0 { return }
                filled += n
            }
        }
        guard !failed else { throw DiskFile.failure("read", path) }
        guard bytes.count == count else {
            throw DirectoryError(
                .shardFile, "\(path): expected \(count) bytes at \(offset), got \(bytes.count): the file is cut")
        }
        return bytes
    }

    /// Waits until what was written is on the disk.
    func synchronize() throws {
        guard fsync(descriptor) == 0 else { throw DiskFile.failure("fsync", path) }
    }

    /// Takes the exclusive lock without waiting; false if another holds it. It ends with this object.
    func lock() throws -> Bool {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK else { throw DiskFile.failure("lock", path) }
        return false
    }

    /// Cuts the file to nothing.
    func truncate() throws {
        guard ftruncate(descriptor, 0) == 0 else { throw DiskFile.failure("truncate", path) }
    }

    /// Maps the first `count` bytes for reading; they must be there.
    func map(_ count: Int) throws -> FileMapping {
        guard count > 0, let base = mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, 0), base != MAP_FAILED else {
            throw DiskFile.failure("mmap", path)
        }
        return FileMapping(UnsafeRawBufferPointer(start: base, count: count))
    }
}

/// Bytes of a mapped file, for as long as this object lives.
final class FileMapping: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

    /// Lets go of the pages that were read so far; they come from the file again when they are touched.
    func forgetPages() { _ = madvise(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count, MADV_DONTNEED) }

    /// `count` bytes from `offset`; both must lie in the mapping.
    func slice(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)])
    }
}

/// Folders and names.
enum DiskFolder {
    static func create(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            // Once more by hand, for the reason in the system's words: Foundation's own text is a dump.
            guard mkdir(path, 0o777) != 0 else { return }
            let reason = errno == EEXIST ? "a file of that name" : String(cString: strerror(errno))
            throw DirectoryError(.fileSystem, "\(path): expected a folder that can be made, got \(reason)")
        }
    }

    /// Names in a folder, sorted; none if it is not there.
    static func names(_ path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    static func remove(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            throw DirectoryError(.fileSystem, "\(path): could not be removed: \(error)")
        }
    }

    static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    static func move(_ from: String, to: String) throws {
        guard rename(from, to) == 0 else { throw DiskFile.failure("rename to \(to)", from) }
    }

    /// One more name for a file; a copy where the file system knows no such thing.
    static func link(_ from: String, to: String) throws {
        if Glibc.link(from, to) == 0 { return }
        do {
            try FileManager.default.copyItem(atPath: from, toPath: to)
        } catch {
            throw DirectoryError(.fileSystem, "\(from): could neither be linked nor copied to \(to): \(error)")
        }
    }

    /// Waits until the names in a folder are on the disk.
    static func synchronize(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw DiskFile.failure("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw DiskFile.failure("fsync", path) }
    }

    /// Replaces a small file so that a reader sees the old or the new text, also after a power cut.
    static func replace(_ path: String, with bytes: [UInt8]) throws {
        let draft = path + ".new"
        try remove(draft)
        let file = try DiskFile.creating(draft)
        try file.write(bytes, at: 0)
        try file.synchronize()
        try move(draft, to: path)
        try synchronize(FilePathText.directory(of: path))
    }

    /// A small file whole; nil if it is not there.
    static func read(_ path: String, limit: Int) throws -> [UInt8]? {
        guard exists(path) else { return nil }
        let file = try DiskFile.reading(path)
        let size = try file.size()
        guard size <= limit else {
            throw DirectoryError(.fileSystem, "\(path): expected at most \(limit) bytes, got \(size)")
        }
        return try file.read(size, at: 0)
    }
}
