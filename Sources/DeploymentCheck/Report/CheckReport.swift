// What a check found: a line for each thing that was looked at, and how to mend what is wrong.

/// How a thing was found.
public enum CheckVerdict: String, Sendable, Equatable, CaseIterable {
    /// As it must be.
    case ok
    /// Works, and should be otherwise.
    case warning
    /// Does not work for phones, or not for long.
    case failure
    /// Could not be looked at, since something else was wrong or not given.
    case skipped
}

/// One line of a report.
public struct CheckFinding: Sendable, Equatable {
    /// What was looked at.
    public var item: CheckItem
    /// How it was found.
    public var verdict: CheckVerdict
    /// What was seen. Names files, hosts, paths, counts and the first digits of public key ids.
    public var text: String
    /// How to mend it; nil where nothing is to be done.
    public var remedy: String?

    /// A finding.
    public init(_ item: CheckItem, _ verdict: CheckVerdict, _ text: String, remedy: String? = nil) {
        self.item = item
        self.verdict = verdict
        self.text = text
        self.remedy = remedy
    }
}

/// Bytes of the largest encapsulated messages of a path: what is declared to the relay (service.md 3.11).
public struct DeclaredSize: Sendable, Equatable {
    /// The path inside, with a remark where one path has several messages.
    public var path: String
    /// Bytes of the largest request.
    public var request: Int
    /// Bytes of the largest answer.
    public var response: Int

    /// Sizes of a path.
    public init(path: String, request: Int, response: Int) {
        self.path = path
        self.request = request
        self.response = response
    }
}

/// Everything that a check found.
public struct CheckReport: Sendable, Equatable {
    /// In the order in which it was looked at.
    public private(set) var findings: [CheckFinding] = []
    /// What to declare to the relay; empty if it could not be measured.
    public var sizes: [DeclaredSize] = []

    /// Nothing yet.
    public init() {}

    /// Whether something does not work.
    public var hasFailures: Bool { findings.contains { $0.verdict == .failure } }

    /// How many findings of a verdict there are.
    public func count(_ verdict: CheckVerdict) -> Int { findings.count { $0.verdict == verdict } }

    /// Findings of an item.
    public subscript(item: CheckItem) -> [CheckFinding] { findings.filter { $0.item == item } }

    /// Adds another report's findings, and the larger sizes.
    public mutating func append(_ other: CheckReport) {
        findings += other.findings
        for size in other.sizes { sizes.grow(to: size) }
    }

    /// Takes a text out of all findings: what a server sends back may hold what was sent to it.
    mutating func conceal(_ secrets: [String]) {
        for index in findings.indices {
            for secret in secrets where secret.utf8.count >= 4 {
                findings[index].text = findings[index].text.replacing(secret, with: "(user token)")
            }
        }
    }

    mutating func ok(_ item: CheckItem, _ text: String) { findings.append(CheckFinding(item, .ok, text)) }

    mutating func warn(_ item: CheckItem, _ text: String, mend remedy: String) {
        findings.append(CheckFinding(item, .warning, text, remedy: remedy))
    }

    mutating func fail(_ item: CheckItem, _ text: String, mend remedy: String) {
        findings.append(CheckFinding(item, .failure, text, remedy: remedy))
    }

    mutating func skip(_ item: CheckItem, _ text: String, mend remedy: String? = nil) {
        findings.append(CheckFinding(item, .skipped, text, remedy: remedy))
    }
}
