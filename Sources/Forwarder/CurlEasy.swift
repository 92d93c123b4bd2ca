import CCurl
import EventLoop
import Glibc

/// An easy handle, with the memory for its error messages.
struct CurlEasy: ~Copyable {
  /// The handle for calls; valid while this value lives.
  let pointer: UnsafeMutableRawPointer
  // libcurl writes into it during a transfer, so it stays in place as long as the handle.
  private let errorText: UnsafeMutablePointer<CChar>
  // libcurl reads it for each transfer.
  private let url: OpaquePointer
  /// The table of its connections; told of each that is made for it.
  let connections: OpenConnections

  /// Makes a handle whose only options are the error buffer and the socket callbacks.
  ///
  /// - Parameter connections: Has to live as long as any connection that was made for the handle.
  init(connections: OpenConnections) throws(SystemError) {
    CurlLibrary.prepare()
    guard let pointer = curl_easy_init() else {
      throw SystemError(code: ENOMEM, operation: "curl_easy_init")
    }
    guard let url = curl_url() else {
      curl_easy_cleanup(pointer)
      throw SystemError(code: ENOMEM, operation: "curl_url")
    }
    self.pointer = pointer
    self.url = url
    self.connections = connections
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.pointee = 0
    _ = waystation_curl_set_pointer(pointer, CURLOPT_ERRORBUFFER, errorText)
    connectSocketCallbacks()
  }

  private func connectSocketCallbacks() {
    // Sound: unretained, since the owner of the connections (this handle, or the multi handle that
    // it is in) holds the table until it has closed them.
    let context = Unmanaged.passUnretained(connections).toOpaque()
    let code = waystation_curl_set_socket_callbacks(
      pointer,
      { context, descriptor, _ in
        guard let context else { return Int32(CURL_SOCKOPT_ERROR) }
        Unmanaged<OpenConnections>.fromOpaque(context).takeUnretainedValue().add(descriptor)
        return Int32(CURL_SOCKOPT_OK)
      },
      { context, descriptor in
        if let context {
          Unmanaged<OpenConnections>.fromOpaque(context).takeUnretainedValue().remove(descriptor)
        }
        return close(descriptor)
      }, context)
    check(code, CURLOPT_SOCKOPTFUNCTION)
  }

  deinit {
    curl_easy_cleanup(pointer)
    curl_url_cleanup(url)
    errorText.deallocate()
  }

  /// Clears the last transfer's error.
  func clearError() { errorText.pointee = 0 }

  /// libcurl's message on the last transfer's end; empty if there is none.
  var error: String { String(cString: errorText) }

  /// The kernel's `errno` of the last connect that failed; 0 if there is none.
  var osError: Int32 {
    Int32(truncatingIfNeeded: waystation_curl_long_info(pointer, CURLINFO_OS_ERRNO))
  }

  /// Whether the last transfer had a connection made.
  var hasConnected: Bool { waystation_curl_long_info(pointer, CURLINFO_NUM_CONNECTS) > 0 }

  /// Sets the URL of requests.
  ///
  /// It is parsed here once: a CURLOPT_URL would be parsed for each transfer.
  func set(url text: String) {
    guard curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK else {
      // The transfer reports the fault.
      return set(CURLOPT_URL, text)
    }
    set(CURLOPT_CURLU, pointer: UnsafeMutableRawPointer(url))
  }

  /// Sets an option that takes a `long`.
  ///
  /// These calls return no code: with arguments of the right type they fail only if memory runs out
  /// or the library does not know an option, and the tests check the latter.
  func set(_ option: CURLoption, _ value: Int) {
    check(waystation_curl_set_long(pointer, option, value), option)
  }

  /// Sets an option that takes a `curl_off_t`.
  func set(_ option: CURLoption, offset value: Int64) {
    check(waystation_curl_set_offset(pointer, option, curl_off_t(value)), option)
  }

  /// Sets an option that takes a string, which libcurl copies.
  func set(_ option: CURLoption, _ value: String) {
    check(waystation_curl_set_string(pointer, option, value), option)
  }

  /// Sets an option that takes a string, given as bytes ending in NUL; libcurl copies them.
  func set(_ option: CURLoption, nulEnded value: [UInt8]) {
    precondition(value.last == 0, "a C string ends in NUL")
    value.withUnsafeBytes { bytes in
      let text = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      check(waystation_curl_set_string(pointer, option, text), option)
    }
  }

  /// Sets an option that takes a pointer, which must stay valid for the transfer.
  func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
    check(waystation_curl_set_pointer(pointer, option, value), option)
  }

  /// Sets an option that takes bytes, which libcurl copies.
  func set(_ option: CURLoption, blob value: [UInt8]) {
    value.withUnsafeBytes { bytes in
      check(
        waystation_curl_set_blob(pointer, option, bytes.baseAddress, bytes.count), option)
    }
  }

  /// Sets the list of header lines, which must not change during the transfer.
  func setHeaders(_ first: UnsafeMutablePointer<curl_slist>?) {
    check(waystation_curl_set_headers(pointer, first), CURLOPT_HTTPHEADER)
  }

  /// Goes on with a transfer whose callback had nothing to send (curl_easy_pause(3)).
  ///
  /// A failure shows in the transfer's own end.
  func goOn() { _ = curl_easy_pause(pointer, Int32(waystation_curl_pause_none)) }

  private func check(_ code: CURLcode, _ option: CURLoption) {
    precondition(
      code == CURLE_OK, "curl_easy_setopt \(option.rawValue) failed with \(code.rawValue)")
  }
}
