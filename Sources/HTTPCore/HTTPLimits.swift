// All limits and times of the HTTP layer with the defaults of service.md 5.3 and 7, in one place.
// Limits per route (for example 64 KiB on one path) are the handler's; it names them in `begin`.

import CLinux

/// Limits and times of the HTTP layer. Sizes are in bytes.
public struct HTTPLimits: Sendable, Equatable {
    // The parser (service.md 5.3).

    /// Request line or status line without line end; 414 above.
    public var requestLine = 8 * 1024
    /// Sum of the field lines with their line ends, also of trailers; 431 above.
    public var headerSection = 32 * 1024
    /// Number of fields, also of trailers; 431 above.
    public var fieldCount = 100
    /// Empty lines skipped before a request line; 400 above.
    public var leadingEmptyLines = 2
    /// Hex digits of a chunk size, at most 15; 400 above.
    public var chunkSizeDigits = 15
    /// Chunk extension with its semicolon; 400 above.
    public var chunkExtension = 256
    /// Body bytes read and thrown away after an answer that came before the end of the body.
    public var drainBytes = 64 * 1024
    /// Time for the same.
    public var drainTime: Duration = .seconds(1)

    // Times (service.md 7).

    /// From the connection to the end of the TLS handshake, waiting for a place included; closed.
    public var handshakeTime: Duration = .seconds(10)
    /// From the first byte of a request to the end of its header section; 408.
    public var headerTime: Duration = .seconds(10)
    /// A connection without a request; closed.
    public var idleTime: Duration = .seconds(60)
    /// Length of the window in which `progressBytes` of a body must arrive; 408.
    public var bodyProgressTime: Duration = .seconds(10)
    /// Bytes of progress wanted in each window, of request bodies and of responses.
    public var progressBytes = 8 * 1024
    /// From the end of the header section to the end of the body; 408.
    public var bodyTime: Duration = .seconds(60)
    /// Length of the window in which `progressBytes` of a response must leave; closed.
    public var writeProgressTime: Duration = .seconds(30)
    /// The request's `deadline` counts from its last byte. The handler answers by then; it may set shorter ones by route.
    public var requestTime: Duration = .seconds(30)
    /// Backstop: a handler that has given no answer after this time from the last byte is answered for with 503.
    public var handlerTime: Duration = .seconds(60)

    /// HTTP/2 on connections of many different peers.
    public var http2 = HTTP2Limits()
    /// HTTP/2 on listeners where few connections carry many phones each.
    public var http2Relay = HTTP2Limits.relay

    // Amounts (service.md 7).

    /// TLS handshakes at a time; further ones wait.
    public var handshakes = 200
    /// Connections of the process; accepting pauses above.
    public var connections = 10_000
    /// Connections of one address (IPv6: one /64), not for loopback; closed above.
    public var connectionsPerAddress = 256
    /// Sum of request bodies held in memory: 512 MiB or a quarter of memory, whichever is less; 503 above.
    public var bufferedBodies = Self.defaultBufferedBodies
    /// The largest answer a handler may give; 500 above.
    public var responseBody = 16 * 1024 * 1024
    /// The largest answer a client accepts.
    public var clientResponseBody = 64 * 1024 * 1024

    /// The defaults.
    public init() {}

    private static let defaultBufferedBodies: Int = {
        let most = 512 * 1024 * 1024
        let memory = clinux_physical_memory()
        return memory == 0 ? most : Int(min(UInt64(most), memory / 4))
    }()
}
