extension HTTPProblem {
  /// The most of a body that is read; a longer one counts as no reason.
  private static let limitBytes = 64 << 10

  /// Reads why an answer is not the one that was hoped for. What is no problem document, or breaks
  /// off, leaves the status and `Retry-After`.
  ///
  /// - Parameter request: what was answered; its credentials are hidden in the texts.
  /// - Throws: `CancellationError`.
  public init(_ response: HTTPResponse, to request: HTTPRequest) async throws {
    var bytes: [UInt8] = []
    if response.hasType("application/problem+json") || response.hasType("application/json") {
      do {
        bytes = try await response.collect(limit: Self.limitBytes)
      } catch is HTTPError {
        // The status says more than that its reason could not be read.
      }
    }
    self.init(
      status: response.status, headers: response.headers, document: bytes,
      hiding: request.secrets)
  }

  package init(status: Int, headers: HTTPHeaders, document: [UInt8], hiding secrets: [String]) {
    self.init(status: status)
    delay = RetryAdvice(headers: headers)?.delay
    guard let members = ProblemMembers(document) else { return }
    type = members.text("type", hiding: secrets)
    title = members.text("title", hiding: secrets)
    detail = members.text("detail", hiding: secrets)
    instance = members.text("instance", hiding: secrets)
    code = members.text("code", hiding: secrets)
    retryable = members.flag("retryable")
    if let milliseconds = members.number("retryAfterMs") { wait(milliseconds: milliseconds) }
    if let error = members.object("error") { read(error, hiding: secrets) }
  }

  /// - Source: Google's AIP-193, "Errors": `status` names the kind; among the details `ErrorInfo`
  /// names the cause, and `RetryInfo` says for how long to wait.
  private mutating func read(_ error: ProblemMembers, hiding secrets: [String]) {
    code = code ?? error.text("status", hiding: secrets)
    detail = detail ?? error.text("message", hiding: secrets)
    for info in error.objects("details") {
      let type = info.text("@type", hiding: []) ?? ""
      if type.hasSuffix("/google.rpc.ErrorInfo") {
        reason = reason ?? info.text("reason", hiding: secrets)
      }
      guard type.hasSuffix("/google.rpc.RetryInfo"), let text = info.text("retryDelay", hiding: []),
        text.hasSuffix("s"),
        let seconds = Double(text.dropLast()), !seconds.isNaN
      else { continue }
      wait(milliseconds: seconds * 1000)
    }
  }

  private mutating func wait(milliseconds: Double) {
    let longest = RetryAdvice.longestDelay / .milliseconds(1)
    let given = RetryAdvice(delay: .milliseconds(min(max(milliseconds, 0), longest))).delay
    delay = max(delay ?? .zero, given)
  }
}
