#ifndef WAYSTATION_CZLIB_SHIM_H
#define WAYSTATION_CZLIB_SHIM_H

#include <zlib.h>

#endif
