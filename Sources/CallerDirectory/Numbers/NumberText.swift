// What can be said of a number's text before the library reads it: patterns, shortened spreadsheet numbers, and the form
// "plus and digits" (issue 2, item 5; field cases F13, F43).

/// Looks at the text of a number.
enum NumberText {
    /// Bytes beyond which no text is a number.
    static let bytesAtMost = 1000

    /// Why the text cannot be a number whatever the region is; nil if it may be one.
    static func issue(of text: [UInt8]) -> NumberIssue? {
        guard text.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return .empty }
        guard text.count <= bytesAtMost else { return .textTooLong }
        guard !text.contains(0) else { return .nulInside }
        if isPattern(text) { return .wildcard }
        if isShortened(text) { return .exponent }
        return nil
    }

    /// `*`, `?`, `%` and `_` never stand in a number. `#` marks an extension in Taiwan and elsewhere, so only a run of them,
    /// a last one, or one with something else than digits behind it is a pattern; `x` likewise, but only as a run.
    static func isPattern(_ text: [UInt8]) -> Bool {
        let folded = narrowed(text)
        var previous: UInt8 = 0
        for (index, byte) in folded.enumerated() {
            switch byte {
            case UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "%"), UInt8(ascii: "_"): return true
            case UInt8(ascii: "x"), UInt8(ascii: "X"):
                if previous == UInt8(ascii: "x") { return true }
                previous = UInt8(ascii: "x")
                continue
            case UInt8(ascii: "#"):
                // In "extension 567#" the mark closes.
                let rest = folded[(index + 1)...].drop { $0 == 0x20 }
                let closes = rest.isEmpty && folded[..<index].contains { ($0 | 0x20) == UInt8(ascii: "x") }
                let isExtension = !rest.isEmpty && rest.allSatisfy { isDigit($0) || $0 == 0x20 }
                if !closes && !isExtension { return true }
            default: break
            }
            previous = byte
        }
        return false
    }

    /// `1.65E10`, `8,86912E+11`.
    static func isShortened(_ text: [UInt8]) -> Bool {
        let parts = text.filter { $0 != 0x20 }.split(omittingEmptySubsequences: false) { ($0 | 0x20) == UInt8(ascii: "e") }
        guard parts.count == 2, let mantissa = parts.first, let exponent = parts.last else { return false }
        let isMantissa = mantissa.allSatisfy { isDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ",") }
        let digits = exponent.first == UInt8(ascii: "+") ? exponent.dropFirst() : exponent
        return isMantissa && mantissa.contains(where: isDigit) && !digits.isEmpty && digits.allSatisfy(isDigit)
    }

    /// The digits of a text that is `+` and digits with nothing but blanks, dots, hyphens and brackets between; nil else.
    static func plainInternational(_ text: [UInt8]) -> [UInt8]? {
        let folded = narrowed(text).drop { $0 == 0x20 || $0 == 0x09 }
        guard folded.first == UInt8(ascii: "+") else { return nil }
        var digits: [UInt8] = []
        for byte in folded.dropFirst() {
            if isDigit(byte) {
                digits.append(byte)
                continue
            }
            switch byte {
            case 0x20, 0x09, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "["),
                UInt8(ascii: "]"):
                continue
            default: return nil
            }
        }
        return digits.isEmpty ? nil : digits
    }

    /// How many digits stand in the text.
    static func digitCount(_ text: [UInt8]) -> Int { narrowed(text).count(where: isDigit) }

    /// The text's first two digits are zeros, and no plus sign stands before them.
    static func startsWithDoubleZero(_ text: [UInt8]) -> Bool {
        let marks = narrowed(text).filter { isDigit($0) || $0 == UInt8(ascii: "+") }
        return marks.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "0")])
    }

    static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The text with full-width forms (U+FF01…FF5E), the ideographic space, the no-break space and the hyphens of
    /// U+2010…2015 and U+2212 as their ASCII selves. Other scalars stay.
    static func narrowed(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(where: { $0 >= 0x80 }) else { return text }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0xff01...0xff5e: result.append(UInt8(truncatingIfNeeded: scalar.value - 0xff01 + 0x21))
            case 0x3000, 0xa0, 0x2007, 0x202f: result.append(0x20)
            case 0x2010...0x2015, 0x2212: result.append(UInt8(ascii: "-"))
            case 0x200b...0x200f, 0x202a...0x202e, 0x2060...0x2069, 0xfeff: continue
            default: result.append(contentsOf: Array(String(Character(scalar)).utf8))
            }
        }
        return result
    }
}
