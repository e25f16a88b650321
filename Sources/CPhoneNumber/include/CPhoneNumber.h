// A C face on Debian's libphonenumber.
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
/// Placeholder until the room is furnished.
int cphonenumber_ready(void);
#ifdef __cplusplus
}
#endif
