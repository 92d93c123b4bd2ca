import EventLoop
import JSON
import RelayCore

extension SectionReader {
  /// Reads the value of `listen`: an address, an object that says more, or an array of such.
  mutating func readListeners(into listeners: inout [ListenerConfiguration]) {
    guard let value = value("listen") else { return }
    guard let elements = try? value.array() else {
      if let listener = listener(value, path: path(of: "listen")) { listeners = [listener] }
      return
    }
    let values = Array(elements)
    let read = values.enumerated().compactMap { index, value in
      listener(value, path: path(of: "listen") + "[\(index)]")
    }
    if values.isEmpty {
      problems.add(
        path(of: "listen"), expected: ListenerConfiguration.form + " or an array of such",
        found: value.shown)
    }
    // Where one of them is wrong the problem is noted, and nothing is started.
    if !read.isEmpty { listeners = read }
  }

  private func listener(_ value: JSONValue, path: String) -> ListenerConfiguration? {
    if let text = try? value.string(), let endpoint = Endpoint(text) {
      return ListenerConfiguration(endpoint)
    }
    guard (try? value.object()) != nil,
      var section = inner(value, path: path)
    else {
      problems.add(
        path, expected: ListenerConfiguration.form + " or an array of such", found: value.shown)
      return nil
    }
    var listener = ListenerConfiguration(.tcp(.loopback(port: 0)))
    section.read(into: &listener)
    section.finish()
    let hasPlace = Self.places.contains { section.has($0) && section.isFine($0) }
    return hasPlace ? listener : nil
  }

  /// The keys of which one says where a listener is.
  static let places = ["address", "unix", "systemd"]
}

extension KeyForm<Endpoint> {
  /// An address and a port.
  static var address: KeyForm {
    KeyForm(
      expected: "an address and a port, as in 127.0.0.1:8080 or [::1]:8080,",
      read: { (try? $0.string()).flatMap(SocketAddress.init).map(Endpoint.tcp) },
      write: { if case .tcp(let address) = $0 { $1.string(address.description) } },
      isWritten: { if case .tcp = $0 { true } else { false } })
  }

  /// A Unix socket's path.
  static var unixPath: KeyForm {
    KeyForm(
      expected:
        "an absolute path of at most \(Endpoint.unixPathBytesMax) bytes, as in"
        + " /run/waystation.sock,",
      read: { (try? $0.string()).flatMap(Endpoint.init(unixPath:)) },
      write: { if case .unix(let path) = $0 { $1.string(path) } },
      isWritten: { if case .unix(let path) = $0 { !path.isEmpty } else { false } })
  }

  /// An inherited socket's name.
  static var inherited: KeyForm {
    KeyForm(
      expected: "the name of a socket, as its unit's FileDescriptorName= says it,",
      read: { (try? $0.string()).flatMap(Endpoint.init(inheritedName:)) },
      write: { if case .inherited(let name) = $0 { $1.string(name) } },
      isWritten: { if case .inherited = $0 { true } else { false } })
  }
}

extension KeyForm<String> {
  /// A host and a port.
  static var authority: KeyForm {
    text("a host and a port, as in relay-1.example.com:8443,") { text in
      guard let url = try? UpstreamURL("https://\(text)") else { return false }
      return url.port != nil && url.authority == text.lowercased()
    }
  }
}

extension KeyForm<UInt32> {
  /// Permission bits.
  static var permissions: KeyForm {
    KeyForm(
      expected: "permission bits in octal, as in \"0660\",",
      read: { value in
        guard let text = try? value.string(), (3...4).contains(text.utf8.count),
          let mode = UInt32(text, radix: 8), mode <= 0o777, text.first != "+"
        else { return nil }
        return mode
      },
      write: { mode, json in
        let digits = String(mode, radix: 8)
        json.string(String(repeating: "0", count: max(0, 4 - digits.count)) + digits)
      })
  }
}

extension ListenerConfiguration {
  /// A listener on a Unix socket, for the rows of the reference.
  static let undecided = ListenerConfiguration(.unix(path: ""))

  /// The form of a listener's address as one text.
  static let form =
    "an address and a port, as in 127.0.0.1:8080 or [::1]:8080, a socket's path, as in"
    + " unix:/run/waystation.sock, or a socket of the service manager's, as in systemd:web,"

  /// Writes what the file would say.
  func write(to json: inout JSONWriter) {
    guard audience != nil || tls != nil || isUnix else { return json.string(description) }
    json.object { writeMembers(to: &$0) }
  }

  var isUnix: Bool {
    if case .unix = endpoint { return true }
    return false
  }
}
