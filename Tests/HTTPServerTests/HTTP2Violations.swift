// Violations of RFC 9113, each with the clause and the answer that the server must give. The list of clauses for readers is
// docs/http2-violations.md; HTTP2ViolationTests holds both together.

import HTTPCore

/// What a peer does wrong, and what it gets.
struct Violation: Sendable, CustomStringConvertible {
    enum Answer: Sendable, Equatable {
        case goAway(HTTP2ErrorCode)
        case reset(HTTP2ErrorCode)
        case status(Int)
        /// Nothing happens: a request that follows is answered.
        case served
    }

    let clause: String
    let what: String
    let answer: Answer
    /// What is sent after the preface, SETTINGS and their acknowledgement, or instead of them if `greets` is false.
    let bytes: [UInt8]
    let greets: Bool

    init(_ clause: String, _ what: String, _ answer: Answer, _ bytes: [UInt8], greets: Bool = true) {
        self.clause = clause
        self.what = what
        self.answer = answer
        self.bytes = bytes
        self.greets = greets
    }

    var description: String { "\(clause): \(what)" }

    private static let openPost = Wire.headers(1, Wire.post, flags: Flag.endHeaders)
    private static let halfHead = Wire.headers(1, Wire.pseudo, flags: Flag.endStream)
    private static let closedGet = Wire.get(1) + Wire.reset(1)

    static let all = connection + frames + streams + messages

    static let connection: [Violation] = [
        Violation(
            "3.4", "no SETTINGS after the preface", .goAway(.protocolError), HTTP2Preface.bytes + Wire.ping, greets: false),
        Violation(
            "3.4", "SETTINGS acknowledgement instead of SETTINGS", .goAway(.protocolError),
            HTTP2Preface.bytes + Wire.settingsAcknowledgement, greets: false),
        Violation(
            "4.1", "unknown frame type is ignored", .served, Wire.frame(0x77, 0xFF, stream: 0, [1, 2, 3])),
        Violation(
            "4.1", "undefined flags are ignored", .served, Wire.frame(FrameType.ping, 0x16, [UInt8](repeating: 0, count: 8))),
        Violation(
            "4.1", "the reserved bit is ignored", .served,
            Wire.frame(FrameType.ping, 0, stream: 0x8000_0000, [UInt8](repeating: 0, count: 8))),
        Violation(
            "4.2", "a frame above SETTINGS_MAX_FRAME_SIZE", .goAway(.frameSizeError),
            openPost + Wire.frame(FrameType.data, 0, stream: 1, [UInt8](repeating: 0, count: 65_537))),
        Violation(
            "4.2", "a head above SETTINGS_MAX_FRAME_SIZE", .goAway(.frameSizeError),
            Wire.frame(FrameType.headers, Flag.whole, stream: 1, [UInt8](repeating: 0, count: 65_537))),
        Violation(
            "4.3", "an index that is in no table", .goAway(.compressionError),
            Wire.frame(FrameType.headers, Flag.whole, stream: 1, [0xFF, 0x80, 0x01])),
        Violation(
            "4.3", "index 0", .goAway(.compressionError), Wire.frame(FrameType.headers, Flag.whole, stream: 1, [0x80])),
        Violation(
            "4.3", "a field that ends in the middle", .goAway(.compressionError),
            Wire.frame(FrameType.headers, Flag.whole, stream: 1, [0x00, 0x05, 0x61])),
        Violation(
            "4.3.1", "a table above SETTINGS_HEADER_TABLE_SIZE", .goAway(.compressionError),
            Wire.frame(
                FrameType.headers, Flag.whole, stream: 1,
                Wire.integer(4097, bits: 5, first: 0x20) + Wire.block(Wire.pseudo))),
        Violation(
            "4.3.1", "a table size after a field", .goAway(.compressionError),
            Wire.frame(FrameType.headers, Flag.whole, stream: 1, Wire.block(Wire.pseudo) + [0x20])),
        Violation(
            "4.3", "broken Huffman padding", .goAway(.compressionError),
            Wire.frame(FrameType.headers, Flag.whole, stream: 1, [0x00, 0x81, 0x00, 0x01, 0x61])),
    ]

    static let frames: [Violation] = [
        Violation("6.1", "DATA on stream 0", .goAway(.protocolError), Wire.frame(FrameType.data, 0, stream: 0, [1])),
        Violation(
            "6.1", "padding as long as DATA", .goAway(.protocolError),
            openPost + Wire.frame(FrameType.data, Flag.padded, stream: 1, [4, 1, 2, 3])),
        Violation(
            "6.1", "padded DATA without the length of its padding", .goAway(.protocolError),
            openPost + Wire.frame(FrameType.data, Flag.padded, stream: 1, [])),
        Violation(
            "6.2", "HEADERS on stream 0", .goAway(.protocolError),
            Wire.frame(FrameType.headers, Flag.whole, stream: 0, Wire.block(Wire.pseudo))),
        Violation(
            "6.2", "padding as long as HEADERS", .goAway(.protocolError),
            Wire.frame(FrameType.headers, Flag.whole | Flag.padded, stream: 1, [200] + Wire.block(Wire.pseudo))),
        Violation(
            "6.2", "HEADERS too short for a priority", .goAway(.frameSizeError),
            Wire.frame(FrameType.headers, Flag.whole | Flag.priority, stream: 1, [0, 0])),
        Violation(
            "6.3", "PRIORITY on stream 0", .goAway(.protocolError),
            Wire.frame(FrameType.priority, 0, stream: 0, [0, 0, 0, 0, 1])),
        Violation(
            "6.3", "PRIORITY of another length than 5", .goAway(.frameSizeError),
            Wire.frame(FrameType.priority, 0, stream: 1, [0, 0, 0, 0])),
        Violation(
            "6.3", "PRIORITY on an idle stream is ignored", .served,
            Wire.frame(FrameType.priority, 0, stream: 9, [0, 0, 0, 0, 1])),
        Violation("6.4", "RST_STREAM on stream 0", .goAway(.protocolError), Wire.reset(0)),
        Violation("6.4", "RST_STREAM on an idle stream", .goAway(.protocolError), Wire.reset(1)),
        Violation(
            "6.4", "RST_STREAM of another length than 4", .goAway(.frameSizeError),
            openPost + Wire.frame(FrameType.reset, 0, stream: 1, [0, 0, 0])),
        Violation(
            "6.5", "SETTINGS on a stream", .goAway(.protocolError), Wire.frame(FrameType.settings, 0, stream: 1, [])),
        Violation(
            "6.5", "an acknowledgement with payload", .goAway(.frameSizeError),
            Wire.frame(FrameType.settings, Flag.acknowledgement, Wire.setting(3, 1))),
        Violation(
            "6.5", "SETTINGS of a length that is no multiple of 6", .goAway(.frameSizeError),
            Wire.frame(FrameType.settings, [0, 3, 0])),
        Violation(
            "6.5.2", "ENABLE_PUSH above 1", .goAway(.protocolError), Wire.frame(FrameType.settings, Wire.setting(2, 2))),
        Violation(
            "6.5.2", "INITIAL_WINDOW_SIZE above 2^31-1", .goAway(.flowControlError),
            Wire.frame(FrameType.settings, Wire.setting(4, 0x8000_0000))),
        Violation(
            "6.5.2", "MAX_FRAME_SIZE below 2^14", .goAway(.protocolError),
            Wire.frame(FrameType.settings, Wire.setting(5, 16_383))),
        Violation(
            "6.5.2", "MAX_FRAME_SIZE above 2^24-1", .goAway(.protocolError),
            Wire.frame(FrameType.settings, Wire.setting(5, 16_777_216))),
        Violation(
            "6.5.2", "an unknown setting is ignored", .served,
            Wire.frame(FrameType.settings, Wire.setting(0xF0, 7))),
        Violation(
            "6.5.3", "an acknowledgement of nothing", .goAway(.protocolError), Wire.settingsAcknowledgement),
        Violation(
            "6.6", "PUSH_PROMISE of a client", .goAway(.protocolError),
            openPost + Wire.frame(FrameType.pushPromise, Flag.endHeaders, stream: 1, [0, 0, 0, 2] + Wire.block(Wire.pseudo))),
        Violation(
            "6.7", "PING on a stream", .goAway(.protocolError),
            Wire.frame(FrameType.ping, 0, stream: 1, [UInt8](repeating: 0, count: 8))),
        Violation("6.7", "PING of another length than 8", .goAway(.frameSizeError), Wire.frame(FrameType.ping, [1, 2, 3])),
        Violation(
            "6.8", "GOAWAY on a stream", .goAway(.protocolError),
            Wire.frame(FrameType.goAway, 0, stream: 1, [UInt8](repeating: 0, count: 8))),
        Violation(
            "6.9", "WINDOW_UPDATE of 0 on the connection", .goAway(.protocolError),
            Wire.frame(FrameType.windowUpdate, Wire.word(0))),
        Violation(
            "6.9", "WINDOW_UPDATE of 0 on a stream (the connection ends)", .goAway(.protocolError),
            openPost + Wire.frame(FrameType.windowUpdate, 0, stream: 1, Wire.word(0))),
        Violation(
            "6.9", "WINDOW_UPDATE of another length than 4", .goAway(.frameSizeError),
            Wire.frame(FrameType.windowUpdate, [0, 0, 1])),
        Violation(
            "6.9.1", "a window above 2^31-1 on the connection", .goAway(.flowControlError),
            Wire.frame(FrameType.windowUpdate, Wire.word(0x7FFF_FFFF))),
        Violation(
            "6.9.1", "a window above 2^31-1 on a stream", .reset(.flowControlError),
            openPost + Wire.frame(FrameType.windowUpdate, 0, stream: 1, Wire.word(0x7FFF_FFFF))),
        Violation(
            "6.9.2", "INITIAL_WINDOW_SIZE that lifts a stream's window above 2^31-1", .goAway(.flowControlError),
            openPost + Wire.frame(FrameType.windowUpdate, 0, stream: 1, Wire.word(1000))
                + Wire.frame(FrameType.settings, Wire.setting(4, 0x7FFF_FFFF))),
        Violation(
            "6.10", "CONTINUATION on stream 0", .goAway(.protocolError),
            halfHead + Wire.frame(FrameType.continuation, Flag.endHeaders, stream: 0, [])),
        Violation(
            "6.10", "CONTINUATION without HEADERS", .goAway(.protocolError),
            Wire.frame(FrameType.continuation, Flag.endHeaders, stream: 1, Wire.block(Wire.pseudo))),
        Violation(
            "6.10", "CONTINUATION after the end of a head", .goAway(.protocolError),
            openPost + Wire.frame(FrameType.continuation, Flag.endHeaders, stream: 1, Wire.field("a", "b"))),
        Violation(
            "6.10", "CONTINUATION of another stream", .goAway(.protocolError),
            halfHead + Wire.frame(FrameType.continuation, Flag.endHeaders, stream: 3, [])),
        Violation("6.10", "another frame inside a head", .goAway(.protocolError), halfHead + Wire.ping),
        Violation(
            "6.10", "an unknown frame inside a head", .goAway(.protocolError),
            halfHead + Wire.frame(0x77, 0, stream: 1, [1])),
        Violation(
            "6.10", "a head in several pieces is put together", .status(200),
            halfHead + Wire.frame(FrameType.continuation, 0, stream: 1, Wire.field("a", "b"))
                + Wire.frame(FrameType.continuation, Flag.endHeaders, stream: 1, Wire.field("c", "d"))),
    ]

    static let streams: [Violation] = [
        Violation("5.1", "DATA on an idle stream", .goAway(.protocolError), Wire.frame(FrameType.data, 0, stream: 1, [1])),
        Violation(
            "5.1", "WINDOW_UPDATE on an idle stream", .goAway(.protocolError),
            Wire.frame(FrameType.windowUpdate, 0, stream: 1, Wire.word(1))),
        Violation(
            "5.1", "DATA after END_STREAM", .goAway(.streamClosed),
            slowGet + Wire.frame(FrameType.data, 0, stream: 1, [1])),
        Violation(
            "5.1", "HEADERS after END_STREAM", .goAway(.streamClosed), slowGet + Wire.get(1)),
        Violation(
            "5.1", "DATA after RST_STREAM is ignored or an error of the stream", .served,
            closedGet + Wire.frame(FrameType.data, 0, stream: 1, [1])),
        Violation(
            "5.1", "WINDOW_UPDATE after RST_STREAM is ignored", .served,
            closedGet + Wire.frame(FrameType.windowUpdate, 0, stream: 1, Wire.word(1))),
        Violation("5.1.1", "a stream with an even number", .goAway(.protocolError), Wire.get(2)),
        Violation(
            "5.1.1", "a stream with a lower number than the one before", .goAway(.protocolError),
            Wire.headers(5, Wire.post, flags: Flag.endHeaders) + Wire.headers(3, Wire.post, flags: Flag.endHeaders)),
        Violation(
            "5.1.2", "one stream more than SETTINGS_MAX_CONCURRENT_STREAMS", .goAway(.protocolError),
            (0...128).flatMap { Wire.headers(UInt32($0 * 2 + 1), Wire.post, flags: Flag.endHeaders) }),
        Violation(
            "5.3.2", "a stream that depends on itself (RFC 7540; the connection ends)", .goAway(.protocolError),
            Wire.frame(
                FrameType.headers, Flag.whole | Flag.priority, stream: 1, [0, 0, 0, 1, 16] + Wire.block(Wire.pseudo))),
        Violation(
            "5.5", "an unknown frame on a stream is ignored", .served, openPost + Wire.frame(0x99, 0, stream: 1, [1])),
    ]

    private static let slowGet = Wire.headers(
        1, Wire.pseudo.dropLast() + [(":path", "/slow")], flags: Flag.whole)
}
