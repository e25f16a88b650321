// The gateway's resource (service.md 3.4 to 3.8, 3.10): an encapsulated request is opened, dispatched in the process to the same routes as a
// direct one, and its answer sealed. Nothing of what was inside is seen from outside.

import Cryptography
import HTTPCore
import HTTPServer
import ObliviousHTTP
import Synchronization

extension LookupService {
    /// Bytes of an encapsulated request.
    var gatewayBodyLimit: Int {
        max(options.keyBody, options.queriesBody, options.configBody) + (gateway?.rules.overhead ?? 0)
    }

    /// Decides about the head of an encapsulated request: the form in which it is sealed.
    @discardableResult
    func checkGatewayHead(_ head: HTTPRequestHead) throws(ServiceFailure) -> EncapsulationForm {
        let type = head.fields["content-type"].map { $0.prefix { $0 != ";" } } ?? ""
        guard let form = gateway?.form(ofType: type.trimmedBlanks.lowercased()) else { throw .unsupportedMediaType }
        return form
    }

    /// Opens an encapsulated request and answers it: at once if it is small and the event loops have time for it, else on a thread
    /// of its own kind.
    func takeEncapsulated(
        _ call: ServiceCall, _ body: SealedBody, in form: EncapsulationForm, by gateway: ObliviousGateway
    ) {
        let openAndDispatch = { @Sendable [self] in
            guard let opened = open(call, body, in: form, by: gateway) else { return }
            dispatch(opened.plaintext, of: call, sealer: opened.sealer, by: gateway)
        }
        // A chunked one may have thousands of pieces. Everything that an event loop does for it counts, what is inside too.
        if form == .whole, body.count <= OpeningShare.longestBody, let turn = openingShare.begin() {
            let isDone = openers.runHere(openAndDispatch)
            openingShare.end(turn)
            if isDone { return }
        }
        let work = WorkItem(rank: .upkeep, run: openAndDispatch) {
            call.refuse($0)
        }
        if let refusal = openers.submit(work) { call.refuse(refusal) }
    }

    /// What was in an encapsulated request; nil if that was refused.
    private func open(
        _ call: ServiceCall, _ body: SealedBody, in form: EncapsulationForm, by gateway: ObliviousGateway
    ) -> OpenedExchange? {
        guard !call.isPointless else {
            call.refuse(.abandoned)
            return nil
        }
        do throws(EncapsulationError) {
            let opened = try gateway.open(body.take(), in: form)
            metrics.decapsulations.add(to: .opened)
            return opened
        } catch {
            metrics.decapsulations.add(to: .failed(error))
            switch error {
            // Of the form, which everyone on the way can see.
            case .malformed, .tooLarge: call.refuse(.malformedMessage)
            // Whatever failed in the opening, the client is told to fetch the keys again.
            case .unknownKey, .unsupportedSuite, .cannotOpen, .truncated: call.refuse(.unknownGatewayKey)
            }
            return nil
        }
    }

    /// Answers what was inside, and seals the answer.
    private func dispatch(
        _ plaintext: ArraySlice<UInt8>, of call: ServiceCall, sealer: ExchangeSealer, by gateway: ObliviousGateway
    ) {
        let seal = { @Sendable [self] (response: HTTPResponse, method: String) in
            do {
                call.answer(
                    try sealer.answer(
                        Self.binary(response, method: method), BinaryEncoding(paddingMultiple: gateway.rules.paddingMultiple)))
            } catch {
                log.note(.computationFailed(useCase: "gateway", reason: "an answer could not be sealed"))
                call.refuse(.internalError)
            }
        }
        let request: HTTPRequest
        do throws(ServiceFailure) {
            request = try innerRequest(plaintext, of: call, by: gateway)
        } catch {
            metrics.refusals.add(to: .init(route: .gateway, failure: error))
            return seal(error.response, "POST")
        }
        switch begin(request.head) {
        case .respond(let response): seal(response, request.method)
        case .readBody(let limit):
            guard request.body.count <= limit else {
                refused(request.path, .bodyTooLarge)
                let response = refusal(.bodyTooLarge, path: request.path)
                record(request.head, response, after: .zero, received: 0)
                return seal(response, request.method)
            }
            handle(request, reply: HTTPReply { seal($0, request.method) })
        }
    }

    /// The request inside, if it is well formed and for us.
    private func innerRequest(
        _ plaintext: ArraySlice<UInt8>, of call: ServiceCall, by gateway: ObliviousGateway
    ) throws(ServiceFailure) -> HTTPRequest {
        var limits = BinaryHTTPLimits()
        limits.isStrict = gateway.rules.isStrict
        let inner: BinaryRequest
        do throws(BinaryHTTPError) {
            inner = try BinaryRequest(decoding: plaintext, limits: limits)
        } catch {
            throw .malformedMessage
        }
        var fields: HTTPFields = [:]
        for field in inner.fields { fields.append(field.name, field.value) }
        let hosts = fields.values("host")
        let authority = inner.authority.isEmpty ? hosts.first ?? "" : inner.authority
        guard hosts.allSatisfy({ $0.lowercased() == authority.lowercased() }),
            gateway.serves(scheme: inner.scheme, authority: authority)
        else { throw .foreignTarget }
        switch inner.method {
        case "GET", "HEAD", "POST": break
        default: throw .methodNotAllowed
        }
        guard fields["expect"] == nil else { throw .expectationFailed }
        let mark = inner.path.utf8.firstIndex(of: UInt8(ascii: "?"))
        return HTTPRequest(
            method: inner.method, scheme: inner.scheme, authority: authority,
            path: mark.map { String(inner.path[..<$0]) } ?? inner.path,
            query: mark.map { String(inner.path[$0...].dropFirst()) }, fields: fields, body: Array(inner.content),
            source: .gateway,
            version: call.request.version, receivedAt: call.request.receivedAt, deadline: call.request.deadline,
            cancellation: call.request.cancellation)
    }

    /// An answer as Binary HTTP; without body where HTTP has none.
    private static func binary(_ response: HTTPResponse, method: String) -> BinaryResponse {
        let isEmpty = method == "HEAD" || response.status == 204 || response.status == 304
        return BinaryResponse(
            status: response.status, fields: response.fields.map { BinaryField($0.name, $0.value) },
            content: isEmpty ? [] : response.body[...])
    }
}

/// The body of an encapsulated request until somebody takes it, so that it is not kept beside what was in it.
final class SealedBody: Sendable {
    private let bytes: Mutex<[UInt8]>

    /// Bytes of it as it arrived.
    let count: Int

    /// Leaves nothing behind.
    init(taking bytes: inout [UInt8]) {
        count = bytes.count
        self.bytes = Mutex(bytes)
        bytes = []
    }

    /// The body; empty from then on.
    func take() -> [UInt8] {
        bytes.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }
}

extension Substring {
    /// Without blanks at its end.
    fileprivate var trimmedBlanks: Substring {
        var text = self
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
