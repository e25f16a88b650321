// Where test vectors are: the shared folder if it is here, else the few copies in Tests/Vectors that CI depends on.

import Foundation

/// Files with published or computed values.
public enum VectorFiles {
    /// A file that is in neither place.
    public struct Missing: Error, CustomStringConvertible {
        /// Its path below the folder of vectors.
        public let description: String
    }

    /// The folder `shared/vectors`, by VEILRING_SHARED or by walking up from this file; nil where it is absent.
    public static let shared: URL? = {
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

    private static let copies = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Vectors")

    /// The file, in the shared folder or among the copies; nil where it is in neither.
    public static func find(_ path: String) -> URL? {
        [shared, copies].compactMap { $0?.appendingPathComponent(path) }.first {
            FileManager.default.fileExists(atPath: $0.path)
        }
    }

    /// Those of the names whose file is here.
    public static func present(_ paths: [String]) -> [String] { paths.filter { find($0) != nil } }

    /// A file's bytes.
    public static func bytes(_ path: String) throws -> [UInt8] {
        guard let file = find(path) else { throw Missing(description: path) }
        return Array(try Data(contentsOf: file))
    }

    /// A file's JSON; `snake_case` names become `camelCase` ones where that is wanted.
    public static func json<T: Decodable>(
        _ path: String, as: T.Type = T.self, keys: JSONDecoder.KeyDecodingStrategy = .useDefaultKeys
    ) throws -> T {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = keys
        return try decoder.decode(T.self, from: Data(bytes(path)))
    }
}
