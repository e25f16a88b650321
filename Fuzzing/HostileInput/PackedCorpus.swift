// A corpus in one file: every input with its length in front, four bytes, little-endian. Hundreds of tiny files would be
// slower to check out and to review, and say no more.

/// The inputs of one target.
public struct PackedCorpus: Sendable, Equatable {
    /// The inputs.
    public var inputs: [[UInt8]]

    /// A corpus of these inputs.
    public init(_ inputs: [[UInt8]]) { self.inputs = inputs }

    /// Reads a file's contents; nil if they are cut short.
    public init?(packed: [UInt8]) {
        inputs = []
        var rest = packed[...]
        while !rest.isEmpty {
            guard rest.count >= 4 else { return nil }
            let length = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard length <= rest.count else { return nil }
            inputs.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
    }

    /// The file's contents.
    public var packed: [UInt8] {
        inputs.flatMap { input in (0..<4).map { UInt8(truncatingIfNeeded: input.count >> (8 * $0)) } + input }
    }
}
