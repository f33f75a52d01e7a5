import Synchronization

/// Remembers what was found in the latest photos, by their bytes: the same photo gives the same
/// books, and reading one takes seconds.
public final class PhotoMemory: Sendable {
  private let limit: Int
  private let read: RecognizerApplication.Read
  private let state = Mutex(State())

  /// A photo by 64 bits that are drawn anew for each process: two that are alike by chance are not
  /// among a hundred.
  struct Photo: Hashable {
    let hash: Int

    init(_ bytes: [UInt8]) {
      var hasher = Hasher()
      bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
      hash = hasher.finalize()
    }
  }

  private struct State {
    var findings: [Photo: [Finding]] = [:]
    /// Oldest first.
    var order: [Photo] = []
  }

  /// - Parameter limit: of photos, above 0; the one that was read first is forgotten first.
  public init(limit: Int = 100, read: @escaping RecognizerApplication.Read) {
    precondition(limit > 0, "a memory holds at least one photo")
    (self.limit, self.read) = (limit, read)
  }

  /// Calls `found` with what is found in the photo, or was before. One that could not be read is
  /// tried again the next time.
  ///
  /// - Throws: what reading throws.
  public func read(_ photo: [UInt8], found: (Finding) -> Void) throws {
    let key = Photo(photo)
    if let known = state.withLock({ $0.findings[key] }) { return known.forEach(found) }
    var findings: [Finding] = []
    try read(photo) {
      findings.append($0)
      found($0)
    }
    state.withLock { state in
      // Two jobs can have had the same photo at the same time.
      guard state.findings.updateValue(findings, forKey: key) == nil else { return }
      state.order.append(key)
      if state.order.count > limit { state.findings[state.order.removeFirst()] = nil }
    }
  }
}
