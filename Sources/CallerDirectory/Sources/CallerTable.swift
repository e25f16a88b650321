// All callers of a source, one row per number, texts in one buffer: a million callers cost about 60 MB with their texts.

/// Callers by number, in the order of their first appearance.
public struct CallerTable: Sendable, RandomAccessCollection {
    /// How a second row of a number is taken.
    enum MergeRule: Sendable {
        /// The earlier row keeps the texts that it has, the later one fills the empty ones; so with category and icon.
        /// Blocked if either says so. The shorter of the cache times that are not zero.
        case fillGaps
        /// The later row replaces the earlier one (the map of `InputIdentities`).
        case replace
    }

    /// Where a row came from.
    struct Origin: Sendable, Equatable {
        var file: UInt16
        var line: UInt32
    }

    private struct Entry: Sendable {
        var number: UInt64
        var start: Int
        var nameLength: UInt16
        var companyLength: UInt16
        var titleLength: UInt16
        var iconLength: UInt16
        var cacheMinutes: UInt32
        var line: UInt32
        var file: UInt16
        var category: CallerCategory
        var block: Bool
    }

    /// Longest text of a cell, in bytes.
    static let textBytesAtMost = 65_535

    private var texts: [UInt8] = []
    private var entries: [Entry] = []
    /// Open addressing, linear probing: number of an entry plus one, 0 where free. At most half full.
    private var slots = [UInt32](repeating: 0, count: 64)

    /// No callers.
    init() {}

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of callers.
    public var endIndex: Int { entries.count }

    /// One caller.
    public subscript(index: Int) -> CallerRow {
        let entry = entries[index]
        var row = CallerRow(number: E164Number(packed: entry.number))
        var at = entry.start
        func text(_ length: UInt16) -> String {
            defer { at += Int(length) }
            return length == 0 ? "" : String(decoding: texts[at..<(at + Int(length))], as: UTF8.self)
        }
        row.name = text(entry.nameLength)
        row.company = text(entry.companyLength)
        row.title = text(entry.titleLength)
        row.icon = text(entry.iconLength)
        row.category = entry.category
        row.block = entry.block
        row.cacheMinutes = entry.cacheMinutes
        return row
    }

    /// Where a caller first appeared.
    func origin(at index: Int) -> Origin { Origin(file: entries[index].file, line: entries[index].line) }

    /// The index of a number, nil if it is absent.
    func index(of number: E164Number) -> Int? {
        let found = slots[slot(of: number.packed)]
        return found == 0 ? nil : Int(found) - 1
    }

    /// Adds a caller or merges it into the row of the same number; gives that row's first origin then.
    /// Texts must not be longer than `textBytesAtMost`.
    mutating func add(_ row: CallerRow, from origin: Origin, rule: MergeRule) -> Origin? {
        let slot = slot(of: row.number.packed)
        guard slots[slot] != 0 else {
            slots[slot] = UInt32(truncatingIfNeeded: entries.count + 1)
            entries.append(entry(of: row, from: origin))
            if entries.count * 2 > slots.count { grow() }
            return nil
        }
        let index = Int(slots[slot]) - 1
        let first = self.origin(at: index)
        switch rule {
        case .replace where first.file == origin.file: entries[index] = entry(of: row, from: origin)
        case .replace, .fillGaps: fillGaps(of: index, with: row, origin: first)
        }
        return first
    }

    private mutating func fillGaps(of index: Int, with row: CallerRow, origin: Origin) {
        let old = self[index]
        var new = old
        if old.name.isEmpty { new.name = row.name }
        if old.company.isEmpty { new.company = row.company }
        if old.title.isEmpty { new.title = row.title }
        if old.icon.isEmpty { new.icon = row.icon }
        if old.category == .unspecified { new.category = row.category }
        new.block = old.block || row.block
        if old.cacheMinutes == 0 || (row.cacheMinutes != 0 && row.cacheMinutes < old.cacheMinutes) {
            new.cacheMinutes = row.cacheMinutes
        }
        if new != old { entries[index] = entry(of: new, from: origin) }
    }

    private mutating func entry(of row: CallerRow, from origin: Origin) -> Entry {
        let start = texts.count
        func store(_ text: String) -> UInt16 {
            let bytes = text.utf8.prefix(CallerTable.textBytesAtMost)
            texts.append(contentsOf: bytes)
            return UInt16(truncatingIfNeeded: bytes.count)
        }
        return Entry(
            number: row.number.packed, start: start, nameLength: store(row.name), companyLength: store(row.company),
            titleLength: store(row.title), iconLength: store(row.icon), cacheMinutes: row.cacheMinutes, line: origin.line,
            file: origin.file, category: row.category, block: row.block)
    }

    /// The slot that holds the number, or the free one where it belongs.
    private func slot(of number: UInt64) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: (number &* 0x9e37_79b9_7f4a_7c15) >> 32) & mask
        while slots[slot] != 0, entries[Int(slots[slot]) - 1].number != number { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: slots.count * 2)
        for (index, entry) in entries.enumerated() {
            slots[slot(of: entry.number)] = UInt32(truncatingIfNeeded: index + 1)
        }
    }
}
