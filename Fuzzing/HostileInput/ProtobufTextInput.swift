// Protobuf text: what is read can be written and read again, errors name a place in the text, and files read record by record
// say the same as files read at once.

import LookupMessages
import Protobuf

enum ProtobufTextInput {
    /// Steering: byte 0 the message (modulo the number of them).
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        fields(of: input, &verdict)
        switch input.steer(0) % 6 {
        case 0: check(EveryField.self, input, &verdict)
        case 1: check(PIRConfig.self, input, &verdict)
        case 2: check(EvaluationKeyConfig.self, input, &verdict)
        case 3: check(PirParameters.self, input, &verdict)
        case 4:
            stream(KeywordDatabase.self, input, &verdict, whole: \.rows) { (records: [KeywordDatabaseRow]) in records }
        default:
            stream(InputIdentities.self, input, &verdict, whole: { Set($0.identities.keys) }) {
                (records: [InputIdentityEntry]) in
                Set(records.map(\.number))
            }
        }
        return verdict
    }

    /// Without a schema.
    private static func fields(of input: SteeredInput, _ verdict: inout InputVerdict) {
        let here = fields(input.message)
        verdict.require(here == fields(input.moved), "another verdict at another place")
        let names = here.fields.map(\.nameBytes)
        verdict.require(names.allSatisfy { !$0.isEmpty && $0.count <= input.message.count }, "a field without a name")
        if let error = here.error { place(error, input, &verdict) }
    }

    private static func fields(_ text: ArraySlice<UInt8>) -> Fields {
        var reader = TextFormatReader(text)
        var found = Fields()
        do throws(TextFormatError) {
            while let field = try reader.nextField() { found.fields.append(field) }
        } catch {
            found.error = error
        }
        return found
    }

    private struct Fields: Equatable {
        var fields: [TextField] = []
        var error: TextFormatError?
    }

    private static func check<M: TextMessage>(_ type: M.Type, _ input: SteeredInput, _ verdict: inout InputVerdict) {
        guard let message = read(type, input, &verdict) else { return }
        verdict.outcomes.insert(message == M() ? "nothing" : "message")
        guard let text = try? message.text(), let again = try? M(text: text[...]) else {
            verdict.violations.append("what was read cannot be written and read again")
            return
        }
        verdict.require(again == message, "what was read is another message when it is written and read again")
        verdict.require((try? again.text()) == text, "writing is not stable")
        verdict.require((try? M(decoding: message.encoded(), limits: .file)) == message, "the wire says something else")
        verdict.require((try? M(text: input.moved)) == message, "another verdict at another place")
    }

    /// The message, or its error noted.
    private static func read<M: TextMessage>(_ type: M.Type, _ input: SteeredInput, _ verdict: inout InputVerdict) -> M? {
        do {
            return try M(text: input.message)
        } catch let error as TextFormatError {
            place(error, input, &verdict)
            verdict.outcomes.insert("error \(name(error.reason))")
        } catch let error as ProtobufError {
            verdict.outcomes.insert("error \(error.name)")
        } catch {
            verdict.violations.append("an error of an unknown type")
        }
        return nil
    }

    /// Compares a file read at once with the same file read record by record.
    private static func stream<M: TextMessage, Record: RecordMessage, Kept: Equatable>(
        _ type: M.Type, _ input: SteeredInput, _ verdict: inout InputVerdict, whole kept: (M) -> Kept,
        records: ([Record]) -> Kept
    ) {
        check(type, input, &verdict)
        let whole = try? M(text: input.message)
        var stream = RecordStream<Record>(text: input.message)
        var found: [Record] = []
        var failed = false
        do {
            while let record = try stream.next() { found.append(record) }
        } catch {
            failed = true
            verdict.require(error is TextFormatError || error is ProtobufError, "an error of an unknown type")
        }
        verdict.require(failed == (whole == nil), "record by record a file is judged in another way")
        if !failed, let whole { verdict.require(kept(whole) == records(found), "record by record a file says something else") }
    }

    /// A place is inside the text, or just behind its end.
    private static func place(_ error: TextFormatError, _ input: SteeredInput, _ verdict: inout InputVerdict) {
        let lines = input.message.count { $0 == UInt8(ascii: "\n") } + 1
        verdict.require((1...lines).contains(error.line), "an error on a line that is not there")
        verdict.require((1...(input.message.count + 1)).contains(error.column), "an error in a column that is not there")
        verdict.require(!error.description.isEmpty, "an error without words")
    }

    private static func name(_ reason: TextFormatError.Reason) -> String {
        switch reason {
        case .expected: "expected"
        case .unterminatedString: "unterminatedString"
        case .invalidEscape: "invalidEscape"
        case .invalidUTF8: "invalidUTF8"
        case .unknownField: "unknownField"
        case .wrongValue: "wrongValue"
        case .outOfRange: "outOfRange"
        case .listForSingularField: "listForSingularField"
        case .nestingTooDeep: "nestingTooDeep"
        }
    }
}
