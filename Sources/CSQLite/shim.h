// SQLite, for StateStore.
#pragma once
#include <sqlite3.h>
