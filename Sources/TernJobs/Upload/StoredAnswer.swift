import Foundation
import TernCore
import TernNetwork

/// An upload's answer as it is stored in its job's row, in JSON.
struct StoredAnswer: Codable {
  /// Of an answer; else ``error`` is there.
  private var status: Int?
  /// Names and values in turn.
  private var fields: [String]?
  private var body: Data?
  /// An ``HTTPError``'s code.
  private var error: String?
  private var origin: String?
  private var detail: String?

  init(_ answer: TransferAnswer) {
    switch answer {
    case .response(let status, let headers, let body):
      self.status = status
      // What only opens doors is not kept.
      let kept = headers.fields.filter { $0.name.lowercased() != "set-cookie" }
      fields = kept.flatMap { [$0.name, $0.value] }
      self.body = Data(body)
    case .failure(let error):
      self.error = error.code.reason.rawValue
      origin = error.origin?.description
      detail = error.detail
    }
  }

  /// - Parameter limit: of what is stored; an answer that is longer is none, or one without a body
  ///   where that is but the reason of its status.
  init(_ answer: TransferAnswer, limit: Int) {
    self.init(answer)
    let count = encoded.count
    guard count > limit else { return }
    if let status, !TransferAnswer.isWanted(status) {
      body = nil
      if encoded.count <= limit { return }
    }
    self.init(
      .failure(HTTPError(.bodyTooLarge, origin: nil, "\(count) bytes, over the limit of \(limit)")))
  }

  init(reading content: Data, of name: String) throws {
    do {
      self = try JSONDecoder().decode(StoredAnswer.self, from: content)
    } catch {
      throw JobQueueError(.unreadable, "what “\(name)” stored cannot be read as an answer")
    }
  }

  var answer: TransferAnswer {
    if let status {
      var headers = HTTPHeaders()
      let fields = fields ?? []
      for index in stride(from: 0, to: fields.count - 1, by: 2) {
        headers.add(fields[index], fields[index + 1])
      }
      return .response(status: status, headers: headers, body: Array(body ?? Data()))
    }
    let reason = error.flatMap(HTTPError.Code.Reason.init) ?? .connectionLost
    // `nil` is the answer for an origin that was not known.
    let origin = origin.flatMap { try? HTTPOrigin(of: $0) }
    return .failure(HTTPError(HTTPError.Code(reason: reason), origin: origin, detail ?? ""))
  }

  func news(of id: String) -> TransferNews {
    TransferNews(id: id, isDone: status.map(TransferAnswer.isWanted) ?? false, content: encoded)
  }

  private var encoded: Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    do {
      return try encoder.encode(self)
    } catch {
      preconditionFailure("numbers, texts and bytes always have a JSON form: \(error)")
    }
  }
}
