// Frames of HTTP/2 (RFC 9113 section 4) for the fuzzer: inputs that stay frames when they are changed, frames read back from
// an output, and well-formed inputs to begin with.

import HTTPCore

/// A frame of an output.
struct OutputFrame: Equatable {
    let type: UInt8
    let flags: UInt8
    let stream: Int32
    let payload: ArraySlice<UInt8>

    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9

    var endsStream: Bool { (type == Self.data || type == Self.headers) && flags & 1 != 0 }

    /// All frames of an output without preface; nil if the last one is cut short.
    static func all(in output: ArraySlice<UInt8>) -> [OutputFrame]? {
        var frames: [OutputFrame] = []
        var rest = output
        while !rest.isEmpty {
            let head = Array(rest.prefix(9))
            guard head.count == 9 else { return nil }
            let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(9)
            guard length <= rest.count else { return nil }
            frames.append(
                OutputFrame(type: head[3], flags: head[4], stream: Int32(bitPattern: stream), payload: rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return frames
    }
}

/// A connection in few bytes: for each frame type, flags, stream, length of the payload, and the payload.
enum FrameScript {
    /// The frames as they go over the wire. Streams from 251 on are the highest that exist; the last payload may be cut short.
    static func frames(_ script: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = script
        while rest.count >= 4 {
            let head = Array(rest.prefix(4))
            let payload = rest.dropFirst(4).prefix(Int(head[3]))
            let stream = head[2] < 251 ? UInt32(head[2]) : 0x7FFF_FFFF - UInt32(255 - head[2])
            bytes += [0, 0, UInt8(payload.count), head[0], head[1]] + word(stream) + payload
            rest = rest.dropFirst(4 + payload.count)
        }
        return bytes
    }

    static func word(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }

    /// A frame of a script.
    static func frame(_ type: UInt8, _ flags: UInt8 = 0, _ stream: UInt8 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        [type, flags, stream, UInt8(clamping: payload.count)] + payload
    }

    /// A field as a literal that is not indexed (RFC 7541 section 6.2.2).
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(clamping: name.utf8.count)] + name.utf8 + [UInt8(clamping: value.utf8.count)] + value.utf8
    }
}

/// Well-formed connections, and some that are not, frame by frame.
enum HTTP2Examples {
    private typealias Frame = OutputFrame

    /// `:scheme http`, `:path /` from the static table, and an authority.
    private static let target: [UInt8] = [0x86, 0x84, 0x01, 1, 0x68]
    private static let get: [UInt8] = [0x82] + target
    private static let post: [UInt8] = [0x83] + target
    /// A path that is not in the table, and a field that goes into the other one.
    private static let indexing: [UInt8] = [
        0x82, 0x87, 0x05, 3, 0x2F, 0x61, 0x3F, 0x41, 1, 0x68, 0x40, 1, 0x6B, 1, 0x76,
    ]
    private static let ok: [UInt8] = [0x88]

    private static func greeted(_ frames: [UInt8]...) -> [UInt8] {
        let settings = FrameScript.frame(Frame.settings) + FrameScript.frame(Frame.settings, 1)
        return settings + frames.joined()
    }
    private static func head(_ stream: UInt8, _ block: [UInt8], _ fields: [(String, String)] = [], flags: UInt8 = 5) -> [UInt8]
    {
        FrameScript.frame(Frame.headers, flags, stream, block + fields.flatMap { FrameScript.field($0.0, $0.1) })
    }
    private static func data(_ stream: UInt8, _ bytes: [UInt8], flags: UInt8 = 1) -> [UInt8] {
        FrameScript.frame(Frame.data, flags, stream, bytes)
    }
    private static func more(_ stream: UInt8, _ block: [UInt8]) -> [UInt8] {
        FrameScript.frame(Frame.continuation, 4, stream, block)
    }
    private static func reset(_ stream: UInt8, _ code: UInt32) -> [UInt8] {
        FrameScript.frame(Frame.reset, 0, stream, FrameScript.word(code))
    }
    private static func window(_ stream: UInt8, _ step: UInt32) -> [UInt8] {
        FrameScript.frame(Frame.windowUpdate, 0, stream, FrameScript.word(step))
    }
    private static func setting(_ id: UInt8, _ value: UInt32) -> [UInt8] {
        FrameScript.frame(Frame.settings, 0, 0, [0, id] + FrameScript.word(value))
    }
    private static func goAway(_ last: UInt32) -> [UInt8] {
        FrameScript.frame(Frame.goAway, 0, 0, FrameScript.word(last) + FrameScript.word(0))
    }
    private static let ping = FrameScript.frame(Frame.ping, 0, 0, [0, 1, 2, 3, 4, 5, 6, 7])
    private static let pong = FrameScript.frame(Frame.ping, 1, 0, [0, 0, 0, 0, 0, 0, 0, 0])
    private static let promise = FrameScript.frame(5, 4, 1, [0, 0, 0, 2] + get)

    /// What a client sends behind the preface.
    private static let requests: [[UInt8]] = [
        greeted(head(1, get)),
        greeted(head(1, post, flags: 4), data(1, [1, 2, 3, 4, 5])),
        greeted(head(1, post, [("content-length", "4")], flags: 4), data(1, [1, 2], flags: 0), data(1, [3, 4])),
        greeted(head(1, post, flags: 4), data(1, [2, 1, 0, 0], flags: 8), head(1, [], [("x", "y")])),
        greeted(head(1, [0x82, 0x86, 0x84], flags: 1), more(1, [0x01, 1, 0x68])),
        greeted(head(1, get), head(3, get), head(5, get), head(7, get), ping, pong),
        greeted(head(1, post, flags: 4), reset(1, 8), head(3, get)),
        greeted(setting(4, 10), head(1, get), window(1, 100), window(0, 0x7FFF_FFFF)),
        greeted(head(1, get), goAway(0), head(3, get)),
        greeted(
            head(1, post, [("expect", "100-continue"), ("cookie", "a=b"), ("cookie", "c=d")], flags: 4),
            data(1, [UInt8](repeating: 7, count: 200))),
        greeted(head(1, [0, 0, 0, 0, 16] + get, flags: 0x25), FrameScript.frame(Frame.priority, 0, 3, [0, 0, 0, 1, 9])),
        greeted(head(1, get, [("X", "upper")]), head(3, get, [("connection", "close")]), head(5, Array(get.dropLast(2)))),
        greeted(head(1, get), setting(4, 0x7FFF_FFFF), window(1, 1)),
        greeted(setting(3, 0), setting(4, 1), setting(5, 16_384), setting(6, 99), setting(1, 0), head(1, get)),
        greeted(head(251, get), head(255, get), head(9, get)),
        greeted(head(1, indexing), head(3, [0x82, 0x87, 0x84, 0xBF, 0xBE])),
        greeted(head(1, [], [(":method", "CONNECT"), (":authority", "h:1")]), head(3, [0x3F, 0xE1, 0x1F] + get)),
        greeted(FrameScript.frame(0xB, 0, 1, [1]), promise),
        greeted(head(1, post, flags: 4), head(3, post, flags: 4), data(3, [1]), data(1, [2]), reset(3, 0)),
        greeted(
            head(1, [0x82, 0x86, 0x01, 1, 0x68], [(":path", "/a#b")]), head(3, [0x82, 0x86, 0x84], [(":authority", "u@h")]),
            head(5, get, [("host", "i")]), head(7, get, [("expect", "more")])),
        greeted(head(1, [0x82, 0x86, 0x01, 1, 0x68], [(":path", "/" + String(repeating: "a", count: 50))])),
        greeted(head(1, get, few)),
        greeted(head(1, get + large)),
        FrameScript.frame(Frame.settings) + head(1, post, flags: 4) + head(3, get) + head(5, get) + head(7, get),
    ]

    /// A field that goes into the table, and three times from there: more than tight limits allow.
    private static let large: [UInt8] = [0x40, 1, 0x61, 100] + [UInt8](repeating: 0x62, count: 100) + [0xBE, 0xBE, 0xBE]
    /// More fields than tight limits allow, in few bytes.
    private static let few = [("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", "")]

    /// What a server sends to requests on streams 1, 3 and 5.
    private static let answers: [[UInt8]] = [
        greeted(head(1, ok), head(3, [0x89]), head(5, [0x8D], [("content-length", "12")])),
        greeted(head(1, ok, flags: 4), data(1, [1, 2, 3, 4, 5])),
        greeted(
            head(1, [], [(":status", "100")], flags: 4), head(1, ok, [("content-length", "2")], flags: 4),
            data(1, [1, 2], flags: 0), head(1, [], [("x", "y")])),
        greeted(head(3, [0x8E], flags: 4), data(3, [1, 5, 0], flags: 9), reset(5, 7)),
        greeted(goAway(1), head(1, ok)),
        greeted(goAway(0x7FFF_FFFF), ping, goAway(3), head(3, ok)),
        greeted(window(3, 70_000), window(0, 70_000), head(3, ok), reset(3, 0)),
        greeted(head(1, [], [(":status", "101")]), head(3, [], [(":status", "777")]), head(5, [], [("x", "y")])),
        greeted(setting(3, 1), setting(4, 1), head(1, ok, flags: 1), more(1, [0x40, 1, 0x61, 1, 0x62])),
        greeted(promise, head(2, get)),
        greeted(head(1, ok, few), head(3, ok + large)),
        greeted(ping, ping, ping, ping, ping, ping, head(1, ok)),
        greeted(head(1, ok, flags: 4), data(1, [UInt8](repeating: 1, count: 255), flags: 0)),
    ]

    /// Each as a script for roomy limits and for tight ones, and as bytes, for owners of several kinds.
    private static func steered(_ scripts: [[UInt8]], preface: [UInt8]) -> [[UInt8]] {
        scripts.enumerated().flatMap { number, script -> [[UInt8]] in
            let owner = UInt8(number % 16)
            let bytes = preface + FrameScript.frames(script[...])
            return [[3, 0, owner, 9] + script, [2, 2, owner ^ 0x11] + bytes, [3, 1, owner ^ 3, 0] + script]
        }
    }

    /// For a server's session.
    static let server: [[UInt8]] = steered(requests, preface: HTTP2Preface.bytes)
    /// For a client's session.
    static let client: [[UInt8]] = steered(answers, preface: [])
}
