/* A load generator: keep-alive connections, one request at a time on each, one thread, epoll.

   usage: load PORT CONNECTIONS KIND seconds|count NUMBER [SIZE [CLIENTS]]
   Posts for a number of seconds, or until a number of envelopes has been answered:
     json   one envelope of 1 KiB to /v1/envelopes
     batch  SIZE (100) of them as NDJSON
     item   one envelope to /v1/envelopes, whose body is a JSON object of 1 KiB
     items  SIZE (100) of them as NDJSON
     number one envelope of 1 KiB with its number in its lane
     numbers SIZE (100) of them as NDJSON
     receipts the same, and asks for the receipts
     relay  1 KiB to /v1/relay/default/bench, as the request itself
     any    1 KiB to /
     large  SIZE (10 MiB) bytes to /v1/relay/default/bench
   The envelopes are of CLIENTS clients, at least one for each connection and of that alone; each
   body has the envelope's number among its client's, and an object has the client as well, so that the upstream can tell whether
   they come in order. Prints one line of JSON: envelopes a second that were answered with a 2xx,
   how many that were, all others, the 50th and 99th percentile of the time from request to answer,
   and when it began (seconds of CLOCK_MONOTONIC). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

enum {
  body_bytes = 1024,
  head_bytes_max = 512,
  item_bytes_max = 1280,
  answer_bytes_max = 16384,
  /* An item's result in the answer to a batch takes less. */
  result_bytes_max = 256,
  receipt_bytes_max = 8192,
  batch_max = 1000,
  connections_max = 4096,
  clients_max = 100000,
  large_bytes = 10 << 20,
  /* Latencies are counted by microsecond up to here; slower ones count as this much. */
  latency_us_max = 2000000,
};

struct connection {
  int socket;
  int number;
  /* How many envelopes it has begun. */
  long begun;
  size_t sent;
  int received;
  double started_at;
  size_t request_length;
  char *request;
  char *answer;
};

static struct connection *connections;
static unsigned *latencies;
static long answered, other, begun, count_max;
static bool is_over;
static int epoll, port, connection_count, client_count;
static const char *kind;
/* Envelopes in a request, and where in it each has its client's number and its own. */
static int batch = 1, client_at, number_at, of_at, sequence_at, item_bytes;
/* What follows the request proper: a large body, which all connections share. */
static char *tail;
static size_t tail_length;
static int answer_room = answer_bytes_max;

static bool is(const char *name) { return strcmp(kind, name) == 0; }
static bool is_one(void) { return is("json") || is("item") || is("number"); }
static bool has_numbers(void) { return is("numbers") || is("receipts"); }
static bool is_many(void) { return is("batch") || is("items") || has_numbers(); }

/* Writes a number's digits, as many as there is room for. */
static void put(char *to, long number, int digits) {
  while (digits-- > 0) {
    to[digits] = (char)('0' + number % 10);
    number /= 10;
  }
}

/* The envelopes of a request, with zeros for the numbers. */
static char *make_items(void) {
  char text[body_bytes + 1], *items = malloc((size_t)batch * item_bytes_max + 1);
  memset(text, 'x', body_bytes);
  memset(text, '0', 10);
  text[body_bytes] = 0;
  const char *form = "{\"client\":\"bench-00000\",\"path\":\"/bench\",\"body\":\"%.10s%s\"}\n";
  size_t used = 10;
  if (is("item") || is("items")) {
    form = "{\"client\":\"bench-00000\",\"path\":\"/bench\",\"body\":"
           "{\"of\":\"bench-00000\",\"number\":\"%.10s\",\"text\":\"%s\"}}\n";
    used = strlen("{'of':'bench-00000','number':'0000000000','text':''}");
  }
  /* A number has no zeros before it: those of a lane begin at 1000000001, and nothing below is waited for. */
  if (is("number") || has_numbers())
    form = "{\"client\":\"bench-00000\",\"inOrder\":true,\"sequence\":1000000000,"
           "\"path\":\"/bench\",\"body\":\"%.10s%s\"}\n";
  item_bytes = snprintf(items, item_bytes_max, form, text, text + used);
  client_at = (int)(strstr(items, "bench-") - items) + 6;
  char *of = strstr(items, "\"of\":");
  of_at = of ? (int)(of - items) + 12 : 0;
  char *sequence = strstr(items, "\"sequence\":");
  sequence_at = sequence ? (int)(sequence - items) + 11 : 0;
  number_at = (int)(strstr(items, "0000000000") - items);
  for (int index = 1; index < batch; index++)
    memcpy(items + index * item_bytes, items, (size_t)item_bytes);
  items[batch * item_bytes] = 0;
  return items;
}

static void write_request(struct connection *c) {
  char head[head_bytes_max], text[body_bytes + 1], *body = text;
  memset(text, 'x', body_bytes);
  text[body_bytes] = 0;
  if (is_one() || is_many()) body = make_items();
  if (is("large")) body = strdup("");
  size_t length = strlen(body);
  const char *path = "/v1/envelopes";
  if (is("relay") || is("large")) path = "/v1/relay/default/bench";
  else if (is("any")) path = "/";
  /* In an envelope the client is named by the envelope itself. */
  char client[64] = "";
  if (is("receipts")) snprintf(client, sizeof client, "Prefer: receipt\r\n");
  if (!is_one() && !is_many())
    snprintf(client, sizeof client, "Waystation-Client: bench-%05d\r\n", c->number);
  int head_length = snprintf(
      head, sizeof head,
      "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: %s\r\n%sContent-Length: %zu\r\n\r\n",
      path, is_one() ? "application/json" : is_many() ? "application/x-ndjson" : "text/plain",
      client, length + tail_length);
  c->request_length = (size_t)head_length + length;
  c->request = malloc(c->request_length + 1);
  memcpy(c->request, head, (size_t)head_length);
  memcpy(c->request + head_length, body, length + 1);
  if (body != text) free(body);
}

/* Puts into a request whose envelopes these are, and which of theirs. */
static void number_items(struct connection *c) {
  if (item_bytes == 0) return;
  char *item = c->request + c->request_length - (size_t)batch * (size_t)item_bytes;
  /* The clients of a connection are its number, that and the count of connections, and so on. */
  long own = (client_count - c->number + connection_count - 1) / connection_count;
  for (int index = 0; index < batch; index++, item += item_bytes, c->begun++) {
    long client = c->number + c->begun % own * connection_count;
    put(item + client_at, client, 5);
    if (of_at > 0) put(item + of_at, client, 5);
    put(item + number_at, c->begun / own + 1, 10);
    if (sequence_at > 0) put(item + sequence_at, c->begun / own + 1000000001, 10);
  }
}

static void watch(struct connection *c, unsigned events) {
  struct epoll_event event = {.events = events, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, c->socket, &event) < 0) fail("epoll_ctl");
}

/* Sends what is left of the request; what the socket does not take goes when it does. */
static void send_request(struct connection *c, bool was_watched) {
  while (c->sent < c->request_length + tail_length) {
    struct iovec parts[2] = {{NULL, 0}, {tail, tail_length}};
    if (c->sent < c->request_length) {
      parts[0] = (struct iovec){c->request + c->sent, c->request_length - c->sent};
    } else {
      size_t into = c->sent - c->request_length;
      parts[1] = (struct iovec){tail + into, tail_length - into};
    }
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t count = sendmsg(c->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) {
      if (!was_watched) watch(c, EPOLLIN | EPOLLOUT);
      return;
    }
    if (count <= 0) fail("send");
    c->sent += (size_t)count;
  }
  if (was_watched) watch(c, EPOLLIN);
}

static void begin(struct connection *c) {
  if (is_over || (count_max > 0 && begun >= count_max)) return;
  begun += batch;
  number_items(c);
  c->sent = 0;
  c->received = 0;
  c->started_at = seconds();
  send_request(c, false);
}

/* How many of a request's envelopes were accepted, by the answer. */
static int accepted(struct connection *c) {
  if (c->answer[9] != '2') return 0;
  int refused = 0;
  if (batch > 1)
    for (char *at = c->answer; (at = strstr(at, "\"rejected\"")); at++) refused++;
  return batch - refused;
}

static void receive(struct connection *c) {
  ssize_t count = recv(c->socket, c->answer + c->received,
                       (size_t)(answer_room - 1 - c->received), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) fail("the connection ended");
  c->received += (int)count;
  if (!message_length(c->answer, c->received)) return;
  double latency = (seconds() - c->started_at) * 1e6;
  latencies[latency < latency_us_max ? (int)latency : latency_us_max]++;
  int taken = accepted(c);
  answered += taken;
  other += batch - taken;
  if (other > 0 && other <= batch)
    fprintf(stderr, "%.*s\n", c->received < 400 ? c->received : 400, c->answer);
  begin(c);
}

static double percentile(double share) {
  unsigned long total = 0, seen = 0;
  for (int us = 0; us <= latency_us_max; us++) total += latencies[us];
  for (int us = 0; us <= latency_us_max; us++)
    if ((double)(seen += latencies[us]) >= share * (double)total) return us / 1000.0;
  return 0;
}

static void open_connection(int number) {
  struct connection *c = &connections[number];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  c->number = number;
  c->answer = malloc((size_t)answer_room);
  c->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(c->socket, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
  int one = 1;
  setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->socket, &event) < 0) fail("epoll_ctl");
  write_request(c);
}

/* Takes in what it is to do; whether that makes sense. */
static bool read_arguments(int argc, char **argv) {
  if (argc < 6 || argc > 8) return false;
  port = atoi(argv[1]);
  connection_count = atoi(argv[2]);
  kind = argv[3];
  int size = argc > 6 ? atoi(argv[6]) : 0;
  client_count = argc > 7 ? atoi(argv[7]) : connection_count;
  if (is_many()) {
    batch = size > 0 ? size : 100;
    answer_room += batch * result_bytes_max + receipt_bytes_max;
  } else if (is("large")) {
    tail_length = (size_t)(size > 0 ? size : large_bytes);
    tail = malloc(tail_length);
    memset(tail, 'x', tail_length);
  } else if (!is_one() && !is("relay") && !is("any")) {
    return false;
  }
  return connection_count >= 1 && connection_count <= connections_max && batch <= batch_max &&
         client_count >= connection_count && client_count <= clients_max;
}

int main(int argc, char **argv) {
  if (!read_arguments(argc, argv)) return 2;
  bool counts = strcmp(argv[4], "count") == 0;
  double number = atof(argv[5]);
  if (counts) count_max = (long)number;
  connections = calloc((size_t)connection_count, sizeof *connections);
  latencies = calloc(latency_us_max + 1, sizeof *latencies);
  epoll = epoll_create1(0);
  for (int index = 0; index < connection_count; index++) open_connection(index);

  double start = seconds(), end = start;
  for (int index = 0; index < connection_count; index++) begin(&connections[index]);
  while (answered + other < begun) {
    struct epoll_event events[256];
    int ready = epoll_wait(epoll, events, 256, 10000);
    if (ready == 0) {
      fprintf(stderr, "no answer in 10 s\n");
      return 1;
    }
    end = seconds();
    if (!counts && end - start >= number) is_over = true;
    for (int index = 0; index < ready; index++) {
      if (events[index].events & EPOLLOUT) send_request(events[index].data.ptr, true);
      if (events[index].events & ~(unsigned)EPOLLOUT) receive(events[index].data.ptr);
    }
  }
  end = seconds();
  printf("{\"rate\": %.1f, \"answered\": %ld, \"other\": %ld, \"p50Ms\": %.3f, \"p99Ms\": %.3f, "
         "\"startedAt\": %.6f}\n",
         (double)answered / (end - start), answered, other, percentile(0.5), percentile(0.99),
         start);
  return 0;
}
