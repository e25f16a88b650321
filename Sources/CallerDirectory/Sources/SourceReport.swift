// What reading a use case's sources, and turning them into rows, came to.

/// Counts and findings of a reading or a conversion.
public struct SourceReport: Sendable, Equatable {
    /// Rows that were read, rejected ones included.
    public var rowsRead = 0
    /// Rows that are left, duplicates merged.
    public var rowsKept = 0
    /// Rows that are not in the result, one finding each.
    public var rejected = SourceFindings()
    /// Rows that are, with something worth a look.
    public var warnings = SourceFindings()
    /// Rows that repeat the number of an earlier one and were merged into it.
    public var merged = SourceFindings()

    /// Nothing yet.
    public init() {}
}

/// Why a source cannot be used at all: findings, up to twenty.
public struct SourceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong, at least one.
    public var findings: [SourceFinding]
    /// How many there were in all.
    public var count: Int

    /// Makes an error of findings.
    public init(_ findings: [SourceFinding], count: Int? = nil) {
        self.findings = Array(findings.prefix(SourceFindings.printedAtMost))
        self.count = count ?? findings.count
    }

    /// One line per finding.
    public var description: String {
        var lines = findings.map(\.description)
        if count > findings.count { lines.append("… and \(count - findings.count) more") }
        return lines.joined(separator: "\n")
    }

    /// The findings without what came: for a log.
    public var redacted: String { findings.map(\.redacted).joined(separator: "\n") }
}
