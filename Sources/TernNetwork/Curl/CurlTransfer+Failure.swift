#if os(Linux)
import CCurl
import Foundation

extension CurlTransfer {
  /// What the end of a transfer means, `nil` for a good one. While the easy handle still exists.
  func failure(for code: CURLcode) -> HTTPError? {
    if let refusal { return refusal }
    guard code != CURLE_OK else {
      // A connection that closes after an informational answer ends without an error.
      guard answer.isComplete else {
        return HTTPError(.connectionLost, origin: origin, "it ended before the answer's head")
      }
      return nil
    }
    // libcurl's general sentence for the code; its detailed one can name paths.
    let detail = "\(String(cString: curl_easy_strerror(code))) (libcurl \(code.rawValue))"
    return HTTPError(errorCode(for: code), origin: origin, detail)
  }

  private func errorCode(for code: CURLcode) -> HTTPError.Code {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .unresolvedHost
    case CURLE_COULDNT_CONNECT: systemError == ECONNREFUSED ? .connectionRefused : .unreachable
    // The only time limit that libcurl is given is the one for connecting.
    case CURLE_OPERATION_TIMEDOUT: .connectTimeout
    case CURLE_URL_MALFORMAT: .invalidURL
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_INITFAILED:
      .tls
    // Its name for an answer that does not begin as HTTP; other URLs never get here.
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
      .invalidAnswer
    default: .connectionLost
    }
  }

  private var systemError: Int32 {
    var value = 0
    guard let easy, tern_curl_get_long(easy, CURLINFO_OS_ERRNO, &value) == CURLE_OK else {
      return 0
    }
    return Int32(truncatingIfNeeded: value)
  }
}
#endif
