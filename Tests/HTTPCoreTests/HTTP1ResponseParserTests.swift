// The response parser: framing, interim answers, refusals, and independence of cuts.

import HTTPCore
import Testing

@Suite struct HTTP1ResponseParserTests {
    enum Outcome: Equatable {
        case response(HTTPResponse, keepsAlive: Bool)
        case error(HTTPParseError)
    }

    static func run(_ pieces: [ArraySlice<UInt8>], method: String = "GET", limits: HTTPLimits = HTTPLimits()) -> Outcome {
        var parser = HTTP1ResponseParser(limits: limits)
        parser.expect(method: method)
        do throws(HTTPParseError) {
            for piece in pieces {
                parser.append(piece)
                while true {
                    let step = try parser.next()
                    if case .response(let response, let keepsAlive) = step {
                        return .response(response, keepsAlive: keepsAlive)
                    }
                    if step == .needMore { break }
                }
            }
            return .response(try parser.end(), keepsAlive: false)
        } catch {
            return .error(error)
        }
    }

    static func run(_ text: String, method: String = "GET", limits: HTTPLimits = HTTPLimits()) -> Outcome {
        let bytes = Array(text.utf8)
        let whole = run([bytes[...]], method: method, limits: limits)
        #expect(run(singly(bytes), method: method, limits: limits) == whole)
        return whole
    }

    private static func ok(_ status: Int, _ fields: HTTPFields, _ body: String, keepsAlive: Bool) -> Outcome {
        .response(HTTPResponse(status: status, fields: fields, body: Array(body.utf8)), keepsAlive: keepsAlive)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "GET", ok(200, ["content-length": "2"], "hi", keepsAlive: true)),
        ("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "GET", ok(200, ["content-length": "0"], "", keepsAlive: true)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "HEAD", ok(200, ["content-length": "2"], "", keepsAlive: true)),
        ("HTTP/1.1 204 No Content\r\n\r\n", "GET", ok(204, [:], "", keepsAlive: true)),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nrest", "GET", ok(200, [:], "rest", keepsAlive: false)),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "GET", ok(200, ["content-length": "1"], "x", keepsAlive: false)),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "GET",
            ok(200, ["transfer-encoding": "chunked"], "abc", keepsAlive: true)
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", "GET", .error(.truncated)), ("", "GET", .error(.truncated)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na", "GET", .error(.truncated)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", "GET", .error(.conflictingLength)),
        ("HTTP/1.1 101 Switching\r\n\r\n", "GET", .error(.unexpectedUpgrade)),
        ("HTTP/2.0 200 OK\r\n\r\n", "GET", .error(.unsupportedVersion)),
        ("HTTP/1.1 20 OK\r\n\r\n", "GET", .error(.malformedStatusLine)),
        ("HTTP/1.1  200 OK\r\n\r\n", "GET", .error(.malformedStatusLine)),
        ("ICY 200 OK\r\n\r\n", "GET", .error(.malformedStatusLine)),
        ("HTTP/1.1 600 No\r\n\r\n", "GET", .error(.malformedStatusLine)), ("HTTP/1.1 200 OK\n\n", "GET", .error(.bareLineFeed)),
    ])
    func outcome(text: String, method: String, expected: Outcome) {
        #expect(Self.run(text, method: method) == expected)
    }

    @Test(arguments: [4, 5])
    func bodyLimit(count: Int) {
        var limits = HTTPLimits()
        limits.clientResponseBody = 4
        let body = String(repeating: "x", count: count)
        let fits = count <= 4
        #expect((Self.run("HTTP/1.1 200 OK\r\n\r\n" + body, limits: limits) == .error(.bodyTooLarge)) == !fits)
        #expect(
            (Self.run("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n" + body, limits: limits) == .error(.bodyTooLarge))
                == !fits)
    }
}
