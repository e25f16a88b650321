// What a device remembers between runs: its identifier, and a secret key with its timestamp for each evaluation key
// configuration. In files that only their owner can read, or in memory only.

import Cryptography
import Glibc
import PrivacyPass

/// A token that is not spent yet.
struct KeptToken: Sendable, Equatable {
    var token: Token
    /// Seconds since 1970.
    var fetched: Int64
}

/// A device's secret key for one evaluation key configuration.
struct DeviceKey: Sendable, Equatable {
    /// Seconds since 1970 at which the key was made; what key status and queries carry.
    var timestamp: UInt64
    /// The serialised secret key.
    var secret: [UInt8]
}

/// The memory of a device.
struct DeviceState: Sendable {
    /// The value of `User-Identifier`: an upper-case UUID.
    let identifier: String

    private let folder: String?
    private var keys: [[UInt8]: DeviceKey] = [:]

    private static let largestFile = 16 << 20

    /// Memory that is thrown away, or that of a folder, which is made if it is missing (mode 0700). Throws
    /// `DeviceError.state`, `cannotEncrypt`.
    init(folder: String?) throws(DeviceError) {
        self.folder = folder
        guard let folder else {
            identifier = try Self.newIdentifier()
            return
        }
        if mkdir(folder, 0o700) != 0 && errno != EEXIST {
            throw .state(path: folder, reason: "the folder cannot be made (error \(errno))")
        }
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw .state(path: folder, reason: "a folder was expected")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw .state(path: folder, reason: "it holds secret keys, but is open to other users: chmod 700")
        }
        let path = folder + "/identifier"
        if let bytes = try Self.read(path) {
            let text = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            guard Self.isIdentifier(text) else {
                throw .state(path: path, reason: "an upper-case UUID was expected; remove the file for a new one")
            }
            identifier = text
        } else {
            identifier = try Self.newIdentifier()
            try Self.write(Array((identifier + "\n").utf8), to: path)
        }
    }

    /// The key for a configuration, if there is one. Throws `DeviceError.state`.
    mutating func key(for hash: [UInt8]) throws(DeviceError) -> DeviceKey? {
        if let key = keys[hash] { return key }
        guard let folder else { return nil }
        let path = Self.keyPath(folder, hash)
        guard let bytes = try Self.read(path) else { return nil }
        guard bytes.count > 8 else { throw .state(path: path, reason: "the file is cut; remove it for a new key") }
        let timestamp = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let key = DeviceKey(timestamp: timestamp, secret: Array(bytes.dropFirst(8)))
        keys[hash] = key
        return key
    }

    /// Remembers the key for a configuration. Throws `DeviceError.state`.
    mutating func keep(_ key: DeviceKey, for hash: [UInt8]) throws(DeviceError) {
        keys[hash] = key
        guard let folder else { return }
        let timestamp = (0..<8).map { UInt8(truncatingIfNeeded: key.timestamp >> UInt64(56 - 8 * $0)) }
        try Self.write(timestamp + key.secret, to: Self.keyPath(folder, hash))
    }

    // MARK: Identifier

    /// A random UUID (version 4) in upper case.
    private static func newIdentifier() throws(DeviceError) -> String {
        var bytes: [UInt8]
        do {
            bytes = try secureRandomBytes(16)
        } catch {
            throw .cannotEncrypt(reason: "the operating system gave no random bytes")
        }
        guard bytes.count == 16 else { throw .cannotEncrypt(reason: "too few random bytes") }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = bytes.hexadecimal.uppercased()
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }

    static func isIdentifier(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return false }
        return bytes.enumerated().allSatisfy { index, byte in
            [8, 13, 18, 23].contains(index)
                ? byte == UInt8(ascii: "-") : (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte)
        }
    }

    // MARK: Tokens

    /// The tokens that are kept under a name, oldest first. Throws `DeviceError.state`.
    func tokens(_ name: String) throws(DeviceError) -> [KeptToken] {
        guard let folder, let bytes = try Self.read("\(folder)/tokens-\(name)") else { return [] }
        let size = 8 + Token.length
        guard bytes.count.isMultiple(of: size) else {
            throw .state(path: "\(folder)/tokens-\(name)", reason: "the file is cut; remove it for new tokens")
        }
        var tokens: [KeptToken] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let fetched = bytes[start..<(start + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard let token = try? Token(decoding: Array(bytes[(start + 8)..<(start + size)])) else {
                throw .state(path: "\(folder)/tokens-\(name)", reason: "it does not hold tokens; remove it for new ones")
            }
            tokens.append(KeptToken(token: token, fetched: Int64(clamping: fetched)))
        }
        return tokens
    }

    /// Keeps tokens under a name instead of those before. Throws `DeviceError.state`.
    func keep(_ tokens: [KeptToken], as name: String) throws(DeviceError) {
        guard let folder else { return }
        let bytes = tokens.flatMap { kept in
            (0..<8).map { UInt8(truncatingIfNeeded: kept.fetched >> (56 - 8 * Int64($0))) } + kept.token.encoded
        }
        try Self.write(bytes, to: "\(folder)/tokens-\(name)")
    }

    // MARK: Files

    private static func keyPath(_ folder: String, _ hash: [UInt8]) -> String { "\(folder)/key-\(hash.hexadecimal)" }

    /// The whole file, nil if there is none.
    private static func read(_ path: String) throws(DeviceError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 {
            if errno == ENOENT { return nil }
            throw .state(path: path, reason: "the file cannot be read (error \(errno))")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            if count < 0 { throw .state(path: path, reason: "the file cannot be read (error \(errno))") }
            if count == 0 { return bytes }
            bytes += chunk.prefix(count)
            if bytes.count > largestFile { throw .state(path: path, reason: "the file is larger than \(largestFile) bytes") }
        }
    }

    /// Puts a file in place in one step, readable by its owner only.
    private static func write(_ bytes: [UInt8], to path: String) throws(DeviceError) {
        let temporary = "\(path).\(getpid())"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .state(path: path, reason: "the file cannot be written (error \(errno))") }
        var written = 0
        while written < bytes.count {
            let rest = Array(bytes[written...])
            let count = Glibc.write(descriptor, rest, rest.count)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { break }
            written += count
        }
        let isComplete = written == bytes.count && fsync(descriptor) == 0
        let code = errno
        close(descriptor)
        guard isComplete, rename(temporary, path) == 0 else {
            unlink(temporary)
            throw .state(path: path, reason: "the file cannot be written (error \(code))")
        }
    }
}
