// What the tests of sources and configuration share: a folder that goes away, the shared vectors, seeded bytes.

import Foundation
import TestVectors
import Testing

@testable import CallerDirectory

/// A temporary folder, removed with the value's last owner.
final class Workspace {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "veilring-test-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and gives its path.
    @discardableResult
    func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }

    @discardableResult
    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        let file = path + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        return file
    }
}

/// The folder `shared`; nil where it is absent.
let sharedFolder = VectorFiles.shared?.deletingLastPathComponent().path

/// Seeded random numbers (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

/// `bytes` with a few bits flipped, pieces cut, grown or repeated.
func mutated(_ bytes: [UInt8], using generator: inout SeededGenerator) -> [UInt8] {
    var result = bytes
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let at = result.isEmpty ? 0 : Int.random(in: 0..<result.count, using: &generator)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0 where !result.isEmpty: result[at] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 1 where !result.isEmpty:
            result.removeSubrange(at..<min(result.count, at + 1 + Int.random(in: 0..<8, using: &generator)))
        case 2: result.insert(UInt8.random(in: 0...255, using: &generator), at: at)
        case 3 where !result.isEmpty: result.append(contentsOf: result[at...].prefix(32))
        default:
            let marks = Array("{}[]\",:\\\n\r'/*#+x0e.-".utf8)
            result.insert(marks[Int.random(in: 0..<marks.count, using: &generator)], at: at)
        }
    }
    return result
}

/// A piecewise source of bytes, as the readers want it.
func pieces(_ bytes: [UInt8], of size: Int) -> () throws(FileReadError) -> [UInt8] {
    var at = 0
    return { () throws(FileReadError) in
        let piece = Array(bytes[at..<min(bytes.count, at + size)])
        at += piece.count
        return piece
    }
}
