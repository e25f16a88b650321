// Keys as files: what is saved is loaded, what is wrong is named without being quoted, and processes do not meet in the middle.

import Foundation
import Glibc
import Testing

@testable import StateStore

@Suite("The folder of keys")
struct KeyFolderTests {
    let scratch = ScratchFolder()
    var folder: KeyFolder { KeyFolder(path: scratch.path) }

    /// A key whose id begins with `n`.
    private func key(_ n: Int, _ kind: StoredKey.Kind = .issuer) -> StoredKey {
        let name = String(format: "%016x", n) + String(repeating: "5a", count: 24)
        return StoredKey(
            kind: kind, name: name, tier: n % 2 == 0 ? "tier\(n)" : nil, created: 1_700_000_000, notBefore: 1_700_000_100,
            issueUntil: n % 3 == 0 ? 1_800_000_000 : nil, leavesDirectory: n % 3 == 0 ? 1_800_000_001 : nil,
            verifyUntil: 1_900_000_000,
            privateKey: "-----BEGIN PRIVATE KEY-----\nSECRET\(n)+/=\"\\\u{0}é\n-----END PRIVATE KEY-----\n")
    }

    /// The error of loading a file with this content.
    private func loadError(_ content: String, name: String = "issuer-0000000000000001.json") -> StateStoreError? {
        write(Array(content.utf8), to: scratch.file(name))
        defer { unlink(scratch.file(name)) }
        do throws(StateStoreError) {
            _ = try folder.load()
            return nil
        } catch {
            return error
        }
    }

    @Test("what is saved is loaded, in private files; saving again replaces, removing removes")
    func roundTrip() throws {
        let inner = KeyFolder(path: scratch.file("keys"))
        defer {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: inner.path)) ?? [] {
                unlink("\(inner.path)/\(name)")
            }
            rmdir(inner.path)
        }
        #expect(try inner.load() == [])
        let keys = [key(1), key(2), key(3), key(3, .gateway)]
        for key in keys { try inner.save(key) }
        #expect(try Set(inner.load().map(\.fileName)) == Set(keys.map(\.fileName)))
        #expect(try inner.load().sorted { $0.fileName < $1.fileName } == keys.sorted { $0.fileName < $1.fileName })
        #expect(mode(of: inner.path) == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: inner.path)
        #expect(names.count == 4, "no draft is left")
        for name in names { #expect(mode(of: "\(inner.path)/\(name)") == 0o600) }

        var changed = key(2)
        changed.issueUntil = 5
        try inner.save(changed)
        #expect(try inner.load().filter { $0.name == changed.name } == [changed])
        #expect(try inner.remove(name: changed.name))
        #expect(try !inner.remove(name: changed.name))
        #expect(try inner.load().count == 3)
        #expect(try inner.remove(name: key(3).name), "both kinds")
        #expect(try inner.load() == [key(1)])
    }

    @Test("a folder or a file that others may open is refused, and the error says chmod")
    func permissions() throws {
        try folder.save(key(1))
        let path = scratch.file(key(1).fileName)
        for bits: mode_t in [0o640, 0o604, 0o620] {
            chmod(path, bits)
            let error = StateStoreError.openToOthers(path: path, mode: bits)
            #expect(throws: error) { try folder.load() }
            #expect(error.description.contains("chmod 600") && error.description.contains(path))
        }
        chmod(path, 0o600)
        #expect(try folder.load().count == 1)
        chmod(scratch.path, 0o710)
        defer { chmod(scratch.path, 0o700) }
        let error = StateStoreError.openToOthers(path: scratch.path, mode: 0o710)
        #expect(throws: error) { try folder.load() }
        #expect(throws: error) { try folder.stamp() }
        #expect(throws: error) { try folder.save(key(2)) }
        #expect(throws: error) { try folder.locked {} }
    }

    @Test("malformed files are refused with their path and nothing of their content")
    func malformed() throws {
        try folder.save(key(1))
        let name = key(1).fileName
        let good = String(decoding: bytes(of: scratch.file(name)), as: UTF8.self)
        #expect(loadError(good) == nil)
        let bad: [(String, String)] = [
            ("", "JSON"), ("x", "JSON"), ("[]", "JSON"), ("\"SECRET\"", "JSON"), ("{", "JSON"), ("{}", "version"),
            (good.replacing("\"version\" : 1", with: "\"version\" : 0"), "version"),
            (good.replacing("\"version\" : 1", with: "\"version\" : 1.5"), "version"),
            (good.replacing("\"version\" : 1", with: "\"version\" : \"1\""), "version"),
            (good.replacing("\"kind\" : \"issuer\"", with: "\"kind\" : \"SECRET\""), "kind"),
            (good.replacing("\"kind\" : \"issuer\"", with: "\"kind\" : \"gateway\""), "name"),
            (good.replacing("\"kind\"", with: "\"SECRET\""), "member"),
            (good.replacing("\"created\" : 1700000000,", with: ""), "created"),
            (good.replacing("1700000000", with: "-5"), "times"),
            (good.replacing("1700000000", with: "1e99"), "created"),
            (good.replacing("1700000000", with: "null"), "created"),
            (good.replacing("1900000000", with: "999999999999999"), "times"),
            (good.replacing("\"name\" : \"0", with: "\"name\" : \"1"), "name"),
            (good.replacing("\"name\" : \"0", with: "\"name\" : \"X"), "hexadecimal"),
            (good.replacing("\"privateKey\"", with: "\"tier\""), "privateKey"),
            (good.replacing("}", with: ", \"SECRET\" : 1}"), "member"),
        ]
        for (content, word) in bad {
            #expect(content != good, "the replacement did not fit: \(word)")
            let error = loadError(content)
            guard case .malformed(let path, let reason) = error else {
                Issue.record("\(word): \(String(describing: error))")
                continue
            }
            #expect(path == scratch.file(name) && reason.contains(word), "\(word): \(reason)")
            #expect(!reason.contains("SECRET") && !reason.contains("5a5a"))
        }
        #expect(
            loadError(good.replacing("\"version\" : 1", with: "\"version\" : 2, \"more\" : 1"))
                == .newerSchema(path: scratch.file(name), found: 2, known: 1))
        #expect(
            loadError(good + String(repeating: " ", count: 65_536)) == .fileTooLarge(path: scratch.file(name), limit: 65_536))
        #expect(loadError(good, name: "issuer-ffff.json") != nil, "a misspelt name does not hide a key")
        #expect(loadError(good, name: "notes.txt") == nil)
    }

    @Test("links, folders, pipes and damaged bytes are refused and never waited for")
    func strangeFiles() throws {
        let name = scratch.file("issuer-0000000000000001.json")
        symlink("/etc/hostname", name)
        #expect(throws: StateStoreError.cannotOpen(path: name, reason: "it is a link")) { try folder.load() }
        unlink(name)
        mkfifo(name, 0o600)
        #expect(throws: StateStoreError.cannotOpen(path: name, reason: "it is not a regular file")) { try folder.load() }
        unlink(name)
        mkdir(name, 0o700)
        #expect(throws: StateStoreError.cannotOpen(path: name, reason: "it is not a regular file")) { try folder.load() }
        rmdir(name)
        #expect(throws: StateStoreError.self) { try KeyFolder(path: "/dev/null").load() }

        try folder.save(key(1))
        let good = bytes(of: name)
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(state: seed)
        var refused = 0
        for _ in 0..<2_000 {
            var damaged = good
            damaged[Int.random(in: 0..<good.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            if Bool.random(using: &generator) { damaged.removeLast(Int.random(in: 0..<good.count, using: &generator)) }
            write(damaged, to: name)
            do throws(StateStoreError) { _ = try folder.load() } catch {
                refused += 1
                #expect(!error.description.contains("SECRET"), "seed \(seed)")
            }
        }
        #expect(refused > 500, "seed \(seed)")
    }

    @Test("malformed records are not saved, nor a 65th key, nor two whose names begin alike")
    func refusedSaves() throws {
        var bad = [StoredKey](repeating: key(1), count: 9)
        bad[0].name = "0123456789"
        bad[1].name = "../../../../etc/passwd"
        bad[2].name += "0"
        bad[3].tier = ""
        bad[4].tier = "a\nb"
        bad[5].created = -1
        bad[6].verifyUntil = .max
        bad[7].privateKey = ""
        bad[8].privateKey = String(repeating: "S", count: 16_385)
        for (index, key) in bad.enumerated() {
            do throws(StateStoreError) {
                try folder.save(key)
                Issue.record("saved number \(index)")
            } catch {
                guard case .invalidValue(let text) = error else {
                    Issue.record("number \(index): \(error)")
                    continue
                }
                #expect(!text.contains("SECRET") && !text.contains("passwd"))
            }
        }
        #expect(scratch.entries() == [])
        var long = key(1)
        long.privateKey = String(repeating: "\u{1}", count: 10_000)
        try folder.save(long)
        #expect(try folder.load() == [long])
        var other = key(1)
        other.name = String(other.name.dropLast(2))
        #expect(throws: StateStoreError.self) { try folder.save(other) }
        for n in 2...64 { try folder.save(key(n)) }
        let full = StateStoreError.tooManyFiles(path: scratch.path, limit: 64)
        #expect(throws: full) { try folder.save(key(65)) }
        try folder.save(key(64))
        #expect(try folder.load().count == 64)
        write([1], to: scratch.file("gateway-more.json"))
        #expect(throws: full) { try folder.load() }
    }

    @Test("the stamp changes with every save, removal and edit, and not otherwise")
    func stamp() throws {
        var stamps = [try folder.stamp()]
        func expectChange(_ what: String) throws {
            let now = try folder.stamp()
            #expect(now != stamps.last, "\(what)")
            #expect(try now == folder.stamp())
            stamps.append(now)
        }
        try folder.save(key(1))
        try expectChange("save")
        try folder.save(key(1))
        try expectChange("save again")
        _ = try folder.load()
        try folder.locked {}
        #expect(try folder.stamp() == stamps.last, "reading and locking change nothing")
        try folder.save(key(2))
        try expectChange("second key")
        write(bytes(of: scratch.file(key(2).fileName)) + [0x20], to: scratch.file(key(2).fileName))
        try expectChange("edit")
        try folder.remove(name: key(1).name)
        try expectChange("removal")
    }

    @Test("read, decide and write under the lock from many threads: nothing is lost, and readers see whole files")
    func locked() async throws {
        try folder.save(key(1))
        let folder = folder
        let id = key(1).name
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<25 {
                        try folder.locked {
                            var key = try #require(try folder.load().first)
                            key.created += 1
                            try folder.save(key)
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<50 {
                        let names = try folder.load().map(\.name)
                        #expect(names == [id])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try folder.load().map(\.created) == [1_700_000_100])
        struct Own: Error {}
        #expect(throws: Own.self) { try folder.locked { throw Own() } }
        #expect(try folder.locked { 5 } == 5)
    }
}
