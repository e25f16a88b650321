// The command line's arguments: options with and without value, and the rest.

/// An option of a command.
struct Option: Sendable {
    /// With its dashes: `--url`.
    var name: String
    /// What its value is called in the help; nil for a switch.
    var value: String?
    /// One line of help.
    var help: String

    /// Every command has it.
    static let help = Option(name: "--help", help: "print this help")
}

/// A command line that makes no sense: exit status 2.
struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What was expected, and what came.
    var description: String

    init(_ description: String) { self.description = description }
}

/// Arguments sorted by the options of a command.
struct Arguments: Sendable, Equatable {
    private var values: [String: String] = [:]
    private var switches: Set<String> = []
    /// What is no option, in order.
    private(set) var rest: [String] = []

    /// Sorts the words after the command's name. `--name value` and `--name=value` are the same; `--` ends the options.
    init(_ words: [String], options: [Option]) throws(UsageError) {
        var words = words[...]
        while let word = words.popFirst() {
            if word == "--" {
                rest += words
                return
            }
            guard word.hasPrefix("-"), word.utf8.count > 1 else {
                rest.append(word)
                continue
            }
            let name = String(word.prefix { $0 != "=" })
            let attached = name.utf8.count < word.utf8.count ? String(word.dropFirst(name.count + 1)) : nil
            guard let option = options.first(where: { $0.name == name }) else {
                throw UsageError("unknown option \(name); known: \(options.map(\.name).joined(separator: " "))")
            }
            if option.value == nil {
                guard attached == nil else { throw UsageError("\(name) takes no value") }
                switches.insert(name)
            } else {
                guard values[name] == nil else { throw UsageError("\(name) was given twice") }
                guard let value = attached ?? words.popFirst() else { throw UsageError("\(name) needs a value") }
                values[name] = value
            }
        }
    }

    /// Whether a switch was given.
    func has(_ name: String) -> Bool { switches.contains(name) }

    /// The value of an option, if it was given.
    subscript(name: String) -> String? { values[name] }

    /// The value of an option that the command cannot do without.
    func required(_ name: String) throws(UsageError) -> String {
        guard let value = values[name], !value.isEmpty else { throw UsageError("\(name) is needed") }
        return value
    }
}
