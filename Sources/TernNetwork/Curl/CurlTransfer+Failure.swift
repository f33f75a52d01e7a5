#if os(Linux)
import CCurl
import Foundation

extension CurlTransfer {
  /// What the end of a transfer means, `nil` for a good one. While the easy handle still exists.
  func failure(for code: CURLcode) -> HTTPError? {
    var failure = meaning(of: code)
    failure?.isBodyUnsent = isBodyUnsent
    return failure
  }

  /// Whether libcurl never had the end of the body.
  var isBodyUnsent: Bool { !hadWholeBody && (source?.byteCount ?? 0) > 0 }

  private func meaning(of code: CURLcode) -> HTTPError? {
    if let refusal {
      // Of what is refused now the server may have had the whole before.
      guard hadWholeBody, !refusal.mayHaveArrived else { return refusal }
      return HTTPError(.connectionLost, origin: origin, "not sent again: \(refusal.detail)")
    }
    guard code != CURLE_OK else {
      // A connection that closes after an informational answer ends without an error.
      guard answer.isComplete else {
        return HTTPError(.connectionLost, origin: origin, "it ended before the answer's head")
      }
      return nil
    }
    // libcurl's general sentence for the code; its detailed one can name paths.
    let sentence = String(cString: curl_easy_strerror(code))
    let meaning = errorCode(for: code)
    // Its number only where it stands for nothing better known.
    let detail =
      meaning == .connectionLost ? "\(sentence) (libcurl \(code.rawValue))" : sentence
    // libcurl connects anew where a kept connection ended without an answer. That nobody is there
    // any more does not say what became of the request.
    guard wasSent, Self.withoutConnection.contains(meaning) else {
      return HTTPError(meaning, origin: origin, detail)
    }
    return HTTPError(.connectionLost, origin: origin, "no other connection: \(detail)")
  }

  private static let withoutConnection: Set<HTTPError.Code> = [
    .unresolvedHost, .connectionRefused, .unreachable, .connectTimeout, .tls,
  ]

  /// Whether a part of the request went over some connection. libcurl counts over all its attempts,
  /// and what it says to a proxy before there is a connection, too.
  private var wasSent: Bool { hadConnection && info(CURLINFO_REQUEST_SIZE) > 0 }

  private func errorCode(for code: CURLcode) -> HTTPError.Code {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .unresolvedHost
    case CURLE_COULDNT_CONNECT:
      info(CURLINFO_OS_ERRNO) == Int(ECONNREFUSED) ? .connectionRefused : .unreachable
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

  private func info(_ name: CURLINFO) -> Int {
    var value = 0
    guard let easy, tern_curl_get_long(easy, name, &value) == CURLE_OK else { return 0 }
    return value
  }
}
#endif
