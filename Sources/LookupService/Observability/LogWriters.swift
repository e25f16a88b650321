// Where records go: standard error, memory, nowhere, and the filter in front that keeps repeated ones from filling a disk
// (field case F24).

import Dispatch
import Glibc
import Synchronization

/// Takes records.
public protocol LogWriter: Sendable {
    /// Takes a record. Called from any thread.
    func write(_ record: LogRecord)
}

extension LogWriter {
    /// Writes an event of now.
    public func note(_ event: LogEvent) { write(LogRecord(event)) }
}

/// Writes lines to standard error, each in one piece.
public struct StandardErrorLog: LogWriter {
    private let format: LogFormat

    /// The log; by default sentences on a terminal, and JSON otherwise.
    public init(format: LogFormat? = nil) { self.format = format ?? .suitable(for: 2) }

    /// Writes the record's line.
    public func write(_ record: LogRecord) {
        let bytes = Array((format.line(record) + "\n").utf8)
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

/// Keeps records in memory, for tests.
public final class MemoryLog: LogWriter {
    private let kept = Mutex<[LogRecord]>([])

    /// An empty log.
    public init() {}

    /// Keeps the record.
    public func write(_ record: LogRecord) { kept.withLock { $0.append(record) } }

    /// All records so far.
    public var records: [LogRecord] { kept.withLock { $0 } }

    /// All records so far as lines for people.
    public var lines: [String] { records.map(LogFormat.text.line) }
}

/// Forgets records.
public struct SilentLog: LogWriter {
    /// The log.
    public init() {}

    /// Does nothing.
    public func write(_ record: LogRecord) {}
}

/// Lets through what is important enough; of records that repeat each other only the first few of each stretch of time. A record
/// at the end of the stretch says how many were left out.
public final class SampledLog: LogWriter {
    private struct Stretch {
        var written = 0
        var leftOut = 0
    }

    private let log: any LogWriter
    private let level: LogLevel
    private let most: Int
    private let seconds: Int
    private let stretches = Mutex<[Repetition: Stretch]>([:])
    private let clock = DispatchQueue(label: "log")

    /// A filter in front of `log`.
    ///
    /// - Parameters:
    ///   - level: less important records are dropped.
    ///   - most: records alike that are written in one stretch of time.
    ///   - seconds: the length of a stretch; it begins with the first of its records.
    public init(_ log: any LogWriter, level: LogLevel = .info, most: Int = 20, seconds: Int = 10) {
        self.log = log
        self.level = level
        self.most = max(1, most)
        self.seconds = max(1, seconds)
    }

    /// Writes the record, or counts it as left out.
    public func write(_ record: LogRecord) {
        guard record.event.level >= level || record.event.isAlwaysWritten else { return }
        guard let repetition = record.event.repetition else { return log.write(record) }
        let (isWritten, isFirst) = stretches.withLock { stretches in
            var stretch = stretches[repetition] ?? Stretch()
            let isWritten = stretch.written < most
            if isWritten { stretch.written += 1 } else { stretch.leftOut += 1 }
            defer { stretches[repetition] = stretch }
            return (isWritten, stretch.written == 1 && isWritten)
        }
        if isFirst {
            clock.asyncAfter(deadline: .now() + .seconds(seconds)) { [weak self] in self?.end(repetition) }
        }
        if isWritten { log.write(record) }
    }

    /// Ends all stretches now: the last lines of a server that stops.
    public func flush() {
        for repetition in stretches.withLock({ Array($0.keys) }) { end(repetition) }
    }

    private func end(_ repetition: Repetition) {
        let stretch = stretches.withLock { $0.removeValue(forKey: repetition) }
        guard let stretch, stretch.leftOut > 0 else { return }
        log.note(.leftOut(count: stretch.leftOut, kind: repetition.text, seconds: seconds))
    }
}
