import EventLoop
import Glibc
import Testing

@Suite("A service manager")
struct ServiceManagerTests {
  /// A datagram socket that plays the service manager.
  private struct Manager: ~Copyable {
    let number: Int32
    let address: String

    init(_ address: String) throws {
      self.address = address
      number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      var place = sockaddr_un()
      place.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &place.sun_path) { path in
        for (index, byte) in address.utf8.enumerated() {
          path[index] = address.hasPrefix("@") && index == 0 ? 0 : byte
        }
      }
      let isAbstract = address.hasPrefix("@")
      let length = 2 + address.utf8.count + (isAbstract ? 0 : 1)
      let result = withUnsafePointer(to: &place) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(number, $0, socklen_t(length))
        }
      }
      try #require(result == 0)
    }

    func next() -> String {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = recv(number, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    deinit {
      close(number)
      if !address.hasPrefix("@") { unlink(address) }
    }
  }

  @Test("is told by its socket, in the file system or in the abstract namespace")
  func messages() throws {
    let unique = "waystation-notify-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    for address in ["/tmp/\(unique)", "@\(unique)"] {
      let manager = try Manager(address)
      let service = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": address]))
      #expect(service.tell(.ready, .status("one\ntwo")))
      #expect(manager.next() == "READY=1\nSTATUS=one two")
      #expect(service.tell(.reloading))
      let reloading = manager.next().split(separator: "\n")
      #expect(reloading.first == "RELOADING=1")
      #expect(reloading.last?.hasPrefix("MONOTONIC_USEC=") == true)
      #expect(reloading.last.flatMap { Int64($0.dropFirst(15)) } ?? 0 > 0)
      service.tell(.alive)
      #expect(manager.next() == "WATCHDOG=1")
      service.tell(.stopping)
      #expect(manager.next() == "STOPPING=1")
    }
  }

  @Test("that has gone, or is none, keeps nobody waiting")
  func absent() throws {
    #expect(ServiceManager(environment: [:]) == nil)
    for address in ["", "/", "relative", "vsock:2:1", "@" + String(repeating: "a", count: 107)] {
      #expect(ServiceManager(environment: ["NOTIFY_SOCKET": address]) == nil, "\(address)")
    }
    let gone = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": "/tmp/nobody-here"]))
    #expect(!gone.tell(.ready))
  }

  @Test("gets signs of life twice in the time that it waits, if they are meant for this process")
  func watchdog() {
    func periodMs(_ variables: [String: String]) -> Int64? {
      let all = ["NOTIFY_SOCKET": "@nobody"].merging(variables) { _, given in given }
      return ServiceManager(environment: all, process: 7)?.watchdogPeriodMs
    }
    #expect(periodMs([:]) == nil)
    #expect(periodMs(["WATCHDOG_USEC": "30000000"]) == 15_000)
    #expect(periodMs(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"]) == 15_000)
    #expect(periodMs(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"]) == nil)
    #expect(periodMs(["WATCHDOG_USEC": "0"]) == nil)
    #expect(periodMs(["WATCHDOG_USEC": "soon"]) == nil)
  }

  @Test("hands sockets over by their names to the process that they are meant for")
  func sockets() {
    let variables = ["LISTEN_PID": "7", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "web::ops"]
    // Descriptors are only marked here, and taken from nobody.
    #expect(InheritedSockets(environment: variables, process: 8).names.isEmpty)
    #expect(
      InheritedSockets(environment: ["LISTEN_PID": "7", "LISTEN_FDS": "0"], process: 7)
        .names.isEmpty)
    #expect(
      InheritedSockets(environment: ["LISTEN_PID": "7", "LISTEN_FDS": "-1"], process: 7)
        .names.isEmpty)
    #expect(InheritedSockets(environment: [:], process: 7).names.isEmpty)
  }
}
