// The server's side of HTTP/2: the verdict and the output do not depend on the cut, events come in an order that their owner
// can rely on, limits hold, and an accepted head is the same request when it is written as HTTP/1.1.

import HTTPCore

enum HTTP2RequestInput {
    /// Steering: byte 0 the limits (bit 0) and whether the message is the whole connection or a script of frames that follow
    /// the preface (bit 1), byte 1 what the owner does (`RequestOwner`), the others the lengths of the pieces.
    static func judge(_ input: SteeredInput) -> InputVerdict {
        let isRaw = input.steer(0) & 2 != 0
        let bytes = isRaw ? Array(input.message) : HTTP2Preface.bytes + FrameScript.frames(input.message)
        let input = SteeredInput(steering: input.steering, message: bytes[...])
        let (limits, http2) = input.steer(0) & 1 == 0 ? (HTTPLimits(), HTTP2Limits()) : (tight, tightHTTP2)
        guard let whole = HTTP2RequestReading([input.message], limits, http2, owner: nil) else { return InputVerdict() }
        var verdict = InputVerdict(outcomes: whole.outcomes, violations: whole.violations)

        for (name, pieces) in [
            ("pieces", input.pieces(from: 2)), ("bytes", input.single), ("another place", [input.moved]),
        ] {
            guard let cut = HTTP2RequestReading(pieces, limits, http2, owner: nil) else { continue }
            verdict.violations += cut.violations.map { "\(name): \($0)" }
            verdict.require(cut.reliable == whole.reliable, "other events in \(name)")
            verdict.require(cut.output == whole.output, "another output in \(name)")
        }
        let owner = RequestOwner(steering: input.steer(1))
        var narrow = http2
        if input.steer(0) & 1 != 0 { narrow.streamWindow = 100 }
        if let answered = HTTP2RequestReading(input.pieces(from: 2), limits, narrow, owner: owner) {
            verdict.violations += answered.violations.map { "answered: \($0)" }
            verdict.outcomes.formUnion(answered.outcomes)
        }
        return verdict
    }

    /// Limits that short inputs reach.
    static let tight: HTTPLimits = {
        var limits = HTTPLimits()
        limits.requestLine = 40
        limits.fieldCount = 4
        limits.drainBytes = 20
        return limits
    }()

    /// The same of HTTP/2; nothing of them comes back as time passes. Windows are not among them: how much is taken before
    /// one is overrun depends on the cut.
    static let tightHTTP2: HTTP2Limits = {
        var limits = HTTP2Limits()
        limits.concurrentStreams = 2
        limits.headerList = 380
        limits.resetBurst = 2
        limits.resetRate = 0
        limits.continuations = 2
        limits.outstandingAcknowledgements = 3
        limits.settingsEntries = 4
        limits.fruitlessFrames = 12
        limits.fruitlessTime = .seconds(1_000_000)
        return limits
    }()
}

/// What the owner of a session does with events.
struct RequestOwner {
    /// Answers at the head already, not at the end of the body.
    let answersEarly: Bool
    /// Gives no credit for body bytes.
    let withholds: Bool
    /// Resets every third stream instead of answering it.
    let resets: Bool
    /// Begins a graceful end with the first head.
    let shutsDown: Bool
    /// Bytes of an answer.
    let answer: Int
    /// Asks for this much output at a time, after every piece.
    let outputLimit: Int

    init(steering: Int) {
        answersEarly = steering & 1 != 0
        withholds = steering & 2 != 0
        resets = steering & 4 != 0
        shutsDown = steering & 8 != 0
        answer = [100, 0, 70_000, 20_000][steering >> 4 & 3]
        outputLimit = [64 * 1024, 1, 100, 20_000][steering >> 6 & 3]
    }
}

/// Everything that a server's session said about one input.
struct HTTP2RequestReading {
    /// An event; body bytes that come one after the other are one.
    enum Said: Equatable {
        case head(Int32, HTTPRequestHead, hasBody: Bool, expectsContinue: Bool)
        case unacceptable(Int32, HTTPParseError)
        case body(Int32, [UInt8])
        case endOfBody(Int32)
        case answered(Int32)
        case closed(Int32, HTTP2ErrorCode)
        case refused
        case pong
        case failed(HTTP2ErrorCode)
    }

    private struct Stream {
        var length: Int?
        var method = ""
        var body = 0
        /// Whether the peer knew the window before it opened the stream.
        var isSettled = false
        var hasOverrun = false
        var hasEnded = false
        var isAnswered = false
        var wasReset = false
        var hasLeft = false
        var isClosed = false
    }

    private(set) var said: [Said] = []
    private(set) var output: [UInt8] = []
    private(set) var violations: [String] = []
    private(set) var hasFailed = false

    private let session: HTTP2ServerSession
    private let limits: HTTPLimits
    private let http2: HTTP2Limits
    private let owner: RequestOwner?
    private var streams: [Int32: Stream] = [:]
    private var wasSettled = false
    private static let now = ContinuousClock.Instant.now

    /// Feeds the pieces one after the other. Without owner nothing is sent before all has been read. Nil: no memory.
    init?(_ pieces: [ArraySlice<UInt8>], _ limits: HTTPLimits, _ http2: HTTP2Limits, owner: RequestOwner?) {
        guard let session = HTTP2ServerSession(limits: limits, http2: http2, source: .inProcess, now: Self.now) else {
            return nil
        }
        self.session = session
        self.limits = limits
        self.http2 = http2
        self.owner = owner
        for piece in pieces {
            wasSettled = session.isSettled
            session.receive(piece, now: Self.now)
            take(session.takeEvents())
            if let owner, !session.isFinished { send(atMost: owner.outputLimit) }
        }
        // An owner asks once more for each frame that a limit of 1 lets out.
        var left = 10_000
        while session.hasOutput, left > 0 {
            send(atMost: owner?.outputLimit ?? 64 * 1024)
            left -= 1
        }
        if left == 0 { violations.append("the output does not end") }
        checkTheEnd()
        checkOutput(received: pieces.reduce(0) { $0 + $1.count })
        checkThatHeadsAreSafe()
    }

    private mutating func send(atMost limit: Int) {
        let bytes = session.nextOutput(atMost: limit, now: Self.now)
        if bytes.count > limit + 16_384 + 9 + 17 { violations.append("more output at once than asked for") }
        output += bytes
        take(session.takeEvents())
    }

    private mutating func take(_ events: [HTTP2ServerEvent]) {
        for event in events {
            if hasFailed { violations.append("an event after the connection has failed") }
            switch event {
            case .head(let stream, let head, let hasBody, let expectsContinue):
                said.append(.head(stream, head, hasBody: hasBody, expectsContinue: expectsContinue))
                open(stream, hasBody: hasBody)
                check(head, hasBody: hasBody, expectsContinue: expectsContinue)
                streams[stream]?.length = head.contentLength
                streams[stream]?.method = head.method
                if expectsContinue, owner != nil { session.sendContinue(stream: stream) }
                if owner?.shutsDown == true { session.beginShutdown() }
                if !hasBody || owner?.answersEarly == true { answer(stream) }
            case .unacceptable(let stream, let error):
                said.append(.unacceptable(stream, error))
                open(stream, hasBody: true)
                answer(stream)
            case .body(let stream, let bytes): body(stream, bytes)
            case .endOfBody(let stream):
                said.append(.endOfBody(stream))
                endBody(stream)
            case .answered(let stream):
                said.append(.answered(stream))
                if known(stream)?.isAnswered != true { violations.append("an answer left that nobody gave") }
                if known(stream)?.hasLeft == true { violations.append("an answer left twice") }
                streams[stream]?.hasLeft = true
            case .closed(let stream, let code):
                said.append(.closed(stream, code))
                if known(stream)?.isClosed != false { violations.append("a stream closes twice or without a head") }
                streams[stream]?.isClosed = true
            case .refused: said.append(.refused)
            case .pong:
                said.append(.pong)
                if owner?.shutsDown == true { session.finishShutdown() }
            case .failed(let code):
                said.append(.failed(code))
                hasFailed = true
                if code == .internalError { violations.append("an internal error") }
            }
        }
    }

    /// Events without the bodies of streams that a fault ended: how much of one came before depends on the cut.
    var reliable: [Said] {
        var whole: Set<Int32> = []
        for case .endOfBody(let stream) in said { whole.insert(stream) }
        var broken: Set<Int32> = []
        for case .closed(let stream, let code) in said where code != .noError { broken.insert(stream) }
        return said.filter { event in
            guard case .body(let stream, _) = event else { return true }
            return whole.contains(stream) || !hasFailed && !broken.contains(stream)
        }
    }

    /// The stream that an event names, if it may still have events.
    private func known(_ stream: Int32) -> Stream? { streams[stream].flatMap { $0.isClosed ? nil : $0 } }

    private mutating func open(_ stream: Int32, hasBody: Bool) {
        if stream <= 0 || stream % 2 == 0 { violations.append("a stream that a client cannot open") }
        if let last = streams.keys.max(), last >= stream { violations.append("a stream that is not above the last one") }
        streams[stream] = Stream(isSettled: wasSettled, hasEnded: !hasBody)
        if streams.values.count(where: { !$0.isClosed }) > http2.concurrentStreams { violations.append("too many streams") }
    }

    private mutating func body(_ stream: Int32, _ bytes: [UInt8]) {
        if case .body(stream, let before) = said.last {
            said[said.count - 1] = .body(stream, before + bytes)
        } else {
            said.append(.body(stream, bytes))
        }
        guard let state = known(stream), !state.hasEnded else {
            violations.append("a body without a head that has one, or behind its end")
            return
        }
        streams[stream]?.body += bytes.count
        if let length = state.length, state.body + bytes.count > length { violations.append("a body is longer than said") }
        if owner?.withholds != false {
            // The library gives the rest of the frame out, and then ends the stream.
            if state.isSettled, state.body + bytes.count > http2.streamWindow { streams[stream]?.hasOverrun = true }
        } else {
            session.consume(stream: stream, bytes.count)
        }
    }

    private mutating func endBody(_ stream: Int32) {
        guard let state = known(stream), !state.hasEnded else {
            violations.append("the end of a body that has none, or the second")
            return
        }
        streams[stream]?.hasEnded = true
        if state.hasOverrun { violations.append("a body beyond the window is complete") }
        if let length = state.length, !state.isAnswered, state.body != length {
            violations.append("a body has another length than said")
        }
        answer(stream)
    }

    private mutating func answer(_ stream: Int32) {
        guard let owner, let state = streams[stream], !state.isAnswered, !state.wasReset else { return }
        if owner.resets, stream % 3 == 0 {
            streams[stream]?.wasReset = true
            return session.reset(stream: stream, .cancel)
        }
        streams[stream]?.isAnswered = true
        let response = HTTPResponse(status: 200, fields: ["x": "y"], body: [UInt8](repeating: 1, count: owner.answer))
        do {
            try session.respond(stream: stream, response, method: state.method, date: "now")
        } catch {
            violations.append("an answer cannot be written")
        }
    }
}

// What must hold at the end.
extension HTTP2RequestReading {
    /// An ended connection says and does nothing more.
    private mutating func checkTheEnd() {
        guard hasFailed else { return }
        if !session.isFinished || session.hasOutput { violations.append("a connection that failed goes on") }
        let (events, length) = (said.count, output.count)
        let more = FrameScript.frames((HTTP2Examples.server.first ?? [])[4...])
        session.receive(more[...], now: Self.now)
        send(atMost: 64 * 1024)
        if said.count != events || output.count != length { violations.append("a connection that failed reads on") }
        session.finishShutdown()
        send(atMost: 64 * 1024)
        if said.count != events || output.count != length { violations.append("a connection that failed says more") }
    }

    /// The output is made of whole frames, no more than the input and the answers explain, in an order that RFC 9113 allows.
    private mutating func checkOutput(received: Int) {
        let answers = streams.values.count(where: \.isAnswered) * (1000 + (owner?.answer ?? 0) * 11 / 10)
        if output.count > 1000 + 4 * received + answers { violations.append("more output than the input explains") }
        guard let frames = OutputFrame.all(in: output[...]) else {
            violations.append("the output ends within a frame")
            return
        }
        if frames.first.map({ $0.type != OutputFrame.settings }) == true {
            violations.append("the output does not begin with SETTINGS")
        }
        var ended: Set<Int32> = []
        var begun: Set<Int32> = []
        for frame in frames {
            switch frame.type {
            case OutputFrame.headers:
                if streams[frame.stream] == nil || ended.contains(frame.stream) { violations.append("an answer to no request") }
                begun.insert(frame.stream)
            case OutputFrame.data:
                if !begun.contains(frame.stream) || ended.contains(frame.stream) { violations.append("a body without a head") }
            case OutputFrame.reset:
                if ended.contains(frame.stream), streams[frame.stream] == nil { violations.append("a stream is reset twice") }
            default: break
            }
            if frame.endsStream || frame.type == OutputFrame.reset { ended.insert(frame.stream) }
        }
        if hasFailed, frames.last?.type != OutputFrame.goAway { violations.append("the last words are not GOAWAY") }
    }

    private mutating func check(_ head: HTTPRequestHead, hasBody: Bool, expectsContinue: Bool) {
        let names = head.fields.map(\.name)
        let size = head.fields.reduce(0) { $0 + $1.name.unicodeScalars.count + $1.value.unicodeScalars.count + 32 }
        let ofConnection = ["connection", "transfer-encoding", "keep-alive", "proxy-connection", "upgrade"]
        let rules: [(String, Bool)] = [
            ("the path begins with a slash and is visible ASCII", isVisible(head.path) && head.path.first == "/"),
            ("the query is visible ASCII", isVisible(head.query ?? "") && head.query?.contains("#") != true),
            ("the method is visible and offered", isVisible(head.method) && !["CONNECT", "TRACE", ""].contains(head.method)),
            ("the scheme is one that is served", ["http", "https"].contains(head.scheme)),
            ("the target stays within its size", head.path.utf8.count + (head.query?.utf8.count ?? 0) <= limits.requestLine),
            ("fields stay within their number", names.count <= limits.fieldCount + 1),
            ("fields stay within their size", size <= http2.headerList),
            ("names are in lower case and visible", names.allSatisfy { isVisible($0) && !$0.isEmpty && $0 == $0.lowercased() }),
            ("no name of a pseudo-field", names.allSatisfy { !$0.contains(":") }),
            ("no field speaks of the connection", names.allSatisfy { !ofConnection.contains($0) }),
            ("values hold no control bytes", head.fields.allSatisfy { hasNoControls($0.value) }),
            ("there is one length at most", names.count { $0 == "content-length" } <= 1),
            ("without a body the length is 0", hasBody || head.contentLength == 0),
            ("nobody waits without a body", hasBody || !expectsContinue),
            ("the version is 2", head.version == .http2),
        ]
        violations += rules.filter { !$0.1 }.map { "broken: \($0.0)" }
    }

    /// What was accepted, written as HTTP/1.1 one behind the other, is read as the same requests.
    private mutating func checkThatHeadsAreSafe() {
        var bytes: [UInt8] = []
        var expected: [HTTPRequestHead] = []
        for case .head(_, let head, _, _) in said where !head.authority.isEmpty {
            do {
                bytes += try HTTP1Serializer.requestHead(head, contentLength: 0)
            } catch {
                violations.append("an accepted request cannot be written: \(error)")
                return
            }
            expected.append(head)
        }
        let again = RequestReading([bytes[...]], HTTP1RequestInput.ample, bodyLimit: 0)
        let isSame =
            again.heads.count == expected.count && zip(again.heads, expected).allSatisfy { $0.head.isSameMessage(as: $1) }
        if again.error != nil || !isSame { violations.append("an accepted request is another one in HTTP/1.1") }
    }

    var outcomes: Set<String> {
        var outcomes: Set<String> = []
        for event in said {
            switch event {
            case .head(_, let head, let hasBody, let expectsContinue):
                outcomes.insert(hasBody ? "head" : "request")
                if expectsContinue { outcomes.insert("expects continue") }
                if head.fields["cookie"] != nil { outcomes.insert("cookie") }
            case .unacceptable(_, let error): outcomes.insert("error \(error.rawValue)")
            case .body: outcomes.insert("body")
            case .endOfBody: outcomes.insert("end of body")
            case .answered: outcomes.insert("answered")
            case .closed(_, let code): outcomes.insert("closed \(code)")
            case .refused: outcomes.insert("refused")
            case .pong: outcomes.insert("pong")
            case .failed(let code): outcomes.insert("failed \(code)")
            }
        }
        return outcomes
    }
}
