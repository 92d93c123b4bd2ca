/* An upstream that costs next to nothing: answers every request with 202, one thread, epoll. A
   request that carries several envelopes (Waystation-Batch) counts as so many.

   usage: upstream COUNT [shut]
   Prints `listening on PORT`. With `shut` it answers nobody until `open` comes in on standard
   input, so that a backlog can be built up before; `open N` has it shut again after N answers, and
   print what `COUNT` prints. When COUNT requests have been answered it prints one line of JSON: how
   many that were a second, since it was opened, or else since the first request; when that was
   (seconds of CLOCK_MONOTONIC); and how many of all requests so far came before an earlier one of
   their client, or once more. load.c numbers them. */
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
  buffer_bytes = 65536,
  /* For a request that carries several envelopes. */
  large_buffer_bytes = 4 << 20,
  connections_max = 65536,
  clients_max = 100000,
  number_digits = 10,
};

struct connection {
  int socket;
  int received;
  int room;
  bool waits;
  char *buffer;
};

static struct connection *connections[connections_max];
static bool is_shut, shuts_again;
static long answered, count_max, disordered, repeated;
static double started_at;
/* The last number that came of each client. */
static long last_numbers[clients_max];

static void note(long client, const char *digits) {
  long number = 0;
  for (int index = 0; index < number_digits; index++) number = number * 10 + (digits[index] - '0');
  if (client < 0 || client >= clients_max) return;
  if (number == last_numbers[client]) repeated++;
  else if (number != last_numbers[client] + 1) disordered++;
  if (number > last_numbers[client]) last_numbers[client] = number;
}

/* Looks whether what a request carries comes in its client's order. What load.c has not numbered
   is let be. Returns how many envelopes it carries. */
static long look_at_order(struct connection *c, int length) {
  char *body = memmem(c->buffer, (size_t)length, "\r\n\r\n", 4) + 4, *end = c->buffer + length;
  size_t head = (size_t)(body - c->buffer);
  char *field = memmem(c->buffer, head, "\r\nWaystation-Batch: ", 20);
  long count = field ? atol(field + 20) : 1;
  if (body < end && *body >= '0' && *body <= '9') {
    field = memmem(c->buffer, head, "\r\nWaystation-Client: bench-", 27);
    note(field ? atol(field + 27) : 0, body);
  }
  static const char mark[] = "{\"of\":\"bench-", next[] = "\",\"number\":\"";
  const size_t mark_bytes = sizeof mark - 1, number_at = mark_bytes + 5 + sizeof next - 1;
  while ((body = memmem(body, (size_t)(end - body), mark, mark_bytes))) {
    note(atol(body + mark_bytes), body + number_at);
    body += number_at + number_digits;
  }
  return count;
}

/* The length of the request at the start of the buffer; 0 if it is not whole yet. */
static int request_length(struct connection *c) {
  char *end = memmem(c->buffer, (size_t)c->received, "\r\n\r\n", 4);
  if (!end) return 0;
  *end = 0;
  char *field = strcasestr(c->buffer, "\r\ncontent-length:");
  *end = '\r';
  int whole = (int)(end - c->buffer) + 4 + (field ? atoi(field + 17) : 0);
  return c->received >= whole ? whole : 0;
}

static void answer(struct connection *c, int length) {
  static const char text[] = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
  long count = look_at_order(c, length), before = answered;
  memmove(c->buffer, c->buffer + length, (size_t)(c->received - length));
  c->received -= length;
  c->waits = false;
  if (started_at == 0) started_at = seconds();
  if (send(c->socket, text, sizeof text - 1, MSG_NOSIGNAL) < 0) return;
  answered += count;
  if (before < count_max && answered >= count_max) {
    double now = seconds();
    printf("{\"rate\": %.1f, \"endedAt\": %.6f, \"disordered\": %ld, \"repeated\": %ld}\n",
           (double)count_max / (now - started_at), now, disordered, repeated);
    fflush(stdout);
    is_shut = shuts_again;
  }
}

static void serve(struct connection *c) {
  int length;
  while ((length = request_length(c)) > 0) {
    c->waits = is_shut;
    if (is_shut) return;
    answer(c, length);
  }
}

static void receive(struct connection *c) {
  if (c->received == c->room && c->room < large_buffer_bytes)
    c->buffer = realloc(c->buffer, (size_t)(c->room = large_buffer_bytes));
  ssize_t count = recv(c->socket, c->buffer + c->received,
                       (size_t)(c->room - c->received), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    connections[c->socket] = NULL;
    close(c->socket);
    free(c->buffer);
    free(c);
    return;
  }
  c->received += (int)count;
  serve(c);
}

static void open_up(void) {
  char line[64];
  if (!fgets(line, sizeof line, stdin)) exit(0);
  long count = strncmp(line, "open ", 5) == 0 ? atol(line + 5) : 0;
  shuts_again = count > 0;
  if (shuts_again) {
    count_max = count;
    answered = 0;
  }
  is_shut = false;
  started_at = seconds();
  for (int socket = 0; socket < connections_max; socket++)
    if (connections[socket] && connections[socket]->waits) serve(connections[socket]);
}

static void take_connection(int epoll, int listener) {
  int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
  if (socket < 0 || socket >= connections_max) return;
  int one = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct connection *c = calloc(1, sizeof *c);
  c->socket = socket;
  c->buffer = malloc(c->room = buffer_bytes);
  connections[socket] = c;
  struct epoll_event event = {.events = EPOLLIN, .data.fd = socket};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) < 0) fail("epoll_ctl");
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  count_max = atol(argv[1]);
  is_shut = argc > 2 && strcmp(argv[2], "shut") == 0;
  int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
  struct sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1024) < 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) < 0)
    fail("listen");
  printf("listening on %d\n", ntohs(address.sin_port));
  fflush(stdout);
  int watched[] = {listener, STDIN_FILENO};
  for (int index = 0; index < 2; index++) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = watched[index]};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, watched[index], &event) < 0) fail("epoll_ctl");
  }
  for (;;) {
    struct epoll_event events[256];
    int ready = epoll_wait(epoll, events, 256, -1);
    for (int index = 0; index < ready; index++) {
      int number = events[index].data.fd;
      if (number == listener) take_connection(epoll, listener);
      else if (number == STDIN_FILENO) open_up();
      else if (connections[number]) receive(connections[number]);
    }
  }
}
