// Counts what a peer makes us do for nothing (service.md 5.4.4): resets, resets it provokes, and frames that move nothing.

/// A token bucket of resets.
struct HTTP2ResetBucket {
    private let burst: Double
    private let rate: Double
    private var tokens: Double
    private var last: ContinuousClock.Instant?

    init(limits: HTTP2Limits) {
        burst = Double(max(0, limits.resetBurst))
        rate = Double(max(0, limits.resetRate))
        tokens = burst
    }

    /// Takes one; false if none is left.
    mutating func take(_ now: ContinuousClock.Instant) -> Bool {
        if let last {
            let (seconds, attoseconds) = last.duration(to: now).components
            tokens = min(burst, tokens + max(0, Double(seconds) + Double(attoseconds) * 1e-18) * rate)
        }
        last = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}

struct HTTP2FloodGuard {
    private let limits: HTTP2Limits
    private var peerResets: HTTP2ResetBucket
    private var ownResets: HTTP2ResetBucket
    private var fruitless = 0
    /// CONTINUATION frames of the head that arrives.
    private var continuations = 0
    private var windowStart: ContinuousClock.Instant?
    /// Payload of the padded DATA frame that arrives.
    private var padded = 0
    /// WINDOW_UPDATE frames that are answers to what was sent.
    private var updatesAllowed = 0

    /// Payload below this does not make up for the frame it came in, unless the frame ends the stream.
    private static let worthwhile = 16
    /// DATA frames from this size on explain WINDOW_UPDATE.
    private static let substantial = 256
    /// A peer may confirm each DATA frame for its stream and for the connection, in two pieces.
    private static let updatesPerData = 4

    init(limits: HTTP2Limits) {
        self.limits = limits
        peerResets = HTTP2ResetBucket(limits: limits)
        ownResets = HTTP2ResetBucket(limits: limits)
    }

    /// A frame arrives; false if it is one too many.
    mutating func allows(_ frame: HTTP2Frame, now: ContinuousClock.Instant) -> Bool {
        switch frame.type {
        case HTTP2Frame.reset: return peerResets.take(now)
        case HTTP2Frame.headers:
            continuations = 0
            return true  // bounded by streams; each has at most one section of trailers
        case HTTP2Frame.continuation:
            continuations += 1
            if continuations > limits.continuations { return false }
        case HTTP2Frame.data where frame.endsStream: return true
        case HTTP2Frame.data where frame.length >= Self.worthwhile && frame.flags & HTTP2Frame.padded == 0: return true
        case HTTP2Frame.data: padded = 0
        case HTTP2Frame.windowUpdate where updatesAllowed > 0:
            updatesAllowed -= 1
            return true
        default: break
        }
        if let windowStart, windowStart.duration(to: now) < limits.fruitlessTime {
            fruitless += 1
        } else {
            windowStart = now
            fruitless = 1
        }
        return fruitless <= limits.fruitlessFrames
    }

    /// Payload of a padded DATA frame has arrived, perhaps one of several pieces: only now it is known that it was not all
    /// padding.
    mutating func notePadded(_ count: Int) {
        let before = padded
        padded += count
        if before < Self.worthwhile, padded >= Self.worthwhile, fruitless > 0 { fruitless -= 1 }
    }

    /// A frame was sent; false if it is one reset too many.
    mutating func noteSent(_ frame: HTTP2Frame, now: ContinuousClock.Instant) -> Bool {
        switch frame.type {
        // Not for small pieces in the middle of a body: the peer asked for those with small windows.
        case HTTP2Frame.data where frame.length >= Self.substantial || frame.endsStream:
            updatesAllowed = min(updatesAllowed + Self.updatesPerData, limits.fruitlessFrames * 10)
        case HTTP2Frame.headers: updatesAllowed = min(updatesAllowed + 1, limits.fruitlessFrames * 10)
        case HTTP2Frame.reset where frame.code != HTTP2ErrorCode.noError.rawValue: return ownResets.take(now)
        default: break
        }
        return true
    }
}
