import TernCore
import TernNetwork

extension JobWorker {
  /// A worker that knows the network, and whose jobs may ``JobContext/upload(_:_:file:within:)``.
  ///
  /// ```swift
  /// let worker = JobWorker(jobs) {
  ///   $0.handle(ScanShelf.self) { job, context in try await scanner.scan(job, context) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - concurrency: how many jobs run at the same time; 4 unless told.
  ///   - path: what is known of the network: whether a broken exchange counts, when to try again,
  ///     and whether what a job requires is there. What the system says,
  ///     ``SystemPath/shared``, unless told.
  ///   - transfers: what carries uploads on; one for each queue. None unless told.
  ///   - register: names the handlers.
  public init(
    _ queue: JobQueue, concurrency: Int = 4, path: any NetworkPathSource = SystemPath.shared,
    transfers: (any BackgroundTransfers)? = nil, _ register: (inout JobHandlers) -> Void
  ) {
    // A refusal is stored within another document, in four characters for three bytes.
    let bytes = queue.limits.checkpointBytes
    let limit = max(bytes - bytes / 4 - 64, 0)
    self.init(
      queue, concurrency: concurrency, path: path,
      transferringBy: transfers.map { UploadSystem(transfers: $0, limit: limit) }, register)
  }
}
