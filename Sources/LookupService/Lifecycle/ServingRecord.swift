// `<data>/serving.json`: which process serves which version. `build --wait` reads it.

import FoundationEssentials
import Glibc

/// Why the record could not be written.
public struct ServingRecordError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file.
    public let path: String
    /// The operating system's error number.
    public let code: Int32

    /// What happened.
    public var description: String { "\(path) cannot be written (error \(code))" }
}

/// What a running server says of itself in its data folder.
public struct ServingRecord: Sendable, Equatable, Codable {
    /// The process.
    public var processID: Int32
    /// The data version that it serves.
    public var version: String

    /// A record.
    public init(processID: Int32, version: String) {
        self.processID = processID
        self.version = version
    }

    private enum CodingKeys: String, CodingKey {
        case processID = "pid"
        case version
    }

    /// The record in a file, if there is one whose process is alive; nil otherwise.
    public static func read(_ path: String) -> ServingRecord? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count > 0, count < bytes.count,
            let record = try? JSONDecoder().decode(ServingRecord.self, from: Data(bytes.prefix(count)))
        else { return nil }
        return kill(record.processID, 0) == 0 || errno == EPERM ? record : nil
    }

    /// Puts the record in place in one step.
    public func write(to path: String) throws(ServingRecordError) {
        let bytes: [UInt8]
        do {
            bytes = Array(try JSONEncoder().encode(self))
        } catch {
            throw ServingRecordError(path: path, code: EINVAL)
        }
        let temporary = "\(path).\(processID)"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw ServingRecordError(path: path, code: errno) }
        let written = Glibc.write(descriptor, bytes, bytes.count)
        let code = errno
        close(descriptor)
        guard written == bytes.count else {
            unlink(temporary)
            throw ServingRecordError(path: path, code: code)
        }
        guard rename(temporary, path) == 0 else {
            let code = errno
            unlink(temporary)
            throw ServingRecordError(path: path, code: code)
        }
    }

    /// Removes the record if it is this process's: another server may have taken over.
    static func remove(_ path: String) {
        guard let record = read(path), record.processID == getpid() else { return }
        unlink(path)
    }
}
