#ifndef WAYSTATION_COPENSSL_SHIM_H
#define WAYSTATION_COPENSSL_SHIM_H

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#endif
