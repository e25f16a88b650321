// The shown name: empty parts and their separators are dropped (design.md, Data in).

import Testing

@testable import CallerDirectory

@Suite struct NameTemplateTests {
    @Test(arguments: [
        ("n", "c", "t", "n｜c｜t"), ("n", "", "t", "n｜t"), ("", "c", "t", "c｜t"), ("", "", "t", "t"), ("n", "", "", "n"),
        ("", "", "", ""),
        ("n", "c", "", "n｜c"),
    ])
    func dropsEmptyParts(name: String, company: String, title: String, expected: String) throws {
        #expect(NameTemplate.standard.render(name: name, company: company, title: title) == expected)
        #expect(try NameTemplate(NameTemplate.defaultText).render(name: name, company: company, title: title) == expected)
    }

    @Test(arguments: [
        ("{name} ({company}, {title})", "n", "", "", "n"), ("{name} ({company})", "n", "c", "", "n (c)"),
        ("{name} ({company})", "", "c", "", "(c)"), ("({company}) {name}", "n", "", "", "n"),
        ("({company}) {name}", "n", "c", "", "(c) n"),
        ("From {company}: {name}!", "n", "c", "", "From c: n!"), ("{title}", "n", "c", "", ""),
    ])
    func keepsBracketsWithTheirPart(template: String, name: String, company: String, title: String, expected: String) throws {
        #expect(try NameTemplate(template).render(name: name, company: company, title: title) == expected)
    }

    @Test(arguments: ["", "name", "{nmae}", "{name", "name}", "{}", "{name}{"])
    func refuses(template: String) {
        #expect(throws: NameTemplateError.self) { try NameTemplate(template) }
    }
}
