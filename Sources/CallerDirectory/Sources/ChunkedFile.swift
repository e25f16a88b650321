// A file read in pieces, so that a source of any size needs bounded memory. The only code of this room that opens files.

import Glibc

/// Why a file cannot be read.
public struct FileReadError: Error, Sendable, Equatable, CustomStringConvertible {
    /// In words, with the system's reason; no path, the caller knows it.
    public var description: String

    init(_ description: String) { self.description = description }

    init(errno code: Int32) { self.description = String(cString: strerror(code)) }
}

/// An open file, read front to back.
final class ChunkedFile {
    /// Bytes of a piece.
    static let chunkSize = 256 << 10

    private let descriptor: Int32

    /// Opens a regular file or a pipe for reading.
    init(_ path: String) throws(FileReadError) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw FileReadError("the path is empty or holds a NUL") }
        let opened = open(path, O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { throw FileReadError(errno: errno) }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            close(opened)
            throw FileReadError("it is a folder")
        }
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// The next piece, at most `limit` bytes, empty at the end.
    func next(_ limit: Int = ChunkedFile.chunkSize) throws(FileReadError) -> [UInt8] {
        var failure: Int32 = 0
        let chunk = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            while true {
                let got = read(descriptor, buffer.baseAddress, buffer.count)
                if got < 0 && errno == EINTR { continue }
                if got < 0 { failure = errno }
                count = max(0, got)
                return
            }
        }
        guard failure == 0 else { throw FileReadError(errno: failure) }
        return chunk
    }

    /// The whole file, refused beyond `limit` bytes.
    static func readWhole(_ path: String, limit: Int) throws(FileReadError) -> [UInt8] {
        let file = try ChunkedFile(path)
        var result: [UInt8] = []
        while true {
            let chunk = try file.next()
            if chunk.isEmpty { return result }
            guard chunk.count <= limit - result.count else { throw FileReadError("it is longer than \(limit) bytes") }
            result.append(contentsOf: chunk)
        }
    }

    /// True when something that is no folder is at `path`.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
    }
}
