// What can go wrong on the device's side. The texts go to the person who runs the command and name no key bytes.

import HTTPClient

/// A failed step of a device.
public enum DeviceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A URL cannot be used; the text says why.
    case invalidURL(String)
    /// The file of trusted certificates cannot be used.
    case untrusted(HTTPClientError)
    /// No answer; `step` is the request's path.
    case network(step: String, HTTPClientError)
    /// The server refused; `message` is its own, shortened to visible ASCII.
    case refused(step: String, status: Int, message: String)
    /// The answer is no message of the protocol.
    case malformedAnswer(step: String)
    /// The user token cannot stand behind `Bearer `.
    case unusableUserToken
    /// The issuer does not do what an issuer must; the reason names the rule.
    case unusableIssuer(reason: String)
    /// The server's configuration of a use case cannot be used; the reason names the rule.
    case unusableConfiguration(useCase: String, reason: String)
    /// The server handed out no evaluation key configuration that belongs to the use case's configuration.
    case noKeyConfiguration(useCase: String)
    /// The server has no such use case.
    case unknownUseCase(String)
    /// The configuration of a use case is gone again after it was fetched anew.
    case configurationKeepsChanging(useCase: String)
    /// A key or a query could not be made.
    case cannotEncrypt(reason: String)
    /// The reply does not decode: wrong key, too much noise, or parameters that do not belong to the database.
    case undecodableReply(useCase: String, reason: String)
    /// The state folder cannot be used.
    case state(path: String, reason: String)

    /// One line for a person.
    public var description: String {
        switch self {
        case .invalidURL(let reason): "the URL cannot be used: \(reason)"
        case .untrusted(let error): "\(error)"
        case .network(let step, let error): "\(step): \(error)"
        case .refused(let step, let status, let message):
            "\(step): the server answered \(status)" + (message.isEmpty ? "" : " (\(message))")
        case .malformedAnswer(let step): "\(step): the answer is no message of the protocol"
        case .unusableUserToken:
            "the user token must be 1 to 4096 visible ASCII characters without spaces, as it stands behind `Bearer `"
        case .unusableIssuer(let reason): "the issuer cannot be used: \(reason)"
        case .unusableConfiguration(let useCase, let reason): "\(useCase): the configuration cannot be used: \(reason)"
        case .noKeyConfiguration(let useCase):
            "\(useCase): the server gave no evaluation key configuration that fits the configuration"
        case .unknownUseCase(let useCase): "\(useCase): the server has no such use case"
        case .configurationKeepsChanging(let useCase): "\(useCase): the configuration is gone again after it was fetched"
        case .cannotEncrypt(let reason): "a key or a query could not be made: \(reason)"
        case .undecodableReply(let useCase, let reason): "\(useCase): the reply does not decode: \(reason)"
        case .state(let path, let reason): "\(path): \(reason)"
        }
    }
}
