/* A load generator: keep-alive connections, one request at a time on each, one thread, epoll.

   usage: load PORT CONNECTIONS json|relay|any seconds|count NUMBER
   Posts 1 KiB bodies (as an envelope to /v1/envelopes, as a request to /v1/relay/default/bench, or
   to /) for a number of seconds, or until a number of requests has been answered. Each connection
   is a client of its own. Prints one line of JSON: answers with a 2xx a second, how many there
   were, all others, and the 50th and 99th percentile of the time from request to answer. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

enum {
  body_bytes = 1024,
  request_bytes_max = 2048,
  answer_bytes_max = 16384,
  connections_max = 4096,
  /* Latencies are counted by microsecond up to here; slower ones count as this much. */
  latency_us_max = 2000000,
};

struct connection {
  int socket;
  int request_length;
  int sent;
  int received;
  double started_at;
  char request[request_bytes_max];
  char answer[answer_bytes_max];
};

static struct connection *connections;
static unsigned *latencies;
static long answered, other, begun, count_max;
static bool is_over;

static void write_request(struct connection *c, int number, const char *kind) {
  char body[request_bytes_max / 2 + 128], text[body_bytes + 1];
  memset(text, 'x', body_bytes);
  text[body_bytes] = 0;
  if (strcmp(kind, "json") == 0) {
    int length = snprintf(body, sizeof body,
                          "{\"client\":\"bench-%d\",\"path\":\"/bench\",\"body\":\"%s\"}", number, text);
    c->request_length = snprintf(c->request, sizeof c->request,
                                 "POST /v1/envelopes HTTP/1.1\r\nHost: relay\r\n"
                                 "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                                 length, body);
  } else {
    c->request_length = snprintf(
        c->request, sizeof c->request,
        "POST %s HTTP/1.1\r\nHost: relay\r\nContent-Type: text/plain\r\n"
        "Waystation-Client: bench-%d\r\nContent-Length: %d\r\n\r\n%s",
        strcmp(kind, "relay") == 0 ? "/v1/relay/default/bench" : "/", number, body_bytes, text);
  }
}

/* Sends what is left of the request; a request is small enough for any socket's buffer. */
static void send_request(struct connection *c) {
  while (c->sent < c->request_length) {
    ssize_t count = send(c->socket, c->request + c->sent, (size_t)(c->request_length - c->sent),
                         MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN) continue;
    if (count <= 0) fail("send");
    c->sent += (int)count;
  }
}

static void begin(struct connection *c) {
  if (is_over || (count_max > 0 && begun >= count_max)) return;
  begun++;
  c->sent = c->received = 0;
  c->started_at = seconds();
  send_request(c);
}

static void receive(struct connection *c) {
  ssize_t count = recv(c->socket, c->answer + c->received,
                       (size_t)(answer_bytes_max - 1 - c->received), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) fail("the connection ended");
  c->received += (int)count;
  if (!message_length(c->answer, c->received)) return;
  double latency = (seconds() - c->started_at) * 1e6;
  latencies[latency < latency_us_max ? (int)latency : latency_us_max]++;
  if (c->answer[9] == '2') answered++;
  else other++;
  begin(c);
}

static double percentile(double share) {
  unsigned long total = 0, seen = 0;
  for (int us = 0; us <= latency_us_max; us++) total += latencies[us];
  for (int us = 0; us <= latency_us_max; us++)
    if ((double)(seen += latencies[us]) >= share * (double)total) return us / 1000.0;
  return 0;
}

static void open_connection(int epoll, int number, int port, const char *kind) {
  struct connection *c = &connections[number];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  c->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(c->socket, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
  int one = 1;
  setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->socket, &event) < 0) fail("epoll_ctl");
  write_request(c, number, kind);
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  int count = atoi(argv[2]);
  if (count < 1 || count > connections_max) return 2;
  bool counts = strcmp(argv[4], "count") == 0;
  double number = atof(argv[5]);
  if (counts) count_max = (long)number;
  connections = calloc((size_t)count, sizeof *connections);
  latencies = calloc(latency_us_max + 1, sizeof *latencies);
  int epoll = epoll_create1(0);
  for (int index = 0; index < count; index++) open_connection(epoll, index, atoi(argv[1]), argv[3]);

  double start = seconds(), end = start;
  for (int index = 0; index < count; index++) begin(&connections[index]);
  while (counts ? answered + other < count_max : answered + other < begun) {
    struct epoll_event events[256];
    int ready = epoll_wait(epoll, events, 256, 10000);
    if (ready == 0) {
      fprintf(stderr, "no answer in 10 s\n");
      return 1;
    }
    end = seconds();
    if (!counts && end - start >= number) is_over = true;
    for (int index = 0; index < ready; index++) receive(events[index].data.ptr);
  }
  end = seconds();
  printf("{\"rate\": %.1f, \"answered\": %ld, \"other\": %ld, \"p50Ms\": %.3f, \"p99Ms\": %.3f}\n",
         (double)answered / (end - start), answered, other, percentile(0.5), percentile(0.99));
  return 0;
}
