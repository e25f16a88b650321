// How long the functions of a file are: a brace counter over code without comments and strings.

extension Rules {
    /// Functions, initialisers, deinitialisers and subscripts that are longer than allowed, from their first line to their last.
    static func longFunctions(in file: SourceFile) -> [Finding] {
        functions(in: file).filter { $0.lines > longestFunction }.map {
            Finding(
                path: file.path, line: $0.line, reason: "\($0.name) has \($0.lines) lines, at most \(longestFunction) allowed")
        }
    }

    /// Every function with a body: its name, its first line and its number of lines.
    static func functions(in file: SourceFile) -> [(name: String, line: Int, lines: Int)] {
        let code = Array(file.code.joined(separator: "\n").utf8)
        var line = 1
        var position = 0
        var result: [(name: String, line: Int, lines: Int)] = []
        while position < code.count {
            if code[position] == UInt8(ascii: "\n") { line += 1 }
            let start = position
            guard code[start].isNameByte else {
                position += 1
                continue
            }
            while position < code.count, code[position].isNameByte { position += 1 }
            let word = String(decoding: code[start..<position], as: UTF8.self)
            let isMember = start > 0 && (code[start - 1] == UInt8(ascii: ".") || code[start - 1] == UInt8(ascii: "`"))
            guard ["func", "init", "deinit", "subscript"].contains(word), !isMember,
                let body = bodyStart(in: code, from: position), let end = closingBrace(in: code, from: body)
            else { continue }
            let name = code[position...].drop { $0 == UInt8(ascii: " ") }.prefix { $0.isNameByte }
            let newlines = code[start...end].count { $0 == UInt8(ascii: "\n") }
            result.append((word == "func" ? String(decoding: name, as: UTF8.self) : word, line, newlines + 1))
        }
        return result
    }

    /// The brace that opens the body of a declaration whose keyword ends at `start`; nil for a requirement of a protocol.
    private static func bodyStart(in code: [UInt8], from start: Int) -> Int? {
        let next: Set<String> = [
            "func", "var", "let", "init", "deinit", "subscript", "case", "static", "public", "private", "fileprivate",
            "internal",
            "mutating", "associatedtype", "typealias", "struct", "class", "enum", "extension", "protocol",
        ]
        var depth = 0
        var position = start
        while position < code.count {
            let byte = code[position]
            switch byte {
            case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "{") where depth == 0: return position
            case UInt8(ascii: "}") where depth <= 0: return nil
            case UInt8(ascii: "@") where depth == 0: return nil
            default: break
            }
            guard depth == 0, byte.isNameByte else {
                position += 1
                continue
            }
            let word = code[position...].prefix { $0.isNameByte }
            if next.contains(String(decoding: word, as: UTF8.self)) { return nil }
            position += word.count
        }
        return nil
    }

    private static func closingBrace(in code: [UInt8], from start: Int) -> Int? {
        var depth = 0
        for position in start..<code.count {
            if code[position] == UInt8(ascii: "{") { depth += 1 }
            if code[position] == UInt8(ascii: "}") {
                depth -= 1
                if depth == 0 { return position }
            }
        }
        return nil
    }
}
