// The rules must be able to fail: each one on a text that breaks it, and on one that only seems to.

import Testing

@Suite("The rules of tidiness can fail")
struct RulesTests {
    private func file(_ text: String, _ path: String = "Sources/Room/File.swift") -> SourceFile {
        SourceFile(path: path, text: text)
    }

    @Test("comments and strings are told from code")
    func scanner() {
        let source = file(
            ##"""
            // try! in a comment
            let a = "try! \(b ? "as! \(c())" : "") fatalError(" /* as! /* nested */ try! */ + d
            let e = """
                precondition( " \(f) "" and \" {
                """
            let g = #"raw \" \(no) \#(try! h)"#
            let i = "unended {
            let j = try! k
            """##)
        #expect(source.code.count == source.lines.count)
        #expect(source.code[1].contains("(b ?") && source.code[1].contains("(c())") && source.code[1].contains("+ d"))
        #expect(!source.code[3].contains("{") && source.code[3].contains("(f)"))
        #expect(Rules.bannedCalls(in: source).map(\.line) == [6, 8])
        #expect(source.withoutComments[1].contains("as! ") && !source.withoutComments[1].contains("nested"))
    }

    @Test("every banned call and every unsafe word is found, as a word")
    func words() {
        for call in Rules.bannedCalls {
            #expect(Rules.bannedCalls(in: file("\n    let x = \(call) y")).map(\.line) == [2], "\(call)")
            #expect(Rules.bannedCalls(in: file("let x = my\(call)")).isEmpty)
        }
        for word in Rules.unsafeWords {
            #expect(!Rules.unsafeWords(in: file("let x: \(word)<Int>")).isEmpty, "\(word)")
        }
        #expect(Rules.unfinishedMarks(in: file("// " + "TO" + "DO later")).count == 1)
        #expect(Rules.localPaths(in: file("\"/wo" + "rk/x\"")).count == 1)
        #expect(Rules.emptyName(of: file("", "Sources/Room/String" + "Helpers.swift")).count == 1)
        #expect(Rules.emptyName(of: file("", "Sources/Room/Strings.swift")).isEmpty)
    }

    @Test("long files and long functions are found")
    func lengths() {
        #expect(Rules.length(of: file(String(repeating: "\n", count: 500))).isEmpty)
        #expect(Rules.length(of: file(String(repeating: "\n", count: 501))).count == 1)
        let body = { (count: Int) in String(repeating: "    f(\"}\") // }\n", count: count) }
        for head in [
            "func g<T>(a: () -> Int = { 1 })\n    throws(E) -> [T] where T: P {", "init?() {", "deinit {",
            "subscript(i: Int) -> Int {",
        ] {
            let extra = head.split(separator: "\n").count + 1
            #expect(Rules.longFunctions(in: file("struct S {\n\(head)\n\(body(80 - extra))}\n}")).isEmpty, "\(head)")
            #expect(Rules.longFunctions(in: file("struct S {\n\(head)\n\(body(81 - extra))}\n}")).map(\.line) == [2], "\(head)")
        }
        let requirements = file("protocol P {\n    func a() throws\n    init(x: Int)\n    func b()\n}\nfunc c() {\n}\n")
        #expect(Rules.functions(in: requirements).map(\.name) == ["c"])
        let call = file("func a() {\n    self.init(x: 1) { 2 }\n}")
        #expect(Rules.functions(in: call).map(\.name) == ["a"])
    }

    @Test("public declarations without a comment are found")
    func documentation() {
        let source = file(
            """
            public struct A {
                /// Fine.
                @inlinable
                public func b() {}
                @inlinable public final class C {}
                // Not a documentation comment.
                public static let d = 1
                static public let e = "public let f"
                private(set) var publicity = 1
            }
            public import Glibc
            """)
        #expect(Rules.undocumented(in: source).map(\.line) == [1, 5, 7, 8])
        #expect(Rules.firstComment(of: source).count == 1)
        #expect(Rules.firstComment(of: file("// Holds A.\nimport A\n")).isEmpty)
    }

    @Test("imports are read in all their forms")
    func imports() {
        let source = file(
            "import A\n@testable import B\npublic import struct C.D\n// import E\n@preconcurrency import F; f()\nimportant()")
        #expect(Rules.imports(of: source).map(\.module) == ["A", "B", "C", "F"])
    }

    @Test("dependencies that point upwards, unknown targets and undeclared imports are found")
    func floors() {
        let manifest = Manifest(
            file(
                """
                .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
                .target(name: "BFV", dependencies: ["RingMath", "KeywordPIR"]),
                .target(name: "Cellar", dependencies: []),
                // .target(name: "Commented"),
                .testTarget(name: "BFVTests", dependencies: ["BFV"]),
                """, "Package.swift"))
        #expect(manifest.targets.map(\.name) == ["COpenSSL", "BFV", "Cellar", "BFVTests"])
        #expect(manifest.targets[1].dependencies == ["RingMath", "KeywordPIR"])
        #expect(Floors.findings(in: manifest).map(\.reason) == ["KeywordPIR is not below BFV", "Cellar is on no floor"])
        let source = file("import RingMath\nimport COpenSSL\nimport Synchronization\nimport Protobuf\nimport NIO")
        #expect(Floors.findings(in: source, of: manifest.targets[1]).map(\.line) == [2, 4, 5])
    }
    @Test("a map that differs from the manifest is found")
    func map() {
        let manifest = Manifest(
            file(".target(name: \"A\"), .target(name: \"B\", dependencies: [\"A\"]), .target(name: \"C\")", "Package.swift"))
        let right = file("| 1 | `B` | b | `A` |\n| 0 | `A` `C` | a | – |\n| roof | prose |", "MAP.md")
        #expect(Floors.findings(inMap: right, of: manifest).isEmpty)
        let wrong = file("| 1 | `B` | b | – |\n| 0 | `A`, `D` | a | all that is below |", "MAP.md")
        #expect(
            Floors.findings(inMap: wrong, of: manifest).map(\.reason) == [
                "B has other imports in Package.swift", "D is not in Package.swift, or twice here", "C is missing from the map",
            ])
    }
}
