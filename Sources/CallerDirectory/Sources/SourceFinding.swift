// What a reader has to say about a place in a file: where, what was expected, what came. Used for the configuration file
// and for every source of callers (design.md: "errors carry line and column"; field case F14).

/// A place in a file. Lines and columns count from 1, columns in Unicode scalars; 0 stands for "not known".
public struct SourcePosition: Sendable, Equatable, CustomStringConvertible {
    /// The file as the operator wrote it.
    public var file: String
    /// Line, from 1; for a binary file the number of the row.
    public var line: Int
    /// Column, from 1, or 0 where a whole line or row is meant.
    public var column: Int

    /// Makes a position.
    public init(file: String, line: Int, column: Int = 0) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// `file:line:column`, without the parts that are not known.
    public var description: String {
        if line == 0 { return file }
        return column == 0 ? "\(file):\(line)" : "\(file):\(line):\(column)"
    }
}

/// One thing that is wrong, or worth a look, at one place. `came` may hold private text: it is for the operator's terminal,
/// never for a server's log (use `redacted` there).
public struct SourceFinding: Error, Sendable, Equatable, CustomStringConvertible {
    /// Where.
    public var position: SourcePosition
    /// What should have been there, with the suggestion if there is one.
    public var expected: String
    /// What was there.
    public var came: String

    /// Makes a finding; `came` is cut to 80 characters and freed of control characters.
    public init(position: SourcePosition, expected: String, came: String) {
        self.position = position
        self.expected = expected
        self.came = SourceFinding.printable(came)
    }

    /// `file:line:column: expected …, got …`.
    public var description: String { "\(position): expected \(expected), got \(came)" }

    /// The same without what came: holds nothing private.
    public var redacted: String { "\(position): expected \(expected)" }

    /// `text` on one line and short enough for a terminal.
    static func printable(_ text: String) -> String {
        var result = ""
        var count = 0
        for scalar in text.unicodeScalars {
            if count == 80 { return result + "…" }
            let isControl = scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
            let turnsText = (0x202a...0x202e).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
            result.unicodeScalars.append(isControl || turnsText ? "\u{fffd}" : scalar)
            count += 1
        }
        return result
    }

    /// `text` in quotes, for the `came` part; "nothing" when it is empty.
    static func quoted(_ text: String) -> String { text.isEmpty ? "nothing" : "\"\(text)\"" }
}

/// Findings of one kind: counted exactly, kept up to a bound so that a file of bad rows cannot fill the memory.
public struct SourceFindings: Sendable, Equatable {
    /// How many findings are kept.
    public static let keptAtMost = 1000
    /// How many findings a list prints where the whole would be too long.
    public static let printedAtMost = 20

    /// How many there were in all.
    public private(set) var count = 0
    /// The first of them, at most `keptAtMost`.
    public private(set) var kept: [SourceFinding] = []

    /// Makes an empty list.
    public init() {}

    /// Adds one.
    public mutating func append(_ finding: SourceFinding) {
        count += 1
        if kept.count < SourceFindings.keptAtMost { kept.append(finding) }
    }

    /// Adds all of another list.
    public mutating func append(contentsOf other: SourceFindings) {
        count += other.count
        kept.append(contentsOf: other.kept.prefix(max(0, SourceFindings.keptAtMost - kept.count)))
    }

    /// All that were kept as text, one line each, and a last line that says how many more there are.
    public var lines: [String] {
        var result = kept.map(\.description)
        if count > result.count { result.append("… and \(count - result.count) more") }
        return result
    }
}
