// Arguments, exit statuses and text forms of the command line.

import DeviceClient
import Foundation
import Synchronization
import Testing

@testable import veilring

private final class MemoryOutput: Output {
    private let kept = Mutex<(results: [String], remarks: [String])>(([], []))
    func result(_ line: String) { kept.withLock { $0.results.append(line) } }
    func remark(_ line: String) { kept.withLock { $0.remarks.append(line) } }
    var results: [String] { kept.withLock { $0.results } }
    var remarks: [String] { kept.withLock { $0.remarks } }
}

@Suite("The command line")
struct ProgramTests {
    private let output = MemoryOutput()

    private func run(_ words: String...) -> ExitCode {
        Program(commands: [ServeCommand(), LookupCommand()]).run(words, output: output)
    }

    @Test("help goes to the result side, misuse to the other with status 2")
    func help() {
        #expect(run() == .badUsage)
        #expect(output.results.isEmpty)
        #expect(run("--help") == .done)
        #expect(run("lookup", "--help") == .done)
        #expect(run("serve", "--help") == .done)
        #expect(output.results.count == 3)
        #expect(output.results[0].contains("lookup"))
        #expect(output.results[1].contains("--state DIR"))
        #expect(run("help", "lookup") == .done)
        #expect(run("lookup", "-h") == .done)
        #expect(output.results[3] == output.results[1] && output.results[4] == output.results[1])
        #expect(run("frobnicate") == .badUsage)
        #expect(output.remarks.last?.hasPrefix("veilring: unknown command frobnicate; known: serve lookup") == true)
        #expect(run("serve") == .badUsage)
        #expect(run("serve", "--config", "/nonexistent/veilring.json5") == .failed)
    }

    @Test("the version for people and for programs")
    func version() throws {
        #expect(run("--version") == .done)
        #expect(run("--version", "--json") == .done)
        #expect(run("--version", "--colour") == .badUsage)
        #expect(output.results.count == 2)
        let object = try JSONSerialization.jsonObject(with: Data(output.results[1].utf8)) as? [String: String]
        let version = try #require(object?["version"])
        #expect(output.results[0].hasPrefix("veilring \(version), Swift "))
        #expect(["avx2", "portable"].contains(object?["kernels"]))
    }

    @Test(
        "lookup is asked wrongly",
        arguments: [
            ["lookup"], ["lookup", "--url"], ["lookup", "--url", "http://127.0.0.1:1"],
            ["lookup", "--url", "http://127.0.0.1:1", "--app", "a"], ["lookup", "--app", "a", "+1"],
            ["lookup", "--url", "http://127.0.0.1:1", "--app", "a", "14085551212"],
            ["lookup", "--url", "http://127.0.0.1:1", "--app", "a", "+1 408"],
            ["lookup", "--url", "http://127.0.0.1:1", "--app", "a", "+"],
            ["lookup", "--url", "http://127.0.0.1:1", "--app", "a", "+١٢٣"],
            ["lookup", "--url", "nonsense", "--app", "a", "+14085551212"],
            ["lookup", "--url", "http://127.0.0.1:1", "--app", "a", "--use-case", "b", "k"],
            ["lookup", "--url", "http://127.0.0.1:1", "--url", "http://127.0.0.1:1", "--app", "a", "+1"],
            ["lookup", "--url", "http://127.0.0.1:1", "--colour", "--app", "a", "+1"],
            ["lookup", "--url", "http://127.0.0.1:1", "--chunked", "--app", "a", "+1"],
            ["lookup", "--url", "http://127.0.0.1:1", "--relay", "http://127.0.0.1:1", "--app", "a", "+1"],
            ["lookup", "--json=yes", "--url", "http://127.0.0.1:1", "--app", "a", "+1"],
        ])
    func misuse(words: [String]) {
        #expect(Program(commands: [LookupCommand()]).run(words, output: output) == .badUsage)
        #expect(output.results.isEmpty)
        #expect(output.remarks.count == 1)
    }

    @Test("a server that is not there is status 1")
    func unreachable() {
        #expect(run("lookup", "--url", "http://127.0.0.1:1", "--app", "a", "+14085551212") == .failed)
        #expect(output.results.isEmpty)
    }

    @Test("findings stand in lines that begin with file and line, what sums them up comes last")
    func findings() throws {
        let path = FileManager.default.temporaryDirectory.path + "/veilring-findings-\(UUID().uuidString).json5"
        try Data("{ data: 'd', authentication: 'none', useCases: {}, lsten: 1 }".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(run("serve", "--config", path) == .failed)
        let lines = output.remarks.last?.split(separator: "\n").map(String.init) ?? []
        #expect(lines.count == 3 && lines.dropLast().allSatisfy { $0.hasPrefix(path + ":1:") }, "\(lines)")
        #expect(lines.last == "veilring serve: the configuration cannot be used: 2 errors")
    }

    @Test("arguments")
    func arguments() throws {
        let options = [Option(name: "--a", value: "A", help: ""), Option(name: "--b", help: "")]
        let sorted = try Arguments(["x", "--a=1=2", "--b", "+3", "--", "--a", "-"], options: options)
        #expect(sorted["--a"] == "1=2")
        #expect(sorted.has("--b"))
        #expect(sorted.rest == ["x", "+3", "--a", "-"])
    }

    @Test("what a server sent is shown harmlessly")
    func text() {
        #expect(terminalText("a\u{1B}[2Jb\u{202E}") == "a\\u{1b}[2Jb\\u{202e}")
        #expect(terminalText("黃先生｜某某科技") == "黃先生｜某某科技")
        #expect(valueText(Array("黃".utf8)) == "黃")
        #expect(valueText([1]) == "0x01")
        #expect(valueText([0xFF, 0xFE]) == "0xfffe")
        #expect(valueText([]) == "0x")
        #expect(JSONText.string("a\"\\\n\u{1}é").text == #""a\"\\\u000a\u0001é""#)
        #expect(JSONText.milliseconds(.microseconds(12_345)).text == "12.3")
        #expect(JSONText.object([("a", .array([.null, .bool(true), .int(-1)]))]).text == #"{"a":[null,true,-1]}"#)
    }

    @Test("lines and objects of an answer")
    func answers() {
        var answer = CallerAnswer(number: "+1")
        #expect(LookupCommand.line(answer) == "+1: not found")
        #expect(
            LookupCommand.json(answer).text
                == #"{"number":"+1","found":false,"name":null,"category":null,"cacheMinutes":null,"block":false,"identityMs":null,"blockMs":null}"#
        )
        answer.found = true
        answer.block = true
        answer.blockTime = .milliseconds(3)
        #expect(LookupCommand.line(answer) == "+1: blocked [block 3.0 ms]")
        answer.block = false
        answer.name = "Johnny"
        answer.category = .person
        answer.cacheMinutes = 60
        answer.identityTime = .milliseconds(4)
        #expect(LookupCommand.line(answer) == "+1: Johnny, person, not blocked [block 3.0 ms, identity 4.0 ms]")
        #expect(
            LookupCommand.json(answer).text
                == #"{"number":"+1","found":true,"name":"Johnny","category":"person","cacheMinutes":60,"block":false,"identityMs":4.0,"blockMs":3.0}"#
        )
    }
}
