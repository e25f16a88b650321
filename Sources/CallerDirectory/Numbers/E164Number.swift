// A phone number as a keyword: `+` and 1 to 15 digits (ITU-T E.164; keyword-pir.md 11.2), packed into one word because a
// directory holds millions of them.

/// `+` and 1 to 15 digits.
public struct E164Number: Sendable, Hashable, CustomStringConvertible {
    /// Most digits a number has.
    public static let digitsAtMost = 15

    /// The digits behind a leading 1, which keeps leading zeros: "+0912" is 10912.
    public let packed: UInt64

    /// Takes ASCII digits without plus sign; nil unless there are 1 to 15 and nothing else.
    public init?(digits: some Collection<UInt8>) {
        guard (1...E164Number.digitsAtMost).contains(digits.count) else { return nil }
        var packed: UInt64 = 1
        for byte in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            packed = packed * 10 + UInt64(byte - UInt8(ascii: "0"))
        }
        self.packed = packed
    }

    /// Takes the text of a keyword, `+886912345678`; nil for anything else.
    public init?(keyword: some Collection<UInt8>) {
        guard keyword.first == UInt8(ascii: "+") else { return nil }
        self.init(digits: keyword.dropFirst())
    }

    init(packed: UInt64) { self.packed = packed }

    /// Appends `+` and the digits in ASCII.
    public func append(to bytes: inout [UInt8]) {
        var divisor: UInt64 = 1
        while packed / divisor >= 10 { divisor *= 10 }
        bytes.append(UInt8(ascii: "+"))
        var rest = packed % divisor
        while divisor > 1 {
            divisor /= 10
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
        }
    }

    /// `+` and the digits in ASCII.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    /// `+` and the digits.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
