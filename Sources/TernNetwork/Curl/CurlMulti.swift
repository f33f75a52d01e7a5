#if os(Linux)
import CCurl

/// A libcurl multi handle: the connections and what runs on them.
///
/// `@unchecked Sendable`: only the driver's thread uses it, but for ``wake()``, which libcurl
/// allows from any thread and which the driver never calls after the handle is closed.
struct CurlMulti: @unchecked Sendable {
  let handle: UnsafeMutableRawPointer

  private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init(idleConnections: Int) {
    precondition(Self.isLibraryReady, "libcurl could not be initialised")
    guard let handle = curl_multi_init() else { fatalError("no memory for a libcurl handle") }
    self.handle = handle
    _ = tern_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, idleConnections)
  }

  func wake() {
    curl_multi_wakeup(handle)
  }

  func destroy() {
    curl_multi_cleanup(handle)
  }

  /// Moves every transfer as far as it goes without waiting.
  func perform() {
    var running: Int32 = 0
    curl_multi_perform(handle, &running)
  }

  /// Waits for a socket, one of libcurl's timers, ``wake()`` or the time.
  func poll(milliseconds: Int32) {
    curl_multi_poll(handle, nil, 0, milliseconds, nil)
  }

  /// The next transfer that ended, by its easy handle.
  func nextEnd() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(handle, &left) {
      if message.pointee.msg == CURLMSG_DONE {
        return (message.pointee.easy_handle, message.pointee.data.result)
      }
    }
    return nil
  }
}
#endif
