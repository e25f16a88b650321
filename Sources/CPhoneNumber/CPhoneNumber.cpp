// The C face of libphonenumber (CPhoneNumber.h). No C++ exception and no C++ object crosses it.
#include "CPhoneNumber.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include <phonenumbers/phonemetadata.pb.h>
#include <phonenumbers/phonenumber.pb.h>
#include <phonenumbers/phonenumberutil.h>
#include <phonenumbers/shortnumberinfo.h>

using i18n::phonenumbers::PhoneNumber;
using i18n::phonenumbers::PhoneNumberUtil;
using i18n::phonenumbers::ShortNumberInfo;

namespace i18n {
namespace phonenumbers {
// The library's own tables, as it exports them.
int metadata_size();
const void *metadata_get();
}  // namespace phonenumbers
}  // namespace i18n

namespace {

// Both are immutable once made (their regular expressions are cached behind the library's own lock); a function-local
// static is made by one thread only.
const PhoneNumberUtil &number_util() {
    static const PhoneNumberUtil *const util = PhoneNumberUtil::GetInstance();
    return *util;
}

const ShortNumberInfo &short_info() {
    static const ShortNumberInfo *const info = new ShortNumberInfo();
    return *info;
}

const std::set<std::string> &regions() {
    static const std::set<std::string> *const known = [] {
        auto *set = new std::set<std::string>();
        number_util().GetSupportedRegions(set);
        return set;
    }();
    return *known;
}

int32_t outcome_of(PhoneNumberUtil::ErrorType error) {
    switch (error) {
    case PhoneNumberUtil::NO_PARSING_ERROR: return CPHONENUMBER_PARSED;
    case PhoneNumberUtil::INVALID_COUNTRY_CODE_ERROR: return CPHONENUMBER_INVALID_COUNTRY_CODE;
    case PhoneNumberUtil::NOT_A_NUMBER: return CPHONENUMBER_NOT_A_NUMBER;
    case PhoneNumberUtil::TOO_SHORT_AFTER_IDD: return CPHONENUMBER_TOO_SHORT_AFTER_IDD;
    case PhoneNumberUtil::TOO_SHORT_NSN: return CPHONENUMBER_TOO_SHORT;
    case PhoneNumberUtil::TOO_LONG_NSN: return CPHONENUMBER_TOO_LONG;
    }
    return CPHONENUMBER_NOT_A_NUMBER;
}

uint8_t possibility_of(PhoneNumberUtil::ValidationResult result) {
    switch (result) {
    case PhoneNumberUtil::IS_POSSIBLE: return CPHONENUMBER_POSSIBLE;
    case PhoneNumberUtil::IS_POSSIBLE_LOCAL_ONLY: return CPHONENUMBER_POSSIBLE_LOCAL_ONLY;
    case PhoneNumberUtil::INVALID_COUNTRY_CODE: return CPHONENUMBER_LENGTH_INVALID_COUNTRY_CODE;
    case PhoneNumberUtil::TOO_SHORT: return CPHONENUMBER_LENGTH_TOO_SHORT;
    case PhoneNumberUtil::INVALID_LENGTH: return CPHONENUMBER_LENGTH_INVALID;
    case PhoneNumberUtil::TOO_LONG: return CPHONENUMBER_LENGTH_TOO_LONG;
    }
    return CPHONENUMBER_LENGTH_INVALID;
}

// Short codes have at most six digits in every plan; longer texts need not be asked about, and a leading plus sign
// says that the digits are meant as a whole number.
void look_for_short_code(const std::string &text, const std::string &region, cphonenumber_result *result) {
    std::string digits;
    for (char character : text) {
        if (character >= '0' && character <= '9') {
            digits.push_back(character);
        } else if (character != ' ' && character != '-') {
            return;
        }
    }
    if (digits.empty() || digits.size() > 6 || region.empty()) return;
    result->is_emergency = short_info().IsEmergencyNumber(digits, region) ? 1 : 0;
    PhoneNumber number;
    if (number_util().Parse(digits, region, &number) != PhoneNumberUtil::NO_PARSING_ERROR) return;
    result->is_short = short_info().IsValidShortNumberForRegion(number, region) ? 1 : 0;
}

// What the short way needs to know of a numbering plan.
struct Plan {
    int country_code = 0;
    // A literal national prefix, or empty where there is none.
    std::string national_prefix;
    // An international number cannot begin with the national prefix and a digit from 2 to 9.
    bool prefix_tells = false;
};

struct Plans {
    std::map<std::string, Plan> by_region;
    // Main region's plan of each country calling code.
    std::map<int, Plan> by_code;
};

const Plans &plans() {
    static const Plans *const known = [] {
        auto *plans = new Plans();
        i18n::phonenumbers::PhoneMetadataCollection collection;
        if (!collection.ParseFromArray(i18n::phonenumbers::metadata_get(), i18n::phonenumbers::metadata_size())) return plans;
        for (const auto &metadata : collection.metadata()) {
            const std::string prefix = metadata.national_prefix_for_parsing();
            const bool is_literal = prefix.find_first_not_of("0123456789") == std::string::npos;
            if (!is_literal || metadata.has_national_prefix_transform_rule()) continue;
            Plan plan;
            plan.country_code = metadata.country_code();
            plan.national_prefix = prefix;
            const std::string international = metadata.international_prefix();
            plan.prefix_tells = prefix == "0" && (international == "00" || international == "0(?:0[25-79]|19)");
            plans->by_region[metadata.id()] = plan;
            std::string main;
            number_util().GetRegionCodeForCountryCode(plan.country_code, &main);
            if (main == metadata.id() && main != "001") plans->by_code[plan.country_code] = plan;
        }
        return plans;
    }();
    return *known;
}

// The digits of a text of digits with single blanks, hyphens or dots between; false for any other text.
bool plain_digits(const std::string &text, size_t start, std::string *digits) {
    bool follows_digit = false;
    for (size_t i = start; i < text.size(); ++i) {
        const char character = text[i];
        if (character >= '0' && character <= '9') {
            digits->push_back(character);
            follows_digit = true;
        } else if (follows_digit && (character == ' ' || character == '-' || character == '.')) {
            follows_digit = false;
        } else {
            return false;
        }
    }
    return follows_digit && digits->size() >= 7 && digits->size() <= 15;
}

// The short way: the library's parser runs a dozen regular expressions over a text whose meaning is plain. Taken only
// where the result is certain: a literal national prefix that is absent after a country code, or present once in national
// form, and digits that the library then calls valid (its parser strips the prefix whenever what remains is valid).
// Anything else goes the long way. Tests compare both.
bool parse_shortly(const std::string &text, const std::string &region, cphonenumber_result *result) {
    std::string digits;
    Plan plan;
    std::string national;
    if (text[0] == '+') {
        if (!plain_digits(text, 1, &digits)) return false;
        for (size_t length = 1; length <= 3 && plan.country_code == 0; ++length) {
            const auto found = plans().by_code.find(std::stoi(digits.substr(0, length)));
            if (digits[0] == '0' || found == plans().by_code.end()) continue;
            plan = found->second;
            national = digits.substr(length);
        }
        if (plan.country_code == 0 || national.empty() || national[0] == '0') return false;
        const std::string &prefix = plan.national_prefix;
        if (!prefix.empty() && national.compare(0, prefix.size(), prefix) == 0) return false;
        result->country_source = CPHONENUMBER_FROM_PLUS;
    } else {
        if (!plain_digits(text, 0, &digits)) return false;
        const auto found = plans().by_region.find(region);
        if (found == plans().by_region.end() || !found->second.prefix_tells) return false;
        if (digits[0] != '0' || digits[1] < '2') return false;
        plan = found->second;
        national = digits.substr(1);
        result->country_source = CPHONENUMBER_FROM_REGION;
    }
    PhoneNumber number;
    number.set_country_code(plan.country_code);
    number.set_national_number(std::stoull(national));
    const PhoneNumberUtil &util = number_util();
    if (util.IsPossibleNumberWithReason(number) != PhoneNumberUtil::IS_POSSIBLE || !util.IsValidNumber(number)) {
        std::memset(result, 0, sizeof(*result));
        return false;
    }
    const std::string e164 = "+" + std::to_string(plan.country_code) + national;
    std::memcpy(result->e164, e164.data(), e164.size());
    result->e164_length = static_cast<uint8_t>(e164.size());
    result->possibility = CPHONENUMBER_POSSIBLE;
    result->is_valid = 1;
    return true;
}

int32_t parse(const std::string &text, const std::string &region, cphonenumber_result *result) {
    look_for_short_code(text, region, result);
    PhoneNumber number;
    const PhoneNumberUtil &util = number_util();
    const PhoneNumberUtil::ErrorType error =
        util.ParseAndKeepRawInput(text, region.empty() ? std::string("ZZ") : region, &number);
    if (error != PhoneNumberUtil::NO_PARSING_ERROR) return outcome_of(error);
    const std::string extension = number.extension();
    result->extension_length = static_cast<uint8_t>(std::min<size_t>(extension.size(), 255));
    result->country_source = number.has_country_code_source() ? static_cast<uint8_t>(number.country_code_source()) : 0;
    result->possibility = possibility_of(util.IsPossibleNumberWithReason(number));
    result->is_valid = util.IsValidNumber(number) ? 1 : 0;
    // Written out here rather than by Format, which would look up formats first.
    std::string digits;
    util.GetNationalSignificantNumber(number, &digits);
    const std::string e164 = "+" + std::to_string(number.country_code()) + digits;
    if (e164.size() > sizeof(result->e164)) return CPHONENUMBER_TOO_LONG;
    std::memcpy(result->e164, e164.data(), e164.size());
    result->e164_length = static_cast<uint8_t>(e164.size());
    return CPHONENUMBER_PARSED;
}

}  // namespace

static int32_t checked_parse(const uint8_t *text, size_t length, const uint8_t *region, size_t region_length,
                             bool may_be_short, cphonenumber_result *result) {
    if (result == nullptr) return CPHONENUMBER_LIBRARY_FAILED;
    std::memset(result, 0, sizeof(*result));
    if (length > CPHONENUMBER_MAX_TEXT) return CPHONENUMBER_TEXT_TOO_LONG;
    if (text == nullptr || length == 0) return CPHONENUMBER_NOT_A_NUMBER;
    if (std::memchr(text, 0, length) != nullptr) return CPHONENUMBER_NUL_INSIDE;
    if (region_length > 2 || (region == nullptr && region_length != 0)) return CPHONENUMBER_INVALID_COUNTRY_CODE;
    try {
        const std::string name = region_length == 0
            ? std::string() : std::string(reinterpret_cast<const char *>(region), region_length);
        const std::string number(reinterpret_cast<const char *>(text), length);
        if (may_be_short && parse_shortly(number, name, result)) return CPHONENUMBER_PARSED;
        return parse(number, name, result);
    } catch (...) {
        std::memset(result, 0, sizeof(*result));
        return CPHONENUMBER_LIBRARY_FAILED;
    }
}

extern "C" int32_t cphonenumber_parse(const uint8_t *text, size_t length, const uint8_t *region, size_t region_length,
                                      cphonenumber_result *result) {
    return checked_parse(text, length, region, region_length, true, result);
}

extern "C" int32_t cphonenumber_parse_the_long_way(const uint8_t *text, size_t length, const uint8_t *region,
                                                   size_t region_length, cphonenumber_result *result) {
    return checked_parse(text, length, region, region_length, false, result);
}

extern "C" int32_t cphonenumber_region_known(const uint8_t *region, size_t region_length) {
    if (region == nullptr || region_length != 2) return 0;
    try {
        return regions().count(std::string(reinterpret_cast<const char *>(region), region_length)) != 0 ? 1 : 0;
    } catch (...) {
        return 0;
    }
}
