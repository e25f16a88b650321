// The tree checks itself: floors, sizes, banned calls, unsafe pointers, comments and names (CONTRIBUTING.md has the rules).

import Testing

@Suite("The house is tidy")
struct TidyTests {
    let tree = SourceTree.own

    private var swift: [SourceFile] { tree.sources.filter { $0.path.hasSuffix(".swift") } }
    private var shipped: [SourceFile] { tree.sources.filter { $0.path.hasPrefix("Sources/") } }
    private var shippedSwift: [SourceFile] { shipped.filter { $0.path.hasSuffix(".swift") } }

    private func expectNone(_ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation) {
        let list = findings.map(\.description).joined(separator: "\n")
        #expect(findings.isEmpty, "\n\(list)", sourceLocation: sourceLocation)
    }

    @Test("the tree was found, with a target for every folder of sources")
    func found() {
        #expect(!tree.root.isEmpty)
        #expect(tree.manifest.targets.count > 20)
        #expect(shippedSwift.count >= 15)
        let targets = Set(tree.manifest.targets.map(\.name))
        for file in tree.sources where file.path.hasPrefix("Sources/") || file.path.hasPrefix("Tests/") {
            let parts = file.path.split(separator: "/")
            let folder = parts[1] == "Support" ? parts[2] : parts[1]
            #expect(targets.contains(String(folder)), "\(file.path) belongs to no target")
        }
    }

    @Test("targets depend on lower floors only")
    func floors() {
        expectNone(Floors.findings(in: tree.manifest))
    }

    @Test("the map in CONTRIBUTING.md shows the house as it is")
    func map() throws {
        let map = try #require(tree.documents.first { $0.path == "CONTRIBUTING.md" })
        expectNone(Floors.findings(inMap: map, of: tree.manifest))
    }

    @Test("files import what their target declares, and system libraries through their own door")
    func imports() {
        for target in tree.manifest.targets where target.kind != "testTarget" {
            expectNone(tree.swiftFiles(of: target.name).flatMap { Floors.findings(in: $0, of: target) })
        }
    }

    @Test("files and functions are short")
    func sizes() {
        expectNone(tree.sources.filter { file in !Exceptions.longFiles.contains { $0.covers(file) } }.flatMap(Rules.length))
        let excused = Set(Exceptions.longFunctions.map(\.path))
        expectNone(
            swift.flatMap { file in
                Rules.longFunctions(in: file).filter { finding in
                    !excused.contains("\(file.path):\(finding.reason.prefix { $0 != " " })")
                }
            })
    }

    @Test("nothing that ships stops the process on purpose")
    func bannedCalls() {
        expectNone(
            shippedSwift.filter { file in !Exceptions.bannedCalls.contains { $0.covers(file) } }.flatMap(Rules.bannedCalls))
    }

    @Test("unsafe pointers stay in their rooms")
    func unsafe() {
        expectNone(shippedSwift.filter { file in !Exceptions.unsafe.contains { $0.covers(file) } }.flatMap(Rules.unsafeWords))
    }

    @Test("exceptions for single files are still needed")
    func exceptionsAreNeeded() {
        let rules: [([Exception], (SourceFile) -> [Finding])] = [
            (Exceptions.longFiles, Rules.length), (Exceptions.bannedCalls, Rules.bannedCalls),
            (Exceptions.unsafe, Rules.unsafeWords),
        ]
        for (exceptions, rule) in rules {
            for exception in exceptions where !exception.path.hasSuffix("/") {
                let room = exception.path.split(separator: "/").prefix(2).joined(separator: "/") + "/"
                let isBuilt = tree.sources.filter { $0.path.hasPrefix(room) && $0.name != "Placeholder.swift" }.count > 0
                guard isBuilt else { continue }
                let file = tree.sources.first { $0.path == exception.path }
                #expect(file.map { !rule($0).isEmpty } == true, "\(exception.path): the exception is not needed")
            }
        }
    }

    @Test("every file says first what it holds, and every public declaration what it is")
    func comments() {
        expectNone(tree.sources.flatMap(Rules.firstComment))
        expectNone(shippedSwift.flatMap(Rules.undocumented))
    }

    @Test("names say something, nothing is left unfinished, and no text names one machine's folders")
    func texts() {
        let everything = tree.sources + tree.documents
        expectNone(tree.sources.flatMap(Rules.emptyName))
        expectNone(everything.flatMap(Rules.unfinishedMarks))
        expectNone(everything.flatMap(Rules.localPaths))
    }
}
