// How records become lines: sentences for people, JSON objects for programs.

import Glibc

/// The form of a line.
public enum LogFormat: String, Sendable, CaseIterable {
    /// Time, level and sentence. The line that says `ready` begins with that word, for people and scripts that wait for it.
    case text
    /// One JSON object: `time`, `level`, `kind`, the fields of the kind, and for all but requests `message`.
    case json

    /// For people when they look at it, else for programs.
    ///
    /// - Parameter descriptor: where the log goes.
    public static func suitable(for descriptor: Int32) -> LogFormat { isatty(descriptor) == 1 ? .text : .json }

    /// The line of a record, without line end.
    public func line(_ record: LogRecord) -> String {
        switch self {
        case .text:
            let message = LogText.printable(record.event.message)
            if case .ready = record.event { return message }
            return "\(LogText.time(record.time)) \(record.event.level.rawValue) \(message)"
        case .json:
            var members = [
                ("time", LogValue.text(LogText.time(record.time))), ("level", .text(record.event.level.rawValue)),
                ("kind", .text(record.event.kind)),
            ]
            members += record.event.fields.map { ($0.name, $0.value) }
            // The line of a request is written often, and its fields say all.
            if case .request = record.event {} else { members.append(("message", .text(record.event.message))) }
            return JSONLine.object(members)
        }
    }
}

/// Writes JSON in one line.
enum JSONLine {
    static func object(_ members: [(String, LogValue)]) -> String {
        "{" + members.map { quoted($0.0) + ":" + text($0.1) }.joined(separator: ",") + "}"
    }

    private static func text(_ value: LogValue) -> String {
        switch value {
        case .text(let text): quoted(text)
        case .texts(let texts): "[" + texts.map(quoted).joined(separator: ",") + "]"
        case .integer(let value): "\(value)"
        }
    }

    /// A string with everything escaped that JSON or a reader of lines could stumble over.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where LogText.isControl(scalar):
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// Forms of values that may be logged.
enum LogText {
    private static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT",
    ]

    /// The method if it is a registered one: a made-up one could carry anything.
    static func method(_ method: String) -> String { methods.contains(method) ? method : "OTHER" }

    /// The power of two of bytes that a size does not exceed, from 1 KiB; 0 for nothing.
    static func bound(_ bytes: Int) -> Int {
        if bytes <= 0 { return 0 }
        var limit = 1024
        while limit < bytes, limit <= Int.max / 4 { limit *= 2 }
        return limit
    }

    /// The bound of a size in KiB or MiB.
    static func bucket(_ bytes: Int) -> String {
        let limit = bound(bytes)
        return limit == 0 ? "0" : limit < 1 << 20 ? "<=\(limit >> 10)K" : "<=\(limit >> 20)M"
    }

    /// Whole milliseconds.
    static func milliseconds(_ duration: Duration) -> Int { duration.nanoseconds / 1_000_000 }

    /// Seconds since 1970 as `2026-11-30T02:20:58Z`.
    static func time(_ seconds: Int) -> String {
        var clock = time_t(seconds)
        var parts = tm()
        guard gmtime_r(&clock, &parts) != nil else { return "-" }
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T"
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }

    /// One line without anything that moves a cursor.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || (0x2028...0x202E).contains(scalar.value)
            || (0x2066...0x2069).contains(scalar.value)
    }
}

/// Seconds since 1970 by the system's clock.
func secondsSince1970() -> Int { Glibc.time(nil) }
