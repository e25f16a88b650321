// Settings, windows and measures against abuse of HTTP/2 with the defaults of service.md 5.4.2 to 5.4.5 and 7.

/// Limits and times of one HTTP/2 connection. Sizes are in bytes. `HTTPLimits` holds those that do not depend on the version.
public struct HTTP2Limits: Sendable, Equatable {
    // Settings.

    /// Streams that the peer may have open at once, counting work of reset streams that has not stopped yet; REFUSED_STREAM.
    public var concurrentStreams = 128
    /// Flow-control window of each stream.
    public var streamWindow = 256 * 1024
    /// Flow-control window of the connection.
    public var connectionWindow = 4 * 1024 * 1024
    /// Payload of a received frame, 16384 to 16777215; FRAME_SIZE_ERROR.
    public var frameSize = 64 * 1024
    /// Decoded fields of a head or of trailers, each name + value + 32; 431. Sixteen times as much ends the connection.
    public var headerList = 32 * 1024
    /// Memory of header compression.
    public var headerTable = 4096

    // Abuse. All end the connection with GOAWAY ENHANCE_YOUR_CALM.

    /// Streams that the peer may reset in a burst; the same again, counted apart, for resets that it provokes from us.
    public var resetBurst = 1000
    /// Resets allowed for each second that passes.
    public var resetRate = 33
    /// CONTINUATION frames of one head.
    public var continuations = 8
    /// Acknowledgements of SETTINGS and PING that wait for a peer that does not read.
    public var outstandingAcknowledgements = 100
    /// Entries of one SETTINGS frame.
    public var settingsEntries = 32
    /// Frames in each `fruitlessTime` that move nothing: empty DATA, PING, PRIORITY, SETTINGS, CONTINUATION, unknown frames,
    /// and more WINDOW_UPDATE than what was sent explains.
    public var fruitlessFrames = 1000
    /// The time in which those frames are counted.
    public var fruitlessTime: Duration = .seconds(10)
    /// Frames that wait for a peer that does not read.
    public var outstandingFrames = 10_000

    // Times and ages of a connection.

    /// A connection without a stream; GOAWAY.
    public var idleTime: Duration = .seconds(300)
    /// Length of the window in which `HTTPLimits.progressBytes` must leave, in all, while anything waits; closed. For each
    /// stream that the peer holds back the window is `HTTPLimits.writeProgressTime`; CANCEL.
    public var writeProgressTime: Duration = .seconds(60)
    /// Requests of a connection's life; graceful GOAWAY.
    public var requestsPerConnection = 100_000
    /// Age of a connection; graceful GOAWAY.
    public var connectionAge: Duration = .seconds(3600)
    /// How long a graceful end waits between its notice and the last stream id, if the peer does not answer a PING before.
    public var noticeTime: Duration = .seconds(1)

    /// The defaults for connections of many different peers.
    public init() {}

    /// The defaults for few connections that carry many phones each: a relay in front of a gateway.
    public static let relay: HTTP2Limits = {
        var limits = HTTP2Limits()
        limits.concurrentStreams = 1000
        limits.streamWindow = 1024 * 1024
        limits.connectionWindow = 16 * 1024 * 1024
        limits.resetBurst = 10_000
        limits.resetRate = 1000
        limits.idleTime = .seconds(600)
        return limits
    }()
}
