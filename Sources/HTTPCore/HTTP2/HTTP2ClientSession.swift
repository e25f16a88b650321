// The client's side of one HTTP/2 connection (RFC 9113): requests → bytes to send, received bytes → responses.

/// Why a request got no response.
public enum HTTP2RequestFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The server has not looked at the request: it may be sent again, on another connection if this one takes no more.
    case notProcessed
    /// The stream was reset.
    case reset(HTTP2ErrorCode)
    /// The response breaks a rule or limit.
    case invalidResponse(HTTPParseError)
    /// The connection ended before the response was complete; the server may have processed the request.
    case connectionEnded

    /// Whether the same request may be sent again although it is not idempotent.
    public var isRetryable: Bool { self == .notProcessed }

    /// What happened.
    public var description: String {
        switch self {
        case .notProcessed: "the server did not process the request; it can be sent again"
        case .reset(let code): "the server ended the stream (\(code))"
        case .invalidResponse(let error): "the answer is not acceptable: \(error)"
        case .connectionEnded: "the connection ended before the answer was complete"
        }
    }
}

/// Why a request could not be sent.
public enum HTTP2SendError: Error, Sendable, Equatable {
    /// The request cannot be put on the wire.
    case invalidRequest(HTTPSerializationError)
    /// The connection takes no further requests: make another one.
    case notAccepted
}

/// What happened on a connection.
public enum HTTP2ClientEvent: Sendable, Equatable {
    /// A complete response; nothing follows on its stream.
    case response(stream: Int32, HTTPResponse)
    /// There will be no response; nothing follows on the stream.
    case failed(stream: Int32, HTTP2RequestFailure)
    /// The server wants no further requests on this connection; those under way go on unless they failed.
    case goAway(HTTP2ErrorCode)
    /// The connection ends with this code: the server broke a rule, or it was too much of something.
    case connectionFailed(HTTP2ErrorCode)
}

/// One HTTP/2 connection of a client. Not safe for concurrent use: its owner calls it on one thread. After each `receive`
/// and each `nextOutput` take the events. Server push is refused.
public final class HTTP2ClientSession {
    private struct Stream {
        var head: HTTP2HeadCollector?
        var response: HTTPResponse?
        let body: [UInt8]
        var sent = 0
        /// Whether the request's head was put into the output.
        var hasLeft = false
    }

    private let bridge: HTTP2Bridge
    private let limits: HTTPLimits
    private let http2: HTTP2Limits
    private var streams: [Int32: Stream] = [:]
    private var events: [HTTP2ClientEvent] = []
    private var flood: HTTP2FloodGuard
    private var scanner = HTTP2FrameScanner(preface: 0)
    private var now = ContinuousClock.Instant.now
    private var failure: HTTP2ErrorCode?
    private var lastWords: [UInt8]?
    /// Whether GOAWAY waits for requests that have not left.
    private var isClosing = false
    /// Whether the library has ended the connection because a rule was broken.
    private var hasGivenUp = false

    /// Whether the server takes further requests.
    public private(set) var acceptsRequests = true
    /// Requests without response or failure yet.
    public var openStreams: Int { streams.count }
    /// Bytes of response bodies received, in all, for progress.
    public private(set) var dataReceived = 0
    /// Bytes of request bodies put into the output, in all, for progress.
    public private(set) var dataSent = 0

    /// A session; its output begins with the preface. Response bodies are limited by `limits.clientResponseBody`. Nil if there
    /// is no memory.
    public init?(limits: HTTPLimits = HTTPLimits(), http2: HTTP2Limits = .relay) {
        guard let bridge = HTTP2Bridge(.client, limits: http2) else { return nil }
        self.bridge = bridge
        self.limits = limits
        self.http2 = http2
        flood = HTTP2FloodGuard(limits: http2)
        bridge.owner = self
        bridge.submitSettings(
            [
                (.enablePush, 0), (.initialWindowSize, http2.streamWindow),
                (.maxFrameSize, min(max(http2.frameSize, 16_384), 16_777_215)), (.maxHeaderListSize, http2.headerList),
                (.headerTableSize, http2.headerTable), (.noOldPriorities, 1),
            ], connectionWindow: http2.connectionWindow)
    }

    // Bytes.

    /// Takes received bytes.
    public func receive(_ bytes: ArraySlice<UInt8>) {
        now = .now
        // Also behind the library's own last words no input counts.
        if failure != nil || hasGivenUp { return }
        var position = bytes.startIndex
        var rest = bytes
        while let frame = scanner.next(in: bytes, from: &position) {
            // What came before is taken first, however the bytes were cut.
            let head = max(rest.startIndex, position - HTTP2FrameScanner.headSize)
            if let code = bridge.receive(rest[..<head]) { return fail(code) }
            rest = rest[head...]
            if !flood.allows(frame, now: now) { return fail(.enhanceYourCalm) }
        }
        if let code = bridge.receive(rest) { return fail(code) }
        if bridge.queuedFrames > http2.outstandingFrames + streams.count { fail(.enhanceYourCalm) }
    }

    /// Bytes to send, about `limit` if so many are there (a frame is not cut).
    public func nextOutput(atMost limit: Int) -> [UInt8] {
        now = .now
        var output: [UInt8] = []
        if failure == nil, let code = bridge.output(into: &output, limit: limit) { fail(code) }
        if sayGoodbye(), let code = bridge.output(into: &output, limit: limit) { fail(code) }
        if let words = lastWords {
            lastWords = nil
            output += words
        }
        return output
    }

    /// What has happened since the last call, in order.
    public func takeEvents() -> [HTTP2ClientEvent] {
        defer { events = [] }
        return events
    }

    /// Whether nothing is left to do on this connection: close it when the output has left.
    public var isFinished: Bool {
        if failure != nil { return lastWords == nil }
        return !bridge.wantsRead && !bridge.wantsWrite
    }

    // Requests.

    /// Sends a request; the stream that its response or failure will name. Above the server's limit of streams it waits in the
    /// session.
    public func send(_ request: HTTPRequest) throws(HTTP2SendError) -> Int32 {
        let fields: [HTTP2Field]
        do throws(HTTPSerializationError) {
            fields = try HTTP2Serializer.request(request.head, contentLength: request.body.count)
        } catch {
            throw .invalidRequest(error)
        }
        guard acceptsRequests, failure == nil,
            let stream = bridge.submitRequest(fields, hasBody: !request.body.isEmpty)
        else { throw .notAccepted }
        streams[stream] = Stream(body: request.body)
        return stream
    }

    /// Gives a request up; no event follows for it.
    public func cancel(stream: Int32) {
        guard streams.removeValue(forKey: stream) != nil, failure == nil else { return }
        bridge.reset(stream, .cancel)
    }

    /// Says that nothing more will be asked; what is under way goes on. The session is finished after it.
    public func close() {
        acceptsRequests = false
        isClosing = true
    }

    /// Puts GOAWAY into the output if it is time, and says whether it was. Not before the last request: the library would send
    /// it first, and a server may take it for the end.
    private func sayGoodbye() -> Bool {
        guard isClosing, failure == nil, streams.values.allSatisfy(\.hasLeft) else { return false }
        isClosing = false
        bridge.goAway(.noError)
        return true
    }

    /// The transport has ended: requests without response fail.
    public func connectionEnded() {
        acceptsRequests = false
        failure = failure ?? .noError
        lastWords = nil
        dropStreams()
    }

    private func fail(_ code: HTTP2ErrorCode) {
        if failure != nil { return }
        failure = code
        acceptsRequests = false
        lastWords = HTTP2GoAway.frame(lastStream: 0, code)
        events.append(.connectionFailed(code))
        dropStreams()
    }

    private func dropStreams() {
        let all = streams.keys.sorted()
        streams = [:]
        events += all.map { .failed(stream: $0, .connectionEnded) }
    }

    private func fail(_ stream: Int32, _ reason: HTTP2RequestFailure) {
        if streams.removeValue(forKey: stream) != nil { events.append(.failed(stream: stream, reason)) }
    }

    /// A response is not acceptable: the rest of it is not wanted.
    private func refuse(_ stream: Int32, _ error: HTTPParseError) {
        bridge.reset(stream, .cancel)
        fail(stream, .invalidResponse(error))
    }
}

extension HTTP2ClientSession: HTTP2BridgeOwner {
    func headersBegan(_ stream: Int32) { streams[stream]?.head = HTTP2HeadCollector() }

    func judgeField(_ stream: Int32, nameLength: Int, valueLength: Int) -> HTTP2FieldVerdict {
        streams[stream]?.head?.judge(
            nameLength: nameLength, valueLength: valueLength, list: http2.headerList, count: limits.fieldCount) ?? .skip
    }

    func field(_ stream: Int32, _ name: String, _ value: String) { streams[stream]?.head?.add(name, value) }

    func frameReceived(_ frame: HTTP2Frame) {
        switch frame.type {
        case HTTP2Frame.headers:
            headers(frame.stream)
            if frame.endsStream { complete(frame.stream) }
        case HTTP2Frame.data: if frame.endsStream { complete(frame.stream) }
        case HTTP2Frame.goAway: goAway(frame)
        default: break
        }
    }

    private func headers(_ stream: Int32) {
        guard let state = streams[stream], let head = state.head else { return }
        streams[stream]?.head = nil
        if state.response != nil { return }  // trailers: bounded as heads are, and dropped
        do throws(HTTPParseError) {
            let response = try head.response()
            if response.status >= 200 { streams[stream]?.response = response }
        } catch {
            refuse(stream, error)
        }
    }

    private func complete(_ stream: Int32) {
        guard let state = streams[stream], let response = state.response else { return }
        streams[stream] = nil
        // The server has answered without the rest of the request.
        if state.sent < state.body.count { bridge.reset(stream, .cancel) }
        events.append(.response(stream: stream, response))
    }

    /// Streams above the last one that the server names were not looked at (RFC 9113 section 6.8).
    private func goAway(_ frame: HTTP2Frame) {
        if acceptsRequests { events.append(.goAway(HTTP2ErrorCode(code: frame.code))) }
        acceptsRequests = false
        for stream in streams.keys.sorted() where stream > frame.lastStream { fail(stream, .notProcessed) }
    }

    func dataReceived(_ stream: Int32, _ bytes: [UInt8], isPadded: Bool) {
        dataReceived += bytes.count
        bridge.consume(stream, bytes.count)
        if isPadded { flood.notePadded(bytes.count) }
        guard let have = streams[stream]?.response?.body.count else { return }
        if bytes.count > limits.clientResponseBody - have { return refuse(stream, .bodyTooLarge) }
        streams[stream]?.response?.body += bytes
    }

    func frameSent(_ frame: HTTP2Frame) {
        _ = flood.noteSent(frame, now: now)
        if frame.type == HTTP2Frame.headers { streams[frame.stream]?.hasLeft = true }
        if frame.type == HTTP2Frame.goAway, frame.code != HTTP2ErrorCode.noError.rawValue { hasGivenUp = true }
    }

    func bodyBytes(_ stream: Int32, atMost count: Int) -> (ArraySlice<UInt8>, ends: Bool)? {
        guard let state = streams[stream] else { return nil }
        let bytes = state.body[min(state.sent, state.body.count)...].prefix(count)
        streams[stream]?.sent = state.sent + bytes.count
        dataSent += bytes.count
        return (bytes, state.sent + bytes.count >= state.body.count)
    }

    func streamClosed(_ stream: Int32, code: UInt32) {
        guard streams[stream] != nil else { return }
        let code = HTTP2ErrorCode(code: code)
        fail(stream, code == .refusedStream ? .notProcessed : .reset(code))
    }
}
