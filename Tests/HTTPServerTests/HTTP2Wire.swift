// HTTP/2 frames and heads byte by byte, for what a proper client would never send (RFC 9113 section 4, RFC 7541 section 6).

import HTTPCore

enum FrameType {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let pushPromise: UInt8 = 5
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9
}

enum Flag {
    static let endStream: UInt8 = 1
    static let acknowledgement: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let padded: UInt8 = 8
    static let priority: UInt8 = 0x20
    static let whole: UInt8 = endStream | endHeaders
}

struct WireFrame: Equatable {
    var type: UInt8
    var flags: UInt8
    var stream: UInt32
    var payload: [UInt8]

    var firstWord: UInt32 { payload.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
    var secondWord: UInt32 { payload.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
}

enum Wire {
    static func word(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }

    static func frame(_ type: UInt8, _ flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = [], length: Int? = nil)
        -> [UInt8]
    {
        let length = UInt32(length ?? payload.count)
        return Array(word(length)[1...]) + [type, flags] + word(stream) + payload
    }

    /// An integer with a prefix of some bits (RFC 7541 section 5.1).
    static func integer(_ value: Int, bits: Int, first: UInt8) -> [UInt8] {
        let most = 1 << bits - 1
        if value < most { return [first | UInt8(value)] }
        var bytes = [first | UInt8(most)]
        var rest = value - most
        while rest >= 128 {
            bytes.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// A literal field without indexing.
    static func field(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
        [0] + integer(name.count, bits: 7, first: 0) + name + integer(value.count, bits: 7, first: 0) + value
    }

    static func field(_ name: String, _ value: String) -> [UInt8] { field(Array(name.utf8), Array(value.utf8)) }

    static func block(_ fields: [(String, String)]) -> [UInt8] { fields.flatMap { field($0.0, $0.1) } }

    static let pseudo = [(":method", "GET"), (":scheme", "http"), (":authority", "h"), (":path", "/")]
    static let post = [(":method", "POST"), (":scheme", "http"), (":authority", "h"), (":path", "/")]

    /// A complete request without body.
    static func get(_ stream: UInt32, _ more: [(String, String)] = []) -> [UInt8] {
        headers(stream, pseudo + more, flags: Flag.whole)
    }

    static func headers(_ stream: UInt32, _ fields: [(String, String)], flags: UInt8) -> [UInt8] {
        frame(FrameType.headers, flags, stream: stream, block(fields))
    }

    static func setting(_ id: UInt8, _ value: UInt32) -> [UInt8] { [0, id] + word(value) }
    static func reset(_ stream: UInt32, _ code: UInt32 = 8) -> [UInt8] {
        frame(FrameType.reset, stream: stream, word(code))
    }

    static let emptySettings = frame(FrameType.settings)
    static let settingsAcknowledgement = frame(FrameType.settings, Flag.acknowledgement)
    static let ping = frame(FrameType.ping, [1, 2, 3, 4, 5, 6, 7, 8])
    static func frame(_ type: UInt8, _ payload: [UInt8]) -> [UInt8] { frame(type, 0, stream: 0, payload) }

    /// The status of a response's first field, as nghttp2 writes it on a fresh connection.
    static func status(_ block: [UInt8]) -> Int? {
        guard let first = block.first else { return nil }
        let indexed: [UInt8: Int] = [0x88: 200, 0x89: 204, 0x8A: 206, 0x8B: 304, 0x8C: 400, 0x8D: 404, 0x8E: 500]
        if let status = indexed[first] { return status }
        guard first == 0x48, block.count >= 2 else { return nil }
        let text = block[2...].prefix(Int(block[1] & 0x7F))
        if block[1] & 0x80 == 0 { return Int(String(decoding: text, as: UTF8.self)) }
        // Digits in the Huffman code of RFC 7541 appendix B: 0 to 2 have five bits, the others six.
        var bits = text.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } << UInt64(64 - 8 * text.count)
        var status = 0
        for _ in 0..<3 {
            let short = Int(bits >> 59)
            if short <= 2 {
                status = status * 10 + short
                bits <<= 5
            } else {
                status = status * 10 + Int(bits >> 58) - 0x16
                bits <<= 6
            }
        }
        return status
    }
}

/// A raw connection that speaks frames.
struct WirePeer {
    private var peer: RawPeer
    private var received: [UInt8] = []
    private(set) var hasEnded = false

    /// Connects, and sends the preface and SETTINGS if wanted. The server's SETTINGS are acknowledged.
    init(_ server: TestServer, greets: Bool = true, settings: [UInt8] = []) throws {
        peer = try server.peer()
        if greets {
            peer.send(HTTP2Preface.bytes + Wire.frame(FrameType.settings, settings) + Wire.settingsAcknowledgement)
        }
    }

    @discardableResult mutating func send(_ bytes: [UInt8]) -> Bool { peer.send(bytes) }
    mutating func close() { peer.close() }
    mutating func endWriting() { peer.endWriting() }

    /// The next frame; nil when the connection has ended or ten seconds passed.
    mutating func next() -> WireFrame? {
        while true {
            if received.count >= 9 {
                let length = received[..<3].reduce(0) { $0 << 8 | Int($1) }
                if received.count >= 9 + length {
                    let stream = received[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                    let frame = WireFrame(
                        type: received[3], flags: received[4], stream: stream, payload: Array(received[9..<(9 + length)]))
                    received.removeFirst(9 + length)
                    return frame
                }
            }
            guard let more = peer.read() else {
                hasEnded = true
                return nil
            }
            received += more
        }
    }

    /// Frames up to the first that fits.
    mutating func next(where fits: (WireFrame) -> Bool) -> WireFrame? {
        while let frame = next() {
            if fits(frame) { return frame }
        }
        return nil
    }

    /// The code of the GOAWAY that ends the connection, after which the server closes.
    mutating func goAwayCode() -> UInt32? {
        let code = next { $0.type == FrameType.goAway }?.secondWord
        while next() != nil {}
        return code
    }
}
