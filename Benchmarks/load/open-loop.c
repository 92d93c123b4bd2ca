/* An open-loop load generator: requests go out when they are due, whether or not earlier ones have
   been answered, so that a relay that slows down cannot slow the load down with it.

   usage: open-loop PORT CONNECTIONS RATE SECONDS BODY_BYTES
   Posts envelopes to /v1/envelopes, RATE a second at even distances, over keep-alive connections of
   which each is a client of its own. A request that is due while every connection is busy waits
   here; that is told apart. RATE 0 is the closed loop: each connection posts
   as soon as it has its answer. Prints one line of JSON: how many requests were due, answered 202,
   answered 503 (and how many of those had a Retry-After, and how many different ones), answered in
   any other way, lost with their connection, and never sent since the time was over; accepted a
   second; the 50th and 99th percentile and the longest of the time from sending to 202; and the
   longest that a request waited here. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

enum {
  request_bytes_max = 8192,
  answer_bytes_max = 4096,
  connections_max = 16384,
  /* Latencies are counted by hundredths of a millisecond up to here: 10 s. */
  latency_steps = 1000000,
  steps_per_ms = 100,
  /* How long it waits at the least for the next request to be due, so that it leaves the processor
     to what is measured. */
  wait_ns_min = 100000,
  wait_ns_max = 1000000,
  retry_after_max = 600,
  /* How long answers are waited for once the last request is out. */
  drain_seconds = 10,
};

struct connection {
  int socket;
  int received;
  bool busy;
  double sent_at;
  char answer[answer_bytes_max];
};

static struct connection *connections;
static int *idle;
static int idle_count, connection_count, epoll, port;
static char request[request_bytes_max];
static int client_at, request_length;
static unsigned latencies[latency_steps + 1];
static long retry_afters[retry_after_max + 1];
static long accepted, shed, other, lost, hinted, in_flight;
static double longest, longest_late;
static bool closed_loop, is_over;

/* One request for all connections; the digits of the client's number are put in for each. */
static void write_request(int body_bytes) {
  char text[request_bytes_max / 2 + 1], body[request_bytes_max - 512];
  memset(text, 'x', (size_t)body_bytes);
  text[body_bytes] = 0;
  int length = snprintf(body, sizeof body, "{\"client\":\"load-00000\",\"path\":\"/\",\"body\":\"%s\"}", text);
  request_length = snprintf(request, sizeof request,
                            "POST /v1/envelopes HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                            length, body);
  client_at = (int)(strstr(request, "load-") - request) + 5;
}

static void open_connection(struct connection *c) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  c->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (c->socket < 0) fail("socket");
  if (connect(c->socket, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
  int one = 1;
  setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->socket, &event) < 0) fail("epoll_ctl");
  c->received = 0;
  c->busy = false;
}

static void post(struct connection *c, double due_at) {
  char digits[8];
  snprintf(digits, sizeof digits, "%05d", (int)(c - connections));
  memcpy(request + client_at, digits, 5);
  c->received = 0;
  c->busy = true;
  c->sent_at = seconds();
  if (c->sent_at - due_at > longest_late) longest_late = c->sent_at - due_at;
  in_flight++;
  /* A request is small enough for any socket's buffer; one that the relay has closed shows below. */
  if (send(c->socket, request, (size_t)request_length, MSG_NOSIGNAL) < 0 && errno != EPIPE &&
      errno != ECONNRESET)
    fail("send");
}

static void count(struct connection *c) {
  int status = atoi(c->answer + 9);
  if (status == 202) {
    double latency = seconds() - c->sent_at;
    if (latency > longest) longest = latency;
    int step = (int)(latency * 1000 * steps_per_ms);
    latencies[step < latency_steps ? step : latency_steps]++;
    accepted++;
  } else if (status == 503) {
    char *field = strcasestr(c->answer, "\r\nretry-after:");
    int value = field ? atoi(field + 14) : 0;
    if (value > 0) {
      hinted++;
      retry_afters[value < retry_after_max ? value : retry_after_max]++;
    }
    shed++;
  } else {
    other++;
  }
}

static void release(struct connection *c) {
  c->busy = false;
  in_flight--;
  if (closed_loop && !is_over) post(c, seconds());
  else idle[idle_count++] = (int)(c - connections);
}

static void receive(struct connection *c) {
  ssize_t got = recv(c->socket, c->answer + c->received,
                     (size_t)(answer_bytes_max - 1 - c->received), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    /* The relay has closed it: between two requests it may, and a new one takes its place. */
    bool was_busy = c->busy;
    close(c->socket);
    open_connection(c);
    if (was_busy) {
      lost++;
      release(c);
    }
    return;
  }
  c->received += (int)got;
  if (!c->busy || !message_length(c->answer, c->received)) return;
  count(c);
  if (strcasestr(c->answer, "\r\nconnection: close")) {
    close(c->socket);
    bool was_busy = c->busy;
    open_connection(c);
    c->busy = was_busy;
  }
  release(c);
}

static double percentile(double share) {
  unsigned long seen = 0;
  if (accepted == 0) return 0;
  for (int step = 0; step <= latency_steps; step++)
    if ((double)(seen += latencies[step]) >= share * (double)accepted)
      return step / (double)steps_per_ms;
  return 0;
}

static void look(long timeout_ns) {
  struct epoll_event events[512];
  struct timespec timeout = {.tv_nsec = timeout_ns};
  int ready = epoll_pwait2(epoll, events, 512, &timeout, NULL);
  if (ready < 0 && errno == ENOSYS) ready = epoll_wait(epoll, events, 512, 1);
  for (int index = 0; index < ready; index++) receive(events[index].data.ptr);
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  port = atoi(argv[1]);
  connection_count = atoi(argv[2]);
  double rate = atof(argv[3]), duration = atof(argv[4]);
  int body_bytes = atoi(argv[5]);
  if (connection_count < 1 || connection_count > connections_max || body_bytes < 0 ||
      body_bytes > request_bytes_max / 2)
    return 2;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  closed_loop = rate <= 0;
  write_request(body_bytes);
  epoll = epoll_create1(0);
  connections = calloc((size_t)connection_count, sizeof *connections);
  idle = calloc((size_t)connection_count, sizeof *idle);
  for (int index = 0; index < connection_count; index++) {
    open_connection(&connections[index]);
    idle[idle_count++] = index;
  }

  /* The relay takes them in one by one: what is measured is not that. */
  sleep(1);
  double start = seconds(), end = start + duration;
  long due = 0, sent = 0;
  if (closed_loop)
    while (idle_count > 0) post(&connections[idle[--idle_count]], start);
  for (double now = start; now < end; now = seconds()) {
    long wait_ns = wait_ns_max;
    if (!closed_loop) {
      due = (long)((now - start) * rate);
      for (; sent < due && idle_count > 0; sent++)
        post(&connections[idle[--idle_count]], start + (double)sent / rate);
      double next = (start + (double)(due + 1) / rate - now) * 1e9;
      if (next < wait_ns_max) wait_ns = next > wait_ns_min ? (long)next : wait_ns_min;
    }
    look(wait_ns);
  }
  is_over = true;
  double over_at = seconds();
  long accepted_in_time = accepted;
  while (in_flight > 0 && seconds() < over_at + drain_seconds) look(10 * wait_ns_max);
  int different = 0;
  for (int value = 0; value <= retry_after_max; value++) different += retry_afters[value] > 0;
  if (closed_loop) due = sent = accepted + shed + other + lost;
  printf("{\"due\": %ld, \"accepted\": %ld, \"shed\": %ld, \"hinted\": %ld, \"hints\": %d, "
         "\"other\": %ld, \"lost\": %ld, \"unsent\": %ld, \"unanswered\": %ld, "
         "\"acceptedPerSecond\": %.1f, \"shedPerSecond\": %.1f, "
         "\"p50Ms\": %.2f, \"p99Ms\": %.2f, \"longestMs\": %.1f, \"longestLateMs\": %.1f}\n",
         due, accepted, shed, hinted, different, other, lost, due - sent, in_flight,
         (double)accepted_in_time / (over_at - start), (double)shed / (over_at - start),
         percentile(0.5), percentile(0.99), longest * 1000, longest_late * 1000);
  return 0;
}
