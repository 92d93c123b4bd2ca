#ifndef WAYSTATION_CCURL_SHIM_H
#define WAYSTATION_CCURL_SHIM_H

#include <curl/curl.h>

#endif
