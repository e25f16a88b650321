// `Authorization: Bearer` with the credentials of a user (RFC 6750 2.1; service.md 1.6.2).

/// Which user asks for tokens.
public enum BearerAuthorization {
    /// Longest credential, in bytes.
    public static let longestCredential = 4096

    /// The credential as it came, 1 byte to 4 KiB of visible ASCII; nil for other schemes and for anything else. The alphabet is
    /// wider than the RFC's, since developers choose their own strings.
    public static func credential(in fieldValue: String) -> String? {
        let text = fieldValue.utf8
        guard let space = text.firstIndex(of: UInt8(ascii: " ")),
            AuthenticationFieldReader.lowercased(text[..<space]) == "bearer"
        else { return nil }
        let credential = text[space...].drop { $0 == UInt8(ascii: " ") }
        return isCredential(credential) ? String(decoding: credential, as: UTF8.self) : nil
    }

    /// The credentials with which a user token may come: the text itself, if it can stand in a header, and the standard base64 of
    /// its characters, which phones send when the app gave them bytes. At most two, without those that are too long.
    public static func credentials(ofUserToken text: String) -> [String] {
        guard !text.isEmpty, text.utf8.count <= longestCredential else { return [] }
        return [text, Base64.standardText(Array(text.utf8))].filter { isCredential($0.utf8) }
    }

    private static func isCredential(_ text: some Collection<UInt8>) -> Bool {
        (1...longestCredential).contains(text.count) && text.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
