// The log: one line for each request, and lines about the service itself. Only values of closed lists, durations and
// power-of-two size buckets appear (service.md 8.1).

import Glibc
import Synchronization

/// Where log lines go.
public protocol LogWriter: Sendable {
    /// Takes one line, without line end. Called from any thread.
    func write(_ line: String)
}

/// Writes lines to standard error, each in one piece.
public struct StandardErrorLog: LogWriter {
    /// The log.
    public init() {}

    /// Writes the line.
    public func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        var written = 0
        while written < bytes.count {
            let rest = Array(bytes[written...])
            let count = Glibc.write(2, rest, rest.count)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { return }
            written += count
        }
    }
}

/// Keeps lines in memory, for tests and the demo.
public final class MemoryLog: LogWriter {
    private let kept = Mutex<[String]>([])

    /// An empty log.
    public init() {}

    /// Keeps the line.
    public func write(_ line: String) { kept.withLock { $0.append(line) } }

    /// All lines so far.
    public var lines: [String] { kept.withLock { $0 } }
}

/// What the service knows a request as.
enum RouteName: String, Sendable {
    case config
    case key
    case queries
    case unknown

    init(path: String) {
        switch path {
        case "/config": self = .config
        case "/key": self = .key
        case "/queries": self = .queries
        default: self = .unknown
        }
    }
}

/// Forms of values that may be logged.
enum LogText {
    private static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT",
    ]

    /// The method if it is a registered one: a made-up one could carry anything.
    static func method(_ method: String) -> String { methods.contains(method) ? method : "OTHER" }

    /// The power-of-two bucket that a size falls into.
    static func bucket(_ bytes: Int) -> String {
        if bytes <= 0 { return "0" }
        if bytes <= 1024 { return "<=1K" }
        var limit = 1024
        while limit < bytes { limit = limit.multipliedReportingOverflow(by: 2).partialValue }
        return limit < 1 << 20 ? "<=\(limit >> 10)K" : "<=\(limit >> 20)M"
    }

    /// Whole milliseconds.
    static func milliseconds(_ duration: Duration) -> String {
        let parts = duration.components
        return "\(parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000)ms"
    }

    /// Seconds since 1970 as `2026-11-30T02:20:58Z`.
    static func time(_ seconds: Int) -> String {
        var clock = time_t(seconds)
        var parts = tm()
        guard gmtime_r(&clock, &parts) != nil else { return "-" }
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T"
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }
}

/// Seconds since 1970 by the system's clock.
func secondsSince1970() -> Int { Glibc.time(nil) }
