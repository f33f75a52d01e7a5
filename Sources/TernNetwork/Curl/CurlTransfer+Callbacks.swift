#if os(Linux)
import CCurl

/// What libcurl calls, on the driver's thread.
extension CurlTransfer {
  func setCallbacks(_ easy: UnsafeMutableRawPointer) {
    // Unretained: the loop holds the transfer for as long as it has an easy handle.
    let context = Unmanaged.passUnretained(self).toOpaque()
    for option in [
      CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA,
      CURLOPT_XFERINFODATA,
    ] {
      _ = tern_curl_set_pointer(easy, option, context)
    }
    _ = tern_curl_on_header(easy) { bytes, size, count, context in
      CurlTransfer.of(context).receiveHeader(.init(start: bytes, count: size * count))
    }
    _ = tern_curl_on_write(easy) { bytes, size, count, context in
      CurlTransfer.of(context).receiveBody(.init(start: bytes, count: size * count))
    }
    _ = tern_curl_on_read(easy) { bytes, size, count, context in
      CurlTransfer.of(context).sendBody(.init(start: bytes, count: size * count))
    }
    _ = tern_curl_on_seek(easy) { context, offset, whence in
      CurlTransfer.of(context).seekBody(to: Int(offset), whence: whence)
    }
    if source != nil {
      _ = tern_curl_on_progress(easy) { context, _, _, _, byteCount in
        CurlTransfer.of(context).noteSent(Int(byteCount))
        return 0
      }
    }
    let isTold = tern_curl_on_request(easy, context) { context, _, _, _, _ in
      CurlTransfer.of(context).hadConnection = true
      return 0
    }
    // An older library does not tell: then what a proxy was told counts as sent, too.
    hadConnection = isTold != CURLE_OK
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
    guard let context else { preconditionFailure("libcurl lost a callback's context") }
    return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  }

  func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
    noteActivity()
    guard !answer.isComplete else { return line.count }
    guard answer.consume(line) else {
      refusal = HTTPError(.invalidAnswer, origin: origin, "its head is malformed or too long")
      return 0
    }
    guard answer.isComplete else { return line.count }
    // libcurl decodes nothing before this returns.
    let isReadable = request.method == .head || answer.isReadable(decodes: decodes)
    if decodes { answer.forgetCoding() }
    // The status is good whatever the body is.
    head.fulfil(.success(answer))
    guard isReadable else {
      refusal = HTTPError(.invalidAnswer, origin: origin, "its body has codings nobody asked for")
      return 0
    }
    return line.count
  }

  func receiveBody(_ chunk: UnsafeRawBufferPointer) -> Int {
    noteActivity()
    guard answer.isComplete else {
      // Another protocol's, to which the server switched by itself.
      refusal = HTTPError(.invalidAnswer, origin: origin, "something came before the answer's head")
      return 0
    }
    switch pipe.write(chunk) {
    case .taken: return chunk.count
    case .full:
      notePaused()
      return tern_curl_write_pause()
    // Less than was offered: libcurl gives up, and the cancellation is on its way anyhow.
    case .unwanted: return 0
    }
  }

  private func sendBody(_ room: UnsafeMutableRawBufferPointer) -> Int {
    noteActivity()
    guard let source else { return 0 }
    guard !isAbandoned else { return tern_curl_read_abort() }
    do throws(HTTPError) {
      let count = try source.read(at: sentByteCount, into: room)
      sentByteCount += count
      if sentByteCount == source.byteCount { hadWholeBody = true }
      return count
    } catch {
      refusal = error
      return tern_curl_read_abort()
    }
  }

  /// libcurl rewinds to send a body again on a new connection.
  private func seekBody(to offset: Int, whence: Int32) -> Int32 {
    guard let source, whence == SEEK_SET, (0...source.byteCount).contains(offset),
      request.isRepeatable || offset == sentByteCount
    else { return CURL_SEEKFUNC_FAIL }
    sentByteCount = offset
    return CURL_SEEKFUNC_OK
  }
}
#endif
