import CCurl
import EventLoop
import Glibc

/// A multi handle: all transfers of one forwarder and the connections that they share.
///
/// Sound: `@unchecked Sendable`, since libcurl allows only ``wakeUp()`` on other threads
/// (curl_multi_wakeup(3)); everything else is called on the forwarder's thread alone.
struct CurlMulti: ~Copyable, @unchecked Sendable {
  private let handle: UnsafeMutableRawPointer
  /// The connections that its transfers share.
  let connections: OpenConnections

  /// Makes a handle that keeps at most `idleConnectionsMax` idle connections.
  init(
    idleConnectionsMax: Int, connections: sending OpenConnections
  ) throws(SystemError) {
    CurlLibrary.prepare()
    guard let handle = curl_multi_init() else {
      throw SystemError(code: ENOMEM, operation: "curl_multi_init")
    }
    self.handle = handle
    self.connections = connections
    keep(idleConnectionsMax: idleConnectionsMax)
    _ = waystation_curl_multi_set_long(handle, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
  }

  deinit { curl_multi_cleanup(handle) }

  /// Changes the most idle connections to keep.
  func keep(idleConnectionsMax: Int) {
    _ = waystation_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, idleConnectionsMax)
  }

  /// Begins the transfer that an easy handle was set up for.
  func add(_ easy: borrowing CurlEasy) -> Bool {
    curl_multi_add_handle(handle, easy.pointer) == CURLM_OK
  }

  /// Removes a transfer, at whatever stage it is.
  func remove(_ easy: borrowing CurlEasy) {
    let code = curl_multi_remove_handle(handle, easy.pointer)
    precondition(code == CURLM_OK, "curl_multi_remove_handle: a mistake in this program")
  }

  /// Does everything that can be done without waiting.
  func perform() {
    var running: Int32 = 0
    let code = curl_multi_perform(handle, &running)
    precondition(
      code == CURLM_OK || code == CURLM_OUT_OF_MEMORY,
      "curl_multi_perform: a mistake in this program")
  }

  /// Waits until there is something to do, ``wakeUp()`` is called, or the time is up.
  func wait(milliseconds: Int32) {
    // libcurl shortens the wait to its own next timer.
    _ = curl_multi_poll(handle, nil, 0, milliseconds, nil)
  }

  /// Ends the present ``wait(milliseconds:)``, or else the next one.
  func wakeUp() { curl_multi_wakeup(handle) }

  /// A transfer that has ended, with its result; nil if there are no more.
  ///
  /// - Parameter type: What the private pointers of its handles refer to.
  func nextEnded<Ended: AnyObject>(
    _ type: Ended.Type
  ) -> (transfer: Ended, code: CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(handle, &left) {
      guard message.pointee.msg == CURLMSG_DONE,
        let context = waystation_curl_private(message.pointee.easy_handle)
      else { continue }
      // Unretained: its thread holds every transfer in a table until it has ended.
      let transfer = Unmanaged<Ended>.fromOpaque(context).takeUnretainedValue()
      return (transfer, waystation_curl_result(message))
    }
    return nil
  }
}
