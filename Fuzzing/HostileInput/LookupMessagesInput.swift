// Messages of the protocol, from a device or from a file: what is read can be written and read again, on the wire and as text,
// and costs no more than the limits say.

import LookupMessages
import Protobuf

enum LookupMessagesInput {
    /// Steering: byte 0 the message (modulo the number of them).
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        let (name, type) = messages[input.steer(0) % messages.count]
        check(type, input, &verdict)
        verdict.outcomes = Set(verdict.outcomes.map { "\(name): \($0)" })
        return verdict
    }

    /// What a device sends first, then what it gets, then what stands in files. Append only: corpora name them by number.
    static let messages: [(String, any TextMessage.Type)] = [
        ("Requests", Requests.self), ("EvaluationKeys", EvaluationKeys.self), ("ConfigRequest", ConfigRequest.self),
        ("SerializedEvaluationKey", SerializedEvaluationKey.self), ("EncryptedIndices", EncryptedIndices.self),
        ("Responses", Responses.self), ("ConfigResponse", ConfigResponse.self), ("ErrorMessage", ErrorMessage.self),
        ("PIRConfig", PIRConfig.self), ("SerializedSecretKey", SerializedSecretKey.self),
        ("CallIdentity", CallIdentity.self), ("PirParameters", PirParameters.self),
        ("InputIdentities", InputIdentities.self), ("KeywordDatabase", KeywordDatabase.self),
    ]

    private static func check<M: TextMessage>(_ type: M.Type, _ input: SteeredInput, _ verdict: inout InputVerdict) {
        let message: M
        do throws(ProtobufError) {
            message = try M(decoding: input.message)
        } catch {
            verdict.outcomes.insert("refused")
            verdict.require((0...input.message.count).contains(error.offset), "an error outside the message")
            verdict.require(!error.description.isEmpty, "an error without words")
            var again: ProtobufError?
            do throws(ProtobufError) { _ = try M(decoding: input.moved) } catch { again = error }
            verdict.require(again == error, "another verdict at another place")
            return
        }
        verdict.outcomes.insert(message == M() ? "empty" : "read")
        verdict.require((try? M(decoding: input.moved)) == message, "another verdict at another place")
        // The bytes are compared, not the messages: members of other protocols are noted, but not written.
        let encoded = message.encoded()
        guard let again = try? M(decoding: encoded) else {
            verdict.violations.append("what was read cannot be written and read again")
            return
        }
        verdict.require(again.encoded() == encoded, "writing is not stable")
        guard let text = try? message.text(), let fromText = try? M(text: text[...]) else {
            verdict.violations.append("what was read cannot be written as text and read again")
            return
        }
        verdict.require(fromText.encoded() == encoded, "the text says something else")
    }
}
