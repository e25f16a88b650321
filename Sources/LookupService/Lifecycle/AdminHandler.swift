// The admin listener's routes (service.md 1.5): `/livez`, `/readyz`, `/metrics`, `/version`. What probes ask is answered on the
// event loop at once; what has to look around is answered from a thread of its own, one after the other.

import Dispatch
import HTTPCore
import HTTPServer
import Synchronization

/// Whether queries can be answered.
struct Readiness: Sendable, Equatable {
    /// What is missing, in words without private values; empty when ready.
    var missing: [String]
    /// What is not as it should be, though it goes on.
    var remarks: [String] = []

    var isReady: Bool { missing.isEmpty }

    /// The answer of `/readyz`.
    var response: HTTPResponse {
        let lines = isReady ? ["ready"] + remarks : missing.map { "not ready: \($0)" } + remarks
        return AdminHandler.text(lines.joined(separator: "\n") + "\n", status: isReady ? 200 : 503)
    }
}

/// Answers probes and scrapes.
final class AdminHandler: HTTPHandler {
    /// Scrapes that wait for the ones before; 503 above.
    static let mostWaiting = 8

    private let readiness: @Sendable () -> Readiness
    private let metrics: @Sendable () -> String
    private let version: @Sendable () -> String
    private let queue = DispatchQueue(label: "admin")
    private let waiting = Atomic<Int>(0)

    /// A handler.
    ///
    /// - Parameters:
    ///   - readiness: called on an event loop; must be quick.
    ///   - metrics: gives the page of `/metrics`; may wait for a disk.
    ///   - version: gives the JSON of `/version`.
    init(
        readiness: @escaping @Sendable () -> Readiness, metrics: @escaping @Sendable () -> String,
        version: @escaping @Sendable () -> String
    ) {
        self.readiness = readiness
        self.metrics = metrics
        self.version = version
    }

    func begin(_ head: HTTPRequestHead) -> HTTPAdmission {
        let isKnown = ["/livez", "/readyz", "/metrics", "/version"].contains(head.path)
        guard isKnown else { return .respond(Self.text("not found\n", status: 404)) }
        guard head.method == "GET" || head.method == "HEAD" else {
            var response = Self.text("method not allowed\n", status: 405)
            response.fields.append("allow", "GET, HEAD")
            return .respond(response)
        }
        switch head.path {
        case "/livez": return .respond(Self.text("alive\n"))
        case "/readyz": return .respond(readiness().response)
        default: return .readBody(limit: 0)
        }
    }

    func handle(_ request: HTTPRequest, reply: HTTPReply) {
        if request.path == "/version" {
            return reply.send(Self.response(version() + "\n", type: "application/json", status: 200))
        }
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue <= Self.mostWaiting else {
            waiting.wrappingSubtract(1, ordering: .relaxed)
            return reply.send(Self.text("too many scrapes at once\n", status: 503))
        }
        queue.async { [self] in
            reply.send(Self.response(metrics(), type: MetricsText.mediaType, status: 200))
            waiting.wrappingSubtract(1, ordering: .relaxed)
        }
    }

    static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        response(text, type: "text/plain; charset=utf-8", status: status)
    }

    private static func response(_ text: String, type: String, status: Int) -> HTTPResponse {
        HTTPResponse(
            status: status, fields: ["content-type": type, "cache-control": "no-store"], body: Array(text.utf8))
    }
}
