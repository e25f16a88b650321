// The text format: every form of keyword-pir.md 11.1, every error with its place, and the reference's spelling on writing.

import Testing

@testable import Protobuf

@Suite struct TextFormatTests {
    func inner(_ value: UInt64, _ list: [UInt64] = []) -> Sample.Inner {
        var inner = Sample.Inner()
        (inner.value, inner.list) = (value, list)
        return inner
    }

    @Test(arguments: [
        "inner { value: 1 list: [2, 3] }", "inner: { value: 1 list: 2 list: 3 }", "inner < value: 1, list: 2; list: [3] >",
        "inner: <\n value : 1 # comment }\n list: [ 2\n,3 ],\n>;", "inner: [{ value: 0x1 list: 02 list: 0X3 }]",
        "\u{FEFF}inner{value:1 list:2 list:3}", "inner [ < value: 1 list:[] list: [2 , 3] > ]",
        "inner\t:\r\n{value:01,list:2,;list:3,}",
    ])
    func formsOfMessages(text: String) throws {
        #expect(try Sample(text: text).inner == [inner(1, [2, 3])])
    }

    @Test func listsOfMessages() throws {
        let sample = try Sample(text: "inner: [{value: 1}, {value: 2}] inner: [] inner {value: 3}")
        #expect(sample.inner == [inner(1), inner(2), inner(3)])
        #expect(try Sample(text: "").inner == [])
        #expect(try Sample(text: " # nothing").inner == [])
    }

    @Test(
        arguments: [
            (#""a'b""#, [97, 39, 98]), (#"'a"b'"#, [97, 34, 98]), (#""a" 'b' "c""#, [97, 98, 99]),
            ("\"a\"\n# comment\n\"b\"", [97, 98]),
            (#""\n\t\r\a\b\f\v\\\'\"\?""#, [10, 9, 13, 7, 8, 12, 11, 92, 39, 34, 63]),
            (#""\0\12\1234\377""#, [0, 10, 83, 52, 255]),
            (#""\x7\x41\xfg\XaB""#, [7, 65, 15, 103, 0xAB]), (#""\u00e9\u260E""#, [0xC3, 0xA9, 0xE2, 0x98, 0x8E]),
            (#""\ud83d\ude00\U0001F600""#, [0xF0, 0x9F, 0x98, 0x80, 0xF0, 0x9F, 0x98, 0x80]),
            ("\"é☎\"", [0xC3, 0xA9, 0xE2, 0x98, 0x8E]),
            (#""""#, []), (#"'' "#, []), (##""#{}[],;""##, [35, 123, 125, 91, 93, 44, 59]),
        ] as [(String, [UInt8])])
    func strings(text: String, expected: [UInt8]) throws {
        #expect(try Sample(text: "data: " + text).data == expected[...])
        #expect(try Sample(text: "blobs: [\(text), \(text)]").blobs == [expected[...], expected[...]])
    }

    @Test(arguments: [("true", true), ("t", true), ("1", true), ("True", true), ("false", false), ("f", false), ("0", false)])
    func booleans(text: String, expected: Bool) throws {
        #expect(try Sample(text: "flag: \(text)").flag == expected)
    }

    @Test(arguments: [("CHOICE_ONE", 1), ("CHOICE_MINUS_FIVE", -5), ("-5", -5), ("7", 7), ("0x10", 16), ("-2147483648", .min)])
    func enums(text: String, expected: Int32) throws {
        #expect(try Sample(text: "choice: \(text)").choice.rawValue == expected)
    }

    @Test func numbers() throws {
        #expect(try Sample(text: "number: 18446744073709551615").number == .max)
        #expect(try Sample(text: "number: 0xFFFFffffFFFFffff").number == .max)
        #expect(try Sample(text: "number: 01777777777777777777777").number == .max)
        #expect(try Sample(text: "small: 4294967295").small == .max)
        #expect(try Sample(text: "number: 1 number: 2").number == 2)
    }

    @Test func maps() throws {
        let sample = try Sample(
            text: "by_number { key: 3 value { value: 1 } } by_number { key: 3 value { other: 2 } } by_name: [{ value {} }]")
        var last = Sample.Inner()
        last.other = 2
        #expect(sample.byNumber == [3: last])
        #expect(sample.byName == ["": Sample.Inner()])
    }

    static let inSample = ["value", "list", "other"]

    @Test(
        arguments: [
            ("number: 1\n  nmber: 2", 2, 3, .unknownField(message: "Sample", fields: Sample.schema.fields.map(\.name))),
            ("inner {\n  foo: 1 }", 2, 3, .unknownField(message: "Inner", fields: inSample)),
            ("foo: []", 1, 1, .unknownField(message: "Sample", fields: Sample.schema.fields.map(\.name))),
            ("number: \"1\"", 1, 1, .wrongValue(field: "number", expected: "an unsigned number")),
            ("number: -1", 1, 1, .wrongValue(field: "number", expected: "an unsigned number")),
            ("number: 1.5", 1, 1, .wrongValue(field: "number", expected: "an unsigned number")),
            ("number: 08", 1, 1, .wrongValue(field: "number", expected: "an unsigned number")),
            ("number: 0x", 1, 1, .wrongValue(field: "number", expected: "an unsigned number")),
            ("number: 18446744073709551616", 1, 1, .outOfRange(field: "number", expected: "0 to 18446744073709551615")),
            ("small: 4294967296", 1, 1, .outOfRange(field: "small", expected: "0 to 4294967295")),
            ("numbers: [1,\n x]", 2, 2, .wrongValue(field: "numbers", expected: "an unsigned number")),
            ("choice: 2147483648", 1, 1, .outOfRange(field: "choice", expected: "a number of 32 bits")),
            ("flag: yes", 1, 1, .wrongValue(field: "flag", expected: "true or false")),
            ("text: +886912", 1, 1, .wrongValue(field: "text", expected: "a string in quotes")),
            ("text: \"\\377\"", 1, 1, .invalidUTF8(field: "text")),
            ("single: 1", 1, 1, .wrongValue(field: "single", expected: "a message in braces")),
            ("number: { }", 1, 1, .wrongValue(field: "number", expected: "an unsigned number")),
            ("text: [\"a\"]", 1, 8, .listForSingularField("text")), ("text: []", 1, 1, .listForSingularField("text")),
            ("text: \"a\n\"", 1, 7, .unterminatedString), ("\n\ntext: 'a", 3, 7, .unterminatedString),
            ("text: \"a\\q\"", 1, 9, .invalidEscape), ("data: \"\\400\"", 1, 8, .invalidEscape),
            ("data: \"\\xg\"", 1, 8, .invalidEscape),
            ("text: \"\\ud800\"", 1, 8, .invalidEscape), ("text: \"\\ud800\\u0041\"", 1, 8, .invalidEscape),
            ("text: \"\\u12\"", 1, 8, .invalidEscape), ("text: \"\\U00110000\"", 1, 8, .invalidEscape),
            ("text: \"\\", 1, 8, .invalidEscape),
            ("number 1", 1, 8, .expected("':' or '{'")), ("number", 1, 7, .expected("':' or '{'")),
            ("number:", 1, 8, .expected("a value")), ("number: }", 1, 9, .expected("a value")),
            ("single {", 1, 9, .expected("a field name or '}'")),
            ("single < value: 1", 1, 18, .expected("a field name or '>'")),
            ("single { value: 1 >", 1, 19, .expected("a field name")), ("}", 1, 1, .expected("a field name")),
            ("number: 1 }", 1, 11, .expected("a field name")), ("1: 2", 1, 1, .expected("a field name")),
            ("[ext]: 2", 1, 1, .expected("a field name")), ("numbers: [1 2]", 1, 13, .expected("',' or ']'")),
            ("numbers: [1,]", 1, 13, .expected("a value")), ("numbers: [1", 1, 12, .expected("',' or ']'")),
            ("numbers: [", 1, 11, .expected("a value")), ("numbers: [[1]]", 1, 11, .expected("a value")),
        ] as [(String, Int, Int, TextFormatError.Reason)])
    func errorsHaveAPlace(text: String, line: Int, column: Int, reason: TextFormatError.Reason) {
        let expected = TextFormatError(line: line, column: column, reason: reason)
        #expect(throws: expected) { try Sample(text: text) }
        #expect(expected.description.hasPrefix("line \(line), column \(column): "))
    }

    @Test func nestingIsBounded() {
        let text = String(repeating: "a {", count: 100_000)
        #expect(throws: TextFormatError(line: 1, column: 196, reason: .nestingTooDeep(limit: 64))) {
            var reader = TextFormatReader(Array(text.utf8)[...])
            _ = try reader.nextField()
        }
    }

    @Test func topLevelListsComeElementByElement() throws {
        // The second element is broken: the first is delivered all the same, so nothing waits for the end of the list.
        var reader = TextFormatReader(Array("rows: [{ a: 1 },\n{ a 2 }]".utf8)[...])
        let first = try #require(try reader.nextField())
        #expect((first.name, first.line, first.column, first.isListElement) == ("rows", 1, 8, true))
        #expect(throws: TextFormatError(line: 2, column: 5, reason: .expected("':' or '{'"))) { try reader.nextField() }
    }

    @Test func writing() throws {
        var sample = Sample()
        (sample.number, sample.flag, sample.text) = (5, true, "é\"\\'\n\u{7}\u{7F}")
        sample.data = [7, 8, 9, 10, 11, 12, 13, 14, 27, 31, 32, 34, 39, 92, 126, 127, 128, 0xC3, 0xA9, 255, 0]
        (sample.numbers, sample.choice) = ([0, .max], Sample.Choice(rawValue: 1))
        (sample.inner, sample.single) = ([inner(1, [2, 3]), inner(0)], inner(0))
        (sample.byNumber, sample.byName) = ([0: inner(0)], ["k": inner(1)])
        (sample.optional, sample.texts) = ("", ["", "b"])
        let expected = #"""
            number: 5
            flag: true
            text: "é\"\\'\n\007\177"
            data: "\007\b\t\n\v\f\r\016\033\037 \"'\\~\177\200\303\251\377\000"
            numbers: [0, 18446744073709551615]
            choice: CHOICE_ONE
            inner {
              value: 1
              list: [2, 3]
            }
            inner {
            }
            single {
            }
            by_number {
              key: 0
              value {
              }
            }
            by_name {
              key: "k"
              value {
                value: 1
              }
            }
            optional: ""
            texts: ""
            texts: "b"

            """#
        let text = try sample.text()
        #expect(String(decoding: text, as: UTF8.self) == expected)
        #expect(try Sample(text: text[...]) == sample)
    }

    @Test func everyByteSurvives() throws {
        var sample = Sample()
        sample.data = Array(0...255)[...]
        #expect(try Sample(text: try sample.text()[...]) == sample)
    }
}
