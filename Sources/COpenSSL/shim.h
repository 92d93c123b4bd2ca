#ifndef WAYSTATION_COPENSSL_SHIM_H
#define WAYSTATION_COPENSSL_SHIM_H

// What Swift cannot see of OpenSSL: macros that call functions, options made by other macros, and
// stacks of a type. Only Cryptography imports this module.

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/params.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// What a server does and does not do, whatever its configuration; see TLSContext.
static inline void waystation_tls_harden(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
}

static inline int waystation_tls_set_oldest_version(SSL_CTX *context, int version) {
  return SSL_CTX_set_min_proto_version(context, version) == 1;
}

static inline int waystation_tls_add_to_chain(SSL_CTX *context, X509 *certificate) {
  return SSL_CTX_add1_chain_cert(context, certificate) == 1;
}

static inline int waystation_tls_check_revocation(SSL_CTX *context) {
  return X509_STORE_set_flags(SSL_CTX_get_cert_store(context),
                              X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) == 1;
}

static inline int waystation_tls_trust_partial_chains(SSL_CTX *context) {
  return X509_STORE_set_flags(SSL_CTX_get_cert_store(context), X509_V_FLAG_PARTIAL_CHAIN) == 1;
}

static inline void waystation_tls_set_message_argument(SSL *ssl, void *argument) {
  SSL_set_msg_callback_arg(ssl, argument);
}

static inline void waystation_bio_retry_read(BIO *bio) {
  BIO_clear_retry_flags(bio);
  BIO_set_retry_read(bio);
}

static inline void waystation_bio_retry_write(BIO *bio) {
  BIO_clear_retry_flags(bio);
  BIO_set_retry_write(bio);
}

static inline void waystation_bio_no_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

static inline void waystation_certificates_free(STACK_OF(X509) *certificates) {
  sk_X509_pop_free(certificates, X509_free);
}

// A list of certificates, which holds a reference to each.
static inline STACK_OF(X509) * waystation_certificates_new(void) { return sk_X509_new_null(); }

static inline int waystation_certificates_push(STACK_OF(X509) * list, X509 *certificate) {
  return X509_up_ref(certificate) == 1 && sk_X509_push(list, certificate) > 0;
}

static inline int waystation_certificate_count(const STACK_OF(X509) *certificates) {
  return certificates ? sk_X509_num(certificates) : 0;
}

static inline X509 *waystation_certificate_at(const STACK_OF(X509) *certificates, int index) {
  return sk_X509_value(certificates, index);
}

static inline void waystation_openssl_free(void *bytes) { OPENSSL_free(bytes); }

// A certificate's alternative names; NULL if it has none.
static inline GENERAL_NAMES *waystation_alternative_names(const X509 *certificate) {
  return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}

static inline int waystation_name_count(const GENERAL_NAMES *names) {
  return names ? sk_GENERAL_NAME_num(names) : 0;
}

// One of them, as text, with its kind (GEN_DNS, GEN_URI, GEN_EMAIL); NULL if it is of another kind.
static inline const ASN1_STRING *waystation_name_at(const GENERAL_NAMES *names, int index,
                                                    int *kind) {
  const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
  const void *value = GENERAL_NAME_get0_value(name, kind);
  int is_text = *kind == GEN_DNS || *kind == GEN_URI || *kind == GEN_EMAIL;
  return is_text ? (const ASN1_STRING *)value : NULL;
}

static inline void waystation_names_free(GENERAL_NAMES *names) { GENERAL_NAMES_free(names); }

#endif
