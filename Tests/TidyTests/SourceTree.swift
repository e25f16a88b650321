// The tree that the package's own folder holds: its source files, and the targets of its manifest.

import FoundationEssentials

/// Everything below the folder of Package.swift that a person wrote.
struct SourceTree: Sendable {
    /// The package of this test.
    static let own = SourceTree()

    /// Where Package.swift is; empty when it was not found.
    let root: String
    /// Swift, C and C++ files of Sources, Tests, Benchmarks and Fuzzing. Folders that are symbolic links are seen once, under their target.
    let sources: [SourceFile]
    /// Scripts and documents, for rules on plain text.
    let documents: [SourceFile]
    /// Package.swift, parsed.
    let manifest: Manifest

    private init() {
        var folder = URL(filePath: #filePath).deletingLastPathComponent()
        while folder.path != "/", !FileManager.default.fileExists(atPath: folder.path + "/Package.swift") {
            folder = folder.deletingLastPathComponent()
        }
        let root = folder.path.hasSuffix("/") ? String(folder.path.dropLast()) : folder.path
        self.root = root
        var sources: [SourceFile] = []
        var documents: [SourceFile] = []
        for path in Self.files(below: root, "") {
            let kind = path.split(separator: "/").last.map(String.init)?.split(separator: ".").last.map(String.init) ?? ""
            let isSource = ["Sources/", "Tests/", "Benchmarks/", "Fuzzing/"].contains { path.hasPrefix($0) }
            if isSource, ["swift", "c", "cpp", "h"].contains(kind) {
                sources.append(Self.read(root, path))
            } else if kind == "md" || kind == "swift"
                || ["scripts/", ".ci/", ".github/", "deploy/"].contains(where: { path.hasPrefix($0) })
            {
                documents.append(Self.read(root, path))
            }
        }
        self.sources = sources
        self.documents = documents
        manifest = Manifest(Self.read(root, "Package.swift"))
    }

    /// Swift files of one target.
    func swiftFiles(of target: String) -> [SourceFile] {
        sources.filter { file in
            file.path.hasSuffix(".swift") && ["Sources", "Fuzzing"].contains { file.path.hasPrefix("\($0)/\(target)/") }
        }
    }

    private static func read(_ root: String, _ path: String) -> SourceFile {
        let data = FileManager.default.contents(atPath: root + "/" + path) ?? Data()
        return SourceFile(path: path, text: String(decoding: data, as: UTF8.self))
    }

    private static func files(below root: String, _ folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root + "/" + folder)) ?? []
        return names.sorted().flatMap { name -> [String] in
            let path = folder.isEmpty ? name : folder + "/" + name
            let attributes = try? FileManager.default.attributesOfItem(atPath: root + "/" + path)
            switch attributes?[.type] as? FileAttributeType {
            case .typeDirectory?:
                return [".git", ".build", "var", "node_modules"].contains(name) ? [] : files(below: root, path)
            case .typeRegular?: return [path]
            default: return []
            }
        }
    }
}

/// The targets of a Package.swift, read as text.
struct Manifest: Sendable {
    struct Target: Sendable, Equatable {
        var kind: String
        var name: String
        var dependencies: [String]
    }

    let targets: [Target]

    init(_ file: SourceFile) {
        let kinds = [".target(", ".executableTarget(", ".testTarget(", ".systemLibrary("]
        let text = file.withoutComments.joined(separator: "\n")
        var found: [(offset: String.Index, target: Target)] = []
        for kind in kinds {
            var rest = text.startIndex
            while let start = text.range(of: kind, after: rest) {
                rest = start.upperBound
                let body = text[start.upperBound..<text.closing("(", ")", from: start.upperBound)]
                guard let name = body.quoted(after: "name: ").first else { continue }
                let dependencies = body.range(of: "dependencies: [", after: body.startIndex).map { range in
                    body[range.upperBound..<body.closing("[", "]", from: range.upperBound)].quoted(after: "")
                }
                found.append(
                    (
                        start.lowerBound,
                        Target(kind: String(kind.dropFirst().dropLast()), name: name, dependencies: dependencies ?? [])
                    ))
            }
        }
        targets = found.sorted { $0.offset < $1.offset }.map(\.target)
    }
}

extension StringProtocol {
    /// The first place of `text` at or after `start`.
    func range(of text: String, after start: Index) -> Range<Index>? {
        var position = start
        while position < endIndex {
            if self[position...].hasPrefix(text) { return position..<index(position, offsetBy: text.count) }
            position = index(after: position)
        }
        return nil
    }

    /// Where the bracket that was opened just before `start` closes.
    func closing(_ open: Character, _ close: Character, from start: Index) -> Index {
        var depth = 1
        var position = start
        while position < endIndex {
            if self[position] == open { depth += 1 }
            if self[position] == close {
                depth -= 1
                if depth == 0 { return position }
            }
            position = index(after: position)
        }
        return endIndex
    }

    /// The strings in quotes that follow `prefix`.
    func quoted(after prefix: String) -> [String] {
        var result: [String] = []
        var position = startIndex
        while let start = range(of: prefix + "\"", after: position) {
            guard let end = range(of: "\"", after: start.upperBound) else { break }
            result.append(String(self[start.upperBound..<end.lowerBound]))
            position = end.upperBound
        }
        return result
    }
}
