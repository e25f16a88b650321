// What a connection has to write and the socket has not taken yet.

/// Bytes on their way out. Large bodies are kept as they are and never joined.
struct OutputQueue {
    private var chunks: [[UInt8]] = []
    private var offset = 0
    /// Bytes written in all.
    private(set) var written = 0

    /// The rest of the first chunk, and whether others follow.
    var next: (ArraySlice<UInt8>, more: Bool)? {
        guard let first = chunks.first else { return nil }
        return (first[offset...], chunks.count > 1)
    }

    mutating func append(_ bytes: [UInt8]) { if !bytes.isEmpty { chunks.append(bytes) } }

    mutating func consume(_ count: Int) {
        written += count
        offset += count
        if let first = chunks.first, offset >= first.count {
            chunks.removeFirst()
            offset = 0
        }
    }
}
