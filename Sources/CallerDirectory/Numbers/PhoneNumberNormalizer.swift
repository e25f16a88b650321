// From what stands in a cell to an E.164 keyword: the seam behind which the library stands, and the reasons that it can
// give. Rules: issue 2, "What it is made of", item 5; field cases F13, F43, F44, F45.

/// Why a number is rejected, or kept with a warning.
public enum NumberIssue: Sendable, Equatable {
    /// No text.
    case empty
    /// More bytes than any number has.
    case textTooLong
    /// A NUL among the text.
    case nulInside
    /// `*`, `?` and the like, or `#` and `x` standing for digits.
    case wildcard
    /// Written by a spreadsheet as 1.65E+10: digits are lost.
    case exponent
    /// A JSON number that is not a whole number.
    case notAWholeNumber
    /// Nothing in it that could be a number.
    case notANumber
    /// No such country calling code, or none given and no region to supply it.
    case invalidCountryCode
    /// Too few digits.
    case tooShort
    /// Too many digits.
    case tooLong
    /// A length between those that the numbering plan has.
    case impossibleLength
    /// Complete only within its area: the area code is missing.
    case localOnly
    /// A possible length, but no range of the numbering plan.
    case invalid
    /// Reaches an emergency service.
    case emergency(region: String)
    /// A short code of the region.
    case shortCode(region: String)
    /// Begins with 00, which is no international prefix of the region: two readings.
    case doubleZero(region: String)
    /// More digits in the cell than in the number that the library took from it.
    case partlyRead
    /// The library failed.
    case libraryFailed

    /// What the cell should hold, for a finding's "expected" part.
    public var expected: String {
        switch self {
        case .empty: return "a phone number"
        case .textTooLong: return "a phone number of at most 250 characters"
        case .nulInside: return "a phone number without NUL"
        case .wildcard:
            return "one whole number: patterns cannot be served, since the phone checks that the answer is for its own number"
        case .exponent: return "a number with all its digits (a spreadsheet shortened this one; format the column as text)"
        case .notAWholeNumber: return "the number as text, or as a whole number without point and exponent"
        case .notANumber: return "a phone number"
        case .invalidCountryCode: return "a number with a country calling code that exists"
        case .tooShort: return "more digits for this numbering plan"
        case .tooLong: return "fewer digits for this numbering plan"
        case .impossibleLength: return "a length that this numbering plan has"
        case .localOnly: return "a number with its area code"
        case .invalid: return "a number in a range of its numbering plan"
        case .emergency(let region): return "a subscriber's number: this reaches an emergency service in \(region)"
        case .shortCode(let region): return "a subscriber's number: this is a short code in \(region)"
        case .doubleZero(let region):
            return "\"+\" for an international number: 00 is no international prefix in \(region), so there are two readings"
        case .partlyRead: return "one number in the cell"
        case .libraryFailed: return "a number that the library can read"
        }
    }
}

/// What became of a number.
public enum NumberOutcome: Sendable, Equatable {
    /// Kept, with a reason to look at it if `warning` is not nil.
    case kept(E164Number, warning: NumberIssue?)
    /// Not kept.
    case rejected(NumberIssue)
}

/// Turns what stands in a cell into a keyword.
public protocol PhoneNumberNormalizer: Sendable {
    /// The keyword of a number written by people. Must be safe to call from several threads.
    func normalize(_ text: [UInt8]) -> NumberOutcome
}
