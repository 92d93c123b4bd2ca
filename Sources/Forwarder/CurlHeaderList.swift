import CCurl

/// The header lines of a transfer in the form that libcurl reads: a `curl_slist` in memory of our
/// own.
///
/// `curl_slist_append` would allocate twice for each line; this allocates only if a request is
/// larger than all before it. libcurl reads the list and neither copies nor frees it
/// (CURLOPT_HTTPHEADER(3)), and the struct's two members are public.
struct CurlHeaderList: ~Copyable {
  private var text: UnsafeMutableBufferPointer<CChar> = .allocate(capacity: 0)
  private var nodes: UnsafeMutableBufferPointer<curl_slist> = .allocate(capacity: 0)

  deinit {
    text.deallocate()
    nodes.deallocate()
  }

  /// Replaces the list; no transfer may be using the former one.
  ///
  /// - Returns: The first line, valid until the next call.
  mutating func set(_ headers: borrowing OutgoingHeaders) -> UnsafeMutablePointer<curl_slist>? {
    let byteCount = headers.text.count
    let lineCount = headers.starts.count
    if text.count < byteCount {
      text.deallocate()
      text = .allocate(capacity: byteCount * 2)
    }
    if nodes.count < lineCount {
      nodes.deallocate()
      nodes = .allocate(capacity: lineCount * 2)
    }
    guard lineCount > 0, let lines = text.baseAddress, let first = nodes.baseAddress else {
      return nil
    }
    headers.text.withUnsafeBytes { UnsafeMutableRawBufferPointer(text).copyMemory(from: $0) }
    for index in 0..<lineCount {
      let next = index + 1 < lineCount ? first + (index + 1) : nil
      (first + index).initialize(
        to: curl_slist(data: lines + headers.starts[index], next: next))
    }
    return first
  }
}
