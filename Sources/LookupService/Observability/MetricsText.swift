// The text exposition format of Prometheus, version 0.0.4: families of samples as lines of text.
// https://prometheus.io/docs/instrumenting/exposition_formats/

/// The value of a sample.
enum MetricValue: Sendable, Equatable {
    case integer(Int)
    case real(Double)

    var text: String {
        switch self {
        case .integer(let value): "\(value)"
        case .real(let value):
            value.isNaN ? "NaN" : value == .infinity ? "+Inf" : value == -.infinity ? "-Inf" : "\(value)"
        }
    }
}

/// A name of a label and its value.
struct LabelPair: Sendable, Equatable {
    var name: String
    var value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// One line of values.
struct MetricSample: Sendable, Equatable {
    /// What comes behind the family's name: empty, `_bucket`, `_sum` or `_count`.
    var suffix = ""
    var labels: [LabelPair] = []
    var value: MetricValue
}

/// All samples of one name.
struct MetricFamily: Sendable, Equatable {
    enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    /// The whole name, with `veilring_` and unit; counters end in `_total`.
    var name: String
    var kind: Kind
    var help: String
    var samples: [MetricSample]

    static func counter(_ name: String, _ help: String, _ samples: [MetricSample]) -> MetricFamily {
        MetricFamily(name: name, kind: .counter, help: help, samples: samples)
    }

    static func gauge(_ name: String, _ help: String, _ samples: [MetricSample]) -> MetricFamily {
        MetricFamily(name: name, kind: .gauge, help: help, samples: samples)
    }

    static func counter(_ name: String, _ help: String, _ value: Int) -> MetricFamily {
        counter(name, help, [MetricSample(value: .integer(value))])
    }

    static func gauge(_ name: String, _ help: String, _ value: Int) -> MetricFamily {
        gauge(name, help, [MetricSample(value: .integer(value))])
    }

    /// A counter for each value of a label.
    static func counter<Label>(
        _ name: String, _ help: String, by label: String, _ counters: LabelledInstruments<Label, Counter>
    ) -> MetricFamily {
        counter(
            name, help,
            counters.all.map {
                MetricSample(labels: [LabelPair(label, $0.label.labelText)], value: .integer($0.instrument.value))
            })
    }

    /// A histogram in seconds for each value of a label.
    static func histogram<Label>(
        _ name: String, _ help: String, by label: String, _ histograms: LabelledInstruments<Label, Histogram>
    ) -> MetricFamily {
        MetricFamily(
            name: name, kind: .histogram, help: help,
            samples: histograms.all.flatMap { samples(of: $0.instrument, [LabelPair(label, $0.label.labelText)]) })
    }

    private static func samples(of histogram: Histogram, _ labels: [LabelPair]) -> [MetricSample] {
        let reading = histogram.reading
        var samples: [MetricSample] = []
        var total = 0
        for (index, count) in reading.counts.enumerated() {
            total &+= count
            let bound = index < histogram.bounds.count ? seconds(histogram.bounds[index].nanoseconds) : .infinity
            samples.append(
                MetricSample(
                    suffix: "_bucket", labels: labels + [LabelPair("le", MetricValue.real(bound).text)],
                    value: .integer(total)))
        }
        samples.append(MetricSample(suffix: "_sum", labels: labels, value: .real(seconds(reading.nanoseconds))))
        samples.append(MetricSample(suffix: "_count", labels: labels, value: .integer(total)))
        return samples
    }

    private static func seconds(_ nanoseconds: Int) -> Double { Double(nanoseconds) / 1e9 }
}

/// Writes families.
enum MetricsText {
    /// The media type of the format.
    static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    /// The lines of all families. One without samples is written with its help and type, so that it is known to exist.
    static func text(of families: [MetricFamily]) -> String {
        var text = ""
        for family in families {
            text +=
                "# HELP \(family.name) \(escaped(family.help, quotes: false))\n# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                text += family.name + sample.suffix
                if !sample.labels.isEmpty {
                    let pairs = sample.labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
                    text += "{" + pairs.joined(separator: ",") + "}"
                }
                text += " \(sample.value.text)\n"
            }
        }
        return text
    }

    /// Backslashes and line ends, in label values also quotes, would end what they stand in.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
