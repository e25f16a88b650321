// Reason phrases (RFC 9110 section 15) and the date format (RFC 9110 section 5.6.7).

import Glibc

/// Names of status codes.
public enum HTTPStatus {
    /// The reason phrase; an empty text for a status without a registered one.
    public static func reason(_ status: Int) -> String { reasons[status] ?? "" }

    private static let reasons: [Int: String] = [
        100: "Continue", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
        301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
        308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
        411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long",
        415: "Unsupported Media Type", 417: "Expectation Failed", 421: "Misdirected Request",
        422: "Unprocessable Content", 426: "Upgrade Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
        503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    ]
}

/// IMF-fixdate, the form of `Date`, `Expires` and the like.
public enum HTTPDate {
    /// Seconds since 1970 (0 or more) as `Sun, 06 Nov 1994 08:49:37 GMT`.
    public static func text(unixTime: Int64) -> String {
        let seconds = max(0, unixTime)
        let days = seconds / 86_400
        let second = Int(seconds % 86_400)
        let (year, month, day) = civil(days: days)
        let weekday = weekdays[Int((days + 4) % 7)]
        return "\(weekday), \(two(day)) \(months[month - 1]) \(four(year)) "
            + "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60)) GMT"
    }

    /// Seconds since 1970 of such a text; nil for any other, the two old forms of RFC 9110 among them.
    public static func unixTime(_ text: String) -> Int64? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard text.utf8.count == 29, parts.count == 6, let month = months.firstIndex(of: String(parts[2])),
            let day = Int32(parts[1]), let year = Int32(parts[3]), (1970...9999).contains(year)
        else { return nil }
        let clock = parts[4].split(separator: ":").compactMap { Int32($0) }
        guard clock.count == 3 else { return nil }
        var time = tm()
        (time.tm_year, time.tm_mon, time.tm_mday) = (year - 1900, Int32(month), day)
        (time.tm_hour, time.tm_min, time.tm_sec) = (clock[0], clock[1], clock[2])
        let seconds = Int64(timegm(&time))
        // What is no date, 31 June or a wrong weekday, comes back as another text.
        return self.text(unixTime: seconds) == text ? seconds : nil
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    private static func four(_ value: Int) -> String {
        String(repeating: "0", count: max(0, 4 - "\(value)".count)) + "\(value)"
    }

    /// Days since 1970-01-01 to year, month 1–12, day 1–31 in the Gregorian calendar, counted in 400-year eras from March.
    private static func civil(days: Int64) -> (Int, Int, Int) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (Int(year), Int(month), Int(day))
    }
}
