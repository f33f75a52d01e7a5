import Foundation
import GRDB
import InterpreterKit
import Tern
import TernJobs

extension TranslateDatabase {
  /// Answers a question with what is installed here, if it still waits.
  ///
  /// - Returns: why it can't, in a sentence; it goes on waiting for the service then.
  func answerOffline(_ id: String, with apertium: Apertium) async throws -> String? {
    guard let entry = try await pool.read({ try Entry.find(id, in: $0) }), entry.state == "waiting"
    else { return nil }
    var answer: Answer
    do {
      let result = try await apertium.translate(
        entry.text, from: entry.from == "auto" ? nil : entry.from, to: entry.to)
      answer = Answer(
        text: result.text, source: result.source, engine: result.engine,
        confidence: result.confidence)
    } catch let error as ApertiumError {
      return Self.sentence(error, entry)
    }
    answer.isOffline = true
    let made = answer
    try await pool.write { db in
      let service = try String.fetchOne(
        db, sql: "SELECT coalesce(service, ?) FROM waiting WHERE phrase = ?",
        arguments: [try Settings(in: db)[.service], id])
      try settle(id, made, model: nil, in: db)
      if let service { try beginAnew(with: service, in: db) }
    }
    return nil
  }

  /// Apertium's own words are the interpreter's, which are English.
  private static func sentence(_ error: ApertiumError, _ entry: Entry) -> String {
    switch error.code {
    case .noPair: Word.offlineNoPair.text(entry.from, entry.to)
    case .unknownLanguage: Word.offlineUnknown.text(entry.to)
    case .textTooLong: Word.offlineLong.text(Apertium.longestText)
    case .broken: Word.offlineBroken.text(error)
    }
  }
}
