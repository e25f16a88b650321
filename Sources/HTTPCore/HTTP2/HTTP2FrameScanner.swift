// Finds the heads of frames (RFC 9113 section 4.1) in what is received, before the library sees it: the library tells nothing
// of frames that it ignores, and those cost time too.

struct HTTP2FrameScanner {
    /// Bytes up to the next head: of the preface, then of payloads.
    private var skip: Int
    private var head: [UInt8] = []
    static let headSize = 9

    /// `preface`: bytes before the first frame.
    init(preface: Int) { skip = preface }

    /// The next head that is completed at or behind `position`, which moves behind it; nil at the end of the bytes.
    mutating func next(in bytes: ArraySlice<UInt8>, from position: inout Int) -> HTTP2Frame? {
        let passed = min(skip, bytes.endIndex - position)
        skip -= passed
        position += passed
        let taken = min(Self.headSize - head.count, bytes.endIndex - position)
        head += bytes[position..<(position + taken)]
        position += taken
        guard head.count == Self.headSize else { return nil }
        defer { head.removeAll(keepingCapacity: true) }
        skip = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        return HTTP2Frame(type: head[3], flags: head[4], stream: Int32(bitPattern: stream), length: skip)
    }
}
