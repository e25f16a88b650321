#include "CPhoneNumber.h"
int cphonenumber_ready(void) { return 1; }
