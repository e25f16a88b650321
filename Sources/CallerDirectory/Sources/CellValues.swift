// The values of a caller's fields as texts: category, block, cache_minutes (design.md, Data in; field case F26).

/// Reads the fields of a caller that are not free text.
enum CellValues {
    /// The columns of CSV, and the names of JSON Lines.
    static let columns = ["number", "name", "company", "title", "category", "block", "cache_minutes", "icon"]
    static let categoryExpected = "category person, business or nothing"
    static let blockExpected = "block yes, no, true, false, 1, 0 or nothing"
    static let cacheExpected = "cache_minutes from 0 to \(UInt32.max)"
    static let textExpected = "a text of at most \(CallerTable.textBytesAtMost) bytes"

    static func category(_ text: String) -> CallerCategory? {
        if text.isEmpty { return .unspecified }
        switch text.lowercased() {
        case "person": return .person
        case "business": return .business
        default: return nil
        }
    }

    static func block(_ text: String) -> Bool? {
        if text.isEmpty { return false }
        switch text.lowercased() {
        case "no", "false", "0": return false
        case "yes", "true", "1": return true
        default: return nil
        }
    }

    static func cacheMinutes(_ text: String) -> UInt32? {
        if text.isEmpty { return 0 }
        guard text.utf8.allSatisfy({ NumberText.isDigit($0) }) else { return nil }
        return UInt32(text)
    }

    /// `bytes` as text without the blanks around it; nil when they are not UTF-8.
    static func trimmedText(_ bytes: ArraySlice<UInt8>) -> String? {
        var bytes = bytes
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        if bytes.isEmpty { return "" }
        // The common case first: checking UTF-8 costs more than making the text.
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        return String(validating: bytes, as: UTF8.self)
    }
}
