// The command line's options: every one has a value, except for the switches.

/// A command line that makes no sense: exit status 2.
struct UsageError: Error, Equatable, CustomStringConvertible {
    /// What was expected, and what came.
    var description: String

    init(_ description: String) { self.description = description }
}

/// Options by name, and the words between them.
struct BenchArguments {
    private(set) var values: [String: String] = [:]
    private(set) var switches: Set<String> = []
    private(set) var rest: [String] = []

    /// Sorts the words after the command's name. `--name value` and `--name=value` are the same.
    ///
    /// Throws `UsageError` for an option that the command does not have, one without its value, and one that comes twice.
    init(_ words: [String], options: [String], switches known: [String] = []) throws {
        var words = words[...]
        while let word = words.popFirst() {
            guard word.hasPrefix("-") else {
                rest.append(word)
                continue
            }
            let name = String(word.prefix { $0 != "=" })
            let attached = name.count < word.count ? String(word.dropFirst(name.count + 1)) : nil
            if known.contains(name) {
                guard attached == nil else { throw UsageError("\(name) takes no value") }
                switches.insert(name)
                continue
            }
            guard options.contains(name) else {
                throw UsageError("unknown option \(name); known: \((options + known).joined(separator: " "))")
            }
            guard values[name] == nil else { throw UsageError("\(name) was given twice") }
            guard let value = attached ?? words.popFirst(), !value.hasPrefix("--") else {
                throw UsageError("\(name) needs a value")
            }
            values[name] = value
        }
    }

    /// The value of an option as a whole number. Throws `UsageError` for anything else and for one out of range.
    func number(_ name: String, in range: ClosedRange<Int>, default usual: Int) throws -> Int {
        guard let text = values[name] else { return usual }
        guard let value = Int(text), range.contains(value) else {
            throw UsageError(
                "\(name): expected a whole number from \(range.lowerBound) to \(range.upperBound), got \(text)")
        }
        return value
    }
}
