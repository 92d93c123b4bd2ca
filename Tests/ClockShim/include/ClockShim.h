// A library to be loaded before all others (LD_PRELOAD) into a relay under test, whose time of day it
// sets back and forth. Tests/EndToEnd/Support/FakeClock.swift is the other side.
//
// WAYSTATION_CLOCK_CONTROL  a file of eight bytes: by how many seconds the time of day is off, mapped
//                           and read at each call, so that a test can change its mind
//
// Clocks that nobody can set (CLOCK_MONOTONIC, CLOCK_BOOTTIME) are left alone, as the kernel does.
#ifndef WAYSTATION_CLOCK_SHIM_H
#define WAYSTATION_CLOCK_SHIM_H
#endif
