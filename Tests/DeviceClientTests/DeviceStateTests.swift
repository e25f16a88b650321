// What a device keeps between runs, and what it makes of error bodies.

import FoundationEssentials
import Glibc
import Testing

@testable import DeviceClient

@Suite("State of a device")
struct DeviceStateTests {
    private let folder =
        FileManager.default.temporaryDirectory.path + "/veilring-state-\(getpid())-\(UInt64.random(in: 0 ... .max))"

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test("identifier and keys come back, readable by their owner only")
    func kept() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let hash = (0..<32).map { UInt8($0) }
        let key = DeviceKey(timestamp: 0x0102_0304_0506_0708, secret: [1, 2, 3])
        var first = try DeviceState(folder: folder)
        #expect(DeviceState.isIdentifier(first.identifier))
        #expect(try first.key(for: hash) == nil)
        try first.keep(key, for: hash)
        var second = try DeviceState(folder: folder)
        #expect(second.identifier == first.identifier)
        #expect(try second.key(for: hash) == key)
        #expect(try second.key(for: Array(hash.reversed())) == nil)
        #expect(mode(folder) == 0o700)
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) { #expect(mode(folder + "/" + file) == 0o600) }
    }

    @Test("without a folder every device is another")
    func thrownAway() throws {
        #expect(try DeviceState(folder: nil).identifier != DeviceState(folder: nil).identifier)
    }

    @Test("identifiers are upper-case UUIDs")
    func identifiers() {
        #expect(DeviceState.isIdentifier("A4C1E2B0-0000-4000-8000-00000000ABCD"))
        for text in [
            "", "a4c1e2b0-0000-4000-8000-00000000abcd", "A4C1E2B0-0000-4000-8000-00000000ABC",
            "A4C1E2B000000-4000-8000-00000000ABCD",
        ] {
            #expect(!DeviceState.isIdentifier(text))
        }
    }

    @Test("a folder open to others, a damaged file and a file instead of a folder are refused")
    func refused() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        _ = try DeviceState(folder: folder)
        try Data("x".utf8).write(to: URL(filePath: folder + "/identifier"))
        #expect(throws: DeviceError.self) { try DeviceState(folder: folder) }
        #expect(throws: DeviceError.self) { try DeviceState(folder: folder + "/identifier") }
        try FileManager.default.removeItem(atPath: folder + "/identifier")
        chmod(folder, 0o755)
        #expect(throws: DeviceError.self) { try DeviceState(folder: folder) }
        chmod(folder, 0o700)
        var state = try DeviceState(folder: folder)
        try Data([1, 2]).write(to: URL(filePath: folder + "/key-" + String(repeating: "00", count: 32)))
        #expect(throws: DeviceError.self) { _ = try state.key(for: Array(repeating: 0, count: 32)) }
    }

    @Test("a server's message is shown without what could move a cursor")
    func messages() {
        #expect(ServiceConnection.message(in: Array(#"{"error":{"message":"Try again later"}}"#.utf8)) == "Try again later")
        #expect(ServiceConnection.message(in: Array("a\u{1B}[2J".utf8)) == "a?[2J")
        #expect(ServiceConnection.message(in: []).isEmpty)
        #expect(ServiceConnection.message(in: Array(repeating: 0x41, count: 5000)).count == 100)
    }

    @Test("URLs that cannot be used")
    func urls() {
        for url in ["", "localhost", "ftp://x", "https://"] {
            #expect(throws: DeviceError.self) { try Device(serviceURL: url, app: "a") }
        }
        #expect(throws: DeviceError.self) { try Device(serviceURL: "http://127.0.0.1:1", issuerURL: "x", app: "a") }
    }
}
