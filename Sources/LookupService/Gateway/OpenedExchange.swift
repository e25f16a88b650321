// An encapsulated request that was opened, in either form, and how its answer is sealed (service.md 3.4, 3.5, 3.10).

import Cryptography
import HTTPCore
import ObliviousHTTP

/// The forms in which requests are sealed; the answer has the form of its request.
enum EncapsulationForm: Sendable, CaseIterable {
    /// One sealed message (RFC 9458).
    case whole
    /// Sealed in pieces (draft-ietf-ohai-chunked-ohttp-08).
    case chunked

    var requestType: String { self == .whole ? "message/ohttp-req" : "message/ohttp-chunked-req" }
    var responseType: String { self == .whole ? "message/ohttp-res" : "message/ohttp-chunked-res" }
}

/// What was in a request, and what seals the answer to it.
struct OpenedExchange: Sendable {
    /// The Binary HTTP request, complete and genuine.
    let plaintext: ArraySlice<UInt8>
    let sealer: ExchangeSealer

    /// A chunked body is opened in pieces of this size, so that it is not in memory once more.
    private static let piece = 64 << 10

    init(
        opening request: consuming [UInt8], in form: EncapsulationForm, with keys: GatewayKeySet
    ) throws(EncapsulationError) {
        switch form {
        case .whole:
            let opened = try keys.open(request)
            plaintext = opened.plaintext
            sealer = .whole(opened.responseSealer)
        case .chunked:
            var limits = ChunkLimits()
            // The route has looked at the length of all of it.
            limits.total = request.count
            var opener = ChunkedRequestOpener(keys: keys, limits: limits)
            var rest = request[...]
            var message: [UInt8] = []
            message.reserveCapacity(request.count)
            while !rest.isEmpty {
                message += try opener.append(rest.prefix(Self.piece))
                rest = rest.dropFirst(Self.piece)
            }
            // A body that was cut has no final chunk: nothing of it may be acted on (CVE-2026-48480).
            message += try opener.finish()
            plaintext = message[...]
            sealer = .chunked(opener)
        }
    }
}

/// Seals the one answer to a request in the form of the request.
enum ExchangeSealer: Sendable {
    case whole(ResponseSealer)
    case chunked(ChunkedRequestOpener)

    /// The answer to the relay with a Binary HTTP response in it. Throws `BinaryHTTPError`, `CryptographyError`,
    /// `EncapsulationError`.
    func answer(_ response: BinaryResponse, _ encoding: BinaryEncoding) throws -> HTTPResponse {
        switch self {
        case .whole(let sealer):
            // Sealed where it is written.
            var message = try response.encoded(
                encoding, behind: sealer.nonceLength, before: sealer.overhead - sealer.nonceLength)
            try sealer.seal(inPlace: &message)
            return Self.answer(.whole, message)
        case .chunked(let opener):
            var sealer = try opener.responseSealer()
            return Self.answer(.chunked, try sealer.seal(response.encoded(encoding)[...], isFinal: true))
        }
    }

    private static func answer(_ form: EncapsulationForm, _ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            status: 200, fields: ["content-type": form.responseType, "cache-control": "private, no-store"], body: body)
    }
}
