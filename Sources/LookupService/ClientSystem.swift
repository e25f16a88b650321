// The device's operating system out of `User-Agent` (service.md 1.6.4), and what it understands (1.9.4).

/// What a device understands of the newer forms of the configuration.
struct ClientSystem: Sendable, Equatable {
    /// Repeated shard configurations and sharding functions other than SHA-256: iOS 18.2, macOS 15.2.
    let understandsNewestForm: Bool

    /// Reads the value of `User-Agent`. Nothing recognised, or nothing sent, counts as the newest system.
    init(userAgent: String?) {
        let text = Array((userAgent ?? "").utf8.prefix(1024))
        if let version = Self.version(after: "iOS/", in: text) {
            understandsNewestForm = !version.lexicographicallyPrecedes([18, 2, 0])
        } else if let version = Self.version(after: "Macintosh; OS X ", in: text) {
            understandsNewestForm = !version.lexicographicallyPrecedes([15, 2, 0])
        } else {
            understandsNewestForm = true
        }
    }

    /// Major, minor and patch after the last occurrence of `mark` that is followed by a digit.
    static func version(after mark: String, in text: [UInt8]) -> [Int]? {
        let mark = Array(mark.utf8)
        guard text.count > mark.count else { return nil }
        for start in (0..<(text.count - mark.count)).reversed() where text[start...].starts(with: mark) {
            var rest = text[(start + mark.count)...]
            var version: [Int] = []
            while version.count < 3 {
                let digits = rest.prefix(5).prefix { (0x30...0x39).contains($0) }
                if digits.isEmpty { break }
                version.append(digits.reduce(0) { $0 * 10 + Int($1 - 0x30) })
                rest = rest.dropFirst(digits.count)
                guard rest.first == UInt8(ascii: ".") else { break }
                rest = rest.dropFirst()
            }
            if version.isEmpty { continue }
            return version + Array(repeating: 0, count: 3 - version.count)
        }
        return nil
    }
}
