#ifndef WAYSTATION_CCURL_SHIM_H
#define WAYSTATION_CCURL_SHIM_H

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>

#if LIBCURL_VERSION_NUM < 0x075000
#error "libcurl 7.80 or newer is needed, for CURLOPT_PREREQFUNCTION"
#endif

/* Swift cannot call variadic C, and libcurl reads each option's argument with the type that the
   option's name promises. So there is one function a type; which option takes which type stands in
   the option's own manual page. */

static inline CURLcode waystation_curl_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode waystation_curl_set_offset(CURL *handle, CURLoption option,
                                                  curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode waystation_curl_set_string(CURL *handle, CURLoption option,
                                                  const char *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode waystation_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

/* CURLOPT_SSLCERT_BLOB, CURLOPT_SSLKEY_BLOB and CURLOPT_CAINFO_BLOB, which libcurl copies. */
static inline CURLcode waystation_curl_set_blob(CURL *handle, CURLoption option, const void *bytes,
                                                size_t count) {
  struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
  return curl_easy_setopt(handle, option, &blob);
}

static inline CURLcode waystation_curl_set_headers(CURL *handle, struct curl_slist *first) {
  return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, first);
}

/* CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION. */
static inline CURLcode waystation_curl_set_data_callback(
    CURL *handle, CURLoption option, size_t (*callback)(char *, size_t, size_t, void *)) {
  return curl_easy_setopt(handle, option, callback);
}

static inline CURLcode waystation_curl_set_seek_callback(
    CURL *handle, int (*callback)(void *, curl_off_t, int)) {
  return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, callback);
}

/* Told now and then how far a transfer has come, while CURLOPT_NOPROGRESS is 0: the bytes of the response
   that are expected and have come, and of the request. Takes the handle's CURLOPT_XFERINFODATA. */
static inline CURLcode waystation_curl_set_progress_callback(
    CURL *handle, int (*callback)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t)) {
  return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, callback);
}

/* Nothing but HTTP is ever spoken. The option's name changed with 7.85. */
static inline CURLcode waystation_curl_restrict_protocols(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
  return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/* Only what is in the handle's CURLOPT_CAINFO_BLOB vouches for a peer: libcurl would also believe the
   folder that it was built with (CURLOPT_CAPATH), which on Debian holds the system's authorities. Since
   7.87 it keeps authorities for a day, which are not to be taken for those of another handle. */
static inline CURLcode waystation_curl_trust_nothing_else(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
  CURLcode code = curl_easy_setopt(handle, CURLOPT_CA_CACHE_TIMEOUT, 0L);
  if (code != CURLE_OK) return code;
#endif
  return curl_easy_setopt(handle, CURLOPT_CAPATH, NULL);
}

/* Without this, giving up on a transfer waits for its name look-up to end, and with it every other
   transfer of the multi handle waits (curl issues 2975 and 4852). The abandoned look-up's thread
   cleans up after itself. libcurl older than 7.87 has no such option, and waits. */
static inline CURLcode waystation_curl_abandon_lookups(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
  return curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
  (void)handle;
  return CURLE_OK;
#endif
}

static inline CURLMcode waystation_curl_multi_set_long(CURLM *multi, CURLMoption option,
                                                       long value) {
  return curl_multi_setopt(multi, option, value);
}

/* Called when a connection is there and the request is about to be written on it, each time that it
   is: libcurl writes it once more if a kept connection turns out to be dead. Takes the handle's
   CURLOPT_PREREQDATA. */
static inline CURLcode waystation_curl_set_request_callback(
    CURL *handle, int (*callback)(void *, char *, char *, int, int)) {
  return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

/* Figures that are a curl_off_t, of a transfer that goes on or has ended; 0 if there is none. */
static inline curl_off_t waystation_curl_offset_info(CURL *handle, CURLINFO info) {
  curl_off_t value = 0;
  if (curl_easy_getinfo(handle, info, &value) != CURLE_OK) return 0;
  return value;
}

/* Figures that are a long, likewise. */
static inline long waystation_curl_long_info(CURL *handle, CURLINFO info) {
  long value = 0;
  if (curl_easy_getinfo(handle, info, &value) != CURLE_OK) return 0;
  return value;
}

/* Limits what the kernel takes of a connection before it has sent it on (TCP_NOTSENT_LOWAT, tcp(7)).
   Without it megabytes would count as sent that still wait here; what is on its way already, and so
   the speed, is not limited. */
static inline void waystation_limit_unsent(curl_socket_t connection, int bytes) {
  (void)setsockopt(connection, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

/* For how many milliseconds nothing has come on a connection, by the kernel's count (TCP_INFO, tcp(7));
   -1 if it is no TCP connection. */
static inline int64_t waystation_silence_ms(curl_socket_t connection) {
  struct tcp_info info = {0};
  socklen_t length = sizeof info;
  if (getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
  return info.tcpi_last_data_recv;
}

/* Called for each socket that the handle makes, before it connects, and in place of close() for each
   connection that was made for it, whichever handle uses that connection by then. */
static inline CURLcode waystation_curl_set_socket_callbacks(
    CURL *handle, int (*made)(void *, curl_socket_t, curlsocktype),
    int (*close)(void *, curl_socket_t), void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_SOCKOPTDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, made);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, close);
  return code;
}

/* OpenSSL's session of the connection that the handle is using; NULL if there is none, or if another
   library secures it. */
static inline const void *waystation_curl_openssl_session(CURL *handle) {
  struct curl_tlssessioninfo *info = NULL;
  if (curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info) return NULL;
  return info->backend == CURLSSLBACKEND_OPENSSL ? info->internals : NULL;
}

/* The library that secures connections, such as OpenSSL/3.0.19; NULL if there is none. */
static inline const char *waystation_curl_tls_library(void) {
  return curl_version_info(CURLVERSION_NOW)->ssl_version;
}

/* What CURLOPT_PRIVATE was set to. */
static inline void *waystation_curl_private(CURL *handle) {
  char *pointer = NULL;
  if (curl_easy_getinfo(handle, CURLINFO_PRIVATE, &pointer) != CURLE_OK) return NULL;
  return pointer;
}

static inline CURLcode waystation_curl_result(const CURLMsg *message) {
  return message->data.result;
}

static inline CURLcode waystation_curl_global_init(void) {
  return curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* CURLE_TOO_LARGE, which libcurl has since 8.6. */
#define waystation_curle_too_large 100

/* Macros that Swift's importer leaves out, for their casts. */
enum {
  waystation_curl_read_abort = CURL_READFUNC_ABORT,
  waystation_curl_read_pause = CURL_READFUNC_PAUSE,
  waystation_curl_write_pause = CURL_WRITEFUNC_PAUSE,
  waystation_curl_pause_none = CURLPAUSE_CONT,
  waystation_curl_request_ok = CURL_PREREQFUNC_OK,
  waystation_curl_request_abort = CURL_PREREQFUNC_ABORT,
};

#endif
