// The scalar half of the JSON5 reader: strings, unquoted names and numbers (spec.json5.org sections 3, 5 and 6).

extension JSON5Reader {
    // MARK: Strings

    mutating func string() throws(JSON5SyntaxError) -> String {
        let start = position
        guard let quote = peek() else { throw unexpected("a string") }
        advance()
        var text: [UInt8] = []
        while let byte = peek() {
            if byte == quote {
                advance()
                return String(decoding: text, as: UTF8.self)
            }
            switch byte {
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0x0a, 0x0d:
                throw JSON5SyntaxError(
                    position: position, expected: "the closing quote on the same line", came: "the end of the line")
            case 0..<0x20 where dialect == .json: throw unexpected("a control character as an escape")
            default:
                text.append(byte)
                advance()
            }
        }
        throw JSON5SyntaxError(position: start, expected: "a string with a closing quote", came: "the end of the text")
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSON5SyntaxError) {
        let start = position
        advance()
        guard let byte = peek() else { throw unexpected("an escape") }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            advance()
            let scalar = try unicodeEscape(from: start)
            text.append(contentsOf: Array(String(Character(scalar)).utf8))
            return
        default:
            guard dialect == .json5 else { throw unexpected("one of the escapes \" \\ / b f n r t u") }
            try extendedEscape(byte, into: &text)
            return
        }
        advance()
    }

    /// The escapes that only JSON5 knows: `\'`, `\v`, `\0`, `\xHH`, a line end that continues the string, and any other
    /// character but a digit as itself.
    private mutating func extendedEscape(_ byte: UInt8, into text: inout [UInt8]) throws(JSON5SyntaxError) {
        switch byte {
        case UInt8(ascii: "v"): text.append(0x0b)
        case UInt8(ascii: "0"):
            if let next = peek(1), isDigit(next) { throw unexpected("no digit after \\0") }
            text.append(0)
        case UInt8(ascii: "x"):
            advance()
            let value = try hexDigits(2)
            text.append(contentsOf: Array(String(Character(UnicodeScalar(UInt8(truncatingIfNeeded: value)))).utf8))
            return
        case 0x0d where peek(1) == 0x0a: advance()
        case 0x0a, 0x0d: break
        case UInt8(ascii: "1")...UInt8(ascii: "9"): throw unexpected("no escaped digit")
        default:
            guard let (scalar, length) = scalar() else { throw unexpected("an escape") }
            if !lineSeparatorIsHere { text.append(contentsOf: Array(String(Character(scalar)).utf8)) }
            advance(by: length)
            return
        }
        advance()
    }

    private mutating func hexDigits(_ count: Int) throws(JSON5SyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let byte = peek(), let digit = JSON5Reader.hexValue(byte) else { throw unexpected("\(count) hex digits") }
            value = value << 4 | digit
            advance()
        }
        return value
    }

    private mutating func unicodeEscape(from start: TextPosition) throws(JSON5SyntaxError) -> Unicode.Scalar {
        let first = try hexDigits(4)
        if let scalar = Unicode.Scalar(first) { return scalar }
        if (0xd800..<0xdc00).contains(first), peek() == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "u") {
            advance(by: 2)
            let second = try hexDigits(4)
            if (0xdc00..<0xe000).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
            {
                return scalar
            }
        }
        throw JSON5SyntaxError(position: start, expected: "a whole surrogate pair", came: "half of one")
    }

    static func hexValue(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): return UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): return UInt32(byte - UInt8(ascii: "A")) + 10
        default: return nil
        }
    }

    // MARK: Unquoted names

    mutating func identifier() throws(JSON5SyntaxError) -> String {
        var name = ""
        while true {
            let start = position
            var next: Unicode.Scalar
            if peek() == UInt8(ascii: "\\") {
                guard peek(1) == UInt8(ascii: "u") else { throw unexpected("\\u in a name") }
                advance(by: 2)
                next = try unicodeEscape(from: start)
                guard JSON5Reader.mayStand(next, first: name.isEmpty) else {
                    throw JSON5SyntaxError(position: start, expected: "an escaped letter", came: "another character")
                }
            } else {
                guard let (scalar, length) = scalar(), JSON5Reader.mayStand(scalar, first: name.isEmpty) else { break }
                next = scalar
                advance(by: length)
            }
            name.unicodeScalars.append(next)
        }
        if name.isEmpty { throw unexpected("a name or \"}\"") }
        return name
    }

    /// ECMAScript 5.1 IdentifierStart and IdentifierPart.
    private static func mayStand(_ scalar: Unicode.Scalar, first: Bool) -> Bool {
        if scalar == "$" || scalar == "_" { return true }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .letterNumber: return true
        case .nonspacingMark, .spacingMark, .decimalNumber, .connectorPunctuation: return !first
        default: return !first && (scalar == "\u{200c}" || scalar == "\u{200d}")
        }
    }

    // MARK: Numbers

    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The number that begins here, or nil if none does.
    mutating func number() throws(JSON5SyntaxError) -> JSON5Number? {
        let start = index
        var isNegative = false
        if peek() == UInt8(ascii: "-") || (dialect == .json5 && peek() == UInt8(ascii: "+")) {
            isNegative = peek() == UInt8(ascii: "-")
            advance()
        }
        if dialect == .json5 {
            if takeWord("Infinity") { return written(from: start, double: isNegative ? -Double.infinity : .infinity) }
            if takeWord("NaN") { return written(from: start, double: .nan) }
            if peek() == UInt8(ascii: "0"), peek(1) == UInt8(ascii: "x") || peek(1) == UInt8(ascii: "X") {
                return try hexadecimal(from: start, isNegative: isNegative)
            }
        }
        let whole = takeDigits()
        if whole == 0 && (dialect == .json || peek() != UInt8(ascii: ".")) {
            if index == start { return nil }
            throw unexpected("a digit")
        }
        if whole > 1 && bytes[index - whole] == UInt8(ascii: "0") {
            throw JSON5SyntaxError(
                position: position, expected: "a number without leading zero",
                came: String(decoding: bytes[start..<index].prefix(40), as: UTF8.self))
        }
        var isInteger = true
        if peek() == UInt8(ascii: ".") {
            isInteger = false
            advance()
            let fraction = takeDigits()
            if fraction == 0 && (dialect == .json || whole == 0) { throw unexpected("a digit") }
        }
        if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
            isInteger = false
            advance()
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { advance() }
            guard takeDigits() > 0 else { throw unexpected("a digit") }
        }
        if let next = peek(), isIdentifierByte(next) || next == UInt8(ascii: ".") { throw unexpected("the end of the number") }
        return decimal(from: start, isInteger: isInteger)
    }

    private mutating func takeDigits() -> Int {
        var count = 0
        while let byte = peek(), isDigit(byte) {
            advance()
            count += 1
        }
        return count
    }

    private func written(from start: Int, double: Double, integer: Int64? = nil) -> JSON5Number {
        JSON5Number(text: String(decoding: bytes[start..<index], as: UTF8.self), double: double, integer: integer)
    }

    private func decimal(from start: Int, isInteger: Bool) -> JSON5Number {
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        let integer = isInteger ? Int64(text) : nil
        // Swift's reader of doubles wants a digit after the point.
        var complete = ""
        var afterPoint = false
        for character in text {
            if afterPoint, !("0"..."9").contains(character) { complete += "0" }
            afterPoint = character == "."
            complete.append(character)
        }
        if afterPoint { complete += "0" }
        let double = Double(complete) ?? .nan
        return written(from: start, double: double, integer: integer)
    }

    private mutating func hexadecimal(from start: Int, isNegative: Bool) throws(JSON5SyntaxError) -> JSON5Number {
        advance(by: 2)
        var double = 0.0
        var integer: Int64? = 0
        var count = 0
        while let byte = peek(), let digit = JSON5Reader.hexValue(byte) {
            double = double * 16 + Double(digit)
            if let value = integer {
                let (product, overflow) = value.multipliedReportingOverflow(by: 16)
                let (sum, overflowOfSum) = product.addingReportingOverflow(Int64(digit))
                integer = overflow || overflowOfSum ? nil : sum
            }
            advance()
            count += 1
        }
        guard count > 0 else { throw unexpected("a hex digit") }
        if let next = peek(), isIdentifierByte(next) { throw unexpected("the end of the number") }
        return written(from: start, double: isNegative ? -double : double, integer: integer.map { isNegative ? -$0 : $0 })
    }
}
