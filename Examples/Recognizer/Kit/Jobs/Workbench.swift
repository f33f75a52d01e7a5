import Dispatch
import Foundation
import Logging

/// Reads the photos of all jobs, some at a time, in the order in which they came.
struct Workbench: Sendable {
  /// Blocks its thread and calls back with each book.
  typealias Read = @Sendable (_ photo: [UInt8], _ found: (Finding) -> Void) throws -> Void

  struct Work: Sendable {
    var job: ScanJob
    var photo: [UInt8]
  }

  let board: ScanBoard
  let mischief: Mischief
  let clock: ScanClock
  let width: Int
  let read: Read
  let logger: Logger
  private let queue: AsyncStream<Work>
  private let entrance: AsyncStream<Work>.Continuation
  private let threads = DispatchQueue(label: "recognizer.photos", attributes: .concurrent)

  init(
    board: ScanBoard, mischief: Mischief, clock: ScanClock, width: Int, logger: Logger,
    read: @escaping Read
  ) {
    (self.board, self.mischief, self.clock) = (board, mischief, clock)
    (self.width, self.logger, self.read) = (width, logger, read)
    // The board bounds what is in it, by the photos' bytes.
    (queue, entrance) = AsyncStream.makeStream(of: Work.self)
  }

  func add(_ work: Work) { entrance.yield(work) }

  /// Ends when the task is cancelled; a photo that is being read is waited for.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      var running = 0
      for await work in queue {
        if running == width {
          await group.next()
          running -= 1
        }
        group.addTask { await self.do(work) }
        running += 1
      }
    }
  }

  private func `do`(_ work: Work) async {
    let job = work.job
    // One that was cleaned up meanwhile has nobody to read for.
    if (try? await board.job(Substring(job.id))) != nil {
      tell(job, .progress, ["message": "Looking..."])
      await withCheckedContinuation { continuation in
        threads.async {
          recognize(work)
          continuation.resume()
        }
      }
    }
    await board.release(bytes: work.photo.count)
  }

  private func recognize(_ work: Work) {
    let job = work.job
    do {
      try read(work.photo) { finding in
        var book = BookDocument(finding)
        if mischief.take(.unreadableBook) != nil { book.title = nil }
        // A book that stands in two photos of a job is one book.
        guard job.add(book) else { return }
        tell(job, .result, book)
        if mischief.take(.degraded) != nil { warn(job, book) }
      }
    } catch is UnreadablePhoto {
      return fail(job, "UNREADABLE_PHOTO", "a photo is damaged", isRetryable: false)
    } catch {
      logger.error("a photo could not be read", metadata: ["error": "\(error)"])
      return fail(job, "RECOGNITION_FAILED", "a photo could not be read now", isRetryable: true)
    }
    let done = job.finishPhoto()
    tell(
      job, .progress,
      ProgressDocument(
        status: "processing", progress: Double(done) / Double(job.photoCount),
        processedCount: done, totalCount: job.photoCount, message: "Reading..."))
    if done == job.photoCount { complete(job) }
  }

  private func complete(_ job: ScanJob) {
    if mischief.take(.streamError) != nil {
      return fail(job, "INTERNAL_ERROR", "something went wrong, as asked for", isRetryable: true)
    }
    var document = CompleteDocument(books: job.books)
    let isStripped = mischief.take(.stripBooks) != nil
    if isStripped || json(document).utf8.count > board.limits.completeBytes {
      document = CompleteDocument(resultsUrl: "/v3/jobs/scans/\(job.id)/results?format=lite")
    }
    if mischief.take(.emptyComplete) != nil { document = CompleteDocument() }
    tell(job, .complete, document)
  }

  /// In the contract's two forms, by turns.
  private func warn(_ job: ScanJob, _ book: BookDocument) {
    let isOdd = job.books.count % 2 == 1
    tell(
      job, .degraded,
      isOdd
        ? DegradedDocument(
          isbn: book.isbn, title: book.title, reason: "circuit_open", fallbackSource: "catalogue")
        : DegradedDocument(
          message: "no cover was found", severity: "warning", failedFields: ["coverUrl"]))
  }

  private func fail(_ job: ScanJob, _ code: String, _ message: String, isRetryable: Bool) {
    tell(
      job, .error, StreamErrorDocument(code: code, message: message, retryable: isRetryable))
  }

  private func tell(_ job: ScanJob, _ name: ScanEvent.Name, _ document: some Encodable) {
    job.tell(name, json(document), now: clock.nowMilliseconds)
  }
}
