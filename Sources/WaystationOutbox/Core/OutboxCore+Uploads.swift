import RelayCore

/// One step of an upload (draft-ietf-httpbis-resumable-upload).
enum UploadStep: Sendable, Equatable {
  /// Gives up what was begun with another body.
  case giveUp
  /// Begins it, or finds the one that was begun.
  case create
  /// Asks how much of it the relay has.
  case ask
  /// Sends a part.
  case append(offset: Int64, count: Int64)
}

extension OutboxCore {
  /// The next step of an item's upload.
  func nextStep(of item: KeptItem, at now: Moment) throws(StoreError) -> OutgoingExchange? {
    if let former = Self.formerPlace(item.upload) {
      return begin(
        .upload(item: item.id, .giveUp), OutgoingRequest(method: "DELETE", path: former))
    }
    guard let (request, body) = try readableContent(of: item) else { return nil }
    if item.upload ?? Self.noPlace == Self.noPlace {
      guard try goesAsSigned(item, request, body, at: now) else { return nil }
    }
    var sealed = item.state == .sealed ? item : try seal(item)
    if sealed.upload == nil {
      // Whatever the relay says of its posts by then, it goes on as an upload.
      sealed.upload = Self.noPlace
      try file.update(sealed)
    }
    try cover(sealed, request, body)
    let step: UploadStep
    var part: UploadPart?
    if sealed.upload == Self.noPlace {
      step = .create
    } else if let offset = state.uploadOffsets[item.id] {
      step = .append(
        offset: offset, count: min(settings.sending.partBytes, item.bodyBytes - offset))
      part = UploadPart(offset: offset, total: item.bodyBytes)
    } else {
      step = .ask
    }
    return begin(
      .upload(item: item.id, step), try uploadRequest(sealed, request, body, step, at: now),
      part: part)
  }

  /// The place of an upload that has none yet.
  static let noPlace = ""
  /// What stands before the place of an upload that is to be given up.
  private static let formerMark = "!"

  /// What is kept of an item's upload once another body may take its body's place: the relay would
  /// go on with what it has of the former one.
  static func asFormer(_ upload: String?) -> String? {
    guard let upload, upload != noPlace, !upload.hasPrefix(formerMark) else {
      return upload == noPlace ? nil : upload
    }
    return formerMark + upload
  }

  private static func formerPlace(_ upload: String?) -> String? {
    guard let upload, upload.hasPrefix(formerMark) else { return nil }
    return String(upload.dropFirst(formerMark.count))
  }

  private func uploadRequest(
    _ item: KeptItem, _ request: KeptRequest, _ body: KeptBody, _ step: UploadStep, at now: Moment
  ) throws(StoreError) -> OutgoingRequest {
    switch step {
    case .giveUp: return OutgoingRequest(method: "DELETE", path: item.upload ?? "")
    case .create:
      let upstream = RelayPath.escaped(request.upstream ?? "default")
      let signature = try signatureField(of: item)
      return OutgoingRequest(
        method: request.method, path: "/v1/relay/\(upstream)\(request.path)",
        headers: request.headers.filter { !$0.isTaken(with: signature) }
          + [signature].compactMap(\.self) + terms(of: item, at: now))
    case .ask:
      return OutgoingRequest(method: "HEAD", path: item.upload ?? "")
    case .append(let offset, let count):
      let isLast = offset + count >= item.bodyBytes
      return OutgoingRequest(
        method: "PATCH", path: item.upload ?? "",
        headers: [
          HeaderLine(name: "Content-Type", value: "application/partial-upload"),
          HeaderLine(name: "Upload-Offset", value: "\(offset)"),
          HeaderLine(name: "Upload-Complete", value: isLast ? "?1" : "?0"),
        ] + preference(for: item.lane), body: Self.part(of: body, offset: offset, count: count))
    }
  }

  /// What the relay is told of an item whose body goes by itself.
  private func terms(of item: KeptItem, at now: Moment) -> [HeaderLine] {
    var terms = [
      HeaderLine(name: "Idempotency-Key", value: item.key),
      HeaderLine(name: "Upload-Complete", value: "?0"),
      HeaderLine(name: "Upload-Length", value: "\(item.bodyBytes)"),
      HeaderLine(name: "Waystation-Client", value: settings.client),
      HeaderLine(name: "Waystation-Lane", value: relayLane(of: item)),
      HeaderLine(
        name: "Waystation-On-Failure", value: onRefusal(of: item) == .block ? "block" : "skip"),
    ]
    func add(_ name: String, _ value: String?) {
      if let value { terms.append(HeaderLine(name: "Waystation-\(name)", value: value)) }
    }
    add("Sequence", item.sequence.map { "\($0)" })
    add("Tag", item.tag)
    add("Expires-In", item.expiresMs.map { "\(max(1, $0 / 1000))" })
    if let age = now.milliseconds(since: item.enqueuedAt), age >= 1000 {
      add("Age", "\(age / 1000)")
    }
    return terms
  }

  private static func part(of body: KeptBody, offset: Int64, count: Int64) -> ExchangeBody {
    guard count > 0 else { return .none }
    switch body {
    case .none: return .none
    case .bytes(let bytes):
      return .bytes(Array(bytes[Int(offset)..<Int(min(offset + count, Int64(bytes.count)))]))
    case .file(let path, let size, let sums):
      return .file(FileStretch(path, from: offset, count, of: size, sums))
    }
  }

  /// Takes the relay's answer to a step.
  func takeUpload(
    _ response: Response, of id: Int64, _ step: UploadStep, at now: Moment
  ) throws(StoreError) {
    guard var item = try file.item(id), !item.isHanded else { return }
    if step == .giveUp {
      guard response.status == 204 || RelayProblem(response) != nil else {
        return notReachable(.notTheRelay, at: now)
      }
      state.sender.answered()
      item.upload = nil
      return try file.update(item)
    }
    let offset = response.header("upload-offset").flatMap { Int64($0) }
    switch response.status {
    case 201 where step == .create:
      guard let location = response.header("location"), let path = Self.path(of: location) else {
        return notReachable(.notTheRelay, at: now)
      }
      item.upload = path
      try file.update(item)
      note(offset ?? 0, of: item)
    case 204 where hasGrown(step, to: offset):
      if case .append = step { state.sender.answered() }
      // One that is complete is answered as a whole to a last part without a body.
      let isComplete = response.header("upload-complete") == "?1"
      note(isComplete ? item.bodyBytes : offset ?? 0, of: item)
    case 200, 202:
      state.sender.answered()
      state.uploadOffsets[id] = nil
      guard let relayID = EnvelopeAnswer.id(response.body) else {
        guard EnvelopeAnswer.isDuplicate(response.body) else {
          return notReachable(.notTheRelay, at: now)
        }
        return try endForgotten(item)
      }
      confirmNumber(of: item)
      if EnvelopeAnswer.isDuplicate(response.body) { try forgetStatement(ofKnown: item) }
      try handOver(item, relayID: relayID)
      if let told = ToldReceipt(body: response.body) { try take([told], at: now) }
    case 404:
      item.upload = Self.noPlace
      try file.update(item)
      state.uploadOffsets[id] = nil
      limited("the relay does not know the upload any more", afterMs: nil, at: now)
    case 409 where hasGrown(step, to: offset):
      note(offset ?? 0, of: item)
    case 409 where response.header("location").flatMap(Self.path) != nil:
      item.upload = response.header("location").flatMap(Self.path)
      try file.update(item)
      state.uploadOffsets[id] = nil
    default:
      state.uploadOffsets[id] = nil
      try refusedUpload(item, response, at: now)
    }
  }

  private func refusedUpload(
    _ item: KeptItem, _ response: Response, at now: Moment
  ) throws(StoreError) {
    guard let problem = RelayProblem(response) else {
      return notReachable(.notTheRelay, at: now)
    }
    if problem.isAboutNumber {
      try renumber(item, problem)
      guard state.renumberings > CoreLimits.renumberingsMax else { return state.sender.answered() }
      return limited(problem.words, afterMs: nil, at: now)
    }
    if problem.mayPass || problem.name == "superseded-upload" || problem.status == 409 {
      return limited(problem.words, afterMs: response.retryAfterMs, at: now)
    }
    var forgotten = item
    forgotten.upload = nil
    try file.update(forgotten)
    // The key of an upload that is open has a place to go on at: that one is another item's.
    if problem.name == "key-conflict", response.header("location") == nil {
      guard EnvelopeAnswer.id(response.body) == nil else { return try takeKnown(forgotten) }
      try declareVoid(forgotten)
      return try endForgotten(forgotten)
    }
    try refuse(forgotten, by: .relay, problem.error)
  }

  /// The relay has had it, and keeps nothing of it any more but its key.
  private func endForgotten(_ item: KeptItem) throws(StoreError) {
    try endTold(try handOver(item, relayID: ""), .unknown, error: .forgottenByRelay)
  }

  /// Whether it is known how far the upload has come, and a part that was sent has brought it on.
  ///
  /// To go on at once where it stands as before would lead nowhere.
  private func hasGrown(_ step: UploadStep, to offset: Int64?) -> Bool {
    guard let offset else { return false }
    return switch step {
    case .giveUp, .create: false
    case .ask: true
    case .append(let sent, _): offset > sent
    }
  }

  private func note(_ offset: Int64, of item: KeptItem) {
    state.uploadOffsets[item.id] = min(max(0, offset), item.bodyBytes)
    tell(
      .sending(
        Item.ID(raw: item.id), Progress(sent: offset, total: item.bodyBytes, received: 0)))
  }

  /// The path of a `Location`, which may be a whole URL.
  private static func path(of location: String) -> String? {
    if location.hasPrefix("/") { return location }
    guard let scheme = location.firstOccurrence(of: "://") else { return nil }
    let rest = location[scheme.upperBound...]
    return rest.firstIndex(of: "/").map { String(rest[$0...]) }
  }
}
