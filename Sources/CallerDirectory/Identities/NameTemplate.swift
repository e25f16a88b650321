// How the one string that a phone shows is composed of name, company and title (design.md, Data in).

/// Why a text is no template.
public struct NameTemplateError: Error, Sendable, Equatable {
    /// What should have been there.
    public var expected: String
}

/// A template such as `{name}｜{company}｜{title}`. Empty parts are dropped with the separator before them; a bracket that
/// opens before a part or closes behind it goes with the part.
public struct NameTemplate: Sendable, Equatable {
    /// The template that holds where none is given.
    public static let defaultText = "{name}｜{company}｜{title}"
    /// The default as a template.
    public static let standard = NameTemplate(
        parts: [
            Part(field: .name), Part(separator: "｜", field: .company), Part(separator: "｜", field: .title),
        ])

    enum Field: String, Sendable, CaseIterable {
        case name
        case company
        case title
    }

    /// One field and the texts around it.
    struct Part: Sendable, Equatable {
        /// Stands before the part if an earlier part is shown, or if it is the first of the template.
        var separator = ""
        /// Stands directly before the part.
        var opening = ""
        var field: Field
        /// Stands directly behind the part.
        var closing = ""
    }

    let parts: [Part]
    /// Stands behind everything.
    let ending: String

    init(parts: [Part], ending: String = "") {
        self.parts = parts
        self.ending = ending
    }

    /// Reads a template: text with `{name}`, `{company}` and `{title}`, at least one of them, at most 1000 bytes.
    public init(_ text: String) throws(NameTemplateError) {
        guard text.utf8.count <= 1000 else { throw NameTemplateError(expected: "a template of at most 1000 bytes") }
        var parts: [Part] = []
        var rest = Substring(text)
        var literal = ""
        while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            literal = String(rest[..<brace])
            let inside = rest[rest.index(after: brace)...]
            guard rest[brace] == "{", let end = inside.firstIndex(of: "}") else {
                throw NameTemplateError(expected: "each \"{\" closed by \"}\"")
            }
            let name = String(inside[..<end])
            guard let field = Field(rawValue: name) else {
                let expected = NearestName.expectation(for: name, among: Field.allCases.map(\.rawValue), kind: "part")
                throw NameTemplateError(expected: expected)
            }
            var part = Part(field: field)
            if parts.isEmpty {
                part.separator = literal
            } else {
                let (closing, separator, opening) = NameTemplate.split(literal)
                parts[parts.count - 1].closing = closing
                part.separator = separator
                part.opening = opening
            }
            parts.append(part)
            rest = inside[inside.index(after: end)...]
        }
        guard !parts.isEmpty else { throw NameTemplateError(expected: "at least one of {name}, {company} and {title}") }
        let (closing, separator, opening) = NameTemplate.split(String(rest))
        parts[parts.count - 1].closing = closing
        let (_, first, firstOpening) = NameTemplate.split(parts[0].separator)
        if NameTemplate.split(parts[0].separator).closing.isEmpty {
            parts[0].separator = first
            parts[0].opening = firstOpening
        }
        self.parts = parts
        self.ending = separator + opening
    }

    /// A literal as closing brackets of the part before, the separator, opening brackets of the part behind.
    private static func split(_ literal: String) -> (closing: String, separator: String, opening: String) {
        let closers = Set(")]>」』】）》〉］\"”")
        let openers = Set("([<「『【（《〈［\"“")
        let closing = literal.prefix { closers.contains($0) }
        let rest = literal.dropFirst(closing.count)
        var middle = rest
        while let last = middle.last, openers.contains(last) { middle.removeLast() }
        return (String(closing), String(middle), String(rest.dropFirst(middle.count)))
    }

    /// The shown name; empty when all parts are.
    public func render(name: String, company: String, title: String) -> String {
        var result = ""
        for (index, part) in parts.enumerated() {
            let text: String
            switch part.field {
            case .name: text = name
            case .company: text = company
            case .title: text = title
            }
            if text.isEmpty { continue }
            if index == 0 || !result.isEmpty { result += part.separator }
            result += part.opening + text + part.closing
        }
        return result.isEmpty ? "" : result + ending
    }
}
