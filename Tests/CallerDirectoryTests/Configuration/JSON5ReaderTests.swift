// The JSON5 reader against Foundation's `allowsJSON5` on a table of documents, its positions, its bounds, hostile texts.

import Foundation
import Testing

@testable import CallerDirectory

@Suite struct JSON5ReaderTests {
    /// Foundation's reading as a comparable tree.
    private indirect enum Tree: Decodable, Equatable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case array([Tree])
        case object([String: Tree])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(String.self) {
                self = .string(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else if let value = try? container.decode([Tree].self) {
                self = .array(value)
            } else {
                self = .object(try container.decode([String: Tree].self))
            }
        }

        init(_ value: JSON5Value) {
            switch value.kind {
            case .null: self = .null
            case .bool(let flag): self = .bool(flag)
            case .number(let number): self = .number(number.double)
            case .string(let text): self = .string(text)
            case .array(let values): self = .array(values.map { Tree($0) })
            case .object(let members):
                self = .object(Dictionary(uniqueKeysWithValues: members.map { ($0.name, Tree($0.value)) }))
            }
        }
    }

    static let bothAccept = [
        "{}", "[]", "null", "true", "\"a\"", "1", "-1.5e3", "[1,2,3,]", "{a:1}", "{a:1,}", "{'a':'b'}", "{\"a\":'it\\'s'}",
        "// c\n{a:1}", "/* c */ {a: /* d */ 1} // e", "[0x10, 0xFF]", "[+1, -1]", "[.5, 5.]", "{$a_1: 1}", "{ü: 1}",
        "'\\u00e9'",
        "'\\ud83d\\ude00'", "[\n1,\n\t2]", "{\"a\":{\"b\":[{}]}}", "\"\\n\\t\\\"\\\\\\/\"", "[1e2, 1E+2, 1e-2]",
        "{\"\":1}",
        "[-.5, +.5]", "{a:null,b:true,c:false}", "'黃先生｜某某科技'", "[-0x10]",
    ]

    static let bothRefuse = [
        "", "{", "[", "{a}", "{a:}", "{:1}", "{,}", "[,]", "[1,,2]", "[1 2]", "{a:1 b:2}", "'a", "\"a\nb\"", "tru", "nul",
        "1.2.3", "01x", "+",
        "-", ".", "0x", "1e", "{a:1}}", "[1]]", "/* a", "{\"a\" 1}", "\"\\u12\"", "'\\ud800'x", "{1a:1}", "@", "{a-b:1}", "/",
        "[\"a\",]]",
    ]

    private static func foundation(_ text: String) throws -> Tree {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        return try decoder.decode(Tree.self, from: Data(text.utf8))
    }

    @Test(arguments: bothAccept) func readsAsFoundationDoes(text: String) throws {
        let ours = Tree(try JSON5Reader.read(Array(text.utf8)))
        #expect(ours == (try JSON5ReaderTests.foundation(text)))
    }

    @Test(arguments: bothRefuse) func refusesAsFoundationDoes(text: String) {
        #expect(throws: JSON5SyntaxError.self) { try JSON5Reader.read(Array(text.utf8)) }
        #expect(throws: (any Error).self) { try JSON5ReaderTests.foundation(text) }
    }

    /// What the grammar has and Foundation has not, or reads otherwise: expectations from spec.json5.org.
    @Test func followsTheGrammarBeyondFoundation() throws {
        func kind(_ text: String) throws -> JSON5Value.Kind { try JSON5Reader.read(Array(text.utf8)).kind }
        #expect(try kind("'\\x41\\v\\0'") == .string("A\u{b}\u{0}"))
        // A line end behind a backslash is no part of the string (section 5.1); Foundation keeps it.
        #expect(try kind("'a\\\nb\\\r\nc'") == .string("abc"))
        guard case .object(let members) = try kind("{\\u0061b:1}") else {
            Issue.record("no object")
            return
        }
        #expect(members.first?.name == "ab")
        for (text, value) in [("Infinity", Double.infinity), ("-Infinity", -.infinity), ("+Infinity", .infinity)] {
            guard case .number(let number) = try kind(text) else { continue }
            #expect(number.double == value && number.integer == nil)
        }
        #expect(throws: JSON5SyntaxError.self) { try kind("{a:1,'a':2}") }
        #expect(throws: JSON5SyntaxError.self) { try kind("'\\1'") }
        #expect(throws: JSON5SyntaxError.self) { try kind("[010]") }
        #expect(throws: JSON5SyntaxError.self) { try kind("{a:[1,{b:1,b:2}]}") }
        guard case .number(let large) = try kind("0xFFFFFFFFFFFFFFFF") else { return }
        #expect(large.integer == nil && large.double == 0x1p64)
    }

    @Test func strictJSONHasNoExtensions() throws {
        for text in [
            "{a:1}", "[1,]", "'a'", "// c\n1", "+1", ".5", "5.", "0x1", "Infinity", "NaN", "\"\\x41\"", "\"a\tb\"", "\u{a0}1",
        ] {
            #expect(throws: JSON5SyntaxError.self, "\(text)") { try JSON5Reader.read(Array(text.utf8), dialect: .json) }
        }
        for text in ["{\"a\":[1,-2.5e3,\"x\\u0041\",true,false,null]}", " 0 "] {
            #expect(throws: Never.self) { try JSON5Reader.read(Array(text.utf8), dialect: .json) }
        }
    }

    @Test func saysWhereThingsStand() throws {
        let text = "{ // 黃\r\n  'é': [1,\n   2],\n /* x\n y */ b: @ }"
        let error = #expect(throws: JSON5SyntaxError.self) { try JSON5Reader.read(Array(text.utf8)) }
        #expect(error?.position == TextPosition(line: 5, column: 10))
        let value = try JSON5Reader.read(Array(text.replacing("@", with: "3").utf8))
        guard case .object(let members) = value.kind, case .array(let values) = members[0].value.kind else {
            Issue.record("\(value)")
            return
        }
        #expect(members[0].namePosition == TextPosition(line: 2, column: 3))
        #expect(members[0].value.position == TextPosition(line: 2, column: 8))
        #expect(values[1].position == TextPosition(line: 3, column: 4))
        #expect(members[1].value.position == TextPosition(line: 5, column: 10))
    }

    @Test func bounds() {
        var limits = JSON5Limits()
        limits.depth = 5
        limits.values = 10
        limits.bytes = 100
        func reads(_ text: String) -> Bool { (try? JSON5Reader.read(Array(text.utf8), limits: limits)) != nil }
        #expect(reads("[[[[[]]]]]") && !reads("[[[[[[]]]]]]"))
        #expect(reads("[1,1,1,1,1,1,1,1,1]") && !reads("[1,1,1,1,1,1,1,1,1,1]"))
        #expect(!reads("'" + String(repeating: "a", count: 100) + "'"))
        #expect((try? JSON5Reader.read([UInt8](repeating: UInt8(ascii: "["), count: 1 << 20))) == nil)
        #expect((try? JSON5Reader.read([0x22, 0xff, 0x22])) == nil)
    }

    @Test func everyCutAndMutationIsAnswered() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let text = Array(
            "{ data: 'v\\u00e9r', /* c */ \"l\": [1, -0x1F, .5e3, +Infinity,], // d\n n: {t: true, f: null} }".utf8)
        for length in 0..<text.count {
            #expect((try? JSON5Reader.read(Array(text.prefix(length)))) == nil)
        }
        for round in 0..<20_000 {
            let hostile = mutated(text, using: &generator)
            do {
                _ = try JSON5Reader.read(hostile, dialect: round % 2 == 0 ? .json5 : .json)
            } catch {
                #expect(error.position.line >= 1 && error.position.column >= 1, "seed \(seed)")
            }
        }
    }
}
