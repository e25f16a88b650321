// A caller as the sources say it: number, texts, category, block flag, cache time, icon (design.md, Data in).

/// What kind of caller.
public enum CallerCategory: UInt8, Sendable, Equatable {
    /// Not said.
    case unspecified = 0
    /// A person.
    case person = 1
    /// A business.
    case business = 2
}

/// One caller.
public struct CallerRow: Sendable, Equatable {
    /// The number, normalised.
    public var number: E164Number
    /// Name of the caller.
    public var name = ""
    /// Company.
    public var company = ""
    /// Title in the company.
    public var title = ""
    /// What kind of caller.
    public var category = CallerCategory.unspecified
    /// Calls from it are blocked.
    public var block = false
    /// How many minutes the phone reuses the answer; 0: not said.
    public var cacheMinutes: UInt32 = 0
    /// File name of the icon in the icons folder; empty: `<number>.heic` if it is there.
    public var icon = ""

    /// A caller of whom only the number is known.
    public init(number: E164Number) { self.number = number }
}

/// A caller as it stands in a file: the number still as written, the rest already checked.
package struct RawCaller: Sendable {
    var line: Int
    var column = 0
    var number: [UInt8] = []
    /// Set when the file says that the number is a JSON number.
    var numberIssue: NumberIssue?
    var name = ""
    var company = ""
    var title = ""
    var category = CallerCategory.unspecified
    var block = false
    var cacheMinutes: UInt32 = 0
    var icon = ""
}

/// Minutes beyond which a cache time is worth a look: a week (field case F26).
let cacheMinutesWithoutWarning: UInt32 = 10_080
