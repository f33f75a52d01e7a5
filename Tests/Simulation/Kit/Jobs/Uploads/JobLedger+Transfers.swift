#if Server && Rehearsal
import Foundation
import Tern
import TernJobs
import TernNetwork
import TernTesting

/// What the system that carries uploads on is told, what handlers make of it, and how long that takes.
extension JobLedger {
  // MARK: - What the system is told

  func handOver(_ id: String, in run: Int) {
    guard let (job, name) = book.place(of: id) else {
      return fail(.effectsHappenOnce, "an upload is begun as \(id)")
    }
    if rows[job]?.state == .running, let wanted = book.id(job, name), wanted != id {
      fail(.effectsHappenOnce, "job \(job) begins \(name) as \(id), and its row says \(wanted)")
    }
    if book.handed[id]?.run != run {
      let isChanging = path.changedAt == clock.milliseconds
      book.handed[id] = (run, [path.path] + (isChanging ? [.unseen] : []))
    }
    if book.id(job, name) != id, book.unwanted[id] == nil { book.unwanted[id] = clock.milliseconds }
  }

  /// It was not handed over.
  func keep(_ id: String) { book.handed[id] = nil }

  func entrust(_ id: String, in run: Int) {
    guard let (job, name) = book.place(of: id), entries[job]?.attempt?.run == run else { return }
    entries[job]?.attempt?.entrusted.insert(name)
  }

  func forget(_ id: String) {
    book.handed[id] = nil
    if book.rows.wanted.contains(id) {
      // Answers are stored first, and what takes too long is refused first.
      fail(.effectsHappenOnce, "the system forgets \(id), which a row wants")
    }
  }

  /// As a run begins, it asks what the system has.
  func list(_ ids: Set<String>, in run: Int) {
    book.listed = (run, ids)
    for id in ids { book.handed[id] = (run, []) }
  }

  /// And then lets those go that wait for what the system has not.
  func checkCompared(in run: Int) {
    guard let listed = book.listed, listed.run == run else { return }
    for (id, uploads) in book.rows.sorted(by: { $0.key < $1.key }) {
      guard let row = rows[id], row.state == .waiting, row.ready > now else { continue }
      for begun in uploads.values.compactMap(\.begun)
      where begun.isAwaited && !listed.ids.contains(begun.id) {
        fail(.drains, "job \(id) waits for \(begun.id), which the system has lost")
      }
    }
    book.listed = nil
  }

  /// What is sent is the job's file, under the key that is its own.
  func checkContent(_ id: String, _ content: Data, key: String?) {
    guard let (job, name) = book.place(of: id), book.id(job, name) == id, let key,
      let entry = entries[job]
    else { return }
    let expected = uploadWork(job, name).flatMap { entry.files[$0.file] }
    if expected.map({ Data($0.utf8) }) != content {
      fail(.effectsHappenOnce, "job \(job) sends something else than its file as \(name)")
    }
    checkKey(key, Array(content), of: job, name)
  }

  /// The file stays as long as it may be sent.
  func checkFile(_ id: String, _ upload: SimulatedTransfers.Upload) {
    guard let (job, name) = book.place(of: id), book.id(job, name) == id else { return }
    if (try? Data(contentsOf: upload.file)) != upload.content {
      fail(.effectsHappenOnce, "job \(job) has lost its file while \(name) was sent")
    }
  }

  // MARK: - What handlers tell

  func hasEntrusted(_ id: Int64, _ process: JobProcess) -> Bool {
    guard let attempt = entries[id]?.attempt, attempt.run == process.run else { return false }
    return !attempt.entrusted.isEmpty
  }

  /// A handler reads an answer.
  func read(_ id: Int64, _ name: String, _ number: Int, _ process: JobProcess) {
    guard rows[id]?.state == .running, entries[id]?.attempt?.run == process.run,
      let answered = entries[id]?.answered[name]
    else { return }
    if !numbers(of: answered).contains(number) {
      fail(.effectsHappenOnce, "job \(id) reads \(number) from \(name), and that answers another")
    }
    if let earlier = entries[id]?.numbers.updateValue(number, forKey: name), earlier != number {
      fail(.effectsHappenOnce, "job \(id) reads \(number) from \(name), and read \(earlier) before")
    }
  }

  /// An upload ends an attempt.
  func refused(_ id: Int64, _ name: String, by error: any Error, _ process: JobProcess) {
    guard entries[id]?.attempt?.run == process.run else { return }
    if error is Misread {
      entries[id]?.attempt?.misread.insert(name)
    } else if case .refused(let isSteady)? = book.rows[id]?[name]?.standing {
      entries[id]?.attempt?.refused.insert(name)
      if !isSteady { entries[id]?.attempt?.isUnsteady = true }
      let isOfAnswer = error is HTTPProblem || error is HTTPError || error is JobFailure
      let said = (error as? any AdvisingError)?.advice
      if isOfAnswer, let meanings = entries[id]?.refusals[name],
        !meanings.contains(where: { $0 == said })
      {
        fail(.drains, "\(name) of job \(id) was refused as \(meanings), and fails of: \(error)")
      }
    }
  }

  // MARK: - The time that things take

  /// What no row wants is not to be carried on for long, and an answer not kept from its job.
  func watch(_ transfers: SimulatedTransfers) {
    for (id, upload) in transfers.held.sorted(by: { $0.key < $1.key }) {
      let unwanted = book.unwanted[id]
      guard let since = unwanted ?? upload.answer?.at, let free = timing.free(since) else {
        continue
      }
      let late = clock.milliseconds - free
      if late <= 3000 { continue }
      fail(
        .drains, "for \(late) ms the system has \(id), \(unwanted == nil ? "answered" : "unwanted")"
      )
    }
  }

  /// Nothing is left but what belongs to jobs that wait for somebody to retry them.
  func leftOver(_ transfers: SimulatedTransfers) -> [String] {
    let wanted = book.rows.wanted
    return transfers.held.filter { !wanted.contains($0.key) || $0.value.answer != nil }.keys
      .sorted()
  }
}

extension NetworkPath {
  static let unseen = NetworkPath(hasRoute: false, generation: 0)
}
#endif
