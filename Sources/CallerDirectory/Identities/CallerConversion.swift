// From callers to the rows of a use case (keyword-pir.md 11.2): identity values are serialised `CallIdentity` messages,
// absent when entirely default; block values are one byte, and every number has one.

import LookupMessages
import Protobuf

/// Turns callers into keyword rows.
struct CallerConversion {
    let nameFormat: NameTemplate
    let iconPolicy: IconPolicy
    let icons: IconFolder?
    /// Gives the place of a row for messages.
    let place: (Int) -> SourcePosition

    /// One byte per number: 1 blocks.
    static func blockRows(of table: CallerTable) -> KeywordRows {
        var rows = KeywordRows()
        rows.reserveCapacity(rows: table.count, bytes: table.count * 15)
        for caller in table { rows.append(keyword: caller.number.bytes, value: [caller.block ? 1 : 0]) }
        return rows
    }

    /// A `CallIdentity` for every number of which anything is known.
    func identityRows(of table: CallerTable, report: inout SourceReport) -> KeywordRows {
        var rows = KeywordRows()
        rows.reserveCapacity(rows: table.count, bytes: table.count * 48)
        for (index, caller) in table.enumerated() {
            let value = identityValue(of: caller, at: index, report: &report)
            if let value, !value.isEmpty { rows.append(keyword: caller.number.bytes, value: value) }
        }
        return rows
    }

    /// The serialised identity, empty when it is entirely default; nil when the row was rejected.
    private func identityValue(of caller: CallerRow, at index: Int, report: inout SourceReport) -> [UInt8]? {
        var identity = CallIdentity(
            name: nameFormat.render(name: caller.name, company: caller.company, title: caller.title),
            cacheExpiryMinutes: caller.cacheMinutes, category: IdentityCategory(rawValue: Int32(caller.category.rawValue)))
        let plain = identity.encoded()
        guard plain.count <= KeywordRows.valueBytesAtMost else {
            report.rejected.append(
                SourceFinding(
                    position: place(index), expected: "an identity of at most 65535 bytes", came: "\(plain.count) bytes"))
            return nil
        }
        do throws(IconIssue) {
            guard let image = try image(of: caller) else { return plain }
            identity.icon = Icon(format: .heic, image: image[...])
            let value = identity.encoded()
            guard value.count <= KeywordRows.valueBytesAtMost else {
                throw IconIssue.tooLong(KeywordRows.valueBytesAtMost - (value.count - image.count))
            }
            return value
        } catch {
            let finding = SourceFinding(position: place(index), expected: error.expected, came: came(error, caller))
            switch iconPolicy {
            case .refuse:
                report.rejected.append(finding)
                return nil
            case .dropIcon:
                report.warnings.append(finding)
                return plain
            }
        }
    }

    private func image(of caller: CallerRow) throws(IconIssue) -> [UInt8]? {
        if let icons { return try icons.image(for: caller.number, named: caller.icon) }
        if caller.icon.isEmpty { return nil }
        throw .noFolder
    }

    private func came(_ issue: IconIssue, _ caller: CallerRow) -> String {
        switch issue {
        case .noFolder, .notAFileName, .missing: return SourceFinding.quoted(caller.icon)
        case .tooLong: return "a larger one"
        case .unreadable(let reason): return reason
        }
    }
}
