// Answers of HTTP/1.1, as a client reads them: the verdict does not depend on the cut, and limits hold.

import HTTPCore

enum HTTP1ResponseInput {
    /// Steering: byte 0 the limits (bit 0), the body limit (bit 1) and the method (bit 2); the others the lengths of the pieces.
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var limits = input.steer(0) & 1 == 0 ? HTTP1RequestInput.roomy : HTTP1RequestInput.tight
        limits.clientResponseBody = input.steer(0) & 2 == 0 ? HTTP1RequestInput.generous : 16
        let method = input.steer(0) & 4 == 0 ? "GET" : "HEAD"
        let whole = ResponseReading([input.message], limits, method: method)
        var verdict = InputVerdict(outcomes: whole.outcomes, violations: whole.violations)
        for (name, pieces) in [
            ("pieces", input.pieces(from: 1)), ("bytes", input.single), ("another place", [input.moved]),
        ] {
            let cut = ResponseReading(pieces, limits, method: method)
            verdict.violations += cut.violations.map { "\(name): \($0)" }
            verdict.require(cut.saysTheSame(as: whole), "another verdict in \(name)")
        }
        return verdict
    }
}

/// Everything that the response parser said about one input.
struct ResponseReading {
    var steps: [HTTP1ResponseParser.Step] = []
    var error: HTTPParseError?
    /// What the end of the connection gave.
    var last: HTTPResponse?
    var violations: [String] = []

    /// Feeds the pieces one after the other, then the end of the connection.
    init(_ pieces: [ArraySlice<UInt8>], _ limits: HTTPLimits, method: String) {
        var parser = HTTP1ResponseParser(limits: limits)
        parser.expect(method: method)
        do throws(HTTPParseError) {
            for piece in pieces {
                parser.append(piece)
                while true {
                    let step = try parser.next()
                    if step == .needMore { break }
                    steps.append(step)
                    check(step, limits, method: method)
                }
                let longest = max(limits.requestLine, limits.headerSection, limits.chunkSizeDigits + limits.chunkExtension)
                if parser.bufferedBytes > longest + 2 { violations.append("more is held back than the longest line") }
            }
            last = try parser.end()
        } catch {
            self.error = error
        }
        if let last, last.body.count > limits.clientResponseBody { violations.append("a body is larger than the limit") }
        guard let error, error != .truncated else { return }
        do {
            _ = try parser.next()
            violations.append("a parser that failed goes on")
        } catch let again {
            if again != error { violations.append("a parser that failed changes its mind") }
        }
    }

    private mutating func check(_ step: HTTP1ResponseParser.Step, _ limits: HTTPLimits, method: String) {
        switch step {
        case .needMore: break
        case .interim(let status):
            if !(100...199).contains(status) || status == 101 { violations.append("an interim answer of another status") }
        case .response(let response, _):
            if !(200...599).contains(response.status) { violations.append("a status that does not exist") }
            if response.body.count > limits.clientResponseBody { violations.append("a body is larger than the limit") }
            if response.fields.count > limits.fieldCount { violations.append("more fields than allowed") }
            if !response.fields.allSatisfy({ hasNoControls($0.value) }) { violations.append("a control byte in a value") }
            if method == "HEAD" || [204, 304].contains(response.status), !response.body.isEmpty {
                violations.append("a body where there is none")
            }
        }
    }

    func saysTheSame(as other: Self) -> Bool { steps == other.steps && error == other.error && last == other.last }

    var outcomes: Set<String> {
        var outcomes: Set<String> = last == nil ? [] : ["until end"]
        if let error { outcomes.insert("error \(error.rawValue)") }
        for step in steps {
            switch step {
            case .needMore: break
            case .interim: outcomes.insert("interim")
            case .response(_, let keepsAlive): outcomes.insert(keepsAlive ? "answer" : "last answer")
            }
        }
        return outcomes
    }
}
