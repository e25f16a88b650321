// JSON5 and JSON, and the configuration file: what is read can be written and read again, JSON is a part of JSON5, and errors
// name a place in the text.

import CallerDirectory

enum JSON5Input {
    /// Steering: byte 0 whether the text is read as a configuration file, too (bit 0).
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        let text = Array(input.message)
        let relaxed = read(text, .json5, &verdict)
        let strict = read(text, .json, &verdict)
        if let relaxed {
            verdict.outcomes.insert("JSON5")
            check(relaxed, .json5, &verdict)
        }
        if let strict {
            verdict.outcomes.insert("JSON")
            check(strict, .json, &verdict)
            verdict.require(relaxed.map { isSame($0, strict) } == true, "JSON is another text as JSON5")
        }
        if input.steer(0) & 1 == 1 { configuration(text, relaxed, &verdict) }
        return verdict
    }

    private static func read(_ text: [UInt8], _ dialect: JSON5Reader.Dialect, _ verdict: inout InputVerdict) -> JSON5Value? {
        do throws(JSON5SyntaxError) {
            return try JSON5Reader.read(text, dialect: dialect)
        } catch {
            verdict.outcomes.insert("refused")
            let lines = text.count { $0 == 0x0a || $0 == 0x0d } + text.count { $0 == 0xe2 } + 1
            verdict.require((1...lines).contains(error.position.line), "an error on a line that is not there")
            verdict.require((1...(text.count + 1)).contains(error.position.column), "an error in a column that is not there")
            verdict.require(!error.expected.isEmpty && !error.came.isEmpty, "an error without words")
            return nil
        }
    }

    private static func check(_ value: JSON5Value, _ dialect: JSON5Reader.Dialect, _ verdict: inout InputVerdict) {
        var again: [UInt8] = []
        write(value, to: &again)
        let limits = JSON5Limits()
        verdict.require(depth(value) <= limits.depth, "deeper than the limit")
        guard let read = try? JSON5Reader.read(again, dialect: dialect) else {
            verdict.violations.append("what was read cannot be written and read again")
            return
        }
        verdict.require(isSame(read, value), "what was read is another value when it is written and read again")
    }

    private static func depth(_ value: JSON5Value) -> Int {
        switch value.kind {
        case .array(let values): 1 + (values.map(depth).max() ?? 0)
        case .object(let members): 1 + (members.map { depth($0.value) }.max() ?? 0)
        default: 0
        }
    }

    /// Equal but for places; numbers by how they were written, since NaN is not itself.
    private static func isSame(_ one: JSON5Value, _ other: JSON5Value) -> Bool {
        switch (one.kind, other.kind) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)): one.text == other.text && one.integer == other.integer
        case (.string(let one), .string(let other)): one.utf8.elementsEqual(other.utf8)
        case (.array(let one), .array(let other)): one.count == other.count && zip(one, other).allSatisfy(isSame)
        case (.object(let one), .object(let other)):
            one.count == other.count
                && zip(one, other).allSatisfy { $0.name.utf8.elementsEqual($1.name.utf8) && isSame($0.value, $1.value) }
        default: false
        }
    }

    private static func write(_ value: JSON5Value, to out: inout [UInt8]) {
        switch value.kind {
        case .null: out += "null".utf8
        case .bool(let value): out += (value ? "true" : "false").utf8
        case .number(let number): out += number.text.utf8
        case .string(let text): write(text, to: &out)
        case .array(let values):
            out += "[".utf8
            for (index, value) in values.enumerated() {
                if index > 0 { out += ",".utf8 }
                write(value, to: &out)
            }
            out += "]".utf8
        case .object(let members):
            out += "{".utf8
            for (index, member) in members.enumerated() {
                if index > 0 { out += ",".utf8 }
                write(member.name, to: &out)
                out += ":".utf8
                write(member.value, to: &out)
            }
            out += "}".utf8
        }
    }

    private static func write(_ text: String, to out: inout [UInt8]) {
        out += "\"".utf8
        for byte in text.utf8 {
            switch byte {
            case 0x22, 0x5c: out += [0x5c, byte]
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                out += "\\u".utf8
                out += String(repeating: "0", count: 4 - digits.count).utf8
                out += digits.utf8
            default: out.append(byte)
            }
        }
        out += "\"".utf8
    }

    private static func configuration(_ text: [UInt8], _ value: JSON5Value?, _ verdict: inout InputVerdict) {
        do throws(ConfigurationError) {
            _ = try VeilringConfiguration.parse(text, file: "veilring.json5", directory: "/nowhere")
            verdict.outcomes.insert("configuration")
            verdict.require(value != nil, "a configuration that is no JSON5")
        } catch {
            verdict.outcomes.insert("no configuration")
            verdict.require(!error.findings.isEmpty && error.findings.count <= 20, "no reason, or too many")
        }
    }
}
