// What is counted about users and tokens: by tier and phase only (service.md 8.1, 8.2).

import PrivacyPass

extension MetricsPage {
    /// Families about tokens; without samples where everyone may ask.
    var tokens: [MetricFamily] {
        let roles = service.privacyPass
        let spent = roles?.spentTokens()
        let phases = roles?.keys.counts() ?? [:]
        return [
            .counter(
                "veilring_tokens_issued_total", "Tokens signed, by the tier of the key.",
                service.metrics.tokensIssued.all.sorted { $0.key < $1.key }.map { tier, count in
                    MetricSample(labels: [LabelPair("tier", tier)], value: .integer(count))
                }),
            .counter(
                "veilring_tokens_other_challenge_total", "Tokens for another challenge than ours that were accepted.",
                roles?.redemption.otherChallenges.load(ordering: .relaxed) ?? 0),
            .counter(
                "veilring_gateway_requests_total", "Encapsulated requests, by how their opening ended.",
                service.metrics.decapsulations.all.sorted { $0.key.labelText < $1.key.labelText }.map { result, count in
                    MetricSample(labels: [LabelPair("result", result.labelText)], value: .integer(count))
                }),
            .gauge(
                "veilring_spent_tokens", "Spent tokens of all keys.",
                spent.map { [MetricSample(value: .integer($0.tokens))] } ?? []),
            .gauge(
                "veilring_spent_token_bytes", "Bytes on the disk for spent tokens.",
                spent.map { [MetricSample(value: .integer($0.bytes))] } ?? []),
            .gauge(
                "veilring_issuer_keys", "Issuer keys, by phase.",
                roles == nil
                    ? []
                    : IssuerKeyPhase.allCases.map {
                        MetricSample(
                            labels: [LabelPair("phase", $0.rawValue.split(separator: " ").joined(separator: "_"))],
                            value: .integer(phases[$0] ?? 0))
                    }),
        ]
    }
}
