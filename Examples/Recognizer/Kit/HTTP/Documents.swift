import Foundation

/// A book as the contract tells it.
struct BookDocument: Hashable, Codable, Sendable {
  /// Always there in the contract.
  var title: String?
  var author: String?
  var isbn: String?
  var coverUrl: String?
  var format: String?
  var confidence: Double
  var enrichmentStatus: String

  init(_ finding: Finding) {
    title = finding.book.title
    author = finding.book.authors.isEmpty ? nil : finding.book.authors.joined(separator: ", ")
    isbn = finding.book.isbn
    coverUrl = finding.book.coverURL
    confidence = (finding.confidence * 1000).rounded() / 1000
    enrichmentStatus =
      finding.book.isbn == nil ? "not_found" : confidence < 0.8 ? "review_needed" : "success"
  }
}

/// What every answer but a refusal has around it.
struct Envelope<Content: Encodable>: Encodable {
  var success = true
  var data: Content
  var metadata: MetadataDocument
  var _links: [String: [String: String]]?
}

struct MetadataDocument: Codable {
  var timestamp: String
  var quota: QuotaDocument?

  init(now: Int64, quota: Quota? = nil) {
    timestamp = Date(timeIntervalSince1970: Double(now) / 1000).ISO8601Format()
    self.quota = quota.map(QuotaDocument.init)
  }
}

struct QuotaDocument: Codable {
  var limit: Int
  var remaining: Int
  var resetsAt: String

  init(_ quota: Quota) {
    limit = quota.limit
    remaining = quota.remaining
    resetsAt = Date(timeIntervalSince1970: Double(quota.resets) / 1000).ISO8601Format()
  }
}

struct CreatedDocument: Codable {
  var jobId: String
  var sseUrl: String
  var authToken: String
  var statusUrl: String
}

struct StatusDocument: Codable {
  var jobId: String
  var status: String
  var processedCount: Int
  var totalCount: Int
}

struct ResultsDocument: Codable {
  var jobId: String
  var status: String
  var results: [BookDocument]
}

struct ProgressDocument: Codable {
  var status: String
  /// From 0 to 1.
  var progress: Double
  var processedCount: Int
  var totalCount: Int
  var message: String
}

struct DegradedDocument: Codable {
  var isbn: String?
  var title: String?
  var reason: String?
  var fallbackSource: String?
  var message: String?
  var severity: String?
  var failedFields: [String]?
}

struct CompleteDocument: Codable {
  var books: [BookDocument]?
  var resultsUrl: String?
}

struct StreamErrorDocument: Codable {
  var code: String
  var message: String
  var retryable: Bool
}

/// - Source: RFC 9457, "Problem Details for HTTP APIs", and the contract's extras.
struct ProblemDocument: Codable {
  var success = false
  var type: String
  var title: String
  var status: Int
  var detail: String
  var instance: String
  var code: String
  var retryable: Bool
  var retryAfterMs: Int64?
  var metadata: MetadataDocument
}

/// What a test of a client wants to know.
struct CountsDocument: Codable, Sendable {
  var jobsCreated = 0
  var jobsAlive = 0
  var jobsCleaned = 0
  var streamsOpened = 0
  var streamsOpen = 0
  var jobsByDevice: [String: Int] = [:]
  /// By a hash of a photo's bytes, which each process makes in another way.
  var jobsByPhoto: [String: Int] = [:]
  /// By the problem's code.
  var refusals: [String: Int] = [:]
}

/// JSON with sorted keys, so that the same answer has the same bytes.
func json(_ document: some Encodable) -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  guard let data = try? encoder.encode(document) else {
    fatalError("a document of numbers and strings has a JSON form")
  }
  return String(decoding: data, as: UTF8.self)
}
