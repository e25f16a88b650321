// Rules of RFC 9113 that the library does not hold, or answers with another code than the RFC asks for.

/// Which streams a client has passed over: they count as closed when a higher one is opened (section 5.1.1).
struct HTTP2OpenedStreams {
    /// -1 before the first. An `Int`, because the distance to the last stream that exists is one too many for its type.
    private var highest = -1
    /// Gaps, the latest ones last. A gap that is forgotten only makes us lenient.
    private var gaps: [ClosedRange<Int>] = []
    private static let remembered = 64

    mutating func note(_ stream: Int32) {
        let stream = Int(stream)
        guard stream > highest else { return }
        if stream - highest > 2 { gaps.append((highest + 1)...(stream - 1)) }
        if gaps.count > Self.remembered { gaps.removeFirst() }
        highest = stream
    }

    /// Whether a stream can never be opened because it was passed over.
    func hasSkipped(_ stream: Int32) -> Bool { stream < highest && gaps.contains { $0.contains(Int(stream)) } }
}

/// Whether new settings lift the window of a stream above what a window may be (section 6.9.2).
struct HTTP2WindowWatch {
    /// The largest window of an open stream before the settings came.
    var largest = 0
    private var initial = 65_535
    private static let most = 0x7FFF_FFFF

    mutating func overflows(by size: Int) -> Bool {
        let change = size - initial
        initial = size
        return largest > 0 && largest + change > Self.most
    }
}
