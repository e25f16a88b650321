// Numbers as people write them: the rules of issue 2, item 5, and field cases F13, F43, F44, F45; against PyPI phonenumbers.

import Foundation
import Testing

@testable import CallerDirectory

@Suite struct LibraryPhoneNumberNormalizerTests {
    private let taiwan = LibraryPhoneNumberNormalizer(region: "TW")
    private let strict = LibraryPhoneNumberNormalizer(region: "TW", policy: .strict)

    private func number(_ outcome: NumberOutcome) -> String? {
        guard case .kept(let number, _) = outcome else { return nil }
        return number.description
    }

    @Test(arguments: [
        ("+14085551212", "+14085551212"), ("0912-345-678", "+886912345678"), ("+886 2 2700 1234 #567", "+886227001234"),
        ("+1 650 555 0199", "+16505550199"), ("+39 06 1234 5678", "+390612345678"), ("+225 05 12 34 56 78", "+2250512345678"),
        ("+44 (0)20 7946 0123", "+442079460123"), ("+886 0912345678", "+886912345678"), ("912345678", "+886912345678"),
        ("002 1 650 555 0100", "+16505550100"), ("009-44-20-7946-0123", "+442079460123"), ("0800-000-123", "+886800000123"),
        ("(082) 32-1234", "+88682321234"), ("0836-22-123", "+88683622123"), ("０９１２－３４５－６７８", "+886912345678"),
        ("＋８８６９１２３４５６７８", "+886912345678"), ("02-2700-1234 ext. 12", "+886227001234"), ("tel:+886912345678", "+886912345678"),
    ])
    func keepsWithoutWarning(text: String, expected: String) throws {
        let number = try #require(E164Number(keyword: Array(expected.utf8)))
        #expect(taiwan.normalize(Array(text.utf8)) == .kept(number, warning: nil))
    }

    @Test(arguments: [
        ("+1900*", NumberIssue.wildcard), ("+8860800######", .wildcard), ("+8869xxxxxxx", .wildcard), ("09123456??", .wildcard),
        ("０８００＊", .wildcard), ("+886 2 2700 1234 #", .wildcard), ("110", .emergency(region: "TW")),
        ("119", .emergency(region: "TW")), ("1999", .shortCode(region: "TW")), ("1.65E10", .exponent),
        ("1.6505550100E10", .exponent), ("8,86912E+11", .exponent), ("00 1 650 555 0100", .doubleZero(region: "TW")),
        ("", .empty),
        ("  ", .empty), ("hello", .notANumber), ("0912\u{0}345678", .nulInside), ("+1234567890123456", .tooLong),
    ])
    func rejects(text: String, issue: NumberIssue) {
        #expect(taiwan.normalize(Array(text.utf8)) == .rejected(issue))
    }

    @Test(arguments: [
        ("+123", "+123"), ("+1234", "+1234"), ("+15550000001", "+15550000001"), ("+886 (2) 12", "+886212"),
        ("+999 12-34.5", "+99912345"),
    ])
    func keepsDoubtfulPlusAndDigitsLeniently(text: String, expected: String) {
        let outcome = taiwan.normalize(Array(text.utf8))
        guard case .kept(let number, let warning) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(number.description == expected)
        #expect(warning != nil)
        guard case .rejected = strict.normalize(Array(text.utf8)) else {
            Issue.record("strict keeps \(text)")
            return
        }
    }

    @Test func boundsTheText() {
        let long = [UInt8](repeating: UInt8(ascii: "1"), count: 1_000_000)
        #expect(taiwan.normalize(long) == .rejected(.textTooLong))
        #expect(taiwan.normalize([0xff, 0xfe, 0x31]) == .rejected(.notANumber))
    }

    @Test func withoutRegionOnlyPlusParses() {
        let none = LibraryPhoneNumberNormalizer(region: nil)
        #expect(number(none.normalize(Array("+886 912 345 678".utf8))) == "+886912345678")
        #expect(none.normalize(Array("0912345678".utf8)) == .rejected(.invalidCountryCode))
    }

    @Test func warnsOfASecondNumberInTheCell() {
        let outcome = taiwan.normalize(Array("+886912345678 / +886987654321".utf8))
        if case .kept(_, let warning) = outcome { #expect(warning != nil) }
        if case .kept(_, nil) = outcome { Issue.record("silently took one of two numbers") }
    }

    @Test func knowsRegions() {
        #expect(PhoneNumberRegion.isKnown("TW"))
        #expect(PhoneNumberRegion.isKnown("US"))
        for wrong in ["", "tw", "ZZ", "TWN", "T\u{0}"] { #expect(!PhoneNumberRegion.isKnown(wrong)) }
    }

    @Test func givesTheSameFromManyThreads() async {
        let texts = (0..<400).map { "09\(10 + $0 % 90)-\(100 + $0)-\(999 - $0)" }
        let alone = texts.map { self.taiwan.normalize(Array($0.utf8)) }
        let taiwan = taiwan
        await withTaskGroup(of: [NumberOutcome].self) { group in
            for _ in 0..<8 { group.addTask { texts.map { taiwan.normalize(Array($0.utf8)) } } }
            for await together in group { #expect(together == alone) }
        }
    }

    /// Plain texts go a short way past the library's parser: both ways must agree on all of them.
    @Test func theShortWayAgreesWithTheLongOne() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let starts = [
            "09", "0", "02-2", "+886 9", "+8860", "+1", "+1650", "+44 20", "+39 0", "+52 1", "+5411", "+81 90", "+7 9", "+",
            "00", "1", "",
        ]
        for region in ["TW", "US", "GB", "IT", "MX", "AR", "JP", "RU"] {
            let short = LibraryPhoneNumberNormalizer(region: region)
            let long = LibraryPhoneNumberNormalizer(region: region, policy: .lenient, takesLongWay: true)
            for round in 0..<1500 {
                var text = starts[round % starts.count]
                for _ in 0..<Int.random(in: 5...11, using: &generator) { text += "\(Int.random(in: 0...9, using: &generator))" }
                let bytes = Array(text.utf8)
                #expect(short.normalize(bytes) == long.normalize(bytes), "\(region) \(text), seed \(seed)")
            }
        }
    }

    @Test func survivesMutations() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let starts = ["+886 2 2700 1234 #567", "0912-345-678", "tel:+1-650-555-0100;ext=5", "００２ 1 650 555 0100"].map {
            Array($0.utf8)
        }
        for round in 0..<4000 {
            let text = mutated(starts[round % starts.count], using: &generator)
            if case .kept(let number, _) = taiwan.normalize(text) {
                #expect(E164Number(keyword: number.bytes) == number, "seed \(seed)")
            }
        }
    }

    /// Numbers of many regions, asked of the library's Python port. The metadata of both may differ by a release, so a few
    /// may differ; forms must agree wherever both call a number valid.
    @Test(.enabled(if: PythonPhoneNumbers.isInstalled, "python3 with the package phonenumbers is needed"))
    func agreesWithPython() throws {
        var generator = SeededGenerator(seed: 20_261_130)
        var cases: [(region: String, text: String)] = []
        let prefixes = [
            ("TW", ["09", "02-2", "07-3", "0800-", "+886 9", "002 1 650 5", "082-3"]),
            ("US", ["650 5", "(212) 2", "+44 20 7", "011 886 9"]),
            ("IT", ["06 1", "333 1", "+39 02 2"]), ("DE", ["030 1", "0151 2", "00 1 650 5"]),
            ("MX", ["55 1", "+52 1 55 1", "044 55 1"]),
            ("BR", ["11 9", "0 15 11 9", "+55 11 9"]), ("JP", ["03-1", "090-1", "010 1 650 5"]), ("CI", ["05 1", "+225 05 1"]),
        ]
        for (region, starts) in prefixes {
            for start in starts {
                for _ in 0..<15 {
                    var text = start
                    for _ in 0..<Int.random(in: 6...9, using: &generator) {
                        text += "\(Int.random(in: 0...9, using: &generator))"
                    }
                    cases.append((region, text))
                }
            }
        }
        let answers = try PythonPhoneNumbers.answers(cases)
        try #require(answers.count == cases.count)
        var validInBoth = 0
        for (item, answer) in zip(cases, answers) {
            guard answer.isValid else { continue }
            let outcome = LibraryPhoneNumberNormalizer(region: item.region).normalize(Array(item.text.utf8))
            if case .kept(let number, nil) = outcome {
                validInBoth += 1
                #expect(number.description == answer.e164, "\(item)")
            }
        }
        let valid = answers.count(where: \.isValid)
        #expect(valid > 100 && validInBoth * 100 >= valid * 95, "\(validInBoth) of \(valid)")
    }
}

/// The Python port of the library.
enum PythonPhoneNumbers {
    static let isInstalled = (try? run("import phonenumbers", input: "")) != nil

    struct Failure: Error {}

    static func run(_ script: String, input: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", script]
        let (stdin, stdout) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (stdin, stdout, FileHandle.nullDevice)
        try process.run()
        try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try stdin.fileHandleForWriting.close()
        let output = try stdout.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure() }
        return String(decoding: output, as: UTF8.self)
    }

    static func answers(_ cases: [(region: String, text: String)]) throws -> [(e164: String, isValid: Bool)] {
        let script = """
            import sys, phonenumbers as p
            for line in sys.stdin:
                region, text = line.rstrip("\\n").split("\\t")
                try:
                    n = p.parse(text, region)
                    print(p.format_number(n, p.PhoneNumberFormat.E164), int(p.is_valid_number(n)))
                except p.NumberParseException:
                    print("- 0")
            """
        let input = cases.map { "\($0.region)\t\($0.text)\n" }.joined()
        return try run(script, input: input).split(separator: "\n").map { line in
            let parts = line.split(separator: " ")
            return (String(parts[0]), parts[1] == "1")
        }
    }
}
