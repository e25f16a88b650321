// Messages of Binary HTTP: rules and limits hold for whatever is accepted, and it is the same message in every form in which
// it can be written again.

import ObliviousHTTP

enum BinaryHTTPInput {
    /// Steering: byte 0 the limits (bit 0) and whether case matters (bit 1), byte 1 the form in which it is written again.
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        var limits = input.steer(0) & 1 == 0 ? BinaryHTTPLimits() : tight
        limits.isStrict = input.steer(0) & 2 != 0
        let form = forms[input.steer(1) % forms.count]
        let request = BinaryReading(input.message) { message throws(BinaryHTTPError) in
            try BinaryRequest(decoding: message, limits: limits)
        }
        let response = BinaryReading(input.message) { message throws(BinaryHTTPError) in
            try BinaryResponse(decoding: message, limits: limits)
        }
        verdict.violations = request.violations + response.violations
        verdict.require(request.message == nil || response.message == nil, "a message is a request and a response")
        for error in [request.error, response.error] {
            guard let error else { continue }
            // One branch of the code, between which a corpus chosen by coverage does not tell.
            let isTooLong = [.methodTooLong, .schemeTooLong, .authorityTooLong, .pathTooLong].contains(error.reason)
            verdict.outcomes.insert(isTooLong ? "error partTooLong" : "error \(error.reason)")
        }

        if let message = request.message {
            verdict.outcomes.insert("request")
            judge(message.fields, message.trailers, message.content, [], limits, input, &verdict)
            for text in [message.method, message.scheme, message.authority, message.path] {
                verdict.require(text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "control data is visible ASCII")
            }
            verdict.require(message.path.first == "/" && !message.authority.contains("@"), "no other target is hidden")
            verdict.require(
                message.method.utf8.count <= limits.method && message.scheme.utf8.count <= limits.scheme
                    && message.authority.utf8.count <= limits.authority && message.path.utf8.count <= limits.path,
                "control data stays within its limits")
            let again = try? BinaryRequest(decoding: message.encoded(form)[...], limits: limits)
            verdict.require(again == message, "a request is another when it is written and read again")
        }
        if let message = response.message {
            verdict.outcomes.insert("response")
            if !message.informational.isEmpty { verdict.outcomes.insert("informational") }
            judge(
                message.fields, message.trailers, message.content, message.informational.flatMap(\.fields), limits, input,
                &verdict)
            verdict.require((200...599).contains(message.status), "a final status is one")
            verdict.require(
                message.informational.count <= limits.informational, "informational responses stay within their number")
            let again = try? BinaryResponse(decoding: message.encoded(form)[...], limits: limits)
            verdict.require(again == message, "a response is another when it is written and read again")
        }
        return verdict
    }

    private static func judge(
        _ fields: [BinaryField], _ trailers: [BinaryField], _ content: ArraySlice<UInt8>, _ informational: [BinaryField],
        _ limits: BinaryHTTPLimits, _ input: SteeredInput, _ verdict: inout InputVerdict
    ) {
        let all = fields + trailers + informational
        let size = all.reduce(0) { $0 + $1.name.unicodeScalars.count + $1.value.unicodeScalars.count }
        verdict.require(all.count <= limits.fieldCount && size <= limits.fieldBytes, "fields stay within their limits")
        verdict.require(content.count <= min(limits.content, input.message.count), "content stays within its limit")
        verdict.require(
            all.allSatisfy { $0.name == $0.name.lowercased() && !$0.name.isEmpty && !$0.name.contains(":") },
            "names are in lower case, and none is control data")
        verdict.require(
            all.allSatisfy { hasNoControls($0.value) && !$0.value.hasPrefix(" ") && !$0.value.hasSuffix(" ") },
            "values hold no control bytes and no white space around them")
        let single = ["authorization", "host", "content-length", "user-identifier"]
        verdict.require(
            single.allSatisfy { name in fields.count { $0.name == name } <= 1 && !trailers.contains { $0.name == name } },
            "single fields are single")
        if !content.isEmpty { verdict.outcomes.insert("content") }
        if !trailers.isEmpty { verdict.outcomes.insert("trailers") }
        if input.message.last == 0, input.message.count > 40 { verdict.outcomes.insert("padding") }
    }

    /// Limits that short inputs reach.
    static let tight: BinaryHTTPLimits = {
        var limits = BinaryHTTPLimits()
        limits.fieldCount = 3
        limits.fieldBytes = 40
        limits.method = 4
        limits.scheme = 5
        limits.authority = 11
        limits.path = 4
        limits.informational = 1
        limits.content = 8
        return limits
    }()

    static let forms: [BinaryEncoding] = [
        BinaryEncoding(addsContentLength: false),
        BinaryEncoding(paddingMultiple: 7, isTruncated: true, addsContentLength: false),
        BinaryEncoding(framing: .indeterminateLength(chunk: 1), addsContentLength: false),
        BinaryEncoding(
            framing: .indeterminateLength(chunk: 5), paddingMultiple: 16, isTruncated: true, addsContentLength: false),
    ]

    /// Every form of a few messages, under both kinds of limits.
    static let examples: [[UInt8]] = {
        let fields = [BinaryField("host", "h"), BinaryField("x", "\u{E9}"), BinaryField("te", "trailers")]
        let requests = [
            BinaryRequest(method: "GET", authority: "example.com", path: "/"),
            BinaryRequest(
                method: "POST", authority: "", path: "/key", fields: fields, content: [1, 2, 3, 0, 5, 6],
                trailers: [BinaryField("sum", "1")]),
        ]
        let responses = [
            BinaryResponse(status: 200),
            BinaryResponse(
                status: 401, fields: [BinaryField("content-length", "3"), BinaryField("a", "b")], content: [0, 1, 2],
                trailers: [BinaryField("t", "v")], informational: [.init(status: 103, fields: [BinaryField("link", "l")])]),
        ]
        let messages = forms.flatMap { form in
            requests.compactMap { try? $0.encoded(form) } + responses.compactMap { try? $0.encoded(form) }
        }
        return messages.flatMap { message in [[2, 0, 0], [2, 1, 2], [2, 2, 1]].map { $0 + message } }
    }()
}

/// What one reader said about one input, and whether it said the same elsewhere.
private struct BinaryReading<Message: Equatable> {
    var message: Message?
    var error: BinaryHTTPError?
    var violations: [String] = []

    init(_ bytes: ArraySlice<UInt8>, _ read: (ArraySlice<UInt8>) throws(BinaryHTTPError) -> Message) {
        (message, error) = Self.outcome(bytes, read)
        let moved = Self.outcome(([0, 2, 0xFF] + bytes).dropFirst(3), read)
        if moved.0 != message || moved.1 != error { violations.append("the place of a message changes its meaning") }
        if let error, !(0...bytes.count).contains(error.offset) { violations.append("an error is outside the message") }
        guard let message else { return }
        if Self.outcome(bytes + [0], read).0 != message { violations.append("padding changes a message") }
        if Self.outcome(bytes + [0, 0, 0, 1], read).0 != nil { violations.append("padding hides bytes") }
    }

    private static func outcome(_ bytes: ArraySlice<UInt8>, _ read: (ArraySlice<UInt8>) throws(BinaryHTTPError) -> Message)
        -> (Message?, BinaryHTTPError?)
    {
        do throws(BinaryHTTPError) { return (try read(bytes), nil) } catch { return (nil, error) }
    }
}
