// Binary HTTP: what is written is read again as the same in every form, rules and limits hold, mutated messages harm nobody.

import Testing

@testable import ObliviousHTTP

@Suite struct BinaryHTTPTests {
    static let request = BinaryRequest(
        method: "POST", authority: "pir.example.org:8443", path: "/queries?a=b",
        fields: [
            BinaryField("user-identifier", "u"), BinaryField("x-text", "caf\u{E9} \u{80}\u{FF}\ty"), BinaryField("x", ""),
        ],
        content: [0, 1, 2, 3, 4, 5, 6], trailers: [BinaryField("x-sum", "7")])
    static let response = BinaryResponse(
        status: 599, fields: [BinaryField("a", "1"), BinaryField("a", "2")], content: [9, 8, 7],
        trailers: [BinaryField("t", "v")],
        informational: [
            .init(status: 103, fields: [BinaryField("link", "x"), BinaryField("link", "y")]), .init(status: 100),
        ])

    static let forms: [BinaryEncoding] = [
        BinaryEncoding(addsContentLength: false),
        BinaryEncoding(paddingMultiple: 256, addsContentLength: false),
        BinaryEncoding(isTruncated: true, addsContentLength: false),
        BinaryEncoding(framing: .indeterminateLength(chunk: 1), addsContentLength: false),
        BinaryEncoding(
            framing: .indeterminateLength(chunk: 3), paddingMultiple: 2, isTruncated: true, addsContentLength: false),
        BinaryEncoding(framing: .indeterminateLength(chunk: 1 << 20), addsContentLength: false),
    ]

    @Test(arguments: forms) func readAgain(form: BinaryEncoding) throws {
        for parts in 0..<8 {
            var (request, response) = (Self.request, Self.response)
            if parts & 1 == 0 { (request.fields, response.fields) = ([], []) }
            if parts & 2 == 0 { (request.content, response.content) = ([], []) }
            if parts & 4 == 0 { (request.trailers, response.trailers, response.informational) = ([], [], []) }
            let bytes = try request.encoded(form)
            #expect(try BinaryRequest(decoding: bytes[...]) == request)
            #expect(try BinaryResponse(decoding: response.encoded(form)[...]) == response)
            #expect(bytes.count % form.paddingMultiple == 0)
            for padding in 1...3 {
                let padded = bytes + [UInt8](repeating: 0, count: padding)
                // Zeros behind a truncated message are empty sections first.
                #expect(try BinaryRequest(decoding: padded[...]) == request)
                #expect(throws: BinaryHTTPError.self) { try BinaryRequest(decoding: (padded + [1])[...]) }
            }
        }
    }

    @Test func ourForm() throws {
        let request = BinaryRequest(method: "GET", authority: "example.com", path: "/")
        #expect(hex(try request.encoded()) == "00034745540568747470730b6578616d706c652e636f6d012f000000")
        #expect(
            hex(try request.encoded(BinaryEncoding(isTruncated: true)))
                == "00034745540568747470730b6578616d706c652e636f6d012f")
        #expect(hex(try BinaryResponse(status: 200).encoded()) == "0140c8000000")
        let answer = try BinaryResponse(status: 200, content: [1, 2]).encoded()
        #expect(try BinaryResponse(decoding: answer[...]).fields == [BinaryField("content-length", "2")])
        let own = try BinaryResponse(status: 200, fields: [BinaryField("content-length", "2")], content: [1, 2]).encoded()
        #expect(own == answer)
        #expect(throws: BinaryHTTPError.self) {
            try BinaryResponse(status: 200, fields: [BinaryField("content-length", "3")], content: [1, 2]).encoded()
        }
        let head = BinaryResponse(status: 200, fields: [BinaryField("content-length", "12345")])
        #expect(try BinaryResponse(decoding: head.encoded()[...]) == head, "as in an answer to HEAD")
    }

    @Test(arguments: [
        ("GE T", "https", "h", "/"), ("", "https", "h", "/"), ("GET", "", "h", "/"), ("GET", "1ttp", "h", "/"),
        ("GET", "ht:p", "h", "/"), ("GET", "https", "a@h", "/"), ("GET", "https", "h/x", "/"), ("GET", "https", "h h", "/"),
        ("GET", "https", "h\u{E9}", "/"), ("GET", "https", "h", ""), ("GET", "https", "h", "x"), ("GET", "https", "h", "*"),
        ("GET", "https", "h", "/a b"), ("GET", "https", "h", "/a#b"), ("GET", "https", "h", "/\n"),
        ("GET", "https", "h", "/\u{E9}"), ("G\u{20AC}T", "https", "h", "/"),
    ])
    func badControlDataIsNeitherReadNorWritten(method: String, scheme: String, authority: String, path: String) throws {
        #expect(throws: BinaryHTTPError.self) {
            try BinaryRequest(method: method, scheme: scheme, authority: authority, path: path).encoded()
        }
        let raw: [UInt8] =
            [0]
            + [method, scheme, authority, path].flatMap { text in
                let bytes = text.textBytes ?? Array(text.utf8)
                return [UInt8(bytes.count)] + bytes
            }
        #expect(throws: BinaryHTTPError.self) { try BinaryRequest(decoding: raw[...]) }
    }

    @Test(
        arguments: [
            ("", "v", .emptyFieldName), (":path", "/", .pseudoField), (":x", "", .pseudoField), ("a b", "v", .badFieldName),
            ("a:", "v", .badFieldName), ("a\u{E9}", "v", .badFieldName), ("a\n", "v", .badFieldName),
            ("a", "b\r\nc: d", .badFieldValue),
            ("a", "\nb", .badFieldValue), ("a", "b\0", .badFieldValue), ("a", "\u{7F}", .badFieldValue),
            ("a", " b", .badFieldValue),
            ("a", "b ", .badFieldValue), ("a", "\tb", .badFieldValue), ("a", " ", .badFieldValue),
            ("connection", "close", .connectionField), ("keep-alive", "1", .connectionField),
            ("proxy-connection", "x", .connectionField), ("transfer-encoding", "chunked", .connectionField),
            ("upgrade", "h2c", .connectionField), ("te", "gzip", .connectionField), ("content-length", "", .badContentLength),
            ("content-length", "+7", .badContentLength), ("content-length", "7, 7", .badContentLength),
            ("content-length", "8", .badContentLength), ("content-length", "9999999999999999999", .badContentLength),
        ] as [(String, String, BinaryHTTPError.Reason)])
    func badFieldsAreNeitherReadNorWritten(name: String, value: String, reason: BinaryHTTPError.Reason) throws {
        var request = Self.request
        request.fields.append(BinaryField(name, value))
        expectFailure(reason) { () throws(BinaryHTTPError) in _ = try request.encoded() }
        for isKnownLength in [true, false] {
            let (name, value) = (try #require(name.textBytes), try #require(value.textBytes))
            let line = [UInt8(name.count)] + name + [UInt8(value.count)] + value
            var raw: [UInt8] = [isKnownLength ? 0 : 2, 3, 0x47, 0x45, 0x54, 1, 0x68, 1, 0x68, 1, 0x2F]
            let start = raw.count + (isKnownLength ? 1 : 0)
            raw += isKnownLength ? [UInt8(line.count)] + line : line + [0]
            raw += isKnownLength ? [7, 1, 2, 3, 4, 5, 6, 7] : [7, 1, 2, 3, 4, 5, 6, 7, 0]
            if !isKnownLength, name.isEmpty { continue }  // reads as the end of the section
            expectFailure(reason, at: start) { () throws(BinaryHTTPError) in _ = try BinaryRequest(decoding: raw[...]) }
        }
    }

    func expectFailure(
        _ reason: BinaryHTTPError.Reason, at offset: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () throws(BinaryHTTPError) -> Void
    ) {
        do throws(BinaryHTTPError) {
            try body()
            Issue.record("no error where \(reason) was expected", sourceLocation: sourceLocation)
        } catch {
            #expect(error.reason == reason, sourceLocation: sourceLocation)
            if let offset { #expect(error.offset == offset, sourceLocation: sourceLocation) }
        }
    }

    @Test func someFieldsMayBeThereOnce() throws {
        for name in ["authorization", "host", "user-identifier"] {
            var request = BinaryRequest(method: "GET", authority: "h", path: "/", fields: [BinaryField(name, "a")])
            #expect(try BinaryRequest(decoding: request.encoded()[...]) == request)
            request.fields.append(BinaryField(name, "a"))
            expectFailure(.repeatedField) { () throws(BinaryHTTPError) in _ = try request.encoded() }
            request.fields.removeLast()
            request.trailers = [BinaryField(name, "a")]
            expectFailure(.fieldInTrailers) { () throws(BinaryHTTPError) in _ = try request.encoded() }
        }
        var request = BinaryRequest(method: "GET", authority: "h", path: "/", fields: [BinaryField("te", "trailers")])
        request.fields += [BinaryField("cookie", "a"), BinaryField("cookie", "b")]
        #expect(try BinaryRequest(decoding: request.encoded()[...]) == request)
    }

    @Test func upperCaseIsMadeLower() throws {
        var raw: [UInt8] = [0, 3, 0x47, 0x45, 0x54, 1, 0x68, 1, 0x68, 1, 0x2F, 6, 4]
        raw += Array("HoSt".utf8) + [0]
        #expect(try BinaryRequest(decoding: raw[...]).fields == [BinaryField("host", "")])
        expectFailure(.upperCaseFieldName) { () throws(BinaryHTTPError) in
            _ = try BinaryRequest(decoding: raw[...], limits: BinaryHTTPVectorTests.strict)
        }
        let written = BinaryRequest(method: "GET", authority: "h", path: "/", fields: [BinaryField("Host", "h")])
        expectFailure(.upperCaseFieldName) { () throws(BinaryHTTPError) in _ = try written.encoded() }
    }

    @Test func statuses() throws {
        for status in [99, 100, 199, 600, 0, -1] {
            expectFailure(.badStatus) { () throws(BinaryHTTPError) in _ = try BinaryResponse(status: status).encoded() }
        }
        let final = BinaryResponse(status: 200, informational: [.init(status: 200)])
        expectFailure(.badStatus) { () throws(BinaryHTTPError) in _ = try final.encoded() }
        #expect(try BinaryResponse(decoding: [1, 0x42, 0x57]).status == 599)
        expectFailure(.badStatus, at: 1) { () throws(BinaryHTTPError) in _ = try BinaryResponse(decoding: [1, 0x42, 0x58]) }
        expectFailure(.unknownFraming, at: 0) { () throws(BinaryHTTPError) in _ = try BinaryResponse(decoding: [4]) }
        expectFailure(.truncated, at: 0) { () throws(BinaryHTTPError) in _ = try BinaryResponse(decoding: []) }
    }

    @Test func limitsHoldExactly() throws {
        func decode(_ request: BinaryRequest, _ limits: BinaryHTTPLimits) throws(BinaryHTTPError) {
            for form in [Self.forms[0], Self.forms[3]] {
                let bytes: [UInt8]
                bytes = try request.encoded(form)
                _ = try BinaryRequest(decoding: bytes[...], limits: limits)
            }
        }
        let exact: BinaryHTTPLimits = {
            var limits = BinaryHTTPLimits()
            limits.method = 4
            limits.scheme = 5
            limits.authority = 20
            limits.path = 12
            limits.content = 7
            limits.fieldCount = 4
            limits.fieldBytes = 15 + 1 + 6 + 9 + 1 + 5 + 1
            return limits
        }()
        try decode(Self.request, exact)
        for (limit, reason) in [
            (\.method, .methodTooLong), (\.scheme, .schemeTooLong), (\.authority, .authorityTooLong), (\.path, .pathTooLong),
            (\.content, .contentTooLarge), (\.fieldCount, .tooManyFields), (\.fieldBytes, .fieldsTooLarge),
        ] as [(WritableKeyPath<BinaryHTTPLimits, Int>, BinaryHTTPError.Reason)] {
            var limits = exact
            limits[keyPath: limit] -= 1
            expectFailure(reason) { () throws(BinaryHTTPError) in try decode(Self.request, limits) }
        }
        var limits = BinaryHTTPLimits()
        limits.informational = 2
        let bytes = try Self.response.encoded(Self.forms[0])
        #expect(try BinaryResponse(decoding: bytes[...], limits: limits) == Self.response)
        limits.informational = 1
        expectFailure(.tooManyInformational) { () throws(BinaryHTTPError) in
            _ = try BinaryResponse(decoding: bytes[...], limits: limits)
        }
    }

    @Test func integers() {
        for (value, text) in [
            (0, "00"), (63, "3f"), (64, "4040"), (16_383, "7fff"), (16_384, "80004000"), ((1 << 30) - 1, "bfffffff"),
            (1 << 30, "c000000040000000"), ((1 << 62) - 1, "ffffffffffffffff"),
        ] {
            var written: [UInt8] = []
            VariableLengthInteger.append(value, to: &written)
            #expect(hex(written) == text)
            #expect(VariableLengthInteger.value(written[...]) == UInt64(value))
            #expect(VariableLengthInteger.length(written[0]) == written.count)
        }
    }

    @Test func mutatedMessagesAreReadOrRefused() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(state: seed)
        let seeds = try BinaryHTTPVectorTests.accepted().map(\.message.bytes)
        var accepted = 0
        for round in 0..<4000 {
            var message = seeds[Int.random(in: seeds.indices, using: &random)]
            for _ in 0..<Int.random(in: 1...4, using: &random) where !message.isEmpty {
                let place = Int.random(in: message.indices, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: message[place] = UInt8.random(in: 0...255, using: &random)
                case 1: message.remove(at: place)
                case 2: message.insert(UInt8.random(in: 0...255, using: &random), at: place)
                default: message[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
            }
            // What is read can be written, and is the same then.
            if let request = try? BinaryRequest(decoding: message[...]) {
                let form = Self.forms[round % Self.forms.count]
                #expect(try BinaryRequest(decoding: request.encoded(form)[...]) == request, "seed \(seed), round \(round)")
                accepted += 1
            }
            if let response = try? BinaryResponse(decoding: message[...]) {
                let form = Self.forms[round % Self.forms.count]
                #expect(try BinaryResponse(decoding: response.encoded(form)[...]) == response, "seed \(seed), round \(round)")
                accepted += 1
            }
        }
        #expect(accepted > 100, "seed \(seed)")
    }

    @Test func errorsSayNothingOfTheMessage() {
        for reason in BinaryHTTPError.Reason.allCases {
            #expect("\(BinaryHTTPError(reason: reason, offset: 12))" == "byte 12: \(reason.rawValue)")
        }
        #expect(Set(BinaryHTTPError.Reason.allCases.map(\.rawValue)).count == BinaryHTTPError.Reason.allCases.count)
    }
}
