// Where test vectors are: the shared folder if it is here, else the few copies beside these tests.

import Foundation
import Testing

enum VectorFiles {
    /// The folder `shared/vectors`, by VEILRING_SHARED or by walking up from this file.
    static let shared: URL? = {
        if let path = ProcessInfo.processInfo.environment["VEILRING_SHARED"] {
            return URL(fileURLWithPath: path).appendingPathComponent("vectors")
        }
        var at = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        while at.path != "/" {
            let candidate = at.deletingLastPathComponent().appendingPathComponent("shared/vectors")
            if FileManager.default.fileExists(atPath: candidate.path) { return candidate }
            at.deleteLastPathComponent()
        }
        return nil
    }()

    private static let copies = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Vectors")

    /// The file, in the shared folder or among the copies; nil where it is in neither.
    static func find(_ path: String) -> URL? {
        [shared, copies].compactMap { $0?.appendingPathComponent(path) }.first {
            FileManager.default.fileExists(atPath: $0.path)
        }
    }

    /// Those of the names whose file is here.
    static func present(_ paths: [String]) -> [String] { paths.filter { find($0) != nil } }

    static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: #require(find(path), "\(path)"))) }

    static func json<T: Decodable>(_ path: String, as: T.Type = T.self) throws -> T {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(T.self, from: Data(bytes(path)))
    }
}
