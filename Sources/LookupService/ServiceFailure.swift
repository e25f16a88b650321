// The closed list of refusals: statuses and constant messages (service.md 1.12). Nothing of a request is ever echoed.

import HTTPCore

/// Why a request is refused.
enum ServiceFailure: String, Error, Sendable, Equatable, CaseIterable {
    case notFound = "not_found"
    case misdirected
    case methodNotAllowed = "method_not_allowed"
    case compressedRequest = "compressed_request"
    case invalidUserIdentifier = "invalid_user_identifier"
    /// More than one `Authorization`.
    case repeatedAuthorization = "repeated_authorization"
    // One answer to the device, told apart for the operator.
    /// No `Authorization`.
    case noToken = "no_token"
    /// An `Authorization` without a token in it.
    case malformedToken = "malformed_token"
    /// Nobody issued with this key, or its tokens have expired.
    case unknownTokenKey = "unknown_token_key"
    /// The signature is not the key's.
    case tokenNotSigned = "token_not_signed"
    /// A token for another challenge, where that is enforced.
    case otherChallenge = "other_challenge"
    /// The token was spent before.
    case tokenSpent = "token_spent"
    /// No user has this user token, or there is none.
    case unauthorizedUser = "unauthorized_user"
    /// A signed user token, once good.
    case expiredUser = "expired_user"
    case invalidTokenRequest = "invalid_token_request"
    /// The user's quota is used up.
    case quotaExceeded = "quota_exceeded"
    /// The operator's server could not be asked about a user token.
    case userSourceUnavailable = "user_source_unavailable"
    /// Gateway: no media type of an encapsulated request that is taken here.
    case unsupportedMediaType = "unsupported_media_type"
    /// Gateway: the key is not ours any more, or the opening failed.
    case unknownGatewayKey = "unknown_gateway_key"
    /// Gateway: a request for somebody else.
    case foreignTarget = "foreign_target"
    /// Gateway: an expectation inside.
    case expectationFailed = "expectation_failed"
    case malformedMessage = "malformed_message"
    case bodyTooLarge = "body_too_large"
    case invalidExistingIDs = "invalid_existing_ids"
    case unknownUseCaseInConfig = "unknown_use_case_in_config"
    case unknownUseCaseInQuery = "unknown_use_case_in_query"
    case configurationGone = "configuration_gone"
    case evaluationKeyNotFound = "evaluation_key_not_found"
    case notSupported = "not_supported"
    case invalidRequest = "invalid_request"
    case internalError = "internal_error"
    // One answer to the device, told apart for the operator.
    /// No data is loaded yet.
    case notLoaded = "not_loaded"
    /// The waiting line was full.
    case queueFull = "queue_full"
    /// This client has its share of the line while others wait.
    case clientShare = "client_share"
    /// The line before it would take too long.
    case predictedWait = "predicted_wait"
    /// It could not be done before its deadline.
    case predictedDeadline = "predicted_deadline"
    /// It made room for more urgent work, or for a client that had less.
    case displaced
    /// It waited too long.
    case waitedTooLong = "waited_too_long"
    /// The time for its answer was over.
    case deadlinePassed = "deadline_passed"
    /// Nobody waits for the answer any more.
    case abandoned
    /// The key store could not be asked.
    case storeUnavailable = "store_unavailable"
    /// The shard is damaged and waits to be rebuilt.
    case shardOutOfService = "shard_out_of_service"
    /// Any other reason that passes.
    case tryAgainLater = "try_again_later"

    /// Why a waiting line does not do work.
    init(_ reason: WorkRefusal.Reason) {
        switch reason {
        case .lineFull: self = .queueFull
        case .clientShare: self = .clientShare
        case .predictedWait: self = .predictedWait
        case .predictedDeadline: self = .predictedDeadline
        case .displaced: self = .displaced
        case .age: self = .waitedTooLong
        }
    }

    var status: Int {
        switch self {
        case .notFound, .unknownUseCaseInConfig: 404
        case .misdirected: 421
        case .methodNotAllowed: 405
        case .compressedRequest, .unsupportedMediaType: 415
        case .noToken, .malformedToken, .unknownTokenKey, .tokenNotSigned, .otherChallenge, .tokenSpent, .unauthorizedUser,
            .expiredUser:
            401
        case .invalidTokenRequest: 422
        case .quotaExceeded: 429
        case .foreignTarget: 403
        case .expectationFailed: 417
        case .invalidUserIdentifier, .repeatedAuthorization, .malformedMessage, .unknownGatewayKey, .invalidExistingIDs,
            .unknownUseCaseInQuery,
            .evaluationKeyNotFound, .invalidRequest:
            400
        case .bodyTooLarge: 413
        case .configurationGone: 410
        case .notSupported: 501
        case .notLoaded, .queueFull, .clientShare, .predictedWait, .predictedDeadline, .displaced, .waitedTooLong,
            .deadlinePassed, .abandoned, .storeUnavailable, .userSourceUnavailable, .shardOutOfService, .tryAgainLater:
            503
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
        case .unsupportedMediaType: "Unsupported media type"
        case .unknownGatewayKey: "key identifier unknown"
        case .foreignTarget: "Target is not served here"
        case .expectationFailed: "Expectation failed"
        case .noToken, .malformedToken: "No private token"
        case .unknownTokenKey: "No token key found"
        case .tokenNotSigned, .otherChallenge, .tokenSpent: "Token did not pass verification"
        case .unauthorizedUser: "User token is unauthorized"
        case .expiredUser: "User token has expired"
        case .invalidTokenRequest: "Invalid token request"
        case .quotaExceeded: "Too many requests"
        case .invalidRequest, .repeatedAuthorization: "Invalid request"
        case .notLoaded, .queueFull, .clientShare, .predictedWait, .predictedDeadline, .displaced, .waitedTooLong,
            .deadlinePassed, .abandoned, .storeUnavailable, .userSourceUnavailable, .shardOutOfService, .tryAgainLater:
            "Try again later"
        case .internalError: "Internal error"
        }
    }

    /// The answer: the outer shape that the reference's framework has, with a message from the list.
    var response: HTTPResponse { response(retryAfter: nil) }

    /// The answer.
    ///
    /// - Parameters:
    ///   - retryAfter: seconds until there is room, when that is known.
    ///   - allow: the methods of the route, for 405.
    ///   - challenge: the value of `WWW-Authenticate`, for 401.
    ///   - limit: the most bytes that the route takes, for 413.
    func response(
        retryAfter: Int?, allow: String = "POST", challenge: String? = nil, limit: Int? = nil
    ) -> HTTPResponse {
        var fields: HTTPFields = ["content-type": "application/json", "cache-control": "no-store"]
        // Spread, so that devices refused together do not come back together.
        if status == 503 || status == 429 { fields.append("retry-after", "\(retryAfter ?? Int.random(in: 1...5))") }
        if self == .methodNotAllowed { fields.append("allow", allow) }
        if status == 401, let challenge { fields.append("www-authenticate", challenge) }
        if self == .unknownGatewayKey {
            // The problem type that makes a client fetch the keys again (RFC 9458 section 5.3).
            fields["content-type"] = "application/problem+json"
            let type = "https://iana.org/assignments/http-problem-types#ohttp-key"
            return HTTPResponse(
                status: status, fields: fields, body: Array("{\"type\":\"\(type)\",\"title\":\"\(message)\"}".utf8))
        }
        // Who has to declare sizes to a relay needs the number (service.md 3.11).
        let text = message + (limit.map { "; the limit is \($0) bytes" } ?? "")
        return HTTPResponse(
            status: status, fields: fields, body: Array("{\"error\":{\"message\":\"\(text)\"}}".utf8))
    }
}
