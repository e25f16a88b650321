// Requests of HTTP/1.1: the verdict does not depend on the cut, limits hold, and what was accepted can be written and read
// again as the same request (what another hop would understand: no smuggling).

import HTTPCore

enum HTTP1RequestInput {
    /// Steering: byte 0 the limits (bit 0) and the body limit (bits 1 and 2), the others the lengths of the pieces.
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        let limits = input.steer(0) & 1 == 0 ? roomy : tight
        let bodyLimit = [generous, 0, 16, 1000][input.steer(0) >> 1 & 3]
        let whole = RequestReading([input.message], limits, bodyLimit: bodyLimit)
        verdict.violations = whole.violations
        verdict.outcomes = whole.outcomes

        for (name, pieces) in [("pieces", input.pieces(from: 1)), ("bytes", input.single)] {
            let cut = RequestReading(pieces, limits, bodyLimit: bodyLimit)
            verdict.violations += cut.violations.map { "\(name): \($0)" }
            verdict.require(cut.saysTheSame(as: whole), "another verdict in \(name)")
        }
        let late = RequestReading(input.pieces(from: 1), limits, bodyLimit: bodyLimit, asksLate: true)
        verdict.require(late.saysTheSame(as: whole), "another verdict where the body is asked for late")

        let free = RequestReading([input.moved], limits, bodyLimit: generous)
        verdict.require(
            free.heads.starts(with: whole.heads) && free.bodies.starts(with: whole.bodies), "a body limit changes what is read")
        verdict.require(
            free.saysTheSame(as: whole) || whole.error == .bodyTooLarge, "a body limit gives an error other than its own")
        verdict.violations += whole.smuggled()
        return verdict
    }

    /// More than any input of the fuzzer has.
    static let generous = 1 << 16

    /// Limits that inputs of a few kilobytes do not reach, except in the number of fields.
    static let roomy = HTTPLimits()

    /// Limits for what was written anew, which may have become longer.
    static let ample: HTTPLimits = {
        var limits = HTTPLimits()
        limits.headerSection *= 2
        limits.fieldCount *= 2
        return limits
    }()

    /// Limits that short inputs reach.
    static let tight: HTTPLimits = {
        var limits = HTTPLimits()
        limits.requestLine = 40
        limits.headerSection = 90
        limits.fieldCount = 4
        limits.chunkExtension = 6
        limits.chunkSizeDigits = 4
        limits.leadingEmptyLines = 1
        return limits
    }()
}

/// Everything that the request parser said about one input.
struct RequestReading {
    var heads: [HTTP1RequestHead] = []
    var bodies: [[UInt8]] = []
    var error: HTTPParseError?
    var isBetweenRequests = false
    var bodyBytes = 0
    var violations: [String] = []

    private let limits: HTTPLimits
    private let bodyLimit: Int

    /// Feeds the pieces one after the other. `asksLate`: bodies are asked for only when the next piece has been appended.
    init(_ pieces: [ArraySlice<UInt8>], _ limits: HTTPLimits, bodyLimit: Int, asksLate: Bool = false) {
        self.limits = limits
        self.bodyLimit = bodyLimit
        var parser = HTTP1RequestParser(limits: limits)
        for piece in pieces { feed(piece, to: &parser, asksLate: asksLate) }
        // Several requests may have come in the last piece.
        var steps = -1
        while asksLate, error == nil, heads.count > bodies.count, steps < heads.count + bodies.count {
            steps = heads.count + bodies.count
            feed([], to: &parser, asksLate: true)
        }
        if let error { checkThatItStays(error, &parser) }
        isBetweenRequests = parser.isBetweenRequests
        bodyBytes = parser.bodyBytes
    }

    private mutating func feed(_ piece: ArraySlice<UInt8>, to parser: inout HTTP1RequestParser, asksLate: Bool) {
        guard error == nil else { return }
        parser.append(piece)
        do throws(HTTPParseError) {
            if asksLate, heads.count > bodies.count { try parser.readBody(limit: bodyLimit) }
            while try take(&parser, asksLate: asksLate) {}
        } catch {
            self.error = error
        }
    }

    /// One step; false when the next piece is needed.
    private mutating func take(_ parser: inout HTTP1RequestParser, asksLate: Bool) throws(HTTPParseError) -> Bool {
        switch try parser.next() {
        case .needMore:
            let isWaiting = asksLate && heads.count > bodies.count
            let longest = max(limits.requestLine, limits.headerSection, limits.chunkSizeDigits + limits.chunkExtension)
            if !isWaiting, parser.bufferedBytes > longest + 2 { violations.append("more is held back than the longest line") }
            if parser.bodyBytes > bodyLimit { violations.append("a body has grown beyond the limit") }
            return false
        case .head(let head):
            if heads.count != bodies.count { violations.append("a head came before the body of the one before") }
            heads.append(head)
            check(head)
            if asksLate { return false }
            do {
                try parser.readBody(limit: bodyLimit)
            } catch {
                guard case .length(let length) = head.framing, length > bodyLimit, error == .bodyTooLarge else {
                    violations.append("readBody refuses a body within the limit")
                    throw error
                }
                throw error
            }
            if case .length(let length) = head.framing, length > bodyLimit {
                violations.append("readBody takes a body beyond the limit")
            }
        case .body(let body):
            bodies.append(body)
            guard heads.count == bodies.count, let head = heads.last else {
                violations.append("a body came without a head")
                return true
            }
            if body.count > bodyLimit { violations.append("a body is larger than the limit") }
            switch head.framing {
            case .none: if !body.isEmpty { violations.append("a request without a body has one") }
            case .length(let length): if body.count != length { violations.append("a body has another length than said") }
            case .chunked: break
            case .untilEnd: violations.append("a request body ends with the connection")
            }
        }
        return true
    }

    /// What every accepted head must be, whatever stood on the wire.
    private mutating func check(_ parsed: HTTP1RequestHead) {
        let head = parsed.head
        let names = head.fields.map(\.name)
        let size = head.fields.reduce(0) { $0 + $1.name.unicodeScalars.count + $1.value.unicodeScalars.count + 3 }
        let rules: [(String, Bool)] = [
            ("the path begins with a slash and is visible ASCII", isVisible(head.path) && head.path.first == "/"),
            ("the query is visible ASCII", isVisible(head.query ?? "") && head.query?.contains("#") != true),
            (
                "the method is visible ASCII and offered",
                isVisible(head.method) && !["CONNECT", "TRACE", ""].contains(head.method)
            ),
            ("fields stay within their number", names.count <= limits.fieldCount),
            ("fields stay within their size", size <= limits.headerSection),
            ("names are in lower case and visible", names.allSatisfy { isVisible($0) && !$0.isEmpty && $0 == $0.lowercased() }),
            ("values hold no control bytes", head.fields.allSatisfy { hasNoControls($0.value) }),
            ("there is one Host at most, and in 1.1 one", names.count { $0 == "host" } == 1 || parsed.minorVersion == 0),
            ("there is one length at most", names.count { ["content-length", "transfer-encoding"].contains($0) } <= 1),
            ("the version is 1.0 or 1.1", (0...1).contains(parsed.minorVersion)),
            ("1.0 has no chunks and waits for nothing", parsed.minorVersion == 1 || isOld(parsed)),
        ]
        violations += rules.filter { !$0.1 }.map { "broken: \($0.0)" }
    }

    private func isOld(_ parsed: HTTP1RequestHead) -> Bool { parsed.framing != .chunked && !parsed.expectsContinue }

    /// An error is for ever: nothing that comes later is read.
    private mutating func checkThatItStays(_ error: HTTPParseError, _ parser: inout HTTP1RequestParser) {
        if [.malformedStatusLine, .unexpectedUpgrade, .truncated].contains(error) { violations.append("an error of answers") }
        parser.append(Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)[...])
        try? parser.readBody(limit: bodyLimit)
        do {
            _ = try parser.next()
            violations.append("a parser that failed goes on")
        } catch let again {
            if again != error { violations.append("a parser that failed changes its mind") }
        }
    }

    var outcomes: Set<String> {
        var outcomes: Set<String> = isBetweenRequests ? ["complete"] : []
        if let error { outcomes.insert("error \(error.rawValue)") }
        for head in heads {
            switch head.framing {
            case .none: outcomes.insert("no body")
            case .length: outcomes.insert("length")
            case .chunked: outcomes.insert("chunked")
            case .untilEnd: outcomes.insert("until end")
            }
            if head.expectsContinue { outcomes.insert("expects continue") }
            if head.minorVersion == 0 { outcomes.insert(head.keepsAlive ? "1.0 keeps alive" : "1.0") }
        }
        if bodies.count > 1 { outcomes.insert("pipelined") }
        return outcomes
    }

    func saysTheSame(as other: Self) -> Bool {
        heads == other.heads && bodies == other.bodies && error == other.error && isBetweenRequests == other.isBetweenRequests
            && bodyBytes == other.bodyBytes
    }

    /// Writes what was accepted, all requests one behind the other, and reads it again.
    func smuggled() -> [String] {
        var bytes: [UInt8] = []
        var expected: [HTTP1RequestHead] = []
        for (parsed, body) in zip(heads, bodies) where !parsed.head.authority.isEmpty {
            var head = parsed.head
            // What 1.0 passes over would be a fault in 1.1.
            if parsed.minorVersion == 0 { head.fields.remove("expect") }
            let isChunked = parsed.framing == .chunked
            do {
                bytes += try HTTP1Serializer.requestHead(head, contentLength: body.count, chunked: isChunked)
            } catch {
                return ["an accepted request cannot be written: \(error)"]
            }
            bytes += isChunked ? HTTP1Serializer.chunks(body, size: 5) : body
            expected.append(parsed)
        }
        let again = RequestReading([bytes[...]], HTTP1RequestInput.ample, bodyLimit: HTTP1RequestInput.generous)
        guard again.error == nil, again.isBetweenRequests || expected.isEmpty, again.heads.count == expected.count else {
            return ["accepted requests are others when they are written and read again"]
        }
        return zip(again.heads, expected).flatMap { new, old in
            new.isSameMessage(as: old) ? [] : ["an accepted request is another when it is written and read again"]
        } + (again.bodies == keptBodies() ? [] : ["a body is another when it is written and read again"])
    }

    private func keptBodies() -> [[UInt8]] { zip(heads, bodies).filter { !$0.0.head.authority.isEmpty }.map(\.1) }
}

extension HTTP1RequestHead {
    /// Whether method, target, the fields that do not belong to one connection, and the kind of body agree.
    fileprivate func isSameMessage(as other: Self) -> Bool {
        head.isSameMessage(as: other.head) && (framing == .chunked) == (other.framing == .chunked)
    }
}

extension HTTPRequestHead {
    /// Whether method, target and the fields that do not belong to one connection agree.
    func isSameMessage(as other: Self) -> Bool {
        func own(_ fields: HTTPFields) -> [HTTPFields.Field] {
            let hop = [
                "host", "connection", "content-length", "transfer-encoding", "keep-alive", "proxy-connection", "upgrade", "te",
                "trailer", "expect",
            ]
            return fields.filter { !hop.contains($0.name) }
        }
        return method == other.method && path == other.path && query == other.query && authority == other.authority
            && own(fields) == own(other.fields)
    }
}

/// Whether all is visible ASCII.
func isVisible(_ text: String) -> Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

/// Whether no scalar is a control byte other than tab; every one stands for a byte.
func hasNoControls(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0 == "\t" || (0x20...0xFF).contains($0.value) && $0.value != 0x7F }
}
