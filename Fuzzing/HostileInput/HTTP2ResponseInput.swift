// The client's side of HTTP/2: the verdict and the output do not depend on the cut, each request gets one response or failure,
// and limits hold.

import HTTPCore

enum HTTP2ResponseInput {
    /// Steering: byte 0 the limits (bit 0) and whether the message is bytes or a script of frames (bit 1), byte 1 what the owner
    /// does (bit 0: gives the second request up; bit 1: closes; bit 2: sends between the pieces; bit 3: sends more than a window), the others the lengths of the
    /// pieces.
    static func judge(_ input: SteeredInput) -> InputVerdict {
        let isRaw = input.steer(0) & 2 != 0
        let bytes = isRaw ? Array(input.message) : FrameScript.frames(input.message)
        let input = SteeredInput(steering: input.steering, message: bytes[...])
        var limits = HTTPLimits()
        var http2 = HTTP2Limits.relay
        limits.clientResponseBody = HTTP1RequestInput.generous
        if input.steer(0) & 1 != 0 {
            limits = HTTP2RequestInput.tight
            limits.clientResponseBody = 16
            http2 = HTTP2RequestInput.tightHTTP2
        }
        guard let whole = HTTP2ResponseReading([input.message], limits, http2) else { return InputVerdict() }
        var verdict = InputVerdict(outcomes: whole.outcomes, violations: whole.violations)
        for (name, pieces) in [
            ("pieces", input.pieces(from: 2)), ("bytes", input.single), ("another place", [input.moved]),
        ] {
            guard let cut = HTTP2ResponseReading(pieces, limits, http2) else { continue }
            verdict.violations += cut.violations.map { "\(name): \($0)" }
            verdict.require(cut.said == whole.said, "other events in \(name)")
            verdict.require(cut.output == whole.output, "another output in \(name)")
        }
        if let steered = HTTP2ResponseReading(input.pieces(from: 2), limits, http2, owner: input.steer(1)) {
            verdict.violations += steered.violations.map { "steered: \($0)" }
            verdict.outcomes.formUnion(steered.outcomes)
        }
        return verdict
    }
}

/// Everything that a client's session said to one input, after it had sent three requests.
struct HTTP2ResponseReading {
    private(set) var said: [HTTP2ClientEvent] = []
    private(set) var output: [UInt8] = []
    private(set) var violations: [String] = []

    private let session: HTTP2ClientSession
    private let limits: HTTPLimits
    /// Requests without response or failure, with their methods.
    private var open: [Int32: String] = [:]
    private var hasFailed = false
    /// Bytes of the body that a request sends.
    private let upload: Int

    /// Feeds the pieces one after the other, then the end of the connection. Nil: no memory.
    init?(_ pieces: [ArraySlice<UInt8>], _ limits: HTTPLimits, _ http2: HTTP2Limits, owner: Int = 0) {
        guard let session = HTTP2ClientSession(limits: limits, http2: http2) else { return nil }
        self.session = session
        self.limits = limits
        upload = owner & 8 == 0 ? 1000 : 70_000
        for (method, body) in [("GET", 0), ("POST", upload), ("HEAD", 0)] {
            let request = HTTPRequest(method: method, authority: "h", path: "/", body: [UInt8](repeating: 1, count: body))
            if let stream = try? session.send(request) { open[stream] = method }
        }
        if open.count != 3 { violations.append("a request cannot be sent") }
        if owner & 2 != 0 { session.close() }
        send()
        for (number, piece) in pieces.enumerated() {
            session.receive(piece)
            take()
            if owner & 4 != 0 { send() }
            if owner & 1 != 0, number == 0, open.removeValue(forKey: 3) != nil { session.cancel(stream: 3) }
        }
        send()
        let frames = OutputFrame.all(in: output.dropFirst(HTTP2Preface.bytes.count)) ?? []
        if hasFailed, !session.isFinished { violations.append("a connection that failed goes on") }
        let said = said.count
        // Without a fault the rest of the input is none: the owner closes.
        if frames.last.map(isFault) == true {
            session.receive(FrameScript.frames((HTTP2Examples.client.first ?? [])[4...])[...])
            take()
            if !session.nextOutput(atMost: 64 * 1024).isEmpty || said != self.said.count {
                violations.append("a connection that failed says more")
            }
        }
        session.connectionEnded()
        take()
        if !open.isEmpty || session.openStreams != 0 { violations.append("a request has no end") }
        checkOutput(received: pieces.reduce(0) { $0 + $1.count })
    }

    private mutating func send() {
        // More pieces than the requests and any input need.
        for _ in 0..<1000 {
            let bytes = session.nextOutput(atMost: 20_000)
            take()
            if bytes.isEmpty { return }
            if bytes.count > 20_000 + 16_384 + 9 + 17 { violations.append("more output at once than asked for") }
            output += bytes
        }
        violations.append("the output does not end")
    }

    private mutating func take() {
        for event in session.takeEvents() {
            said.append(event)
            switch event {
            case .response(let stream, let response):
                if hasFailed { violations.append("a response after the connection has failed") }
                check(response, method: end(stream))
            case .failed(let stream, let failure):
                if hasFailed, failure != .connectionEnded { violations.append("another failure than the connection's") }
                _ = end(stream)
            case .goAway:
                if hasFailed || session.acceptsRequests { violations.append("a connection that goes away takes requests") }
                if said.dropLast().contains(where: isGoAway) { violations.append("a connection goes away twice") }
            case .connectionFailed:
                if hasFailed || session.acceptsRequests { violations.append("a connection that failed takes requests") }
                hasFailed = true
            }
        }
        if session.openStreams != open.count { violations.append("another number of open streams") }
    }

    /// Whether a frame is GOAWAY with a code other than NO_ERROR.
    private func isFault(_ frame: OutputFrame) -> Bool {
        frame.type == OutputFrame.goAway && frame.payload.dropFirst(4).prefix(4).contains { $0 != 0 }
    }

    private func isGoAway(_ event: HTTP2ClientEvent) -> Bool { if case .goAway = event { true } else { false } }

    /// The method of a stream's request, whose only event this is.
    private mutating func end(_ stream: Int32) -> String {
        guard let method = open.removeValue(forKey: stream) else {
            violations.append("a second end of a request, or one of no request")
            return ""
        }
        return method
    }

    private mutating func check(_ response: HTTPResponse, method: String) {
        if !(200...599).contains(response.status) { violations.append("a status that does not exist") }
        if response.body.count > limits.clientResponseBody { violations.append("a body is larger than the limit") }
        if response.fields.count > limits.fieldCount + 1 { violations.append("more fields than allowed") }
        if !response.fields.allSatisfy({ hasNoControls($0.value) }) { violations.append("a control byte in a value") }
        if response.fields.contains(where: { $0.name.contains(":") }) { violations.append("a pseudo-field among the fields") }
        if method == "HEAD" || [204, 304].contains(response.status), !response.body.isEmpty {
            violations.append("a body where there is none")
        }
    }

    /// Behind the preface the output is made of whole frames, no more than the input and the requests explain.
    private mutating func checkOutput(received: Int) {
        let preface = HTTP2Preface.bytes
        guard output.starts(with: preface), let frames = OutputFrame.all(in: output[preface.count...]) else {
            violations.append("the output ends within a frame")
            return
        }
        if frames.first?.type != OutputFrame.settings { violations.append("the output does not begin with SETTINGS") }
        if output.count > 2000 + 4 * received + upload * 11 / 10 {
            violations.append("more output than the input explains")
        }
        let body = frames.filter { $0.type == OutputFrame.data }
        if body.contains(where: { $0.stream != 3 }) || body.reduce(0, { $0 + $1.payload.count }) > upload {
            violations.append("more body than the request has")
        }
        if hasFailed, frames.last?.type != OutputFrame.goAway { violations.append("the last words are not GOAWAY") }
    }

    var outcomes: Set<String> {
        var outcomes: Set<String> = []
        for event in said {
            switch event {
            case .response(_, let response): outcomes.insert(response.body.isEmpty ? "response" : "response with body")
            case .failed(_, .notProcessed): outcomes.insert("not processed")
            case .failed(_, .reset(let code)): outcomes.insert("reset \(code)")
            case .failed(_, .invalidResponse(let error)): outcomes.insert("error \(error.rawValue)")
            case .failed(_, .connectionEnded): outcomes.insert("connection ended")
            case .goAway: outcomes.insert("goes away")
            case .connectionFailed(let code): outcomes.insert("failed \(code)")
            }
        }
        return outcomes
    }
}
