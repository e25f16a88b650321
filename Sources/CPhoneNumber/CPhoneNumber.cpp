// The C face of libphonenumber (CPhoneNumber.h). No C++ exception and no C++ object crosses it.
#include "CPhoneNumber.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include <phonenumbers/phonenumber.pb.h>
#include <phonenumbers/phonenumberutil.h>
#include <phonenumbers/shortnumberinfo.h>

using i18n::phonenumbers::PhoneNumber;
using i18n::phonenumbers::PhoneNumberUtil;
using i18n::phonenumbers::ShortNumberInfo;

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

extern "C" int32_t cphonenumber_parse(const uint8_t *text, size_t length, const uint8_t *region, size_t region_length,
                                      cphonenumber_result *result) {
    if (result == nullptr) return CPHONENUMBER_LIBRARY_FAILED;
    std::memset(result, 0, sizeof(*result));
    if (length > CPHONENUMBER_MAX_TEXT) return CPHONENUMBER_TEXT_TOO_LONG;
    if (text == nullptr || length == 0) return CPHONENUMBER_NOT_A_NUMBER;
    if (std::memchr(text, 0, length) != nullptr) return CPHONENUMBER_NUL_INSIDE;
    if (region_length > 2 || (region == nullptr && region_length != 0)) return CPHONENUMBER_INVALID_COUNTRY_CODE;
    try {
        const std::string name = region_length == 0
            ? std::string() : std::string(reinterpret_cast<const char *>(region), region_length);
        return parse(std::string(reinterpret_cast<const char *>(text), length), name, result);
    } catch (...) {
        std::memset(result, 0, sizeof(*result));
        return CPHONENUMBER_LIBRARY_FAILED;
    }
}

extern "C" int32_t cphonenumber_region_known(const uint8_t *region, size_t region_length) {
    if (region == nullptr || region_length != 2) return 0;
    try {
        return regions().count(std::string(reinterpret_cast<const char *>(region), region_length)) != 0 ? 1 : 0;
    } catch (...) {
        return 0;
    }
}
