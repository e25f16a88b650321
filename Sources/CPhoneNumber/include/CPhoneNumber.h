// A C face on Debian's libphonenumber 8.12: one number in, its E.164 form and what the library thinks of it out.
// Specified by libphonenumber's own documentation; callers' rules are in Sources/CallerDirectory/Numbers.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Longest text that is looked at, in bytes (the library itself stops at 250 characters).
#define CPHONENUMBER_MAX_TEXT 1000

/// What became of the text. Every value but `CPHONENUMBER_PARSED` leaves the result's other fields zero,
/// `is_emergency` and `is_short` excepted.
enum {
    CPHONENUMBER_PARSED = 0,
    CPHONENUMBER_INVALID_COUNTRY_CODE = 1,
    CPHONENUMBER_NOT_A_NUMBER = 2,
    CPHONENUMBER_TOO_SHORT_AFTER_IDD = 3,
    CPHONENUMBER_TOO_SHORT = 4,
    CPHONENUMBER_TOO_LONG = 5,
    CPHONENUMBER_TEXT_TOO_LONG = 6,
    CPHONENUMBER_NUL_INSIDE = 7,
    CPHONENUMBER_LIBRARY_FAILED = 8,
};

/// What the library says about a parsed number's length.
enum {
    CPHONENUMBER_POSSIBLE = 0,
    CPHONENUMBER_POSSIBLE_LOCAL_ONLY = 1,
    CPHONENUMBER_LENGTH_INVALID_COUNTRY_CODE = 2,
    CPHONENUMBER_LENGTH_TOO_SHORT = 3,
    CPHONENUMBER_LENGTH_INVALID = 4,
    CPHONENUMBER_LENGTH_TOO_LONG = 5,
};

/// How the country was found.
enum {
    CPHONENUMBER_FROM_PLUS = 1,
    CPHONENUMBER_FROM_INTERNATIONAL_PREFIX = 5,
    CPHONENUMBER_FROM_BARE_COUNTRY_CODE = 10,
    CPHONENUMBER_FROM_REGION = 20,
};

/// One parsed number. Plain bytes, no pointers.
typedef struct {
    /// `+` and digits, `e164_length` bytes, no terminator. Never holds the extension.
    uint8_t e164[32];
    uint8_t e164_length;
    /// One of `CPHONENUMBER_POSSIBLE` ….
    uint8_t possibility;
    /// 1 when the digits fit the numbering plan.
    uint8_t is_valid;
    /// One of `CPHONENUMBER_FROM_PLUS` …, 0 when unknown.
    uint8_t country_source;
    /// Digits of the extension that was set aside.
    uint8_t extension_length;
    /// 1 when a phone of the region reaches an emergency service with these digits.
    uint8_t is_emergency;
    /// 1 when the digits are a short code of the region.
    uint8_t is_short;
} cphonenumber_result;

/// Parses `length` bytes of UTF-8 at `text` as dialled in `region` (two upper-case letters; empty: only numbers with
/// `+` parse). Thread-safe; throws nothing. Returns the outcome.
int32_t cphonenumber_parse(const uint8_t *text, size_t length, const uint8_t *region, size_t region_length,
                           cphonenumber_result *result);

/// The same without the short way that plain texts are given: only tests call it, to compare.
int32_t cphonenumber_parse_the_long_way(const uint8_t *text, size_t length, const uint8_t *region, size_t region_length,
                                        cphonenumber_result *result);

/// 1 when the library knows `region`.
int32_t cphonenumber_region_known(const uint8_t *region, size_t region_length);

#ifdef __cplusplus
}
#endif
