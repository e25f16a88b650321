// `veilring relay`: an Oblivious HTTP relay for tests and demonstrations (RFC 9458 section 6.2).

import Dispatch
import HTTPClient
import HTTPCore
import HTTPServer
import LookupService
import ObliviousHTTP
import Synchronization

/// Forwards encapsulated requests to one gateway, and strips everything that tells whose they are.
final class RelayHandler: HTTPHandler {
    /// Requests that are forwarded at the same time.
    private static let connections = 8
    private static let time: Duration = .seconds(60)

    private let clients: Mutex<[HTTPClient]>
    private let places = DispatchSemaphore(value: RelayHandler.connections)
    private let queue = DispatchQueue(label: "relay", attributes: .concurrent)
    private let resource: String
    private let bodyLimit: Int
    private let waiting = Atomic<Int>(0)

    /// Throws `HTTPURLError` or `HTTPClientError` when the URL or the certificates cannot be used.
    init(gateway: String, trust: TLSTrust, bodyLimit: Int) throws {
        let url = try HTTPURL(gateway)
        let base = try HTTPURL("\(url.scheme.rawValue)://\(url.authority)")
        resource = url.path
        self.bodyLimit = bodyLimit
        clients = Mutex(try (0..<Self.connections).map { _ in try HTTPClient(url: base, trust: trust) })
    }

    func begin(_ head: HTTPRequestHead) -> HTTPAdmission {
        switch head.method {
        case "GET" where head.path == KeyConfiguration.wellKnownPath: return .readBody(limit: 0)
        case "POST":
            guard head.fields["content-type"]?.lowercased().hasPrefix("message/ohttp-") == true else {
                return .respond(HTTPResponse(status: 415))
            }
            // As the vendor's relay says it (service.md 3.11).
            if let length = head.contentLength, length > bodyLimit { return .respond(Self.tooLarge) }
            return .readBody(limit: bodyLimit)
        default: return .respond(HTTPResponse(status: 405, fields: ["allow": "POST"]))
        }
    }

    private static let tooLarge = HTTPResponse(
        status: 413, fields: ["proxy-status": "veilring-relay; error=proxy_internal_response"])

    func handle(_ request: HTTPRequest, reply: HTTPReply) {
        guard waiting.add(1, ordering: .relaxed).newValue <= 1000 else {
            waiting.subtract(1, ordering: .relaxed)
            return reply.send(HTTPResponse(status: 503, fields: ["retry-after": "1"]))
        }
        queue.async { [self] in
            places.wait()
            defer {
                places.signal()
                waiting.subtract(1, ordering: .relaxed)
            }
            reply.send(forward(request))
        }
    }

    private func forward(_ request: HTTPRequest) -> HTTPResponse {
        guard let client = clients.withLock({ $0.popLast() }) else { return HTTPResponse(status: 503) }
        defer { clients.withLock { $0.append(client) } }
        // The media type and the body, and nothing else: no address, agent, cookie or date.
        var fields: HTTPFields = [:]
        for name in ["content-type", "accept"] where request.fields[name] != nil { fields[name] = request.fields[name] }
        let onward = HTTPRequest(
            method: request.method, path: request.method == "GET" ? KeyConfiguration.wellKnownPath : resource, fields: fields,
            body: request.body)
        guard let answer = try? client.send(onward, timeout: Self.time) else {
            return HTTPResponse(status: 502, fields: ["proxy-status": "veilring-relay; error=destination_unavailable"])
        }
        var kept: HTTPFields = [:]
        for name in ["content-type", "cache-control", "retry-after", "etag"] where answer.fields[name] != nil {
            kept[name] = answer.fields[name]
        }
        return HTTPResponse(status: answer.status, fields: kept, body: answer.body)
    }
}

/// Runs a relay until it is told to stop.
struct RelayCommand: Command {
    let name = "relay"
    let summary = "an Oblivious HTTP relay before one gateway, for tests"
    let usage = """
        usage: veilring relay --listen ADDRESS --gateway URL

        Forwards encapsulated requests to the gateway with their media type and nothing else of who sent them; GET of
        /.well-known/ohttp-gateway gives the gateway's keys. In production the phone's vendor has the relay.

        Exit status 0 after SIGTERM, 1 if it could not start, 2 on bad usage.
        """
    let options = [
        Option(name: "--listen", value: "ADDRESS", help: "host:port; port 0 lets the system choose"),
        Option(name: "--gateway", value: "URL", help: "the gateway's resource: scheme, host, port, path"),
        Option(
            name: "--body-limit", value: "BYTES", help: "refuse larger requests with 413, as a relay with declared sizes does"),
        Option(name: "--ca", value: "FILE", help: "trust only the certificates in this PEM file (https)"),
        Option(name: "--insecure", help: "trust any certificate (https): for tests on your own machine"),
    ]

    func run(_ arguments: Arguments, output: any Output) throws -> ExitCode {
        guard arguments.rest.isEmpty else { throw UsageError("relay takes options only") }
        let listen = try arguments.required("--listen")
        guard let address = ListenAddress(listen) else {
            throw UsageError("--listen is host:port, not \(terminalText(listen))")
        }
        let limit = try arguments["--body-limit"].map { text throws(UsageError) -> Int in
            guard let bytes = Int(text), bytes > 0 else { throw UsageError("--body-limit is a number of bytes") }
            return bytes
        }
        SignalWaiter.block()
        let handler = try RelayHandler(
            gateway: try arguments.required("--gateway"), trust: try LookupCommand.trust(arguments),
            bodyLimit: limit ?? 13 << 20)
        let server = HTTPServer(configuration: HTTPServerConfiguration(listeners: [address]), handler: handler)
        let addresses = try server.start()
        output.remark("relay: listening on \(addresses.map(\.description).joined(separator: ", "))")
        while SignalWaiter.next() != .terminate {}
        server.shutdown(drain: .seconds(2))
        return .done
    }
}
