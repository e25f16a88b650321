// Networks as text: an address with an optional length (RFC 4632, RFC 4291 2.3).

import CLinux

/// Forms of network addresses in the configuration.
enum NetworkText {
    /// Whether the text is a numeric address, alone or with `/length`, and has no bit set behind the length.
    static func isPrefix(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), !text.utf8.contains(0) else { return false }
        var address = clinux_address()
        guard clinux_parse_address(String(parts[0]), &address) == 0 else { return false }
        guard parts.count == 2 else { return true }
        let longest = address.version == 6 ? 128 : 32
        guard (1...3).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy({ NumberText.isDigit($0) }),
            let length = Int(parts[1]), length <= longest
        else { return false }
        if address.version != 6 { return address.low & (UInt64(0xFFFF_FFFF) >> UInt64(length)) == 0 }
        // Smart shifts: by 64 or more they give 0.
        let high = address.high & (UInt64.max >> UInt64(min(length, 64)))
        let low = address.low & (UInt64.max >> UInt64(max(0, length - 64)))
        return high == 0 && low == 0
    }
}
