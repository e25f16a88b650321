// One request on its way through the service: its token, its one answer, and the line that the log gets.

import HTTPCore
import HTTPServer
import StateStore
import Synchronization

/// One request on its way: answers it once, and writes its line.
final class ServiceCall: Sendable {
    let request: HTTPRequest
    /// Bytes of its body.
    private let received: Int
    private let reply: HTTPReply
    private let service: LookupService
    private let isAnswered = Atomic<Bool>(false)
    /// The token that pays for it, and whether it is spent already.
    private let payment = Mutex<(token: RedeemableToken, isSpent: Bool)?>(nil)

    /// - Parameter received: bytes of the body, which may be elsewhere by now.
    init(request: HTTPRequest, received: Int, reply: HTTPReply, service: LookupService) {
        self.received = received
        self.request = request
        self.reply = reply
        self.service = service
        service.metrics.requestsInFlight.add(1)
    }

    deinit { if !isDone { service.metrics.requestsInFlight.add(-1) } }

    /// Whether the answer was given already (a deadline passed).
    var isDone: Bool { isAnswered.load(ordering: .acquiring) }

    /// Whether further work is useless: answered, or nobody waits.
    var isPointless: Bool { isDone || request.isCancelled }

    /// Gives the answer if none was given; `failure` is why it is a refusal.
    func answer(_ response: HTTPResponse, failure: ServiceFailure? = nil) {
        guard isAnswered.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        service.metrics.requestsInFlight.add(-1)
        if let failure { service.refused(request.path, failure) }
        service.record(
            request.head, response, after: ContinuousClock.now - request.receivedAt, received: received)
        reply.send(response)
    }

    /// Answers with a protobuf message, or with an empty body.
    func succeed(_ body: [UInt8]) {
        var fields: HTTPFields = ["cache-control": "no-store"]
        if !body.isEmpty { fields.append("content-type", "application/x-protobuf") }
        answer(HTTPResponse(status: 200, fields: fields, body: body))
    }

    /// Refuses; `retryAfter`: seconds until there is room, when that is known.
    func refuse(_ failure: ServiceFailure, retryAfter: Int? = nil) {
        answer(service.refusal(failure, path: request.path, retryAfter: retryAfter), failure: failure)
    }

    /// Refuses because the line does not do the work. The token may be used again: nothing was done for it (service.md 1.8).
    func refuse(_ refusal: WorkRefusal) {
        giveBack()
        refuse(ServiceFailure(refusal.reason), retryAfter: refusal.retryAfter)
    }

    // MARK: The token

    /// Takes the token that pays for the request; it is not spent yet.
    func pay(with token: RedeemableToken) { payment.withLock { $0 = (token, false) } }

    /// The tier of the token; nil without one.
    var tier: String? { payment.withLock { $0?.token.tier } }

    /// Spends the token, then goes on with `next`; refuses if it was spent before. Without a token, or with one that is
    /// spent for this request already, goes on at once.
    func spend(_ next: @escaping @Sendable () -> Void) {
        guard let privacyPass = service.privacyPass, let (token, isSpent) = payment.withLock({ $0 }), !isSpent else {
            return next()
        }
        privacyPass.redemption.spend(token) { [self] result in
            switch result {
            case .success(true):
                payment.withLock { $0?.isSpent = true }
                next()
            case .success(false): refuse(.tokenSpent)
            case .failure(let error):
                service.noteStore(error)
                refuse(.storeUnavailable)
            }
        }
    }

    /// Makes a token that was spent for this request good again: nothing was done for it.
    func giveBack() {
        let token = payment.withLock { payment -> RedeemableToken? in
            guard let (token, isSpent) = payment, isSpent else { return nil }
            payment?.isSpent = false
            return token
        }
        if let token { service.privacyPass?.redemption.giveBack(token) }
    }
}
