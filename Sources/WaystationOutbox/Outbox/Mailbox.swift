import JSON
import RelayCore

/// A folder into which other processes, such as an app's extensions, drop items for an outbox.
///
/// It opens no database and takes no lock: each item is a plain file. The process that has the
/// outbox open takes all of them in, in the order of their names, which is that of time.
public struct Mailbox: Sendable {
  private let folder: String

  /// The mailbox of this folder; ``Settings/mailbox`` names the same one.
  public init(_ folder: String) { self.folder = folder }

  /// Drops an item.
  ///
  /// It is on the disk when this returns.
  ///
  /// A body that is a file is copied into the item.
  ///
  /// - Throws: ``EnqueueError``; nothing was dropped then.
  public func drop(_ request: Request, _ options: Options = Options()) throws(EnqueueError) {
    do throws(StoreError) {
      let clock = SystemClock()
      let key = options.key ?? ItemKey.fresh(at: clock.wall, clock.random)
      var body: [UInt8] = []
      switch request.body {
      case .none: break
      case .bytes(let bytes, _): body = bytes
      case .file(let path, _, _): body = try Platform.read(path)
      }
      try Platform.createFolders(folder)
      let name = Self.name(clock)
      let item = DroppedItem(request, options, key: key, body: body, at: clock.wall)
      try Platform.write(item.bytes, toNew: "\(folder)/.\(name)")
      try Platform.move("\(folder)/.\(name)", to: "\(folder)/\(name)")
      try Platform.sync(folder)
    } catch {
      throw EnqueueError(error)
    }
  }

  /// A name that comes after those that were dropped before, also within a millisecond.
  private static func name(_ clock: SystemClock) -> String {
    let wall = "\(clock.wall.milliseconds)"
    let (seconds, attoseconds) = clock.monotonic.components
    let elapsed = "\(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)"
    func padded(_ digits: String) -> String {
      String(repeating: "0", count: max(0, 19 - digits.count)) + digits
    }
    return "\(padded(wall))-\(padded(elapsed))-\(clock.random())"
  }
}

/// An item as it lies in a mailbox: a line of JSON, and behind it the bytes of the body.
struct DroppedItem {
  let bytes: [UInt8]

  init(_ request: Request, _ options: Options, key: String, body: [UInt8], at wall: Instant) {
    var json = JSONWriter()
    json.object { json in
      json.member("version", 1)
      json.member("at", wall.milliseconds)
      json.member("key", key)
      json.member("lane", options.lane.name)
      if let tag = options.tag { json.member("tag", tag.name) }
      if options.hold { json.member("hold", true) }
      if let name = options.coalesce { json.member("coalesce", name) }
      if let expires = options.expires { json.member("expiresMs", expires.milliseconds) }
      if let notBefore = options.notBefore { json.member("notBeforeMs", notBefore.milliseconds) }
      if let policy = options.onRefusal { json.member("onRefusal", policy.code) }
      if !options.userData.isEmpty {
        json.member("userData", Base64.text(of: options.userData))
      }
      json.member("method", request.method)
      json.member("path", request.path)
      if let upstream = request.upstream { json.member("upstream", upstream) }
      if let type = request.body.mediaType { json.member("type", type) }
      json.memberArray("headers") { json in
        for (name, value) in request.headers {
          json.string(name)
          json.string(value)
        }
      }
    }
    bytes = json.finish() + [UInt8(ascii: "\n")] + body
  }

  /// The request and the options of a dropped item; nil for a file that is none.
  static func read(_ bytes: [UInt8]) -> (Request, Options)? {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
      let value = try? JSONValue.parse(Array(bytes[..<end])), let object = try? value.object(),
      object["version"]?.wholeNumber == 1, let key = try? object["key"]?.string(),
      let lane = try? object["lane"]?.string(), let method = try? object["method"]?.string(),
      let path = try? object["path"]?.string()
    else { return nil }
    let text = { (name: StaticString) in (try? object[name]?.string()) ?? nil }
    let span = { (name: StaticString) in
      object[name]?.wholeNumber.map { Duration.milliseconds($0) }
    }
    let body = Array(bytes[(end + 1)...])
    var request = Request(method, path, upstream: text("upstream"))
    if let type = text("type") { request.body = .bytes(body, type: type) }
    let texts = ((try? object["headers"]?.array()) ?? nil).map { $0.map { try? $0.string() } } ?? []
    for place in stride(from: 0, to: texts.count - 1, by: 2) {
      guard let name = texts[place], let value = texts[place + 1] else { return nil }
      request.headers.append((name, value))
    }
    var options = Options(
      key: key, lane: Lane(lane), tag: text("tag").map { Tag($0) },
      hold: (try? object["hold"]?.bool()) == true, coalesce: text("coalesce"),
      expires: span("expiresMs"),
      notBefore: span("notBeforeMs"),
      onRefusal: object["onRefusal"]?.wholeNumber.map { OnRefusal(code: $0) })
    // What it has lain here counts, as far as the time of day tells it.
    if let at = object["at"]?.wholeNumber, let expires = options.expires {
      let (ageMs, overflow) = SystemClock().wall.milliseconds.subtractingReportingOverflow(at)
      options.expires = overflow ? .zero : max(.zero, expires - .milliseconds(max(0, ageMs)))
    }
    if let data = text("userData") {
      options.userData = (try? Base64.decode(Array(data.utf8))) ?? []
    }
    return (request, options)
  }
}

extension Outbox {
  /// Takes in what lies in the mailbox.
  ///
  /// A file that is no item is left in `refused`, beside the others.
  ///
  /// - Returns: Whether there is a mailbox.
  @discardableResult
  func takeMailbox() async -> Bool {
    guard let folder = settings.mailbox else { return false }
    for name in Platform.names(in: folder) where name != Self.refusedFolder {
      let path = "\(folder)/\(name)"
      let bytes: [UInt8]
      do throws(StoreError) {
        bytes = try Platform.readFile(path, bytesMax: settings.limits.bytes)
      } catch {
        // Another look may find it gone, or readable.
        if error.kind == .corrupt { refuse(path, name, in: folder, error.detail) }
        continue
      }
      guard let (request, options) = DroppedItem.read(bytes) else {
        refuse(path, name, in: folder, "it is no item")
        continue
      }
      do throws(EnqueueError) {
        try await enqueue(request, options)
        // Its key makes a second time harmless, should the process end here.
        Platform.remove(path)
      } catch .invalid(let reason) {
        refuse(path, name, in: folder, reason)
      } catch .tooLarge {
        refuse(path, name, in: folder, "it is larger than all that the outbox may hold")
      } catch .keyConflict {
        refuse(path, name, in: folder, "its key was used for something else")
      } catch {
        // There is no room, or the outbox is closed: it stays for the next time.
        return true
      }
    }
    return true
  }

  /// The folder of files that are no items, within the mailbox.
  private static let refusedFolder = "refused"

  private func refuse(_ path: String, _ name: String, in folder: String, _ reason: String) {
    let refused = "\(folder)/\(Self.refusedFolder)"
    do throws(StoreError) {
      try Platform.createFolder(refused)
      try Platform.move(path, to: "\(refused)/\(name)")
      hub.tell(.damaged("\(path) was not taken in, and lies in \(refused) now: \(reason)."))
    } catch {
      hub.tell(.damaged("\(path) cannot be taken in: \(reason)."))
    }
  }

  /// Takes over what another library has left behind, item by item, each once by its key.
  ///
  /// - Parameter old: The requests, oldest first, each with a key in its options.
  /// - Returns: How many there were.
  public func adopt(
    _ old: some AsyncSequence<(Request, Options), any Error>
  ) async throws -> Int {
    var count = 0
    for try await (request, options) in old {
      guard options.key != nil else {
        throw EnqueueError.invalid("what is adopted needs a key, so that it comes once")
      }
      try await enqueue(request, options)
      count += 1
    }
    return count
  }
}
