#if Server
import Crypto
import Synchronization

/// Remembers what was found in the latest photos, by their bytes: the same photo gives the same
/// books, and reading one takes seconds.
public final class PhotoMemory: Sendable {
  private let limit: Int
  private let read: RecognizerApplication.Read
  private let state = Mutex(State())

  private struct State {
    var findings: [SHA256Digest: [Finding]] = [:]
    /// Oldest first.
    var order: [SHA256Digest] = []
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
    let digest = SHA256.hash(data: photo)
    if let known = state.withLock({ $0.findings[digest] }) { return known.forEach(found) }
    var findings: [Finding] = []
    try read(photo) {
      findings.append($0)
      found($0)
    }
    state.withLock { state in
      // Two jobs can have had the same photo at the same time.
      guard state.findings.updateValue(findings, forKey: digest) == nil else { return }
      state.order.append(digest)
      if state.order.count > limit { state.findings[state.order.removeFirst()] = nil }
    }
  }
}
#endif
