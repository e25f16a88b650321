// Reads typed settings out of a JSON5 tree and gathers everything that is wrong, so that an operator sees up to twenty
// errors at once, each with its place (design.md, Configuration; field case F14).

/// What is wrong with a configuration file, at most `ConfigurationError.reportedAtMost` findings.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// How many findings are reported at once.
    public static let reportedAtMost = 20
    /// The findings in the order of the file.
    public var findings: [SourceFinding]
    /// How many there were in all.
    public var count: Int

    /// One line per finding.
    public var description: String {
        var lines = findings.map(\.description)
        if count > findings.count { lines.append("… and \(count - findings.count) more") }
        return lines.joined(separator: "\n")
    }
}

/// Where readers of settings put errors and notices. A class, since every section of one file adds to the same list; it
/// never leaves the function that reads the file.
final class SettingsLog {
    let file: String
    /// Settings that came from the environment: dotted path to variable.
    var variables: [String: String] = [:]
    private(set) var findings: [SourceFinding] = []
    private(set) var count = 0
    private(set) var notices: [String] = []

    init(file: String) { self.file = file }

    func report(_ path: String, _ position: TextPosition, expected: String, came: String) {
        count += 1
        guard findings.count < ConfigurationError.reportedAtMost else { return }
        findings.append(
            SourceFinding(
                position: place(path, position), expected: path.isEmpty ? expected : "\(path): \(expected)", came: came))
    }

    func notice(_ path: String, _ position: TextPosition, _ text: String) {
        notices.append("\(place(path, position)): \(path): \(text)")
    }

    func notice(_ text: String) { notices.append(text) }

    /// What was reported, in the order of the file.
    var error: ConfigurationError {
        let sorted = findings.sorted { ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column) }
        return ConfigurationError(findings: sorted, count: count)
    }

    private func place(_ path: String, _ position: TextPosition) -> SourcePosition {
        if let variable = variables[path] { return SourcePosition(file: "environment variable \(variable)", line: 0) }
        return SourcePosition(file: file, line: position.line, column: position.column)
    }
}

/// One object of the configuration file. Every reader returns nil when the setting is absent, null or wrong; wrong ones
/// are reported.
struct SettingsSection {
    let log: SettingsLog
    /// Dotted path of the object, empty for the root.
    let path: String
    let position: TextPosition
    let members: [JSON5Member]

    /// Takes `value` as an object with members of `known` names; reports it and every unknown name otherwise.
    init?(_ value: JSON5Value, path: String, known: [String]?, log: SettingsLog) {
        guard case .object(let members) = value.kind else {
            log.report(path, value.position, expected: "an object", came: value.summary)
            return nil
        }
        self.log = log
        self.path = path
        self.position = value.position
        self.members = members
        guard let known else { return }
        for member in members where !known.contains(member.name) {
            let expected = NearestName.expectation(for: member.name, among: known, kind: "key")
            log.report(path, member.namePosition, expected: expected, came: "\"\(member.name)\"")
        }
    }

    /// Dotted path of a member.
    func path(of name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    /// The member's value, nil when absent or null.
    func value(_ name: String) -> JSON5Value? {
        guard let value = members.first(where: { $0.name == name })?.value, value.kind != .null else { return nil }
        return value
    }

    func report(_ name: String, expected: String, came: String, at value: JSON5Value? = nil) {
        let place = value?.position ?? self.value(name)?.position ?? position
        log.report(path(of: name), place, expected: expected, came: came)
    }

    func section(_ name: String, known: [String]?) -> SettingsSection? {
        guard let value = value(name) else { return nil }
        return SettingsSection(value, path: path(of: name), known: known, log: log)
    }

    func string(_ name: String, expected: String = "a string") -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value.kind, !text.isEmpty, !text.utf8.contains(0) else {
            report(name, expected: expected, came: value.summary)
            return nil
        }
        return text
    }

    func bool(_ name: String) -> Bool? {
        guard let value = value(name) else { return nil }
        guard case .bool(let flag) = value.kind else {
            report(name, expected: "true or false", came: value.summary)
            return nil
        }
        return flag
    }

    func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
        guard let value = value(name) else { return nil }
        guard case .number(let number) = value.kind, let integer = number.integer, let result = Int(exactly: integer),
            range.contains(result)
        else {
            report(name, expected: "an integer from \(range.lowerBound) to \(range.upperBound)", came: value.summary)
            return nil
        }
        return result
    }

    func number(_ name: String, expected: String, where accepts: (Double) -> Bool) -> Double? {
        guard let value = value(name) else { return nil }
        guard case .number(let number) = value.kind, number.double.isFinite, accepts(number.double) else {
            report(name, expected: expected, came: value.summary)
            return nil
        }
        return number.double
    }

    func choice<Value>(_ name: String, _ choices: [(String, Value)]) -> Value? {
        guard let value = value(name) else { return nil }
        let names = choices.map { "\"\($0.0)\"" }
        guard case .string(let text) = value.kind, let choice = choices.first(where: { $0.0 == text }) else {
            var expected = NearestName.list(names)
            if case .string(let text) = value.kind, let nearest = NearestName.of(text, among: choices.map(\.0)) {
                expected += " (did you mean \"\(nearest)\"?)"
            }
            report(name, expected: expected, came: value.summary)
            return nil
        }
        return choice.1
    }

    /// A string or an array of strings, each with its place.
    func strings(_ name: String, expected: String) -> [(text: String, value: JSON5Value)]? {
        guard let value = value(name) else { return nil }
        let values: [JSON5Value]
        if case .array(let elements) = value.kind { values = elements } else { values = [value] }
        var result: [(text: String, value: JSON5Value)] = []
        for element in values {
            guard case .string(let text) = element.kind, !text.isEmpty, !text.utf8.contains(0) else {
                report(name, expected: expected, came: element.summary, at: element)
                return nil
            }
            result.append((text, element))
        }
        guard !result.isEmpty else {
            report(name, expected: expected, came: value.summary)
            return nil
        }
        return result
    }
}
