// The normaliser that stands on Debian's libphonenumber 8.12 (through CPhoneNumber). Rules: issue 2, item 5.

import CPhoneNumber

/// Which regions the library knows.
public enum PhoneNumberRegion {
    /// True for two upper-case letters of a region with a numbering plan.
    public static func isKnown(_ region: String) -> Bool {
        let bytes = Array(region.utf8)
        return cphonenumber_region_known(bytes, bytes.count) == 1
    }
}

/// The library's reading, with three rules of ours: what is written as `+` and digits is kept even if the library doubts
/// it (lenient); patterns, shortened spreadsheet numbers and short codes are rejected; doubts are told.
public struct LibraryPhoneNumberNormalizer: PhoneNumberNormalizer {
    /// Two upper-case letters; empty: only numbers with `+` are read.
    public let region: String
    /// What to do with numbers that the library calls invalid.
    public let policy: NumberPolicy
    private let regionBytes: [UInt8]
    private let takesLongWay: Bool

    /// A normaliser for numbers as dialled in `region`.
    public init(region: String?, policy: NumberPolicy = .lenient) {
        self.init(region: region, policy: policy, takesLongWay: false)
    }

    /// `takesLongWay`: every text through the library's parser, even a plain one. For tests.
    init(region: String?, policy: NumberPolicy, takesLongWay: Bool) {
        self.takesLongWay = takesLongWay
        self.region = region ?? ""
        self.policy = policy
        self.regionBytes = Array((region ?? "").utf8)
    }

    /// The keyword of a number written by people.
    public func normalize(_ text: [UInt8]) -> NumberOutcome {
        if let issue = NumberText.issue(of: text) { return .rejected(issue) }
        var parsed = cphonenumber_result()
        let outcome =
            takesLongWay
            ? cphonenumber_parse_the_long_way(text, text.count, regionBytes, regionBytes.count, &parsed)
            : cphonenumber_parse(text, text.count, regionBytes, regionBytes.count, &parsed)
        if parsed.is_emergency == 1 { return .rejected(.emergency(region: region)) }
        let doubt = doubt(outcome: outcome, parsed)
        let number = outcome == CPHONENUMBER_PARSED ? number(in: parsed) : nil
        if doubt == nil, let number {
            // International and national prefixes and carrier codes are at most four digits longer than what replaces them.
            let isWhole = NumberText.digitCount(text) <= Int(parsed.e164_length) - 1 + Int(parsed.extension_length) + 4
            return .kept(number, warning: isWhole ? nil : .partlyRead)
        }
        // Written as plus and digits: these digits are the keyword, whatever the library thinks of them, because the phone
        // asks for the number as the network gives it.
        if let plain = NumberText.plainInternational(text) {
            let reason = doubt ?? .invalid
            guard policy == .lenient, let kept = E164Number(digits: plain) else {
                return .rejected(plain.count > E164Number.digitsAtMost ? .tooLong : reason)
            }
            return .kept(kept, warning: reason)
        }
        if parsed.is_short == 1 { return .rejected(.shortCode(region: region)) }
        let issue = doubt ?? .invalid
        let startsWithDoubleZero = NumberText.startsWithDoubleZero(text) && parsed.country_source == CPHONENUMBER_FROM_REGION
        let told = startsWithDoubleZero ? NumberIssue.doubleZero(region: region) : issue
        let isPossible = parsed.possibility == CPHONENUMBER_POSSIBLE || parsed.possibility == CPHONENUMBER_POSSIBLE_LOCAL_ONLY
        guard policy == .lenient, isPossible, let number else { return .rejected(told) }
        return .kept(number, warning: told)
    }

    /// Why the library doubts the number; nil when it calls it valid.
    private func doubt(outcome: Int32, _ parsed: cphonenumber_result) -> NumberIssue? {
        switch Int(outcome) {
        case Int(CPHONENUMBER_PARSED): break
        case Int(CPHONENUMBER_INVALID_COUNTRY_CODE): return .invalidCountryCode
        case Int(CPHONENUMBER_TOO_SHORT), Int(CPHONENUMBER_TOO_SHORT_AFTER_IDD): return .tooShort
        case Int(CPHONENUMBER_TOO_LONG): return .tooLong
        case Int(CPHONENUMBER_TEXT_TOO_LONG): return .textTooLong
        case Int(CPHONENUMBER_NUL_INSIDE): return .nulInside
        case Int(CPHONENUMBER_LIBRARY_FAILED): return .libraryFailed
        default: return .notANumber
        }
        switch Int(parsed.possibility) {
        case Int(CPHONENUMBER_POSSIBLE): return parsed.is_valid == 1 ? nil : .invalid
        case Int(CPHONENUMBER_POSSIBLE_LOCAL_ONLY): return .localOnly
        case Int(CPHONENUMBER_LENGTH_INVALID_COUNTRY_CODE): return .invalidCountryCode
        case Int(CPHONENUMBER_LENGTH_TOO_SHORT): return .tooShort
        case Int(CPHONENUMBER_LENGTH_TOO_LONG): return .tooLong
        default: return .impossibleLength
        }
    }

    private func number(in parsed: cphonenumber_result) -> E164Number? {
        let bytes = withUnsafeBytes(of: parsed.e164) { Array($0.prefix(Int(parsed.e164_length))) }
        return E164Number(keyword: bytes)
    }
}
