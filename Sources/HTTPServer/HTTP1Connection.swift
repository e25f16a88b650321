// One HTTP/1.1 connection of a server: reading, admission, handling, writing, draining (service.md 5.3, 7). It lives on
// its event loop's thread.

import CLinux
import HTTPCore

final class HTTP1Connection: LoopConnection {
    private enum Phase {
        /// No byte of a request yet.
        case idle
        /// Inside a header section.
        case head
        /// Inside a body.
        case body(end: ContinuousClock.Instant)
        /// The handler works; reading is paused.
        case handling
        /// The answer leaves.
        case writing
        /// The last answer has left; what the peer still sends is thrown away for a moment, or the kernel's reset could
        /// destroy the answer before it is read.
        case draining
        case closed
    }

    /// The request being worked on.
    private struct Current {
        let head: HTTP1RequestHead
        let start: ContinuousClock.Instant
        var lease: BodyBudget.Lease?
        /// The most that the body can come to.
        var bodyBound = 0
        var requestBytes = 0
        var cancellation: HTTPCancellation?
    }

    /// The answer being written.
    private struct Answer {
        let status: Int
        let bytes: Int
        let closes: Bool
        let lease: BodyBudget.Lease?
    }

    let id: UInt64
    let censusKey: UInt64?
    var descriptor: Int32 { transport.descriptor }
    private(set) var deadline: ContinuousClock.Instant?
    var scheduled: ContinuousClock.Instant?

    private var transport: any ByteTransport
    private unowned let loop: EventLoop
    private let limits: HTTPLimits
    private var parser: HTTP1RequestParser
    private var phase = Phase.idle
    private var current: Current?
    private var requestNumber: UInt64 = 0
    private var answer: Answer?
    private var output = OutputQueue()
    private var windowStart = 0
    private var drained = 0
    private var peerEnded = false
    private var mask = UInt32(CLINUX_READ)
    /// Whether the transport needs the other direction first (TLS).
    private var readNeedsWritable = false
    private var writeNeedsReadable = false
    /// When the first byte arrived, if that was before this object took over.
    private var firstByte: ContinuousClock.Instant?
    /// How far the lease of a body is ahead of what has arrived.
    private static let leaseStep = 16 * 1024

    init(_ handover: ConnectionHandover, loop: EventLoop) {
        id = handover.id
        transport = handover.transport
        censusKey = handover.censusKey
        self.loop = loop
        limits = loop.context.limits
        parser = HTTP1RequestParser(limits: limits, scheme: handover.scheme, source: .direct(handover.peer))
        parser.append(handover.received[...])
        firstByte = handover.firstByte
        // A handshake may end when the server has been told to stop: who has just connected still gets a moment to ask.
        deadline = loop.now.advanced(by: loop.isShuttingDown ? min(limits.idleTime, limits.drainTime) : limits.idleTime)
    }

    // Events.

    func start() { process() }

    func ready(mask events: UInt32) {
        let readable = events & UInt32(CLINUX_READ) != 0
        let failed = events & UInt32(CLINUX_FAILED) != 0
        if events & UInt32(CLINUX_PEER_ENDED) != 0, case .handling = phase {
            // Most likely the peer has gone; if it only ended its sending side it still gets the answer.
            peerEnded = true
            current?.cancellation?.cancel()
        }
        let writable = events & UInt32(CLINUX_WRITE) != 0
        if writeNeedsReadable ? readable : writable { flush() }
        if isReading, failed || (readNeedsWritable ? writable : readable) {
            read(failed: failed)
        } else if failed {
            abandon()
        }
        process()
    }

    func answer(_ outcome: HTTPReply.Outcome, request: UInt64) {
        guard case .handling = phase, request == requestNumber else { return }
        switch outcome {
        case .response(let response): respond(response)
        case .dropped: refuse(.replyDropped, status: 500)
        }
        process()
    }

    func timeOut() {
        switch phase {
        case .idle, .draining: close()
        case .head: refuse(.headerTimeout, status: 408, early: true)
        case .body(let end):
            let progress = parser.bodyBytes - windowStart
            if end <= loop.now || progress < limits.progressBytes {
                refuse(.bodyTimeout, status: 408, early: true)
            } else {
                startBodyWindow(end: end)
            }
        case .handling:
            current?.cancellation?.cancel()
            refuse(.handlerTimeout, status: 503, early: true)
        case .writing:
            if output.written - windowStart < limits.progressBytes {
                report(.refused(.writeTimeout))
                close()
            } else {
                startWriteWindow()
            }
        case .closed: deadline = nil
        }
        process()
    }

    /// The server stops: an idle connection ends now, others after their answer. What has arrived already is answered, and who has
    /// not asked anything yet gets a moment to.
    func shutdown() {
        guard case .idle = phase else { return }
        ready(mask: UInt32(CLINUX_READ))
        guard case .idle = phase else { return }
        if requestNumber > 0 { return close() }
        deadline = min(deadline ?? .now, loop.now.advanced(by: limits.drainTime))
        loop.schedule(self)
    }

    func close() {
        if case .closed = phase { return }
        phase = .closed
        current?.cancellation?.cancel()
        current = nil
        deadline = nil
        loop.forget(self)
        transport.close()
    }

    // Reading.

    private var isReading: Bool {
        switch phase {
        case .idle, .head, .body, .draining: true
        case .handling, .writing, .closed: false
        }
    }

    private func read(failed: Bool) {
        let result = transport.read(into: &loop.scratch)
        readNeedsWritable = result == .needsWritable
        switch result {
        case .bytes(let count):
            if case .draining = phase {
                drained += count
                if drained > limits.drainBytes { close() }
            } else {
                parser.append(loop.scratch[..<count])
            }
        case .needsReadable, .needsWritable: if failed { abandon() }
        case .ended, .failed: abandon()
        }
    }

    /// The peer has gone.
    private func abandon() {
        switch phase {
        case .body, .handling, .writing: report(.refused(.peerGone))
        case .idle, .head, .draining, .closed: break
        }
        close()
    }

    /// Takes as many steps as the received bytes allow, one request after the other, then waits for what is needed.
    private func process() {
        do {
            steps: while true {
                switch phase {
                case .idle, .head, .body: break
                case .handling, .writing, .draining, .closed: break steps
                }
                switch try parser.next() {
                case .needMore:
                    if transport.hasBufferedInput {
                        read(failed: false)
                        continue
                    }
                    guard leaseCoversBody() else {
                        refuse(.bodyBudget, status: 503, early: true)
                        break steps
                    }
                    noteWaiting()
                    break steps
                case .head(let head): try begin(head)
                case .body(let body): handle(body)
                }
            }
        } catch {
            refuse(.message(error), status: error.status, early: true)
        }
        wait()
    }

    private func noteWaiting() {
        guard case .idle = phase else { return }
        if parser.isBetweenRequests {
            parser.releaseBuffers()
        } else {
            phase = .head
            deadline = (firstByte ?? loop.now).advanced(by: limits.headerTime)
        }
        firstByte = nil
    }

    private func begin(_ head: HTTP1RequestHead) throws(HTTPParseError) {
        requestNumber += 1
        current = Current(head: head, start: loop.now)
        switch loop.context.handler.begin(head.head) {
        case .respond(let response):
            // A body that has arrived already (none is one of 0 bytes) costs nothing to skip, and the connection lives on.
            if let length = head.head.contentLength, length <= parser.bufferedBytes {
                try parser.readBody(limit: length)
                _ = try parser.next()
                respond(response)
            } else {
                respond(response, early: true)
            }
        case .readBody(let limit):
            let bound = max(0, limit)
            if head.framing != .none {
                if let length = head.head.contentLength, length > bound { throw .bodyTooLarge }
                let most = head.head.contentLength ?? bound
                guard let lease = loop.context.budget.reserve(min(most, Self.leaseStep)) else {
                    return refuse(.bodyBudget, status: 503, early: true)
                }
                current?.lease = lease
                current?.bodyBound = most
            }
            try parser.readBody(limit: bound)
            let end = loop.now.advanced(by: limits.bodyTime)
            phase = .body(end: end)
            startBodyWindow(end: end)
            if head.expectsContinue, parser.bufferedBytes == 0 {
                output.append(HTTP1Serializer.continueResponse)
                flush()
            }
        }
    }

    /// Whether the budget has room for what has arrived of a body, and a little more.
    private func leaseCoversBody() -> Bool {
        guard case .body = phase, let current, let lease = current.lease else { return true }
        return lease.grow(to: min(current.bodyBound, parser.bodyBytes + Self.leaseStep))
    }

    private func startBodyWindow(end: ContinuousClock.Instant) {
        windowStart = parser.bodyBytes
        deadline = min(end, loop.now.advanced(by: limits.bodyProgressTime))
    }

    // Handling.

    private func handle(_ body: consuming [UInt8]) {
        guard var current else { return close() }
        if let lease = current.lease, !lease.grow(to: body.count) { return refuse(.bodyBudget, status: 503) }
        let cancellation = HTTPCancellation()
        let lease = current.lease
        current.requestBytes = body.count
        current.cancellation = cancellation
        current.lease = nil
        self.current = current
        phase = .handling
        deadline = loop.now.advanced(by: limits.handlerTime)
        let received = ContinuousClock.Instant.now
        let request = HTTPRequest(
            head: current.head.head, body: body, receivedAt: received,
            deadline: received.advanced(by: limits.requestTime), cancellation: cancellation)
        let reply = HTTPReply { [id, requestNumber, mailbox = loop.mailbox] outcome in
            withExtendedLifetime(lease) {
                _ = mailbox.post(.reply(connection: id, request: requestNumber, outcome))
            }
        }
        loop.context.handler.handle(request, reply: reply)
    }

    // Answering.

    private func refuse(_ reason: HTTPRefusal, status: Int, early: Bool = false) {
        report(.refused(reason))
        respond(Self.refusal(status), early: early)
    }

    static func refusal(_ status: Int) -> HTTPResponse {
        // Spread, so that peers refused together do not come back together.
        HTTPResponse(status: status, fields: status == 503 ? ["retry-after": "\(Int.random(in: 1...5))"] : [:])
    }

    /// Queues the answer and starts to write it. `early`: the request was not read to its end, so the connection closes.
    private func respond(_ given: HTTPResponse, early: Bool = false) {
        if case .closed = phase { return }
        var response = given
        if response.body.count > limits.responseBody {
            report(.refused(.responseTooLarge))
            response = HTTPResponse(status: 500)
        }
        var lease: BodyBudget.Lease?
        if response.body.count > Self.leaseStep {
            // Peers that do not take their answers must not fill the memory with them.
            lease = loop.context.answers.reserve(response.body.count)
            if lease == nil {
                report(.refused(.bodyBudget))
                response = Self.refusal(503)
            }
        }
        let closes = early || loop.isShuttingDown || !(current?.head.keepsAlive ?? false)
        let minorVersion = current?.head.minorVersion ?? 1
        var head: [UInt8]
        do {
            head = try HTTP1Serializer.responseHead(
                response, contentLength: response.body.count, date: loop.date, closes: closes, minorVersion: minorVersion)
        } catch {
            report(.refused(.responseInvalid(error)))
            response = HTTPResponse(status: 500)
            let text = "HTTP/1.1 500 Internal Server Error\r\ndate: \(loop.date)\r\ncontent-length: 0\r\n"
            head = Array((text + (closes ? "connection: close\r\n\r\n" : "\r\n")).utf8)
        }
        let hasBody = current?.head.head.method != "HEAD" && response.status != 204 && response.status != 304
        let body = hasBody ? response.body : []
        if body.count <= 16 * 1024 {
            head += body
            output.append(head)
        } else {
            output.append(head)
            output.append(body)
        }
        answer = Answer(status: response.status, bytes: body.count, closes: closes, lease: lease)
        phase = .writing
        startWriteWindow()
        flush()
    }

    private func startWriteWindow() {
        windowStart = output.written
        deadline = loop.now.advanced(by: limits.writeProgressTime)
    }

    /// Writes what the socket takes; at the end of an answer goes on to the next request or to draining.
    private func flush() {
        while let (chunk, more) = output.next {
            let result = transport.write(chunk, more: more)
            writeNeedsReadable = result == .needsReadable
            switch result {
            case .bytes(let count): output.consume(count)
            case .needsReadable, .needsWritable: return
            case .ended, .failed: return abandon()
            }
        }
        guard case .writing = phase, let answer else { return }
        report(
            .requestCompleted(
                status: answer.status, requestBytes: current?.requestBytes ?? 0, responseBytes: answer.bytes,
                duration: current.map { $0.start.duration(to: .now) } ?? .zero,
                version: current?.head.head.version ?? .http11))
        self.answer = nil
        current = nil
        // The answer may have been under way already when the server was told to stop.
        if answer.closes || loop.isShuttingDown {
            transport.endWriting()
            phase = .draining
            drained = 0
            deadline = loop.now.advanced(by: limits.drainTime)
        } else {
            phase = .idle
            deadline = loop.now.advanced(by: limits.idleTime)
        }
    }

    // Waiting.

    /// Tells the loop what to wait for, if that changed.
    private func wait() {
        var wanted: UInt32 = 0
        switch phase {
        case .closed: return
        case .idle, .head, .body, .draining: wanted = UInt32(readNeedsWritable ? CLINUX_WRITE : CLINUX_READ)
        case .handling: if !peerEnded { wanted = UInt32(CLINUX_PEER_ENDED) }
        case .writing: break
        }
        if output.next != nil { wanted |= UInt32(writeNeedsReadable ? CLINUX_READ : CLINUX_WRITE) }
        if wanted != mask {
            mask = wanted
            if !loop.watch(self, mask: wanted) { return close() }
        }
        loop.schedule(self)
    }

    private func report(_ event: HTTPServerEvent) { loop.context.report(event) }
}
