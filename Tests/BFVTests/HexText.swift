// Bytes as hexadecimal text and back, for vectors.

func bytes(hex text: String) -> [UInt8] {
    var out: [UInt8] = []
    var rest = text[...]
    while rest.count >= 2 {
        out.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
        rest = rest.dropFirst(2)
    }
    return out
}

func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { b in
        let s = String(b, radix: 16)
        return s.count == 1 ? "0" + s : s
    }.joined()
}
