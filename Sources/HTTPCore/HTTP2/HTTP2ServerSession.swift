// The server's side of one HTTP/2 connection (RFC 9113, service.md 5.4): received bytes → events, answers → bytes to send.

/// What happened on a connection.
public enum HTTP2ServerEvent: Sendable {
    /// A request's head is complete. Without body it is the whole request. `expectsContinue`: its sender waits for `interim`.
    case head(stream: Int32, HTTPRequestHead, hasBody: Bool, expectsContinue: Bool)
    /// A head that cannot be accepted; answer with the error's status.
    case unacceptable(stream: Int32, HTTPParseError)
    /// Bytes of a request's body. The peer may send as many more when they are given to `consume`.
    case body(stream: Int32, [UInt8])
    /// A request's body is complete.
    case endOfBody(stream: Int32)
    /// An answer was put into the output completely.
    case answered(stream: Int32)
    /// A stream has ended; nothing follows on it. With another code than `noError` the peer or a broken rule ended it.
    case closed(stream: Int32, HTTP2ErrorCode)
    /// A stream that was not announced was refused, because it is one too many.
    case refused
    /// The peer answered the PING of `beginShutdown`.
    case pong
    /// The connection ends with this code: a rule was broken, or it was too much of something.
    case failed(HTTP2ErrorCode)
}

/// One HTTP/2 connection of a server. Not safe for concurrent use: its owner calls it on one thread. After each `receive`
/// and each `nextOutput` take the events.
public final class HTTP2ServerSession {
    private struct Stream {
        var head: HTTP2HeadCollector?
        var isAnnounced = false
        var hasEnded = false
        var body: [UInt8] = []
        var sent = 0
        var isAnswered = false
        /// Bytes of its body that may still be thrown away after the answer has left; nil before.
        var mayDrain: Int?
    }

    private let bridge: HTTP2Bridge
    private let limits: HTTPLimits
    private let http2: HTTP2Limits
    private let source: HTTPSource
    private var streams: [Int32: Stream] = [:]
    private var events: [HTTP2ServerEvent] = []
    private var flood: HTTP2FloodGuard
    private var now: ContinuousClock.Instant
    /// The code of a connection that cannot go on; its GOAWAY is made here, not by the library.
    private var failure: HTTP2ErrorCode?
    private var scanner = HTTP2FrameScanner(preface: HTTP2Preface.bytes.count)
    private var opened = HTTP2OpenedStreams()
    private var windows = HTTP2WindowWatch()
    private var lastWords: [UInt8]?
    private var hasReportedFailure = false
    /// Whether SETTINGS have left: nothing may come before them (RFC 9113 section 3.4).
    private var hasGreeted = false

    /// Whether the peer has acknowledged the settings.
    public private(set) var isSettled = false
    /// When the header section began that has not ended yet.
    public private(set) var headersSince: ContinuousClock.Instant?
    /// Body bytes of answers put into the output, in all.
    public private(set) var dataSent = 0

    /// A session that has received nothing; nil if there is no memory. Input begins with the preface.
    public init?(limits: HTTPLimits, http2: HTTP2Limits, source: HTTPSource, now: ContinuousClock.Instant) {
        guard let bridge = HTTP2Bridge(.server, limits: http2) else { return nil }
        self.bridge = bridge
        self.limits = limits
        self.http2 = http2
        self.source = source
        self.now = now
        flood = HTTP2FloodGuard(limits: http2)
        bridge.owner = self
        bridge.submitSettings(
            [
                (.concurrentStreams, http2.concurrentStreams),
                (.initialWindowSize, http2.streamWindow),
                (.maxFrameSize, min(max(http2.frameSize, 16_384), 16_777_215)),
                (.maxHeaderListSize, http2.headerList),
                (.headerTableSize, http2.headerTable),
                (.noOldPriorities, 1),
            ], connectionWindow: http2.connectionWindow)
    }

    // Bytes.

    /// Takes received bytes. Give it pieces of a few KiB, and take the events after each: they hold what the bytes unpack to.
    public func receive(_ bytes: ArraySlice<UInt8>, now: ContinuousClock.Instant) {
        self.now = now
        // Also behind the library's own last words no input counts.
        if failure != nil || hasReportedFailure { return }
        var position = bytes.startIndex
        var rest = bytes
        while let frame = scanner.next(in: bytes, from: &position) {
            // What came before is taken first, however the bytes were cut: rules may depend on it.
            let head = max(rest.startIndex, position - HTTP2FrameScanner.headSize)
            pass(rest[..<head])
            rest = rest[head...]
            if failure != nil { return }
            if let code = fault(of: frame) { return fail(code) }
            if frame.type == HTTP2Frame.settings, !frame.isAcknowledgement {
                windows.largest = streams.keys.reduce(0) { max($0, bridge.sendWindow($1)) }
            }
        }
        pass(rest)
        if bridge.queuedFrames > http2.outstandingFrames { fail(.enhanceYourCalm) }
    }

    private func pass(_ bytes: ArraySlice<UInt8>) {
        if failure == nil, let code = bridge.receive(bytes) { fail(code) }
    }

    /// What is wrong with a frame that begins, as far as the library does not see it.
    private func fault(of frame: HTTP2Frame) -> HTTP2ErrorCode? {
        if !flood.allows(frame, now: now) { return .enhanceYourCalm }
        switch frame.type {
        case HTTP2Frame.priority: return frame.stream == 0 ? .protocolError : nil
        case HTTP2Frame.headers:
            if opened.hasSkipped(frame.stream) { return .protocolError }
            opened.note(frame.stream)
            return nil
        default: return nil
        }
    }

    /// Bytes to send, about `limit` if so many are there (a frame is not cut).
    public func nextOutput(atMost limit: Int, now: ContinuousClock.Instant) -> [UInt8] {
        self.now = now
        var output: [UInt8] = []
        if failure == nil, let code = bridge.output(into: &output, limit: limit) { fail(code) }
        if !output.isEmpty { hasGreeted = true }
        if let words = lastWords {
            lastWords = nil
            if !hasGreeted { output += HTTP2GoAway.greeting }
            hasGreeted = true
            output += words
        }
        return output
    }

    /// What has happened since the last call, in order.
    public func takeEvents() -> [HTTP2ServerEvent] {
        defer { events = [] }
        return events
    }

    /// Whether nothing is left to do: close the connection when the output has left.
    public var isFinished: Bool {
        if failure != nil { return lastWords == nil }
        return !bridge.wantsRead && !bridge.wantsWrite
    }

    /// Whether `nextOutput` would give something.
    public var hasOutput: Bool { failure == nil ? bridge.wantsWrite : lastWords != nil }

    // Streams.

    /// Answers a request. If its body has not arrived completely when the answer has left, up to `HTTPLimits.drainBytes` more
    /// are thrown away before the stream is reset with NO_ERROR: clients exist that lose the answer to a reset that comes
    /// while they send. After `HTTPLimits.drainTime` the owner calls `endDraining`.
    /// The body is not sent for HEAD, 204 and 304. Nothing happens if the stream has ended or is answered already.
    public func respond(
        stream: Int32, _ response: HTTPResponse, method: String, date: String
    ) throws(HTTPSerializationError) {
        guard failure == nil, let state = streams[stream], state.isAnnounced, !state.isAnswered else { return }
        let fields = try HTTP2Serializer.response(response, date: date)
        let hasBody =
            !response.body.isEmpty && method != "HEAD" && response.status != 204 && response.status != 304
        streams[stream]?.isAnswered = true
        if hasBody { streams[stream]?.body = response.body }
        if !bridge.submitResponse(stream, fields, hasBody: hasBody) { bridge.reset(stream, .internalError) }
    }

    /// Sends `100 Continue`.
    public func sendContinue(stream: Int32) {
        guard failure == nil, let state = streams[stream], !state.isAnswered else { return }
        bridge.submitInterim(stream, [HTTP2Field(":status", text: "100")])
    }

    /// Whether an answered stream waits for the end of its body.
    public func isDraining(stream: Int32) -> Bool { streams[stream]?.mayDrain != nil && streams[stream]?.hasEnded == false }

    /// Waits no longer for the rest of the body of an answered stream.
    public func endDraining(stream: Int32) {
        if failure == nil, isDraining(stream: stream) { bridge.reset(stream, .noError) }
    }

    /// Ends a stream.
    public func reset(stream: Int32, _ code: HTTP2ErrorCode) {
        if failure == nil, streams[stream] != nil { bridge.reset(stream, code) }
    }

    /// Body bytes of a stream were taken: the peer may send as many more. To be called for all bytes of `body` events, also
    /// of streams that have ended meanwhile, or the connection's window leaks away.
    public func consume(stream: Int32, _ count: Int) {
        if failure == nil { bridge.consume(stream, count) }
    }

    /// Body bytes of a stream's answer put into the output; 0 if the stream has ended.
    public func sent(stream: Int32) -> Int { streams[stream]?.sent ?? 0 }

    /// Whether the peer's windows let nothing out: of the stream, and of the connection.
    public func isHeldBack(stream: Int32) -> Bool { bridge.sendWindow(stream) == 0 }
    /// Whether the peer's window for the connection lets nothing out.
    public var isHeldBack: Bool { bridge.sendWindow == 0 }

    // The end.

    /// First step of a graceful end: tells the peer to begin nothing more, and asks with a PING when it knows.
    public func beginShutdown() {
        if failure == nil { bridge.shutdownNotice() }
    }

    /// Second step, after the `pong` or a moment: what is not known by now will not be served. Running streams are finished.
    public func finishShutdown(_ code: HTTP2ErrorCode = .noError) {
        if failure == nil { bridge.goAway(code) }
    }

    /// Ends the connection at once with GOAWAY; streams are dropped.
    public func fail(_ code: HTTP2ErrorCode) {
        if failure != nil { return }
        failure = code
        lastWords = HTTP2GoAway.frame(lastStream: bridge.lastStream, code)
        reportFailure(code)
    }

    private func reportFailure(_ code: HTTP2ErrorCode) {
        note(.failed(code))
        hasReportedFailure = true
    }

    /// Nothing is said behind a failure: its owner has let go of all streams.
    private func note(_ event: HTTP2ServerEvent) {
        if !hasReportedFailure { events.append(event) }
    }
}

extension HTTP2ServerSession: HTTP2BridgeOwner {
    func headersBegan(_ stream: Int32) {
        headersSince = now
        streams[stream, default: Stream()].head = HTTP2HeadCollector()
    }

    func judgeField(_ stream: Int32, nameLength: Int, valueLength: Int) -> HTTP2FieldVerdict {
        let list = http2.headerList
        return streams[stream]?.head?.judge(
            nameLength: nameLength, valueLength: valueLength, list: list, count: limits.fieldCount) ?? .skip
    }

    func field(_ stream: Int32, _ name: String, _ value: String) { streams[stream]?.head?.add(name, value) }

    func frameReceived(_ frame: HTTP2Frame) {
        switch frame.type {
        case HTTP2Frame.headers:
            headersSince = nil
            headers(frame)
        case HTTP2Frame.data: if frame.endsStream { endBody(frame.stream) }
        case HTTP2Frame.settings:
            if frame.isAcknowledgement { isSettled = true }
            if let size = frame.initialWindow, windows.overflows(by: size) { fail(.flowControlError) }
        case HTTP2Frame.ping: if frame.isAcknowledgement { note(.pong) }
        default: break
        }
    }

    private func headers(_ frame: HTTP2Frame) {
        guard let state = streams[frame.stream], let head = state.head else { return }
        streams[frame.stream]?.head = nil
        if state.isAnnounced {  // trailers: bounded as heads are, and dropped
            if frame.endsStream { endBody(frame.stream) }
            return
        }
        streams[frame.stream]?.isAnnounced = true
        streams[frame.stream]?.hasEnded = frame.endsStream
        do throws(HTTPParseError) {
            let (head, expectsContinue) = try head.request(endsStream: frame.endsStream, source: source, limits: limits)
            note(
                .head(stream: frame.stream, head, hasBody: !frame.endsStream, expectsContinue: expectsContinue))
        } catch {
            note(.unacceptable(stream: frame.stream, error))
        }
    }

    private func endBody(_ stream: Int32) {
        guard streams[stream]?.hasEnded == false else { return }
        streams[stream]?.hasEnded = true
        note(.endOfBody(stream: stream))
    }

    func dataReceived(_ stream: Int32, _ bytes: [UInt8], isPadded: Bool) {
        if isPadded { flood.notePadded(bytes.count) }
        // Nobody waits for the body of a stream that is answered; its bytes must still be credited.
        if let state = streams[stream], state.isAnnounced, !state.isAnswered {
            note(.body(stream: stream, bytes))
        } else {
            bridge.consume(stream, bytes.count)
            guard let left = streams[stream]?.mayDrain else { return }
            streams[stream]?.mayDrain = left - bytes.count
            if left < bytes.count { endDraining(stream: stream) }
        }
    }

    func frameSent(_ frame: HTTP2Frame) {
        if !flood.noteSent(frame, now: now) { return fail(.enhanceYourCalm) }
        // The library refuses a stream that is one too many without telling of it.
        if frame.type == HTTP2Frame.reset, frame.code == HTTP2ErrorCode.refusedStream.rawValue, streams[frame.stream] == nil {
            note(.refused)
        }
        if frame.type == HTTP2Frame.goAway {
            if frame.code != HTTP2ErrorCode.noError.rawValue { reportFailure(HTTP2ErrorCode(code: frame.code)) }
            // Not before: the library sends a PING ahead of everything else.
            if frame.lastStream == .max { bridge.ping() }
        }
        guard frame.endsStream, let state = streams[frame.stream] else { return }
        note(.answered(stream: frame.stream))
        if !state.hasEnded { streams[frame.stream]?.mayDrain = limits.drainBytes }
    }

    func bodyBytes(_ stream: Int32, atMost count: Int) -> (ArraySlice<UInt8>, ends: Bool)? {
        guard let state = streams[stream] else { return nil }
        let bytes = state.body[min(state.sent, state.body.count)...].prefix(count)
        streams[stream]?.sent = state.sent + bytes.count
        dataSent += bytes.count
        return (bytes, state.sent + bytes.count >= state.body.count)
    }

    func streamClosed(_ stream: Int32, code: UInt32) {
        guard let state = streams.removeValue(forKey: stream) else { return }
        if state.head != nil { headersSince = nil }
        if state.isAnnounced { note(.closed(stream: stream, HTTP2ErrorCode(code: code))) }
    }
}

/// GOAWAY of a connection whose library session cannot be used any more (RFC 9113 section 6.8).
enum HTTP2GoAway {
    /// Empty SETTINGS, for a connection that ends before the library's have left.
    static let greeting: [UInt8] = [0, 0, 0, HTTP2Frame.settings, 0, 0, 0, 0, 0]

    static func frame(lastStream: Int32, _ code: HTTP2ErrorCode) -> [UInt8] {
        let last = UInt32(bitPattern: lastStream) & 0x7FFF_FFFF
        let words = [last, code.rawValue].flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
        return [0, 0, 8, HTTP2Frame.goAway, 0, 0, 0, 0, 0] + words
    }
}
