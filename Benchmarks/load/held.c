/* Holds connections in the ways that attackers and bad networks do, until its input ends; or idle.

   usage: held PORT CONNECTIONS [idle]
   A third of them send nothing, a third send half a head, a third ask twenty times whether the
   relay is well and read none of the answers. With `idle` each asks once, reads the answer, and
   then rests, as a device does that keeps its connection. Prints how many are open, then waits.
   What the relay closes is not opened again. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common.h"

static const char *const question = "GET /healthz HTTP/1.1\r\nHost: r\r\n\r\n";

/* Asks once, and reads the answer. */
static void ask(int number) {
  char answer[4096];
  int received = 0;
  if (send(number, question, strlen(question), MSG_NOSIGNAL) < 0) fail("send");
  while (received == 0 || !message_length(answer, received)) {
    ssize_t count = recv(number, answer + received, sizeof answer - 1 - (size_t)received, 0);
    if (count <= 0) fail("recv");
    received += (int)count;
  }
}

/* Leaves a connection in one of the three bad ways. */
static void leave(int number, int way) {
  const char *half = "POST /v1/envelopes HTTP/1.1\r\nHost: 127";
  char asking[4096] = "";
  for (int index = 0; index < 20; index++) strcat(asking, question);
  if (way == 1 && send(number, half, strlen(half), MSG_NOSIGNAL) < 0) fail("send");
  if (way == 2 && send(number, asking, strlen(asking), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
      errno != EAGAIN)
    fail("send");
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) return 2;
  bool is_idle = argc == 4 && strcmp(argv[3], "idle") == 0;
  int count = atoi(argv[2]);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int opened = 0;
  for (int index = 0; index < count; index++) {
    int number = socket(AF_INET, SOCK_STREAM, 0);
    if (number < 0) fail("socket");
    int small = 4096;
    if (!is_idle && index % 3 == 2) setsockopt(number, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    if (connect(number, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    if (is_idle) ask(number);
    else leave(number, index % 3);
    opened++;
  }
  printf("%d\n", opened);
  fflush(stdout);
  char byte;
  while (read(0, &byte, 1) > 0) continue;
  return 0;
}
