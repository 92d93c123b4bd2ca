// A library to be loaded before all others (LD_PRELOAD) into a relay under test, to which it sends a
// signal before its main begins. Tests/EndToEnd/EarlySignalTests.swift is the other side.
//
// WAYSTATION_EARLY_SIGNAL  the signal's number
#ifndef WAYSTATION_SIGNAL_SHIM_H
#define WAYSTATION_SIGNAL_SHIM_H
#endif
