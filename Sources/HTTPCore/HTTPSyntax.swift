// Character classes and small grammars of RFC 9110 and RFC 9112 that parser, serialiser and URL share.

enum HTTPSyntax {
    static let carriageReturn: UInt8 = 0x0D
    static let lineFeed: UInt8 = 0x0A
    static let space: UInt8 = 0x20
    static let tab: UInt8 = 0x09

    /// tchar of RFC 9110 section 5.6.2.
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }

    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(isTokenByte)
    }

    /// A byte allowed in a field value: visible, space, tab or obs-text; no other control bytes.
    static func isValueByte(_ byte: UInt8) -> Bool { byte == tab || (byte >= 0x20 && byte != 0x7F) }

    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    static func hexValue(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte) - 0x30
        case 0x41...0x46: Int(byte) - 0x41 + 10
        case 0x61...0x66: Int(byte) - 0x61 + 10
        default: nil
        }
    }

    /// Text in which each scalar is one byte (ISO 8859-1): lossless for any bytes.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        return String(text)
    }

    /// The inverse of `text`; nil if a scalar is above U+00FF.
    static func bytes(_ text: String) -> [UInt8]? {
        let utf8 = Array(text.utf8)
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8 }
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            guard scalar.value <= 0xFF else { return nil }
            bytes.append(UInt8(scalar.value))
        }
        return bytes
    }

    static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }

    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var slice = bytes.drop { $0 == space || $0 == tab }
        while let last = slice.last, last == space || last == tab { slice.removeLast() }
        return slice
    }

    /// A decimal number of 1 to `digits` digits and nothing else.
    static func decimal(_ text: some Collection<UInt8>, digits: Int) -> Int? {
        guard !text.isEmpty, text.count <= digits, digits <= 18 else { return nil }
        var value = 0
        for byte in text {
            guard isDigit(byte) else { return nil }
            value = value * 10 + Int(byte - 0x30)
        }
        return value
    }

    /// uri-host [":" port] of RFC 9110 section 7.2, not empty, no user information, port 0–65535.
    static func isAuthority(_ bytes: some Collection<UInt8>) -> Bool {
        let all = Array(bytes)
        guard !all.isEmpty, all.count <= 512 else { return false }
        let hostEnd: Int
        if all[0] == UInt8(ascii: "[") {
            guard let close = all.firstIndex(of: UInt8(ascii: "]")), close >= 3 else { return false }
            let inside = all[1..<close]
            guard inside.contains(UInt8(ascii: ":")),
                inside.allSatisfy({ hexValue($0) != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
            else { return false }
            hostEnd = close + 1
        } else {
            hostEnd = all.firstIndex(of: UInt8(ascii: ":")) ?? all.count
            guard hostEnd > 0, all[..<hostEnd].allSatisfy(isRegNameByte) else { return false }
        }
        if hostEnd == all.count { return true }
        guard all[hostEnd] == UInt8(ascii: ":"), let port = decimal(all[(hostEnd + 1)...], digits: 5) else { return false }
        return port <= 65535
    }

    /// unreserved, sub-delims and "%" of RFC 3986.
    static func isRegNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x24...0x2E, 0x3B, 0x3D, 0x5F, 0x7E: true
        default: false
        }
    }
}
