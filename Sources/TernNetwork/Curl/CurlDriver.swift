#if os(Linux)
import CCurl
import Foundation
import Synchronization

/// The thread that runs libcurl, and the inbox through which everybody else talks to it.
///
/// The thread sleeps in `curl_multi_poll` until a socket, a timer or a command wakes it.
final class CurlDriver: Sendable {
  enum Command: Sendable {
    case start(CurlTransfer)
    /// The reader made room: let libcurl deliver again.
    case resume(CurlTransfer)
    /// Nobody wants the transfer any more. No effect on one that ended or never began.
    case cancel(CurlTransfer)
  }

  private struct Inbox {
    var commands: [Command] = []
    /// No command is taken any more, and nobody but the thread touches the multi handle.
    var isClosed = false
    var isFinished = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let inbox = Mutex(Inbox())
  private let multi: CurlMulti

  init(idleConnections: Int) {
    multi = CurlMulti(idleConnections: idleConnections)
  }

  /// Starts the thread, which keeps the driver alive until it is closed.
  func launch() {
    let thread = Thread { self.run() }
    thread.name = "tern.curl"
    thread.start()
  }

  func submit(_ command: Command) {
    let isClosed = inbox.withLock { inbox in
      guard !inbox.isClosed else { return true }
      inbox.commands.append(command)
      // Whoever put the first command in woke the thread for all that follow.
      if inbox.commands.count == 1 { multi.wake() }
      return false
    }
    if isClosed, case .start(let transfer) = command { transfer.end(transfer.shutDown) }
  }

  /// Starts a transfer, and gives its answer's head. Cancelled, it ends the exchange.
  func head(of transfer: CurlTransfer) async throws -> ResponseHead {
    try await withTaskCancellationHandler {
      try await transfer.head.wait { submit(.start(transfer)) }
    } onCancel: {
      cancel(transfer)
    }
  }

  /// The next chunk of its body, `nil` at the end. Cancelled, it ends the exchange.
  func next(of transfer: CurlTransfer) async throws -> [UInt8]? {
    try await withTaskCancellationHandler {
      try await transfer.pipe.read { submit(.resume(transfer)) }
    } onCancel: {
      cancel(transfer)
    }
  }

  /// Tells the waiting task at once; libcurl hears of it on its own thread.
  func cancel(_ transfer: CurlTransfer) {
    transfer.abandon()
    submit(.cancel(transfer))
  }

  /// Returns at once; the thread ends what runs and then itself.
  func close() {
    inbox.withLock { inbox in
      guard !inbox.isClosed else { return }
      inbox.isClosed = true
      multi.wake()
    }
  }

  func closeAndWait() async {
    close()
    await withCheckedContinuation { continuation in
      let isFinished = inbox.withLock { inbox in
        if !inbox.isFinished { inbox.waiting.append(continuation) }
        return inbox.isFinished
      }
      if isFinished { continuation.resume() }
    }
  }

  /// What was submitted since the last call, in order, and whether nothing more comes.
  func take() -> (commands: [Command], isClosed: Bool) {
    inbox.withLock { inbox in
      defer { inbox.commands = [] }
      return (inbox.commands, inbox.isClosed)
    }
  }

  private func run() {
    // With CURLOPT_NOSIGNAL libcurl leaves SIGPIPE alone, and OpenSSL can raise it on this thread.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    var loop = CurlLoop(multi)
    while true {
      let (commands, isClosed) = take()
      for command in commands { loop.perform(command) }
      if isClosed { break }
      loop.turn()
    }
    loop.endAll()
    multi.destroy()
    let waiting = inbox.withLock { inbox in
      inbox.isFinished = true
      defer { inbox.waiting = [] }
      return inbox.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
#endif
