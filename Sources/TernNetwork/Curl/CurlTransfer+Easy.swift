#if os(Linux)
import CCurl

/// The request in libcurl's terms.
extension CurlTransfer {
  /// Makes the easy handle, or gives `nil` when there is no memory for it.
  func prepareEasy() -> UnsafeMutableRawPointer? {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    guard setTrust(easy) else {
      destroyEasy()
      return nil
    }
    setTarget(easy)
    setBody(easy)
    setHeaders(easy)
    setCallbacks(easy)
    return easy
  }

  func destroyEasy() {
    guard let easy else { return }
    curl_easy_cleanup(easy)
    curl_slist_free_all(headerList)
    source = nil
    self.easy = nil
    headerList = nil
  }

  private func setTarget(_ easy: UnsafeMutableRawPointer) {
    _ = tern_curl_set_string(easy, CURLOPT_URL, request.url)
    // A space may be called "..": what the caller escaped is not for libcurl to resolve.
    _ = tern_curl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
    _ = tern_curl_allow_http_only(easy)
    _ = tern_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    _ = tern_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
    _ = tern_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    _ = tern_curl_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1)
    // A body libcurl rewinds before it sends a request again, and can be told not to. One without a
    // body it sends again unasked, where a kept connection turns out to be closed.
    let isEmpty = (source?.byteCount ?? 0) == 0
    if request.needsNewConnection || isEmpty && !request.isRepeatable {
      _ = tern_curl_set_long(easy, CURLOPT_FRESH_CONNECT, 1)
    }
    _ = tern_curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    if origin.isLoopback { _ = tern_curl_set_string(easy, CURLOPT_PROXY, "") }
    tern_curl_leave_resolver_behind(easy)
    let milliseconds = (request.connectTimeout / .milliseconds(1)).rounded(.up)
    // 0 would be libcurl's own default of five minutes.
    let clamped = Int(min(max(milliseconds, 1), Double(Int32.max)))
    _ = tern_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, clamped)
  }

  /// - Returns: `false` where libcurl does not take all of it: nothing is sent with less.
  private func setTrust(_ easy: UnsafeMutableRawPointer) -> Bool {
    let least =
      switch configuration.minimumTLSVersion {
      case .v12: CURL_SSLVERSION_TLSv1_2
      case .v13: CURL_SSLVERSION_TLSv1_3
      }
    var results = [
      tern_curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 1),
      tern_curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 2),
      tern_curl_set_long(easy, CURLOPT_SSLVERSION, Int(least)),
    ]
    if let file = configuration.authoritiesFile {
      results.append(tern_curl_set_string(easy, CURLOPT_CAINFO, file))
      // A folder that libcurl was built with would be trusted beside it.
      results.append(tern_curl_set_string(easy, CURLOPT_CAPATH, nil))
    }
    return results.allSatisfy { $0 == CURLE_OK }
  }

  private func setBody(_ easy: UnsafeMutableRawPointer) {
    if let source {
      setUpload(easy, count: source.byteCount)
    } else {
      switch request.method {
      case .head: _ = tern_curl_set_long(easy, CURLOPT_NOBODY, 1)
      // Servers want to hear that these have no content: RFC 9110, section 8.6.
      case .post, .put, .patch: setUpload(easy, count: 0)
      default: break
      }
    }
    _ = tern_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method.rawValue)
  }

  /// Who asks for a coding of its own gets the answer in it. Who asks for none gets none: some
  /// servers pack what they send all the same.
  /// A part of a coded body can't be decoded, and the length of one without a body is all there
  /// is to know.
  var decodes: Bool {
    let asked = request.headers["Accept-Encoding"]?.lowercased() ?? "identity"
    return asked == "identity" && request.headers["Range"] == nil && request.method != .head
  }

  private func setUpload(_ easy: UnsafeMutableRawPointer, count: Int) {
    _ = tern_curl_set_long(easy, CURLOPT_UPLOAD, 1)
    _ = tern_curl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(count))
  }

  private func setHeaders(_ easy: UnsafeMutableRawPointer) {
    // A field of the request's own takes the place of what this sends.
    if decodes { _ = tern_curl_set_string(easy, CURLOPT_ACCEPT_ENCODING, "gzip") }
    for field in request.sentHeaders.fields {
      // "Name:" would remove a field of libcurl's own; a semicolon says that it is empty.
      append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }
    // A server that does not know the expectation would cost a second of waiting.
    append("Expect:")
    _ = tern_curl_set_headers(easy, headerList)
  }

  private func append(_ line: String) {
    headerList = curl_slist_append(headerList, line) ?? headerList
  }
}
#endif
