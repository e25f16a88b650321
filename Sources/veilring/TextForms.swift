// Text for terminals and scripts: what a server sent must neither move the cursor nor break the JSON.

import Cryptography

/// Text safe for a terminal: control characters and what turns text around are shown as escapes.
func terminalText(_ text: String) -> String {
    var safe = ""
    for scalar in text.unicodeScalars {
        let isHarmless: Bool =
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
            default: true
            }
        if isHarmless { safe.unicodeScalars.append(scalar) } else { safe += "\\u{\(String(scalar.value, radix: 16))}" }
    }
    return safe
}

/// Bytes as text if they are printable UTF-8, else as `0x` and hex digits.
func valueText(_ bytes: [UInt8]) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    let isText = !bytes.isEmpty && Array(text.utf8) == bytes && terminalText(text) == text && !text.hasPrefix("0x")
    return isText ? text : "0x" + bytes.hexadecimal
}

/// A JSON value, with its members in the order given.
enum JSONText: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int)
    case milliseconds(Duration)
    case string(String)
    case array([JSONText])
    case object([(String, JSONText)])

    static func == (left: JSONText, right: JSONText) -> Bool { left.text == right.text }

    /// A string, or null.
    static func optional(_ text: String?) -> JSONText { text.map { .string($0) } ?? .null }

    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): "\(value)"
        case .milliseconds(let duration):
            // One digit behind the point, rounded down.
            "\(Self.tenths(duration) / 10).\(Self.tenths(duration) % 10)"
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0.0) + ":" + $0.1.text }.joined(separator: ",") + "}"
        }
    }

    private static func tenths(_ duration: Duration) -> Int64 {
        let parts = duration.components
        return max(0, parts.seconds) * 10_000 + parts.attoseconds / 100_000_000_000_000
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F || (0x2028...0x2029).contains(scalar.value):
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
