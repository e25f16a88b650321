// The known name that is nearest to a misspelt one, for "unknown key" errors (design.md, Configuration).

/// Suggestions for misspelt names.
enum NearestName {
    /// The candidate with the least edit distance (insertions, deletions, substitutions and swaps of neighbours count one
    /// each; letter case does not count), if it is near enough to be meant: at most a third of the letters, and one at least.
    static func of(_ name: String, among candidates: [String]) -> String? {
        let wanted = Array(name.lowercased().utf8.prefix(64))
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let other = Array(candidate.lowercased().utf8.prefix(64))
            let distance = editDistance(wanted, other)
            let bound = max(1, min(wanted.count, other.count) / 2)
            guard distance <= bound, distance < best?.distance ?? Int.max else { continue }
            best = (candidate, distance)
        }
        return best?.name
    }

    /// "`a`, `b` or `c`".
    static func list(_ names: [String]) -> String {
        guard let last = names.last else { return "nothing" }
        if names.count == 1 { return last }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }

    /// What to expect in place of an unknown name: the nearest known one, else all of them.
    static func expectation(for name: String, among candidates: [String], kind: String) -> String {
        if let nearest = of(name, among: candidates) { return "a known \(kind) (did you mean \"\(nearest)\"?)" }
        return "a known \(kind) (\(list(candidates)))"
    }

    private static func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        if a.isEmpty || b.isEmpty { return a.count + b.count }
        var before = [Int](repeating: 0, count: b.count + 1)
        var above = Array(0...b.count)
        var row = above
        for i in 1...a.count {
            row[0] = i
            for j in 1...b.count {
                let change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)
                row[j] = min(change, above[j] + 1, row[j - 1] + 1)
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { row[j] = min(row[j], before[j - 2] + 1) }
            }
            (before, above, row) = (above, row, before)
        }
        return above[b.count]
    }
}
