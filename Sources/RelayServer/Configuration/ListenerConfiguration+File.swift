import EventLoop
import JSON

extension SectionReader {
  /// What stands under `listen`: an address, an object that says more, or an array of such.
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
      var section = SectionReader(value, path: path, problems: problems)
    else {
      problems.add(
        path, expected: ListenerConfiguration.form + " or an array of such", found: value.shown)
      return nil
    }
    let listener = section.readListener()
    section.finish()
    return listener
  }

  private mutating func readListener() -> ListenerConfiguration? {
    var endpoint: Endpoint?
    read("address", into: &endpoint, expected: ListenerConfiguration.addressForm) { value in
      guard let address = (try? value.string()).flatMap(SocketAddress.init) else { return nil }
      return .some(.tcp(address))
    }
    let hasAddress = has("address")
    var path: Endpoint?
    read("unix", into: &path, expected: ListenerConfiguration.pathForm) { value in
      guard let path = (try? value.string()).flatMap(Endpoint.init(unixPath:)) else { return nil }
      return .some(path)
    }
    var inherited: Endpoint?
    read("systemd", into: &inherited, expected: ListenerConfiguration.inheritedForm) { value in
      (try? value.string()).flatMap(Endpoint.init(inheritedName:)).map { .some($0) }
    }
    if [hasAddress, has("unix"), has("systemd")].count(where: { $0 }) != 1 {
      problems.add(self.path, "needs one of \"address\", \"unix\" and \"systemd\", and no two")
    }
    let place = endpoint ?? path ?? inherited
    var listener = ListenerConfiguration(place ?? .tcp(.loopback(port: 0)))
    readMode(into: &listener)
    readAudience(into: &listener)
    section("tls") { listener.tls = $0.readTLS() }
    if has("unix"), listener.tls != nil {
      problems.add(self.path(of: "tls"), "goes with \"address\"; a Unix socket is not secured")
    }
    return place == nil ? nil : listener
  }

  private mutating func readMode(into listener: inout ListenerConfiguration) {
    read("mode", into: &listener.mode, expected: "permission bits in octal, as in \"0660\",") {
      guard let text = try? $0.string(), (3...4).contains(text.utf8.count),
        let mode = UInt32(text, radix: 8), mode <= 0o777, text.first != "+"
      else { return nil }
      return mode
    }
    if has("mode"), !has("unix") {
      problems.add(path(of: "mode"), "goes with \"unix\": nothing else has permissions")
    }
  }

  private mutating func readAudience(into listener: inout ListenerConfiguration) {
    var audience: ListenerConfiguration.Audience?
    read("for", into: &audience, expected: ListenerConfiguration.Audience.choices) { value in
      (try? value.string()).flatMap(ListenerConfiguration.Audience.init).map { .some($0) }
    }
    listener.audience = audience
  }

  private mutating func readTLS() -> TLSConfiguration? {
    let certificate = readFile("certificate", "the path of a certificate's PEM file")
    let key = readFile("key", "the path of a key's PEM file")
    var tls = TLSConfiguration(certificate: certificate ?? "", key: key ?? "")
    word("minVersion", into: &tls.minVersion)
    section("clientCertificates") { tls.clientCertificates = $0.readClientCertificates() }
    return tls
  }

  private mutating func readClientCertificates() -> ClientCertificatesConfiguration? {
    let authorities = readFile("authorities", "the path of the authorities' PEM file")
    var asked = ClientCertificatesConfiguration(authorities: authorities ?? "")
    flag("required", into: &asked.isRequired)
    word("clientName", into: &asked.clientName)
    if has("revocations") {
      asked.revocations = readFile("revocations", "the path of revocation lists' PEM file")
    }
    return asked
  }

  /// A file's path, which has to stand there.
  private mutating func readFile(_ key: String, _ expected: String) -> String? {
    var file: String?
    read(key, into: &file, expected: expected) { value in
      guard let text = try? value.string(), !text.isEmpty, !text.utf8.contains(0) else {
        return nil
      }
      return .some(text)
    }
    if !has(key) { problems.add(path(of: key), expected: expected, found: "nothing") }
    return file
  }

  private func has(_ key: String) -> Bool { all.contains { $0.name == key } }
}

extension ListenerConfiguration {
  /// What an address looks like, as a part of a sentence.
  static let addressForm = "an address and a port, as in 127.0.0.1:8080 or [::1]:8080,"
  /// What a Unix socket's path looks like.
  static let pathForm =
    "an absolute path of at most \(Endpoint.unixPathBytesMax) bytes, as in /run/waystation.sock,"
  /// What an inherited socket's name looks like.
  static let inheritedForm =
    "the name of a socket, as its unit's FileDescriptorName= says it,"
  /// What stands for a place to listen, in one text.
  static let form =
    "an address and a port, as in 127.0.0.1:8080 or [::1]:8080, a socket's path, as in"
    + " unix:/run/waystation.sock, or a socket of the service manager's, as in systemd:web,"

  /// Writes what the file would say.
  func write(to json: inout JSONWriter) {
    guard audience != nil || tls != nil || isUnix else { return json.string(description) }
    json.object { json in
      switch endpoint {
      case .tcp(let address): json.member("address", address.description)
      case .unix(let path):
        json.member("unix", path)
        let digits = String(mode, radix: 8)
        json.member("mode", String(repeating: "0", count: max(0, 4 - digits.count)) + digits)
      case .inherited(let name): json.member("systemd", name)
      }
      if let audience { json.member("for", audience.rawValue) }
      if let tls { json.memberObject("tls") { tls.writeMembers(to: &$0) } }
    }
  }

  private var isUnix: Bool {
    if case .unix = endpoint { return true }
    return false
  }
}

extension TLSConfiguration {
  fileprivate func writeMembers(to json: inout JSONWriter) {
    json.member("certificate", certificate)
    json.member("key", key)
    json.member("minVersion", minVersion.rawValue)
    guard let asked = clientCertificates else { return }
    json.memberObject("clientCertificates") { json in
      json.member("authorities", asked.authorities)
      json.member("required", asked.isRequired)
      json.member("clientName", asked.clientName.rawValue)
      if let revocations = asked.revocations { json.member("revocations", revocations) }
    }
  }
}
