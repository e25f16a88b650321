// The corpora that fuzzing left behind, replayed: no input breaks a rule, and together they still reach every verdict.

import Foundation
import HTTPCore
import ObliviousHTTP
import Testing

@testable import HostileInput

@Suite struct ReplayTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Corpora")

    func corpus(_ target: HostileInput) throws -> [[UInt8]] {
        let packed = try Data(contentsOf: Self.folder.appending(path: "\(target.rawValue).corpus"))
        #expect(packed.count < 300_000, "scripts/fuzz keeps the smallest set of inputs")
        return try #require(PackedCorpus(packed: Array(packed))).inputs
    }

    @Test(arguments: HostileInput.allCases) func noInputBreaksARule(target: HostileInput) throws {
        let inputs = try corpus(target)
        #expect(inputs.count >= 50)
        var outcomes: Set<String> = []
        for (number, input) in inputs.enumerated() {
            let verdict = target.judge(input[...])
            #expect(verdict.violations.isEmpty, "input \(number) of \(target.rawValue).corpus")
            outcomes.formUnion(verdict.outcomes)
        }
        let missing = try #require(Self.wanted[target]).subtracting(outcomes)
        #expect(missing.isEmpty, "the corpus does not reach \(missing.sorted())")
    }

    /// Every verdict that a corpus must reach.
    static let wanted: [HostileInput: Set<String>] = [
        .http1Request: Set(requestErrors.map { "error \($0.rawValue)" }).union([
            "complete", "no body", "length", "chunked", "expects continue", "1.0", "1.0 keeps alive", "pipelined",
        ]),
        .http1Response: Set(responseErrors.map { "error \($0.rawValue)" }).union([
            "interim", "answer", "last answer", "until end",
        ]),
        .http2Request: [
            "request", "head", "expects continue", "cookie", "body", "end of body", "answered", "refused", "pong",
            "closed NO_ERROR", "closed PROTOCOL_ERROR", "closed CANCEL", "failed PROTOCOL_ERROR", "failed FRAME_SIZE_ERROR",
            "failed COMPRESSION_ERROR", "failed FLOW_CONTROL_ERROR", "failed STREAM_CLOSED", "failed ENHANCE_YOUR_CALM",
            "error unsupportedMethod", "error malformedTarget", "error requestLineTooLong", "error malformedHost",
            "error conflictingAuthority", "error headerSectionTooLarge", "error tooManyFields", "error unsupportedExpectation",
        ],
        .http2Response: [
            "response", "response with body", "not processed", "connection ended", "goes away", "reset PROTOCOL_ERROR",
            "reset CANCEL", "error bodyTooLarge", "error headerSectionTooLarge", "error tooManyFields",
            "error malformedStatusLine", "failed ENHANCE_YOUR_CALM",
        ],
        .protobufWire: [
            "message", "nothing", "error truncated", "error varintTooLong", "error lengthBeyondEnd", "error wrongWireType",
            "error invalidWireType", "error group", "error fieldNumberZero", "error invalidUTF8", "error nestingTooDeep",
            "error tooManyElements",
        ],
        .protobufText: [
            "message", "nothing", "error expected", "error unterminatedString", "error invalidEscape", "error invalidUTF8",
            "error unknownField", "error wrongValue", "error outOfRange", "error listForSingularField", "error nestingTooDeep",
        ],
        .lookupMessages: Set(
            LookupMessagesInput.messages.flatMap { name, _ in ["read", "refused", "empty"].map { "\(name): \($0)" } }),
        .encryptedQuery: [
            "query", "key", "reply", "no reply", "value", "secret key", "processed shard", "format error", "BFV error",
            "PIR error", "protobuf error",
        ],
        .publishedConfiguration: ["parameters", "engine", "protobuf error", "PIR error", "parameter error"],
        .json5: ["JSON5", "JSON", "refused", "configuration", "no configuration"],
        .binaryHTTP: Set(
            BinaryHTTPError.Reason.allCases.map { "error \($0)" }.filter { !$0.hasSuffix("TooLong") && $0 != "error notBytes" }
        ).union(["error partTooLong", "request", "response", "informational", "content", "trailers", "padding"]),
        .encapsulatedRequest: [
            "whole: opened", "whole: malformed", "whole: unknownKey", "whole: unsupportedSuite", "whole: cannotOpen",
            "chunked: opened", "chunked: malformed", "chunked: unknownKey", "chunked: unsupportedSuite", "chunked: cannotOpen",
            "chunked: tooLarge", "chunked: truncated", "list: read", "list: refused", "list: skipped", "damage: none",
            "damage: noticed",
        ],
        .chunkedRequest: [
            "opened", "chunk", "long length", "chunk that says it is final", "end", "end that does not say it is final",
            "lost chunk", "repeated chunk", "cut", "error malformed", "error cannotOpen", "error tooLarge", "error truncated",
        ],
        .callerFile: ["record", "malformed record", "caller", "row refused", "header refused"],
    ]

    /// What only an answer can be, and what only a request can be.
    static let requestErrors = HTTPParseError.allCases.filter {
        ![.malformedStatusLine, .unexpectedUpgrade, .truncated, .conflictingAuthority].contains($0)
    }
    static let responseErrors = HTTPParseError.allCases.filter {
        ![
            .tooManyEmptyLines, .malformedRequestLine, .malformedTarget, .unsupportedMethod, .missingHost, .repeatedHost,
            .malformedHost, .unsupportedExpectation, .conflictingAuthority,
        ].contains($0)
    }
}

/// The rules notice what they are there for: a reading that is tampered with breaks them.
@Suite struct RuleTests {
    let text = Array(
        "POST /a HTTP/1.1\r\nHost: h\r\nX: y\r\nContent-Length: 2\r\n\r\nhiGET /b?c HTTP/1.1\r\nHost: h\r\n\r\n".utf8)

    func reading(_ bytes: [UInt8], bodyLimit: Int = 100) -> RequestReading {
        RequestReading([bytes[...]], HTTPLimits(), bodyLimit: bodyLimit)
    }

    @Test func verdictsAreCompared() {
        let whole = reading(text)
        #expect(whole.saysTheSame(as: reading(text)))
        #expect(whole.heads.count == 2 && whole.violations.isEmpty && whole.smuggled().isEmpty)
        #expect(!whole.saysTheSame(as: reading(Array(text.dropLast()))))
        #expect(!whole.saysTheSame(as: reading(text, bodyLimit: 1)))
    }

    @Test func smuggledRequestsAreNoticed() {
        let whole = reading(text)
        var other = whole
        other.heads[0].head.fields.append("x", "a\r\nTransfer-Encoding: chunked")
        #expect(!other.smuggled().isEmpty)
        other = whole
        other.heads[0].head.path = "/a HTTP/1.1\r\nHost: h\r\n\r\nGET /"
        #expect(!other.smuggled().isEmpty)
        other = whole
        other.heads[1].head.query = "c#d"
        #expect(!other.smuggled().isEmpty)
        other = whole
        other.bodies[0] = Array("hi, hello".utf8)
        #expect(other.smuggled().isEmpty, "the length is written anew")
        other.heads[1].head.method = "CONNECT"
        #expect(!other.smuggled().isEmpty)
    }

    @Test func corporaArePackedWithoutLoss() {
        let corpus = PackedCorpus([[], [1], [UInt8](repeating: 7, count: 70_000)])
        #expect(PackedCorpus(packed: corpus.packed) == corpus)
        #expect(PackedCorpus(packed: Array(corpus.packed.dropLast())) == nil)
        #expect(PackedCorpus(packed: [1, 0, 0]) == nil)
    }

    @Test func steeringIsNoPartOfTheMessage() {
        let input = SteeredInput([2, 9, 1, 65, 66, 67])
        #expect(input.steering == [9, 1])
        #expect(input.pieces(from: 1) == [[65, 66], [67]])
        #expect(input.pieces(from: 2) == [[65, 66, 67]])
        #expect(input.moved.elementsEqual([65, 66, 67]) && input.moved.startIndex == 3)
        #expect(SteeredInput([7, 1]).message.isEmpty)
    }

    /// Scripts are frames, and the output is read as what it is.
    @Test func framesAreWrittenAndRead() throws {
        let script = FrameScript.frame(1, 5, 3, [7, 8]) + FrameScript.frame(6, 0, 255) + [0, 1, 1, 9, 1]
        let frames = try #require(OutputFrame.all(in: FrameScript.frames(script[...])[...]))
        #expect(frames.map(\.type) == [1, 6, 0])
        #expect(frames.map(\.stream) == [3, .max, 1])
        #expect(frames.map { Array($0.payload) } == [[7, 8], [], [1]])
        #expect(frames.map(\.endsStream) == [true, false, true])
        #expect(OutputFrame.all(in: FrameScript.frames(script[...]).dropLast()) == nil)
    }

    /// Readings of HTTP/2 differ where one byte of what a session says does.
    @Test func http2VerdictsAreCompared() throws {
        func server(_ script: [UInt8]) throws -> HTTP2RequestReading {
            let bytes = HTTP2Preface.bytes + FrameScript.frames(script[...])
            return try #require(HTTP2RequestReading([bytes[...]], HTTPLimits(), HTTP2Limits(), owner: nil))
        }
        let head: [UInt8] = [0x83, 0x86, 0x84, 0x01, 1, 0x68]
        let post = FrameScript.frame(4) + FrameScript.frame(1, 4, 1, head)
        let whole = try server(post + FrameScript.frame(0, 1, 1, [1, 2]))
        #expect(whole.violations.isEmpty && whole.said.count == 3)
        #expect(try server(post + FrameScript.frame(0, 1, 1, [1, 3])).reliable != whole.reliable)
        #expect(try server(post + FrameScript.frame(0, 0, 1, [1, 2])).reliable != whole.reliable)
        let ping = FrameScript.frame(6, 0, 0, [UInt8](repeating: 0, count: 8))
        #expect(try server(post + FrameScript.frame(0, 1, 1, [1, 2]) + ping).output != whole.output)
    }

    /// What the fuzzer begins with reaches many verdicts and breaks no rule.
    @Test(arguments: [HostileInput.http2Request, .http2Response]) func http2ExamplesBreakNoRule(target: HostileInput) {
        let verdicts = target.examples.map { target.judge($0[...]) }
        #expect(verdicts.allSatisfy { $0.violations.isEmpty })
        #expect(verdicts.reduce(into: Set<String>()) { $0.formUnion($1.outcomes) }.count >= 8)
    }

    @Test func examplesAreAccepted() {
        let outcomes = HostileInput.encryptedQuery.examples.map { HostileInput.encryptedQuery.judge($0[...]) }
        #expect(outcomes.count == 10)
        #expect(outcomes.allSatisfy { $0.violations.isEmpty })
        let accepted: [Set<String>] = [["query"], ["key"], ["reply", "value"], ["secret key"], ["processed shard"]]
        #expect(outcomes.map(\.outcomes) == accepted + accepted)
    }
}
