// Base64 (RFC 4648): strict reading of the URL alphabet, writing of both alphabets.

enum Base64 {
    private static let url = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The URL alphabet, with or without padding.
    static func urlText(_ bytes: [UInt8], padded: Bool) -> String { text(bytes, alphabet: url, padded: padded) }

    /// The standard alphabet with padding.
    static func standardText(_ bytes: [UInt8]) -> String { text(bytes, alphabet: standard, padded: true) }

    private static func text(_ bytes: [UInt8], alphabet: [UInt8], padded: Bool) -> String {
        var out: [UInt8] = []
        out.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for character in 0...group.count {
                out.append(alphabet[Int(bits >> UInt32(18 - 6 * character) & 63)])
            }
            if padded { out.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - group.count)) }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The bytes of a text in the URL alphabet, with all its padding or with none; nil for anything else, also where unused bits
    /// are not zero, and for texts that stand for more than `limit` bytes.
    static func urlBytes(_ text: some Collection<UInt8>, limit: Int) -> [UInt8]? {
        guard text.count <= limit / 3 * 4 + 4 else { return nil }
        var characters = Array(text)
        if characters.last == UInt8(ascii: "=") {
            guard characters.count % 4 == 0 else { return nil }
            characters.removeLast(characters[characters.count - 2] == UInt8(ascii: "=") ? 2 : 1)
        }
        guard characters.count % 4 != 1 else { return nil }
        var out: [UInt8] = []
        out.reserveCapacity(characters.count / 4 * 3 + 2)
        var bits: UInt32 = 0
        var held: UInt32 = 0
        for character in characters {
            guard let value = value(of: character) else { return nil }
            bits = bits << 6 | value
            held += 6
            if held >= 8 {
                held -= 8
                out.append(UInt8(truncatingIfNeeded: bits >> held))
            }
            bits &= (1 << held) - 1
        }
        return bits == 0 && out.count <= limit ? out : nil
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
