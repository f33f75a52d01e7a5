#if Server && Rehearsal
import Tern
import TernNetwork
import TernTesting

/// What is known of uploads.
extension JobLedger {
  /// The jobs that wait for nothing but their uploads.
  var awaitingUploads: [Int64] {
    book.rows.filter { $0.value.values.contains { $0.begun?.isAwaited ?? false } }.keys.sorted()
  }

  func uploadWork(_ id: Int64, _ name: String) -> UploadWork? {
    entries[id]?.work.steps.first { $0.upload != nil && $0.uploads.contains(name) }?.upload
  }

  func answers(of id: String) -> Set<TransferAnswer> { transfers?.answers[id] ?? [] }

  func numbers(of id: String) -> Set<Int> { Set(answers(of: id).compactMap(\.number)) }
}

extension TransferAnswer {
  /// What a service answers to what it takes.
  var number: Int? {
    guard case .response(200, _, let body) = self else { return nil }
    return Int(String(decoding: body, as: UTF8.self))
  }
}

extension [Int64: [String: UploadRow]] {
  /// All that a row wants.
  var wanted: Set<String> { Set(values.flatMap { $0.values.compactMap { $0.begun?.id } }) }
}
#endif
