// The marks of one key's spent tokens in memory: a hash table of 21 to 27 bytes for each mark, in parts that grow one at a time, so
// that growing needs neither twice the memory nor a long pause.

/// The mark of a token: 16 bytes.
struct SpentMark: Hashable {
    /// The bytes 0..<8 and 8..<16, little-endian.
    var first: UInt64
    var second: UInt64

    /// Reads 16 bytes from `offset` on; the caller has checked the length.
    init(_ bytes: [UInt8], at offset: Int = 0) {
        var words: (UInt64, UInt64) = (0, 0)
        for index in 0..<8 {
            words.0 |= UInt64(bytes[offset + index]) << UInt64(8 * index)
            words.1 |= UInt64(bytes[offset + 8 + index]) << UInt64(8 * index)
        }
        (first, second) = words
    }

    fileprivate init() {
        first = 0
        second = 0
    }

    fileprivate var isZero: Bool { first | second == 0 }

    /// Appends the 16 bytes.
    func append(to bytes: inout [UInt8]) {
        for word in [first, second] {
            for index in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(8 * index))) }
        }
    }
}

/// A set of marks without removal.
struct SpentMarkSet {
    /// A part of the table: open addressing with linear probing; a slot of zeros is empty.
    private struct Part {
        var slots = [SpentMark](repeating: SpentMark(), count: 16)
        var count = 0
    }

    /// How many marks there are.
    private(set) var count = 0
    private var hasZero = false
    private var parts = [Part](repeating: Part(), count: 256)
    /// Whoever sends tokens may choose their marks in part, but cannot know where they land.
    private let seed = (UInt64.random(in: 0...UInt64.max), UInt64.random(in: 0...UInt64.max))

    /// Whether the mark is in the set.
    func contains(_ mark: SpentMark) -> Bool {
        if mark.isZero { return hasZero }
        let hash = hash(mark)
        let part = parts[Int(hash & 255)]
        return part.slots[Self.place(of: mark, hash, in: part.slots)] == mark
    }

    /// Adds a mark.
    ///
    /// - Returns: false when it was there.
    @discardableResult
    mutating func insert(_ mark: SpentMark) -> Bool {
        if mark.isZero {
            if hasZero { return false }
            hasZero = true
            count += 1
            return true
        }
        let hash = hash(mark)
        let index = Int(hash & 255)
        let place = Self.place(of: mark, hash, in: parts[index].slots)
        if parts[index].slots[place] == mark { return false }
        parts[index].slots[place] = mark
        parts[index].count += 1
        count += 1
        // Three quarters full at most: there is always an empty slot, and it is near.
        if parts[index].count * 4 >= parts[index].slots.count * 3 { grow(index) }
        return true
    }

    private mutating func grow(_ index: Int) {
        let old = parts[index].slots
        var slots = [SpentMark](repeating: SpentMark(), count: old.count + old.count / 4)
        for mark in old where !mark.isZero {
            slots[Self.place(of: mark, hash(mark), in: slots)] = mark
        }
        parts[index].slots = slots
    }

    private func hash(_ mark: SpentMark) -> UInt64 {
        let product = (mark.first ^ seed.0).multipliedFullWidth(by: mark.second ^ seed.1)
        let folded = (product.high ^ product.low ^ mark.first) &* 0x9E37_79B9_7F4A_7C15
        return folded ^ (folded >> 32)
    }

    /// Where the mark is, or the empty slot where it would be.
    private static func place(of mark: SpentMark, _ hash: UInt64, in slots: [SpentMark]) -> Int {
        var place = Int(hash.multipliedFullWidth(by: UInt64(slots.count)).high)
        while !slots[place].isZero, slots[place] != mark {
            place += 1
            if place == slots.count { place = 0 }
        }
        return place
    }
}
