// An issuer or gateway key as it lies on the disk: one JSON file, with a format version (service.md 2.2, 2.6, 3.2, 9).

import FoundationEssentials

/// A private key with its times. Times are seconds since 1970.
public struct StoredKey: Sendable, Equatable {
    /// What a key is for.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        /// Signs tokens.
        case issuer
        /// Opens encapsulated requests.
        case gateway
    }

    /// What the key is for.
    public var kind: Kind
    /// The id of the public key, 16 to 64 lower-case hexadecimal digits.
    public var name: String
    /// The tier whose tokens it signs; nil for none.
    public var tier: String?
    /// When it was made.
    public var created: Int64
    /// Before this time it signs nothing; nil: from the start.
    public var notBefore: Int64?
    /// From this time on it signs no more.
    public var issueUntil: Int64?
    /// From this time on it is not announced.
    public var leavesDirectory: Int64?
    /// From this time on its tokens are not accepted.
    public var verifyUntil: Int64?
    /// The private key as PEM text, which may be encrypted: opaque here. A secret.
    public var privateKey: String

    /// Makes a record; `KeyFolder.save` checks the fields.
    public init(
        kind: Kind, name: String, tier: String? = nil, created: Int64, notBefore: Int64? = nil, issueUntil: Int64? = nil,
        leavesDirectory: Int64? = nil, verifyUntil: Int64? = nil, privateKey: String
    ) {
        self.kind = kind
        self.name = name
        self.tier = tier
        self.created = created
        self.notBefore = notBefore
        self.issueUntil = issueUntil
        self.leavesDirectory = leavesDirectory
        self.verifyUntil = verifyUntil
        self.privateKey = privateKey
    }

    /// `issuer-` or `gateway-`, and the first 16 digits of the name.
    var fileName: String { "\(kind.rawValue)-\(name.prefix(16)).json" }

    /// What is wrong with the fields; nil: nothing. Never repeats them.
    var flaw: String? {
        guard SpentTokenRules.isKeyName(name), name.utf8.count >= 16 else {
            return "the name of a key is 16 to 64 lower-case hexadecimal digits"
        }
        if let tier, tier.isEmpty || tier.utf8.count > 128 || tier.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            return "the tier has 1 to 128 bytes without control characters"
        }
        // The last second of the year 9999.
        guard
            [created, notBefore, issueUntil, leavesDirectory, verifyUntil].allSatisfy({
                (0...253_402_300_799).contains($0 ?? 0)
            })
        else { return "times are seconds since 1970, up to the year 9999" }
        guard !privateKey.isEmpty, privateKey.utf8.count <= StoredKeyFile.mostKeyBytes else {
            return "the private key has 1 to \(StoredKeyFile.mostKeyBytes) bytes"
        }
        return nil
    }
}

/// The members of the JSON object.
struct StoredKeyFile: Codable {
    /// The version that this program writes.
    static let currentVersion: Int64 = 1
    /// Bytes of a whole file.
    static let mostBytes = 65_536
    /// Bytes of the private key's text: a file has room for it even if each byte is escaped.
    static let mostKeyBytes = 16_384

    private enum Member: String, CodingKey, CaseIterable {
        case version, kind, name, tier, created, notBefore, issueUntil, leavesDirectory, verifyUntil, privateKey
    }

    /// Any name of a member, to find those that do not belong there.
    private struct AnyMember: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    /// What is wrong with a file.
    private enum Flaw: Error {
        case newer(Int64)
        case text(String)
    }

    let key: StoredKey

    init(_ key: StoredKey) {
        self.key = key
    }

    init(from decoder: any Decoder) throws {
        let all = try decoder.container(keyedBy: AnyMember.self)
        let members = try decoder.container(keyedBy: Member.self)
        // The version first: a newer format may well have other members.
        guard let version = try? members.decode(Int64.self, forKey: .version), version >= 1 else {
            throw Flaw.text("`version` must be a whole number from 1")
        }
        guard version <= Self.currentVersion else { throw Flaw.newer(version) }
        guard all.allKeys.allSatisfy({ Member(rawValue: $0.stringValue) != nil }) else {
            throw Flaw.text("it has a member that this version does not know")
        }
        func text(_ member: Member) throws -> String {
            guard let value = try? members.decode(String.self, forKey: member) else {
                throw Flaw.text("`\(member.rawValue)` is missing, or not a string")
            }
            return value
        }
        func time(_ member: Member) throws -> Int64? {
            guard members.contains(member) else { return nil }
            guard let value = try? members.decode(Int64.self, forKey: member) else {
                throw Flaw.text("`\(member.rawValue)` is not a whole number")
            }
            return value
        }
        guard let kind = StoredKey.Kind(rawValue: try text(.kind)) else {
            throw Flaw.text("`kind` is neither \"issuer\" nor \"gateway\"")
        }
        guard let created = try time(.created) else { throw Flaw.text("`created` is missing") }
        key = StoredKey(
            kind: kind, name: try text(.name), tier: members.contains(.tier) ? try text(.tier) : nil, created: created,
            notBefore: try time(.notBefore), issueUntil: try time(.issueUntil), leavesDirectory: try time(.leavesDirectory),
            verifyUntil: try time(.verifyUntil), privateKey: try text(.privateKey))
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(Self.currentVersion, forKey: .version)
        try members.encode(key.kind.rawValue, forKey: .kind)
        try members.encode(key.name, forKey: .name)
        try members.encodeIfPresent(key.tier, forKey: .tier)
        try members.encode(key.created, forKey: .created)
        try members.encodeIfPresent(key.notBefore, forKey: .notBefore)
        try members.encodeIfPresent(key.issueUntil, forKey: .issueUntil)
        try members.encodeIfPresent(key.leavesDirectory, forKey: .leavesDirectory)
        try members.encodeIfPresent(key.verifyUntil, forKey: .verifyUntil)
        try members.encode(key.privateKey, forKey: .privateKey)
    }

    /// Reads a file's content.
    ///
    /// - Throws: `malformed`, `newerSchema`; with the path, without anything of the content.
    static func key(in content: [UInt8], of path: String) throws(StateStoreError) -> StoredKey {
        let key: StoredKey
        do {
            key = try JSONDecoder().decode(StoredKeyFile.self, from: Data(content)).key
        } catch Flaw.newer(let version) {
            throw .newerSchema(path: path, found: version, known: currentVersion)
        } catch Flaw.text(let reason) {
            throw .malformed(path: path, reason: reason)
        } catch {
            // The decoder's own words may quote the file.
            throw .malformed(path: path, reason: "it is not a JSON object")
        }
        if let flaw = key.flaw { throw .malformed(path: path, reason: flaw) }
        return key
    }

    /// The content of a key's file.
    static func content(of key: StoredKey) throws(StateStoreError) -> [UInt8] {
        if let flaw = key.flaw { throw .invalidValue(flaw) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(StoredKeyFile(key)), data.count < mostBytes else {
            throw .invalidValue("the key does not fit into \(mostBytes) bytes of JSON")
        }
        return [UInt8](data) + [UInt8(ascii: "\n")]
    }
}
