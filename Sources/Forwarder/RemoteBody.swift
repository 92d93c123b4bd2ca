import RelayCore

/// Reads a part of a body that is no file on this machine, and calls `take` once, on any thread.
///
/// Returns at once.
package typealias BodyReading =
  @Sendable (
    _ file: StoredBodyFile, _ offset: Int64, _ countMax: Int,
    _ take: @escaping @Sendable (Result<[UInt8], StoreError>) -> Void
  ) -> Void

/// A part of a body that has come for an attempt, or the reason that it has not.
struct BodyArrival: Sendable {
  let serial: Serial
  /// The number of the ``RemoteBody`` that has asked for it.
  let body: Int
  let result: Result<[UInt8], StoreError>
}

/// A request's body that is read from a store elsewhere while it is sent.
///
/// It lives on the forwarder's thread.
final class RemoteBody {
  /// Asks for a part of it, which comes back as a ``BodyArrival`` with this number.
  typealias Asking = (_ part: Range<Int64>, _ number: Int) -> Void

  private let number: Int
  private var window: BodyWindow
  private let ask: Asking
  /// Why it cannot be read; nil if it can.
  private(set) var failure: String?

  /// Begins to read.
  ///
  /// - Parameter number: Tells it from all others of the process.
  init(byteCount: Int64, number: Int, ask: @escaping Asking) {
    self.number = number
    self.ask = ask
    window = BodyWindow(byteCount: byteCount)
    askOn()
  }

  private func askOn() {
    guard failure == nil, let part = window.ask() else { return }
    ask(part, number)
  }

  /// Takes a part that has come; false if it was for another one.
  func take(_ arrival: BodyArrival) -> Bool {
    guard arrival.body == number else { return false }
    switch arrival.result {
    case .success(let bytes):
      if !window.take(bytes) { failure = "a part of it is missing" }
    case .failure(let error): failure = error.description
    }
    askOn()
    return true
  }

  /// Hands out what comes next.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> OutgoingBody.Reading {
    guard failure == nil else { return .failed }
    let count = window.read(into: buffer)
    askOn()
    return count > 0 || window.isDone ? .bytes(count) : .notYet
  }

  /// Goes on at an offset; false if there is none such.
  func seek(to offset: Int64) -> Bool {
    defer { askOn() }
    return window.seek(to: offset)
  }
}
