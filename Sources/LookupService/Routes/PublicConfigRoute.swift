// GET /config, announced with iOS 27.3 (service.md 1.11.1): every configuration in its newest form, for everybody, cacheable.

import Cryptography
import HTTPCore
import LookupMessages
import Protobuf
import Synchronization

/// The answer of `GET /config`, made once for each snapshot.
final class PublicConfigCache: Sendable {
    private struct Entry: Sendable {
        var version: String
        var ids: [[UInt8]]
        var body: CacheableBody
    }

    private let entry = Mutex<Entry?>(nil)

    /// The answer, or 304 when the asker has it already.
    func answer(_ head: HTTPRequestHead, snapshot: ServiceSnapshot, tiers: TierUseCases?, maxAge: Int) -> HTTPResponse {
        let wanted = LookupService.configurations(of: tiers?.ofEverybody ?? .all, in: snapshot)
        let ids = wanted.map(\.useCase.parameters.configurationID)
        let body = entry.withLock { entry -> CacheableBody in
            if let entry, entry.version == snapshot.version, entry.ids == ids { return entry.body }
            let made = CacheableBody(Self.message(wanted), type: "application/x-protobuf")
            entry = Entry(version: snapshot.version, ids: ids, body: made)
            return made
        }
        return body.answer(head, maxAge: maxAge)
    }

    private static func message(_ wanted: [LookupService.WantedConfiguration]) -> [UInt8] {
        var writer = ProtobufWriter()
        for item in wanted.sorted(by: { $0.name < $1.name }) {
            writer.delimited(field: 1) { entry in
                entry.string(item.name, field: 1)
                entry.presentBytes(item.useCase.wire.newest[...], field: 2)
            }
        }
        return writer.output
    }
}

/// A public body with its entity tag (RFC 9110 sections 8.8.3, 13.1.2).
struct CacheableBody: Sendable {
    let bytes: [UInt8]
    let type: String
    /// With its quotation marks.
    let tag: String

    init(_ bytes: [UInt8], type: String) {
        self.bytes = bytes
        self.type = type
        tag = "\"" + SHA256.hash(bytes).prefix(16).hexadecimal + "\""
    }

    /// The answer, or 304 when the asker has this body already.
    func answer(_ head: HTTPRequestHead, maxAge: Int) -> HTTPResponse {
        let caching = "public, max-age=\(maxAge)"
        if head.fields.values("if-none-match").contains(where: isNamed) {
            return HTTPResponse(status: 304, fields: ["etag": tag, "cache-control": caching], body: [])
        }
        return HTTPResponse(
            status: 200, fields: ["content-type": type, "etag": tag, "cache-control": caching], body: bytes)
    }

    /// Whether a value of `If-None-Match` names this body: `*`, or a list with its tag, weak or not.
    private func isNamed(in value: String) -> Bool {
        value.split(separator: ",").contains { part in
            var name = part.drop { $0 == " " || $0 == "\t" }
            while let last = name.last, last == " " || last == "\t" { name.removeLast() }
            if name.hasPrefix("W/") { name = name.dropFirst(2) }
            return name == tag[...] || name == "*"
        }
    }
}
