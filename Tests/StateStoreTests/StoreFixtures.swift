// What the tests of the stores share: folders that vanish, records, and both drivers behind one name.

import Glibc
import Testing

@testable import StateStore

/// A private folder for one test; removed when the test lets go of it.
final class ScratchFolder: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/veilring-state-XXXXXX".utf8CString)
        path =
            mkdtemp(&template) == nil ? "/nonexistent" : template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit {
        for name in entries() {
            unlink("\(path)/\(name)")
        }
        rmdir(path)
    }

    func file(_ name: String = "keys.sqlite") -> String { "\(path)/\(name)" }

    func entries() -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

/// The whole content of a file.
func bytes(of path: String) -> [UInt8] {
    guard let file = fopen(path, "rb") else { return [] }
    defer { fclose(file) }
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = fread(&buffer, 1, buffer.count, file)
        guard count > 0 else { return result }
        result += buffer[..<count]
    }
}

/// Replaces a file's content.
func write(_ bytes: [UInt8], to path: String) {
    guard let file = fopen(path, "wb") else { return }
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
    chmod(path, 0o600)
}

/// Permission bits, or 0 where there is no file.
func mode(of path: String) -> UInt32 {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
}

/// A configuration hash that differs by `n`.
func hash(_ n: UInt8 = 0) -> [UInt8] { [UInt8](repeating: n, count: 32) }

/// A record whose key is `bytes` times the byte `fill`.
func record(
    _ user: String, _ configuration: UInt8, _ timestamp: UInt64, bytes: Int = 16, fill: UInt8 = 7
) -> EvaluationKeyRecord {
    EvaluationKeyRecord(
        userIdentifier: user, configurationHash: hash(configuration), timestamp: timestamp,
        key: [UInt8](repeating: fill, count: bytes))
}

/// A record of the usual user and configuration.
func record(_ timestamp: UInt64, bytes: Int = 16, fill: UInt8 = 7) -> EvaluationKeyRecord {
    record("USER", 0, timestamp, bytes: bytes, fill: fill)
}

/// The two drivers.
enum Driver: CaseIterable, Sendable, CustomTestStringConvertible {
    case memory
    case sqlite

    var testDescription: String { self == .memory ? "memory" : "SQLite" }

    func open(_ folder: ScratchFolder, limits: EvaluationKeyLimits = .init()) throws -> any EvaluationKeyStore {
        switch self {
        case .memory: try InMemoryEvaluationKeyStore(limits: limits)
        case .sqlite: try SQLiteEvaluationKeyStore(path: folder.file(), limits: limits)
        }
    }
}

extension EvaluationKeyStore {
    /// The key that answers a query for the usual user, by its timestamp and fill byte.
    func found(_ user: String = "USER", _ configuration: UInt8 = 0, _ timestamp: UInt64 = 0, at now: Int64 = 0) throws
        -> EvaluationKeyMatch?
    {
        try key(userIdentifier: user, configurationHash: hash(configuration), timestamp: timestamp, at: now)
    }

    func newest(_ user: String = "USER", _ configuration: UInt8 = 0) throws -> UInt64? {
        try newestTimestamp(userIdentifier: user, configurationHash: hash(configuration))
    }
}

/// SplitMix64 (public domain algorithm by Sebastiano Vigna): random but repeatable.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
