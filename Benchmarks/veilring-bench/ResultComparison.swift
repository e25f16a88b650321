// Two results side by side: figure by figure, with the ratio of the second to the first.

import Foundation

/// JSON of any shape.
indirect enum JSONTree: Codable, Equatable {
    case object([String: JSONTree])
    case array([JSONTree])
    case number(Double)
    case text(String)
    case truth(Bool)
    case null

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode([String: JSONTree].self) {
            self = .object(value)
        } else if let value = try? container.decode([JSONTree].self) {
            self = .array(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .truth(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else {
            self = .null
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .object(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .truth(let value): try container.encode(value)
        case .null: try container.encodeNil()
        }
    }

    /// A member of an object.
    subscript(name: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// All numbers below, by path (`query.medianMs`).
    var numbers: [String: Double] {
        switch self {
        case .number(let value): return ["": value]
        case .object(let members):
            var all: [String: Double] = [:]
            for (name, member) in members {
                for (path, value) in member.numbers { all[path.isEmpty ? name : "\(name).\(path)"] = value }
            }
            return all
        default: return [:]
        }
    }
}

/// A result of this tool, of either kind.
struct MeasuredResult {
    /// Where it came from, for messages.
    var name: String
    private var tree: JSONTree

    /// Throws `BenchError.failed` for bytes that are no result of this tool.
    init(_ bytes: Data, name: String) throws {
        self.name = name
        guard let tree = try? JSONDecoder().decode(JSONTree.self, from: bytes), tree["options"] != nil,
            case .text? = tree["benchmark"]
        else { throw BenchError.failed("\(name) is no JSON result of veilring-bench") }
        self.tree = tree
    }

    /// Reads a file. Throws `BenchError.failed`.
    init(path: String) throws {
        guard let bytes = FileManager.default.contents(atPath: path) else { throw BenchError.failed("cannot read \(path)") }
        try self.init(bytes, name: path)
    }

    /// What was measured, without the machine and the options.
    var figures: [String: Double] {
        tree.numbers.filter { path, _ in
            !["options.", "machine.", "checks.", "shape."].contains { path.hasPrefix($0) }
        }
    }

    /// The commit that was measured, if the result says so.
    var commit: String? {
        guard case .text(let commit)? = tree["commit"] else { return nil }
        return commit
    }

    /// Throws `BenchError.failed` if two results are not of the same benchmark with the same options.
    func requireSameOptions(as other: MeasuredResult) throws {
        guard tree["benchmark"] == other.tree["benchmark"] else {
            throw BenchError.failed("\(name) and \(other.name) are of different benchmarks")
        }
        guard case .object(let mine)? = tree["options"], case .object(let theirs)? = other.tree["options"] else {
            throw BenchError.failed("\(name) or \(other.name) lacks its options")
        }
        let different = Set(mine.keys).union(theirs.keys).filter { mine[$0] != theirs[$0] }.sorted()
        guard different.isEmpty else {
            throw BenchError.failed(
                "\(name) and \(other.name) were measured with different options: \(different.joined(separator: ", "))")
        }
    }

    /// What makes the comparison of the two doubtful, in words.
    func doubts(against other: MeasuredResult) -> [String] {
        var list: [String] = []
        for key in ["cpu", "cores", "os"] where tree["machine"]?[key] != other.tree["machine"]?[key] {
            list.append("the results are of different machines (\(key))")
        }
        if tree["instructionSet"] != other.tree["instructionSet"] {
            list.append("the results are of different instruction sets")
        }
        return list
    }
}

/// One figure in two results.
struct ComparedFigure: Codable, Equatable {
    /// Its path in the JSON.
    var figure: String
    /// The first result, or the median of its runs.
    var first: Double
    /// The second.
    var second: Double
    /// Second over first, or the median of these ratios.
    var ratio: Double
    /// Least and greatest ratio, where there are several.
    var least: Double?
    var greatest: Double?
}

/// Compares results.
enum ResultComparison {
    /// Figures of two results. Throws `BenchError.failed` for results that cannot be compared.
    static func compare(_ first: MeasuredResult, _ second: MeasuredResult) throws -> [ComparedFigure] {
        try compare([(first, second)])
    }

    /// Figures of pairs of runs, each pair measured one right after the other: medians, and the median of the ratios.
    static func compare(_ pairs: [(MeasuredResult, MeasuredResult)]) throws -> [ComparedFigure] {
        guard let (first, second) = pairs.first else { return [] }
        for (a, b) in pairs {
            try a.requireSameOptions(as: b)
            try first.requireSameOptions(as: b)
        }
        let common = Set(first.figures.keys).intersection(second.figures.keys)
        return common.sorted().compactMap { figure in
            var (a, b, ratios) = (Sample(), Sample(), Sample())
            for pair in pairs {
                guard let x = pair.0.figures[figure], let y = pair.1.figures[figure] else { return nil }
                a.append(x)
                b.append(y)
                // Equal figures are equal, also where both are 0.
                ratios.append(x == y ? 1 : y / x)
            }
            let isOne = pairs.count == 1
            return ComparedFigure(
                figure: figure, first: a.median, second: b.median, ratio: ratios.median,
                least: isOne ? nil : ratios.values.min(), greatest: isOne ? nil : ratios.values.max())
        }
    }

    /// A table for people.
    static func text(_ figures: [ComparedFigure], _ first: String, _ second: String) -> String {
        var rows = [["", first, second, "ratio"]]
        for figure in figures {
            var ratio = number(figure.ratio)
            if let least = figure.least, let greatest = figure.greatest { ratio += " (\(number(least)) – \(number(greatest)))" }
            rows.append([figure.figure, number(figure.first), number(figure.second), ratio])
        }
        return TextTable.text(rows)
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && value.magnitude < 1e15
            ? String(format: "%.0f", value) : String(format: value.magnitude < 1000 ? "%.3f" : "%.0f", value)
    }
}
