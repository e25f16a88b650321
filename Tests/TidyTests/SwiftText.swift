// Reads Swift text well enough to tell code from comments and string literals. Not a parser: it knows line and nested block
// comments, strings of one and of several lines, raw strings and interpolation; regular expression literals it does not know.

/// One source file, with its text in the forms that the rules ask for. All forms have the same lines.
struct SourceFile: Sendable {
    /// Relative to the package, with `/`.
    let path: String
    /// As it is.
    let lines: [String]
    /// Comments blanked.
    let withoutComments: [String]
    /// Comments and the insides of string literals blanked.
    let code: [String]

    init(path: String, text: String) {
        self.path = path
        lines = Self.split(Array(text.utf8))
        var scanner = LiteralScanner(bytes: Array(text.utf8))
        scanner.scan()
        withoutComments = Self.split(scanner.withoutComments)
        code = Self.split(scanner.code)
    }

    /// The name without folders.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    private static func split(_ bytes: [UInt8]) -> [String] {
        var parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if parts.last?.isEmpty == true { parts.removeLast() }
        return parts.map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Walks over the text once and blanks what is not code.
private struct LiteralScanner {
    let bytes: [UInt8]
    private(set) var withoutComments: [UInt8]
    private(set) var code: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
        withoutComments = bytes
        code = bytes
    }

    mutating func scan() {
        while position < bytes.count {
            step()
        }
    }

    /// Consumes a comment, a literal or one byte of code.
    private mutating func step() {
        if at("//") {
            while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { blank(comment: true) }
        } else if at("/*") {
            blockComment()
        } else if let hashes = stringStart() {
            string(hashes: hashes)
        } else {
            position += 1
        }
    }

    private mutating func blockComment() {
        var depth = 0
        while position < bytes.count {
            if at("/*") {
                depth += 1
                blank(comment: true, count: 2)
            } else if at("*/") {
                depth -= 1
                blank(comment: true, count: 2)
                if depth == 0 { return }
            } else {
                blank(comment: true)
            }
        }
    }

    /// The number of `#` before a quote that opens a string here; nil when none does.
    private func stringStart() -> Int? {
        var ahead = position
        while ahead < bytes.count, bytes[ahead] == UInt8(ascii: "#") { ahead += 1 }
        return ahead < bytes.count && bytes[ahead] == UInt8(ascii: "\"") ? ahead - position : nil
    }

    private mutating func string(hashes: Int) {
        position += hashes
        let isLong = at("\"\"\"")
        let quote = isLong ? "\"\"\"" : "\""
        let marks = String(repeating: "#", count: hashes)
        position += quote.utf8.count
        while position < bytes.count {
            if at(quote + marks) {
                position += quote.utf8.count + hashes
                return
            }
            if at("\\" + marks + "(") {
                blank(comment: false, count: 1 + hashes)
                interpolation()
            } else if at("\\" + marks) {
                blank(comment: false, count: 2 + hashes)
            } else if !isLong, bytes[position] == UInt8(ascii: "\n") {
                return  // not a string after all: stay in step with the lines
            } else {
                blank(comment: false)
            }
        }
    }

    /// The code between the parentheses of an interpolation stays code.
    private mutating func interpolation() {
        var depth = 0
        repeat {
            guard position < bytes.count else { return }
            if bytes[position] == UInt8(ascii: "(") { depth += 1 }
            if bytes[position] == UInt8(ascii: ")") { depth -= 1 }
            step()
        } while depth > 0
    }

    private func at(_ text: String) -> Bool {
        let end = position + text.utf8.count
        return end <= bytes.count && bytes[position..<end].elementsEqual(text.utf8)
    }

    private mutating func blank(comment: Bool, count: Int = 1) {
        for _ in 0..<count where position < bytes.count {
            if bytes[position] != UInt8(ascii: "\n") {
                code[position] = UInt8(ascii: " ")
                if comment { withoutComments[position] = UInt8(ascii: " ") }
            }
            position += 1
        }
    }
}
