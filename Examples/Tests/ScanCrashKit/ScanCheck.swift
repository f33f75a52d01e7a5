@_spi(Rehearsal) import Tern

/// What must hold after a round, whatever died in it.
struct ScanCheck {
  let kill: ScanKill
  let misbehaviour: ScanMisbehaviour
  /// Photos that `scan add` has taken.
  let photos: Int
  /// Processes that died while they could have been sending.
  let runsKilled: Int
  /// What dying at a point did to a photo that was on its way.
  let loss: ScanLoss
  /// The books of an undisturbed scan of the same photo.
  let books: [ScanFacts.Book]
  let before: ScanService.Counts
  let after: ScanService.Counts

  /// Jobs at the service of which nobody here learned the name, and with them the photos that were
  /// sent again.
  func unknownJobs(_ facts: ScanFacts) -> Int {
    created(facts) - facts.cleanUps.values.reduce(0, +)
  }

  private func created(_ facts: ScanFacts) -> Int {
    facts.deviceID.flatMap { after.jobsByDevice[$0] } ?? 0
  }

  func violations(_ facts: ScanFacts) -> [String] {
    scanViolations(facts) + serviceViolations(facts)
  }

  private func scanViolations(_ facts: ScanFacts) -> [String] {
    var found: [String] = []
    if facts.scans.count != photos {
      found.append("\(photos) photos were accepted, and \(facts.scans.count) scans are there")
    }
    for scan in facts.scans where scan.job != "done" {
      found.append(
        "a scan's job is “\(scan.job ?? "gone")”: \(scan.reason ?? "no reason")")
    }
    let unread = unreadBooks(facts)
    if misbehaviour == .unreadableBook, !(unknownJobs(facts) == 0 ? 1...1 : 0...1).contains(unread)
    {
      found.append("\(unread) books are counted that can't be read")
    }
    let expected = expectedBooks(facts, unread: unread)
    if facts.books != expected { found.append("\(facts.books) are there, not \(expected)") }
    if facts.finds != photos * books.count - unread {
      found.append("\(facts.finds) finds of \(books.count) books in \(photos) scans")
    }
    found += facts.leftFiles.map { "the file \($0) is left" }
    return found
  }

  /// The service tells one book so that it can't be read: in a job that somebody knows, or in one
  /// that nobody does, for whose photo there is another.
  private func unreadBooks(_ facts: ScanFacts) -> Int {
    misbehaviour == .unreadableBook ? facts.scans.reduce(0) { $0 + $1.warnings } : 0
  }

  /// - Parameter unread: how often a book, whichever it was, was not found where it is.
  private func expectedBooks(_ facts: ScanFacts, unread: Int) -> [ScanFacts.Book] {
    var left = unread
    return books.compactMap { book in
      var book = book
      book.timesScanned = photos
      let found = facts.books.first { $0.isbn == book.isbn }?.timesScanned ?? 0
      if left > 0, found < photos { (book.timesScanned, left) = (photos - 1, left - 1) }
      return book.timesScanned > 0 ? book : nil
    }
  }

  private func serviceViolations(_ facts: ScanFacts) -> [String] {
    var found: [String] = []
    let known = facts.cleanUps.values.reduce(0, +)
    let spoilt = misbehaviour.spoilsJob ? 1 : 0
    // The job that was spoilt can be the one that nobody knows.
    if !(photos...photos + spoilt).contains(known) {
      found.append("\(known) jobs were known of \(photos) photos")
    }
    if facts.cleanUps != ["done": known] { found.append("clean-ups: \(facts.cleanUps)") }
    let unknown = unknownJobs(facts)
    let drops = misbehaviour.losesAnswer ? 1 : 0
    let counted = facts.scans.reduce(0) { $0 + $1.timesLost }
    if case .atRandom = kill {
      let most = runsKilled + drops
      if unknown < 0 || unknown > counted || counted > most {
        found.append("\(unknown) jobs that nobody knows, and \(counted) answers lost")
      }
    } else {
      let lost = drops + (loss == .answer ? 1 : 0)
      let doubted = drops + (loss == .none ? 0 : 1)
      if unknown != lost || counted != doubted {
        found.append(
          "\(unknown) jobs that nobody knows, not \(lost); \(counted) answers lost, not \(doubted)")
      }
    }
    // Nobody can clean up with a token that has expired.
    let uncleaned = after.jobsAlive - before.jobsAlive - unknown
    if !(0...(misbehaviour == .expiredToken ? 1 : 0)).contains(uncleaned) {
      found.append("\(uncleaned) known jobs are left at the service")
    }
    return found
  }
}

/// What a death at a point leaves of a photo's sending.
enum ScanLoss: Sendable {
  case none
  /// It was not sent, and nobody can know.
  case doubt
  /// The service has a job for it, whose name went with the process.
  case answer

  /// - Parameter isSending: whether the database says that a photo is on its way.
  init(_ log: [(point: CrashPoint, isKill: Bool)], isSending: Bool) {
    let sending = log.last { [.scanBeforeSend, .scanAfterSend].contains($0.point) }?.point
    self =
      switch log.last(where: \.isKill)?.point {
      case .scanBeforeSend: .doubt
      case .scanAfterSend: .answer
      case .jobBeforeStepCommit where isSending && sending == .scanAfterSend: .answer
      default: .none
      }
  }
}
