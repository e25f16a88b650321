// Header fields of a request or response: lower-case names, order kept (service.md 5.5, RFC 9110 section 5).
// A value is text in which each scalar up to U+00FF stands for one byte, so that obs-text passes through unchanged.

/// Header fields in order. Names are kept in lower case; a name may occur several times.
public struct HTTPFields: Sendable, Equatable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
    /// One field.
    public struct Field: Sendable, Equatable {
        /// The name in lower case.
        public let name: String
        /// The value without surrounding white space.
        public let value: String
    }

    private var list: [Field] = []

    /// No fields.
    public init() {}

    /// Fields in the order of the literal.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }

    /// The index of the first field.
    public var startIndex: Int { list.startIndex }
    /// The index behind the last field.
    public var endIndex: Int { list.endIndex }
    /// The field at a position.
    public subscript(position: Int) -> Field { list[position] }

    /// The first value under a name (any case). Setting replaces all fields of that name; nil removes them.
    public subscript(name: String) -> String? {
        get {
            let key = Self.lowercased(name)
            return list.first { $0.name == key }?.value
        }
        set {
            let key = Self.lowercased(name)
            guard let newValue else {
                list.removeAll { $0.name == key }
                return
            }
            if let first = list.firstIndex(where: { $0.name == key }) {
                list[first] = Field(name: key, value: newValue)
                let rest = list[(first + 1)...].filter { $0.name != key }
                list.replaceSubrange((first + 1)..., with: rest)
            } else {
                list.append(Field(name: key, value: newValue))
            }
        }
    }

    /// Adds a field at the end; the name is lower-cased.
    public mutating func append(_ name: String, _ value: String) {
        list.append(Field(name: Self.lowercased(name), value: value))
    }

    /// All values under a name (any case), in order.
    public func values(_ name: String) -> [String] {
        let key = Self.lowercased(name)
        return list.filter { $0.name == key }.map(\.value)
    }

    /// Removes all fields of a name (any case).
    public mutating func remove(_ name: String) { self[name] = nil }

    /// Whether a comma-separated list field holds a token; the token must be given in lower case, values compare in any case.
    public func list(_ name: String, contains token: String) -> Bool {
        values(name).contains { value in
            value.utf8.split(separator: UInt8(ascii: ",")).contains { item in
                Self.lowercased(HTTPSyntax.trimmed(Substring(item))) == token
            }
        }
    }

    /// ASCII lower case; other scalars stay as they are.
    static func lowercased(_ text: String) -> String {
        guard text.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return text }
        return String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
