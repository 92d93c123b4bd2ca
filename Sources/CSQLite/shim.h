#ifndef WAYSTATION_CSQLITE_SHIM_H
#define WAYSTATION_CSQLITE_SHIM_H

#include <sqlite3.h>

#endif
