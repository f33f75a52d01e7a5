#if os(Linux)
import CCurl

/// What the driver's thread knows of the transfers that run; confined to that thread.
struct CurlLoop {
  private let multi: CurlMulti
  private var active: [UnsafeMutableRawPointer: CurlTransfer] = [:]
  /// No transfer runs out of time before this. Activity moves a transfer's limit only later, so
  /// the bound holds without looking at every transfer at every event.
  private var earliestTimeout: ContinuousClock.Instant?

  init(_ multi: CurlMulti) {
    self.multi = multi
  }

  mutating func perform(_ command: CurlDriver.Command) {
    switch command {
    case .start(let transfer): start(transfer)
    case .resume(let transfer):
      guard let easy = transfer.easy else { return }
      transfer.noteResumed()
      noteTimeout(of: transfer)
      let code = curl_easy_pause(easy, CURLPAUSE_CONT)
      // The latter has no connection any more: its end is about to be told. After anything else
      // libcurl has dropped what it held, and what came next would look like its continuation.
      if code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT { end(transfer, code) }
    case .cancel(let transfer): remove(transfer)
    }
  }

  /// One round: let libcurl work, tell who ended, then sleep until there is something to do.
  mutating func turn() {
    multi.perform()
    while let (easy, code) = multi.nextEnd() {
      if let transfer = active[easy] { end(transfer, code) }
    }
    expire()
    multi.poll(milliseconds: pollMilliseconds())
  }

  mutating func endAll() {
    for transfer in Array(active.values) {
      remove(transfer)
      transfer.end(transfer.shutDown)
    }
  }

  private mutating func start(_ transfer: CurlTransfer) {
    // A cancellation can overtake its own start.
    guard !transfer.isAbandoned else { return }
    guard let easy = transfer.prepareEasy(), curl_multi_add_handle(multi.handle, easy) == CURLM_OK
    else {
      transfer.destroyEasy()
      let error = HTTPError(.unreachable, origin: transfer.origin, "libcurl took no transfer")
      return transfer.end(error)
    }
    active[easy] = transfer
    noteTimeout(of: transfer)
  }

  /// libcurl says that a transfer is over.
  mutating func end(_ transfer: CurlTransfer, _ code: CURLcode) {
    let failure = transfer.failure(for: code)
    remove(transfer)
    transfer.end(failure)
  }

  private mutating func remove(_ transfer: CurlTransfer) {
    guard let easy = transfer.easy else { return }
    active[easy] = nil
    curl_multi_remove_handle(multi.handle, easy)
    transfer.destroyEasy()
  }

  private mutating func noteTimeout(of transfer: CurlTransfer) {
    guard let instant = transfer.timeout?.instant else { return }
    earliestTimeout = min(earliestTimeout ?? instant, instant)
  }

  private mutating func expire() {
    guard let earliest = earliestTimeout else { return }
    let now = ContinuousClock.now
    guard earliest <= now else { return }
    earliestTimeout = nil
    for transfer in Array(active.values) {
      if let timeout = transfer.timeout, timeout.instant <= now {
        remove(transfer)
        transfer.end(timeout.error)
      } else {
        noteTimeout(of: transfer)
      }
    }
  }

  private func pollMilliseconds() -> Int32 {
    guard let earliestTimeout else { return Int32.max }
    let left = earliestTimeout - ContinuousClock.now
    guard left < .milliseconds(Int(Int32.max)) else { return Int32.max }
    // Rounded up, or the last millisecond would be spent turning in circles.
    return Int32(max(left / .milliseconds(1), 0).rounded(.up))
  }
}
#endif
