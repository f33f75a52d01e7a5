import TernCore

/// Looks at a folder again and again, for as long as somebody asks.
actor FolderWatch {
  private let folder: SharedFolder
  private let clock: any Clock<Duration>
  private let interval: Duration
  private var last: SharedFolder.Moment?

  init(_ folder: SharedFolder, clock: any Clock<Duration>, interval: Duration) {
    self.folder = folder
    self.clock = clock
    self.interval = interval
  }

  /// - Throws: ``RemoteError``, `CancellationError`.
  func next() async throws -> UInt64? {
    while true {
      let now = try await folder.look()
      if now.hasLost || now.losses != last?.losses ?? now.losses { throw SharedFolder.lost }
      if last == nil || now.position > last!.position {
        last = now
        return now.position
      }
      try await clock.sleep(for: interval)
    }
  }
}
