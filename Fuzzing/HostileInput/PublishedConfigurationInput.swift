// What a server publishes, as a device reads it: accepted or refused with a typed error, and an accepted configuration is
// published again as the same one.

import BFV
import KeywordPIR
import LookupMessages
import Protobuf
import RingMath

enum PublishedConfigurationInput {
    /// Steering: byte 0 how long the first of two messages is; PIRConfig comes first, then EvaluationKeyConfig.
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        do {
            let config = try PIRConfig(decoding: input.message.prefix(input.steer(0)))
            let keyConfig = try EvaluationKeyConfig(decoding: input.message.dropFirst(input.steer(0)))
            let parameters = try UseCaseParameters(pirConfig: config, keyConfig: keyConfig)
            verdict.outcomes.insert("parameters")
            let again = try? UseCaseParameters(pirConfig: parameters.pirConfig, keyConfig: parameters.evaluationKeyConfig)
            verdict.require(again == parameters, "the parameters are others when they are published and read again")
            verdict.require(parameters.configurationID.count == 32, "an identifier of another length")
            // Engines of large parameter sets take long to make.
            guard parameters.set.degree <= 64, parameters.shards.allSatisfy({ $0.expandedCount <= 256 }) else { return verdict }
            _ = try PIREngine(parameters: parameters)
            verdict.outcomes.insert("engine")
        } catch is ProtobufError {
            verdict.outcomes.insert("protobuf error")
        } catch is PIRError {
            verdict.outcomes.insert("PIR error")
        } catch is ParameterError {
            verdict.outcomes.insert("parameter error")
        } catch is RingError {
            verdict.outcomes.insert("ring error")
        } catch {
            verdict.violations.append("an error of an unknown type")
        }
        return verdict
    }
}
