// Runs the request parser over bytes in any cut and records what came out; a small seeded generator for the fuzz tests.

import HTTPCore

/// Everything the parser said about one input.
struct ParserVerdict: Equatable {
    var heads: [HTTP1RequestHead] = []
    var bodies: [[UInt8]] = []
    var error: HTTPParseError?
    var isBetweenRequests = false
}

/// Feeds the pieces one after the other; every head is followed by `readBody` with the limit.
func parse(_ pieces: [ArraySlice<UInt8>], limits: HTTPLimits = HTTPLimits(), bodyLimit: Int = 1 << 20) -> ParserVerdict {
    var parser = HTTP1RequestParser(limits: limits)
    var verdict = ParserVerdict()
    for piece in pieces {
        parser.append(piece)
        do throws(HTTPParseError) {
            steps: while true {
                switch try parser.next() {
                case .needMore: break steps
                case .head(let head):
                    verdict.heads.append(head)
                    try parser.readBody(limit: bodyLimit)
                case .body(let body): verdict.bodies.append(body)
                }
            }
        } catch {
            verdict.error = error
            return verdict
        }
    }
    verdict.isBetweenRequests = parser.isBetweenRequests
    return verdict
}

func parse(_ text: String, limits: HTTPLimits = HTTPLimits(), bodyLimit: Int = 1 << 20) -> ParserVerdict {
    parse([Array(text.utf8)[...]], limits: limits, bodyLimit: bodyLimit)
}

/// Each byte a piece of its own.
func singly(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] { bytes.indices.map { bytes[$0...$0] } }

/// SplitMix64, so that a failure can be repeated from its seed.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
