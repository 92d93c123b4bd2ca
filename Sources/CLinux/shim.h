#ifndef WAYSTATION_CLINUX_SHIM_H
#define WAYSTATION_CLINUX_SHIM_H

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#endif
