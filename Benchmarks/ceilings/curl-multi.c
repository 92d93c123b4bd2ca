/* The ceiling for forwarding: libcurl's multi interface alone, with the forwarder's options.

   usage: curl-multi PORT PARALLEL COUNT
   Posts COUNT bodies of 1 KiB to http://127.0.0.1:PORT/bench, PARALLEL at a time, and prints how
   many were answered with a 2xx a second. */
#define _GNU_SOURCE
#include <curl/curl.h>

#include "../load/common.h"

enum { body_bytes = 1024, parallel_max = 1024 };

static char body[body_bytes];
static long answered;

static size_t take(char *bytes, size_t size, size_t count, void *context) {
  (void)bytes;
  (void)context;
  return size * count;
}

static CURL *make_handle(CURLU *url, struct curl_slist *headers) {
  CURL *handle = curl_easy_init();
  curl_easy_setopt(handle, CURLOPT_CURLU, url);
  curl_easy_setopt(handle, CURLOPT_REQUEST_TARGET, "/bench");
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, "POST");
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_bytes);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_NOPROXY, "");
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, 120000L);
  curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
  return handle;
}

static struct curl_slist *make_headers(void) {
  static const char *const lines[] = {
      "Content-Type: application/json",
      "X-Device: bench-device",
      "Via: 1.1 waystation",
      "Idempotency-Key: 019a0000-0000-7000-8000-000000000000",
      "Waystation-Attempt: 1",
      "Waystation-Accepted-At: 2026-01-01T00:00:00.000Z",
      "Waystation-Client: bench",
      "Accept:",
      "Expect:",
      "User-Agent:",
  };
  struct curl_slist *list = NULL;
  for (size_t index = 0; index < sizeof lines / sizeof *lines; index++)
    list = curl_slist_append(list, lines[index]);
  return list;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  int parallel = atoi(argv[2]);
  long count = atol(argv[3]);
  if (parallel < 1 || parallel > parallel_max || count < parallel) return 2;
  memset(body, 'x', body_bytes);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM *multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)parallel);
  char text[64];
  snprintf(text, sizeof text, "http://127.0.0.1:%s/", argv[1]);
  CURLU *url = curl_url();
  curl_url_set(url, CURLUPART_URL, text, 0);
  struct curl_slist *headers = make_headers();

  double start = seconds();
  long begun = 0, ended = 0;
  for (; begun < parallel; begun++) curl_multi_add_handle(multi, make_handle(url, headers));
  while (ended < count) {
    int running, left;
    curl_multi_perform(multi, &running);
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
      CURL *handle = message->easy_handle;
      long status = 0;
      curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
      if (message->data.result == CURLE_OK && status / 100 == 2) answered++;
      ended++;
      curl_multi_remove_handle(multi, handle);
      if (begun < count) {
        curl_multi_add_handle(multi, handle);
        begun++;
      }
    }
    if (ended < count) curl_multi_poll(multi, NULL, 0, 1000, NULL);
  }
  printf("%.0f\n", (double)answered / (seconds() - start));
  return answered == count ? 0 : 1;
}
