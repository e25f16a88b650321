// The error codes of HTTP/2 (RFC 9113 section 7).

/// Why a stream or a connection ended, as RST_STREAM and GOAWAY carry it.
public enum HTTP2ErrorCode: UInt32, Error, Sendable, Equatable, CaseIterable, CustomStringConvertible {
    /// Nothing went wrong.
    case noError = 0
    /// A rule of the protocol was broken.
    case protocolError = 1
    /// The side that says so failed.
    case internalError = 2
    /// A flow-control window was overrun or overflowed.
    case flowControlError = 3
    /// SETTINGS were not acknowledged in time.
    case settingsTimeout = 4
    /// A frame came for a stream that was half-closed.
    case streamClosed = 5
    /// A frame has a size that it must not have.
    case frameSizeError = 6
    /// The stream was not processed at all; the request can be sent again.
    case refusedStream = 7
    /// The stream is not wanted any more.
    case cancel = 8
    /// The state of header compression is lost.
    case compressionError = 9
    /// The connection behind a CONNECT failed.
    case connectError = 10
    /// The peer behaves in a way that costs too much.
    case enhanceYourCalm = 11
    /// The transport is not secure enough.
    case inadequateSecurity = 12
    /// The request needs HTTP/1.1.
    case http11Required = 13

    /// A code from the wire; one that is not registered counts as `internalError` (RFC 9113 section 7).
    init(code: UInt32) { self = HTTP2ErrorCode(rawValue: code) ?? .internalError }

    /// The name in the registry.
    public var description: String {
        switch self {
        case .noError: "NO_ERROR"
        case .protocolError: "PROTOCOL_ERROR"
        case .internalError: "INTERNAL_ERROR"
        case .flowControlError: "FLOW_CONTROL_ERROR"
        case .settingsTimeout: "SETTINGS_TIMEOUT"
        case .streamClosed: "STREAM_CLOSED"
        case .frameSizeError: "FRAME_SIZE_ERROR"
        case .refusedStream: "REFUSED_STREAM"
        case .cancel: "CANCEL"
        case .compressionError: "COMPRESSION_ERROR"
        case .connectError: "CONNECT_ERROR"
        case .enhanceYourCalm: "ENHANCE_YOUR_CALM"
        case .inadequateSecurity: "INADEQUATE_SECURITY"
        case .http11Required: "HTTP_1_1_REQUIRED"
        }
    }
}
