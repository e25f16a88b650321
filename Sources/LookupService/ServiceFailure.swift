// The closed list of refusals: statuses and constant messages (service.md 1.12). Nothing of a request is ever echoed.

import HTTPCore

/// Why a request is refused.
enum ServiceFailure: Error, Sendable, Equatable, CaseIterable {
    case notFound
    case misdirected
    case methodNotAllowed
    case compressedRequest
    case invalidUserIdentifier
    case malformedMessage
    case bodyTooLarge
    case invalidExistingIDs
    case unknownUseCaseInConfig
    case unknownUseCaseInQuery
    case configurationGone
    case evaluationKeyNotFound
    case notSupported
    case invalidRequest
    case tryAgainLater
    case internalError

    var status: Int {
        switch self {
        case .notFound, .unknownUseCaseInConfig: 404
        case .misdirected: 421
        case .methodNotAllowed: 405
        case .compressedRequest: 415
        case .invalidUserIdentifier, .malformedMessage, .invalidExistingIDs, .unknownUseCaseInQuery,
            .evaluationKeyNotFound, .invalidRequest:
            400
        case .bodyTooLarge: 413
        case .configurationGone: 410
        case .notSupported: 501
        case .tryAgainLater: 503
        case .internalError: 500
        }
    }

    var message: String {
        switch self {
        case .notFound: "Not found"
        case .misdirected: "Misdirected request"
        case .methodNotAllowed: "Method not allowed"
        case .compressedRequest: "Compressed requests are not supported"
        case .invalidUserIdentifier: "Missing or invalid User-Identifier"
        case .malformedMessage: "Malformed message"
        case .bodyTooLarge: "Body too large"
        case .invalidExistingIDs: "Invalid existing config ids"
        case .unknownUseCaseInConfig, .unknownUseCaseInQuery: "Unknown use case"
        case .configurationGone: "Configuration is not available"
        case .evaluationKeyNotFound: "Evaluation key not found"
        case .notSupported: "Not supported"
        case .invalidRequest: "Invalid request"
        case .tryAgainLater: "Try again later"
        case .internalError: "Internal error"
        }
    }

    /// The answer: the outer shape that the reference's framework has, with a message from the list.
    var response: HTTPResponse { response(retryAfter: nil) }

    /// The answer; `retryAfter`: seconds until there is room, when that is known.
    func response(retryAfter: Int?) -> HTTPResponse {
        var fields: HTTPFields = ["content-type": "application/json", "cache-control": "no-store"]
        // Spread, so that devices refused together do not come back together.
        if self == .tryAgainLater { fields.append("retry-after", "\(retryAfter ?? Int.random(in: 1...5))") }
        if self == .methodNotAllowed { fields.append("allow", "POST") }
        return HTTPResponse(
            status: status, fields: fields, body: Array("{\"error\":{\"message\":\"\(message)\"}}".utf8))
    }
}
