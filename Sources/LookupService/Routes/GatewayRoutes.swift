// The gateway's resource (service.md 3.4 to 3.8): an encapsulated request is opened, dispatched in the process to the same routes as a
// direct one, and its answer sealed. Nothing of what was inside is seen from outside.

import Cryptography
import HTTPCore
import HTTPServer
import ObliviousHTTP

extension LookupService {
    /// Bytes of an encapsulated request.
    var gatewayBodyLimit: Int {
        max(options.keyBody, options.queriesBody, options.configBody) + (gateway?.rules.overhead ?? 0)
    }

    /// Decides about the head of an encapsulated request.
    func checkGatewayHead(_ head: HTTPRequestHead) throws(ServiceFailure) {
        let type = head.fields["content-type"].map { $0.prefix { $0 != ";" } } ?? ""
        guard type.trimmedBlanks.lowercased() == ObliviousGateway.requestType else { throw .unsupportedMediaType }
    }

    /// Opens an encapsulated request on a thread of its own kind, and answers it.
    func takeEncapsulated(_ call: ServiceCall, by gateway: ObliviousGateway) {
        let work = WorkItem(rank: .upkeep) { [self] in
            guard !call.isPointless else { return call.refuse(.abandoned) }
            let opened: OpenedRequest
            do throws(EncapsulationError) {
                opened = try gateway.open(call.request.body)
            } catch {
                metrics.decapsulations.add(to: .failed(error))
                // Whatever failed in the opening, the client is told to fetch the keys again.
                return call.refuse(error == .malformed ? .malformedMessage : .unknownGatewayKey)
            }
            metrics.decapsulations.add(to: .opened)
            dispatch(opened, of: call, by: gateway)
        } refuse: {
            call.refuse($0)
        }
        if let refusal = openers.submit(work) { call.refuse(refusal) }
    }

    /// Answers what was inside, and seals the answer.
    private func dispatch(_ opened: OpenedRequest, of call: ServiceCall, by gateway: ObliviousGateway) {
        let seal = { @Sendable [self] (response: HTTPResponse, method: String) in
            do {
                let plain = try Self.binary(response, method: method).encoded(
                    BinaryEncoding(paddingMultiple: gateway.rules.paddingMultiple))
                call.answer(
                    HTTPResponse(
                        status: 200,
                        fields: ["content-type": ObliviousGateway.responseType, "cache-control": "private, no-store"],
                        body: try opened.responseSealer.seal(plain)))
            } catch {
                log.note(.computationFailed(useCase: "gateway", reason: "an answer could not be sealed"))
                call.refuse(.internalError)
            }
        }
        let request: HTTPRequest
        do throws(ServiceFailure) {
            request = try innerRequest(opened, of: call, by: gateway)
        } catch {
            metrics.refusals.add(to: .init(route: .gateway, failure: error))
            return seal(error.response, "POST")
        }
        switch begin(request.head) {
        case .respond(let response): seal(response, request.method)
        case .readBody(let limit):
            guard request.body.count <= limit else { return seal(ServiceFailure.bodyTooLarge.response, request.method) }
            handle(request, reply: HTTPReply { seal($0, request.method) })
        }
    }

    /// The request inside, if it is well formed and for us.
    private func innerRequest(
        _ opened: OpenedRequest, of call: ServiceCall, by gateway: ObliviousGateway
    ) throws(ServiceFailure) -> HTTPRequest {
        var limits = BinaryHTTPLimits()
        limits.isStrict = gateway.rules.isStrict
        let inner: BinaryRequest
        do throws(BinaryHTTPError) {
            inner = try BinaryRequest(decoding: opened.plaintext, limits: limits)
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
        guard ["GET", "HEAD", "POST"].contains(inner.method) else { throw .methodNotAllowed }
        guard fields["expect"] == nil else { throw .expectationFailed }
        let parts = inner.path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return HTTPRequest(
            method: inner.method, scheme: inner.scheme, authority: authority, path: String(parts.first ?? "/"),
            query: parts.count > 1 ? String(parts[1]) : nil, fields: fields, body: Array(inner.content), source: .gateway,
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

extension Substring {
    /// Without blanks at its end.
    fileprivate var trimmedBlanks: Substring {
        var text = self
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
