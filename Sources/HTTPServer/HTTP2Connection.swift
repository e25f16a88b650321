// One HTTP/2 connection of a server (service.md 5.4, 7): many requests at once, each with admission, handling, answer and
// times of its own. It lives on its event loop's thread.

import CLinux
import HTTPCore

final class HTTP2Connection: LoopConnection {
    enum Stage {
        case open
        /// The peer was told to begin nothing more; what it began before it knew is still taken.
        case noticed(until: ContinuousClock.Instant)
        /// The peer knows the last stream; running streams are finished.
        case leaving
        /// Nothing is served any more; the rest of the output leaves.
        case closing(until: ContinuousClock.Instant)
        /// All has left; what the peer still sends is thrown away for a moment, so that no reset destroys the last words.
        case lingering(until: ContinuousClock.Instant)
        case closed
    }

    let id: UInt64
    let censusKey: UInt64?
    var descriptor: Int32 { transport.descriptor }
    var deadline: ContinuousClock.Instant? { times.next(of: self) }
    var scheduled: ContinuousClock.Instant?

    private var transport: any ByteTransport
    unowned let loop: EventLoop
    let limits: HTTPLimits
    let http2: HTTP2Limits
    let session: HTTP2ServerSession
    private let received: [UInt8]
    var stage = Stage.open
    var times: HTTP2Times
    var exchanges: [Int32: HTTP2Exchange] = [:]
    /// Streams whose handler has not answered yet, and those of them that have ended: work goes on for nobody.
    private var running: Set<Int32> = []
    private var abandoned = 0
    /// Exchanges whose answer is on its way.
    private(set) var writing = 0
    private var requests = 0
    private(set) var output = OutputQueue()
    private var drained = 0
    private var ending: HTTP2Ending?
    private var mask = UInt32(CLINUX_READ)
    private var readNeedsWritable = false
    private var writeNeedsReadable = false
    /// Received bytes are unpacked in pieces of this size, so that what they unpack to stays small.
    private static let piece = 16 * 1024
    /// Output is asked for in pieces of this size.
    private static let outputPiece = 64 * 1024

    /// Nil if there is no memory.
    init?(_ handover: ConnectionHandover, loop: EventLoop) {
        limits = loop.context.limits
        http2 = handover.listener.carriesRelay ? limits.http2Relay : limits.http2
        let session = HTTP2ServerSession(
            limits: limits, http2: http2, source: .direct(handover.peer), now: loop.now)
        guard let session else { return nil }
        self.session = session
        id = handover.id
        transport = handover.transport
        censusKey = handover.censusKey
        received = handover.received
        times = HTTP2Times(start: handover.firstByte ?? loop.now, idleSince: loop.now)
        self.loop = loop
    }

    // Events.

    func start() {
        feed(received[...])
        if loop.isShuttingDown { shutdown() }
        if transport.hasBufferedInput { read() }
        settle()
    }

    func ready(mask events: UInt32) {
        let readable = events & UInt32(CLINUX_READ) != 0
        let failed = events & UInt32(CLINUX_FAILED) != 0
        let writable = events & UInt32(CLINUX_WRITE) != 0
        if writeNeedsReadable ? readable : writable { pump() }
        if isReading, failed || (readNeedsWritable ? writable : readable) {
            read()
        } else if failed {
            close()
        }
        settle()
    }

    func answer(_ outcome: HTTPReply.Outcome, request: UInt64) {
        let stream = Int32(truncatingIfNeeded: request)
        running.remove(stream)
        guard let exchange = exchanges[stream] else {
            abandoned -= 1
            return
        }
        guard case .handling = exchange.phase else { return }
        switch outcome {
        case .response(let response): respond(exchange, response)
        case .dropped: refuse(exchange, .replyDropped, status: 500)
        }
        loop.settleLater(self)
    }

    func timeOut() {
        timesPassed()
        settle()
    }

    func shutdown() {
        beginShutdown(.shutdown)
        settle()
    }

    func close() {
        if case .closed = stage { return }
        stage = .closed
        dropExchanges()
        loop.forget(self)
        transport.close()
    }

    // Bytes in.

    private var isReading: Bool {
        switch stage {
        case .open, .noticed, .leaving, .lingering: true
        case .closing, .closed: false
        }
    }

    private func read() {
        repeat {
            let result = transport.read(into: &loop.scratch)
            readNeedsWritable = result == .needsWritable
            switch result {
            case .bytes(let count):
                if case .lingering = stage {
                    drained += count
                    if drained > limits.drainBytes { close() }
                } else {
                    feed(loop.scratch[..<count])
                }
            case .needsReadable, .needsWritable: return
            case .ended, .failed: return close()
            }
        } while transport.hasBufferedInput && isReading
    }

    private func feed(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while !rest.isEmpty, isReading {
            session.receive(rest.prefix(Self.piece), now: loop.now)
            rest = rest.dropFirst(Self.piece)
            takeEvents()
        }
    }

    private func takeEvents() {
        while case let events = session.takeEvents(), !events.isEmpty {
            for event in events { take(event) }
        }
    }

    private func take(_ event: HTTP2ServerEvent) {
        switch event {
        case .head(let stream, let head, let hasBody, let expectsContinue):
            begin(stream, head, hasBody: hasBody, expectsContinue: expectsContinue)
        case .unacceptable(let stream, let error):
            if let exchange = open(stream, head: nil) { refuse(exchange, .message(error), status: error.status) }
        case .body(let stream, let bytes): body(stream, bytes)
        case .endOfBody(let stream):
            if let exchange = exchanges[stream], case .body = exchange.phase { handle(exchange) }
        case .answered(let stream): answered(stream)
        case .closed(let stream, _): closed(stream)
        case .refused: report(.streamRefused(.concurrency))
        case .pong: if case .noticed = stage { finishShutdown() }
        case .failed(let code):
            report(.goAwaySent(ending ?? .fault(code)))
            dropExchanges()
            stage = .closing(until: loop.now.advanced(by: limits.drainTime))
        }
    }

    // Requests.

    /// A new exchange, or nil if the peer has too much in work.
    private func open(_ stream: Int32, head: HTTPRequestHead?) -> HTTP2Exchange? {
        requests += 1
        if requests >= http2.requestsPerConnection { beginShutdown(.requests) }
        guard exchanges.count + abandoned < http2.concurrentStreams else {
            session.reset(stream: stream, .refusedStream)
            report(.streamRefused(.workInFlight))
            return nil
        }
        let exchange = HTTP2Exchange(stream: stream, head: head, start: loop.now)
        exchanges[stream] = exchange
        return exchange
    }

    private func begin(_ stream: Int32, _ head: HTTPRequestHead, hasBody: Bool, expectsContinue: Bool) {
        guard let exchange = open(stream, head: head) else { return }
        switch loop.context.handler.begin(head) {
        case .respond(let response): respond(exchange, response)
        case .readBody(let limit):
            exchange.bodyLimit = max(0, limit)
            guard hasBody else { return handle(exchange) }
            if let length = head.contentLength, length > exchange.bodyLimit {
                return refuse(exchange, .message(.bodyTooLarge), status: 413)
            }
            exchange.bodyBound = head.contentLength ?? exchange.bodyLimit
            exchange.bodyLease = loop.context.budget.reserve(min(exchange.bodyBound, HTTP2Exchange.leaseStep))
            if exchange.bodyLease == nil { return refuse(exchange, .bodyBudget, status: 503) }
            let end = loop.now.advanced(by: limits.bodyTime)
            exchange.phase = .body(end: end)
            startBodyWindow(exchange, end: end)
            if expectsContinue { session.sendContinue(stream: stream) }
        }
    }

    private func body(_ stream: Int32, _ bytes: [UInt8]) {
        // Also what nobody wants is credited, or the connection's window leaks away.
        session.consume(stream: stream, bytes.count)
        guard let exchange = exchanges[stream], case .body = exchange.phase else { return }
        exchange.append(bytes)
        let count = exchange.body.count
        if count > exchange.bodyLimit { return refuse(exchange, .message(.bodyTooLarge), status: 413) }
        let wanted = max(count, min(exchange.bodyBound, count + HTTP2Exchange.leaseStep))
        if exchange.bodyLease?.grow(to: wanted) != true { refuse(exchange, .bodyBudget, status: 503) }
    }

    private func startBodyWindow(_ exchange: HTTP2Exchange, end: ContinuousClock.Instant) {
        exchange.windowStart = exchange.body.count
        exchange.deadline = min(end, loop.now.advanced(by: limits.bodyProgressTime))
        times.schedule(exchange)
    }

    private func handle(_ exchange: HTTP2Exchange) {
        guard let head = exchange.head else { return }
        let body = exchange.takeBody()
        let lease = exchange.bodyLease
        let cancellation = HTTPCancellation()
        exchange.bodyLease = nil
        exchange.requestBytes = body.count
        exchange.cancellation = cancellation
        exchange.phase = .handling
        exchange.deadline = loop.now.advanced(by: limits.handlerTime)
        times.schedule(exchange)
        running.insert(exchange.stream)
        let received = ContinuousClock.Instant.now
        let request = HTTPRequest(
            head: head, body: body, receivedAt: received, deadline: received.advanced(by: limits.requestTime),
            cancellation: cancellation)
        let reply = HTTPReply { [id, stream = exchange.stream, mailbox = loop.mailbox] outcome in
            withExtendedLifetime(lease) {
                _ = mailbox.post(.reply(connection: id, request: UInt64(UInt32(bitPattern: stream)), outcome))
            }
        }
        loop.context.handler.handle(request, reply: reply)
    }

    // Answers.

    private func refuse(_ exchange: HTTP2Exchange, _ reason: HTTPRefusal, status: Int) {
        report(.refused(reason))
        respond(exchange, HTTP1Connection.refusal(status))
    }

    /// Gives the answer to the session. If the request has not been read to its end, the session resets the stream after it.
    private func respond(_ exchange: HTTP2Exchange, _ given: HTTPResponse) {
        var response = given
        exchange.body = []
        exchange.bodyLease = nil
        if response.body.count > limits.responseBody {
            report(.refused(.responseTooLarge))
            response = HTTPResponse(status: 500)
        }
        if response.body.count > HTTP2Exchange.leaseStep {
            // Peers that do not take their answers must not fill the memory with them.
            exchange.answerLease = loop.context.answers.reserve(response.body.count)
            if exchange.answerLease == nil {
                report(.refused(.bodyBudget))
                response = HTTP1Connection.refusal(503)
            }
        }
        let method = exchange.head?.method ?? ""
        writing += 1
        exchange.phase = .writing
        do {
            try session.respond(stream: exchange.stream, response, method: method, date: loop.date)
        } catch {
            report(.refused(.responseInvalid(error)))
            response = HTTPResponse(status: 500)
            // A status without fields can be written.
            try? session.respond(stream: exchange.stream, response, method: method, date: loop.date)
        }
        exchange.status = response.status
        exchange.responseBytes = method == "HEAD" ? 0 : response.body.count
        startWriteWindow(exchange)
    }

    private func startWriteWindow(_ exchange: HTTP2Exchange) {
        exchange.windowStart = session.sent(stream: exchange.stream)
        exchange.deadline = loop.now.advanced(by: limits.writeProgressTime)
        times.schedule(exchange)
    }

    private func answered(_ stream: Int32) {
        guard let exchange = exchanges[stream], case .writing = exchange.phase else { return }
        report(
            .requestCompleted(
                status: exchange.status, requestBytes: exchange.requestBytes, responseBytes: exchange.responseBytes,
                duration: exchange.start.duration(to: .now), version: .http2))
        finish(exchange)
        guard session.isDraining(stream: stream) else { return }
        exchange.deadline = loop.now.advanced(by: limits.drainTime)
        times.schedule(exchange)
    }

    /// Nothing more is to be done on the stream.
    private func finish(_ exchange: HTTP2Exchange) {
        if case .writing = exchange.phase { writing -= 1 }
        exchange.phase = .done
        exchange.deadline = nil
        exchange.answerLease = nil
        exchange.bodyLease = nil
        exchange.body = []
    }

    private func closed(_ stream: Int32) {
        guard let exchange = exchanges.removeValue(forKey: stream) else { return }
        drop(exchange)
        if exchanges.isEmpty { times.idleSince = loop.now }
    }

    /// Lets an exchange go; what its handler does is in flight until it answers.
    private func drop(_ exchange: HTTP2Exchange) {
        if running.contains(exchange.stream) {
            abandoned += 1
            exchange.cancellation?.cancel()
        }
        if case .done = exchange.phase { return }
        report(.refused(.peerGone))
        finish(exchange)
    }

    private func dropExchanges() {
        let all = exchanges
        exchanges = [:]
        for exchange in all.values { drop(exchange) }
    }

    /// Looks at an exchange whose time has passed.
    func timeOut(_ exchange: HTTP2Exchange) {
        switch exchange.phase {
        case .body(let end):
            if end <= loop.now || exchange.body.count - exchange.windowStart < limits.progressBytes {
                refuse(exchange, .bodyTimeout, status: 408)
            } else {
                startBodyWindow(exchange, end: end)
            }
        case .handling:
            exchange.cancellation?.cancel()
            refuse(exchange, .handlerTimeout, status: 503)
        case .writing:
            // Other streams, or the connection, may be what it waits for: those have times of their own.
            let progress = session.sent(stream: exchange.stream) - exchange.windowStart
            if progress < limits.progressBytes, session.isHeldBack(stream: exchange.stream) {
                report(.refused(.writeTimeout))
                session.reset(stream: exchange.stream, .cancel)
                finish(exchange)
            } else {
                startWriteWindow(exchange)
            }
        case .done:
            exchange.deadline = nil
            session.endDraining(stream: exchange.stream)
        }
    }

    // The end.

    /// A graceful end in two steps: a notice, and when the peer knows it the last stream.
    func beginShutdown(_ reason: HTTP2Ending) {
        guard case .open = stage else { return }
        report(.goAwaySent(reason))
        session.beginShutdown()
        stage = .noticed(until: loop.now.advanced(by: http2.noticeTime))
    }

    func finishShutdown() {
        session.finishShutdown()
        stage = .leaving
    }

    /// Ends a connection without a stream. A request under way is not lost: GOAWAY says that it was not seen.
    func endIdle() {
        report(.goAwaySent(.idle))
        finishShutdown()
    }

    func fail(_ reason: HTTP2Ending, _ code: HTTP2ErrorCode) {
        ending = reason
        session.fail(code)
        takeEvents()
    }

    private func linger() {
        dropExchanges()
        transport.endWriting()
        drained = 0
        stage = .lingering(until: loop.now.advanced(by: limits.drainTime))
    }

    // Bytes out.

    /// Writes what the socket takes.
    private func pump() {
        while true {
            if output.next == nil {
                switch stage {
                case .lingering, .closed: return
                case .open, .noticed, .leaving, .closing: break
                }
                let bytes = session.nextOutput(atMost: Self.outputPiece, now: loop.now)
                output.append(bytes)
                takeEvents()
                if bytes.isEmpty { return }
            }
            guard let (chunk, more) = output.next else { return }
            let result = transport.write(chunk, more: more)
            writeNeedsReadable = result == .needsReadable
            switch result {
            case .bytes(let count): output.consume(count)
            case .needsReadable, .needsWritable: return
            case .ended, .failed: return close()
            }
        }
    }

    /// Brings the output on its way, and tells the loop what to wait for.
    func settle() {
        pump()
        var wanted: UInt32 = 0
        switch stage {
        case .closed: return
        case .lingering: break
        case .open, .noticed, .leaving, .closing:
            if output.next == nil, session.isFinished { linger() }
        }
        if isReading { wanted |= UInt32(readNeedsWritable ? CLINUX_WRITE : CLINUX_READ) }
        if output.next != nil { wanted |= UInt32(writeNeedsReadable ? CLINUX_READ : CLINUX_WRITE) }
        if wanted != mask {
            mask = wanted
            if !loop.watch(self, mask: wanted) { return close() }
        }
        times.watchWriting(self)
        loop.schedule(self)
    }

    func report(_ event: HTTPServerEvent) { loop.context.report(event) }
}
