/// An event of a job's stream.
struct ScanEvent: Hashable, Sendable {
  enum Name: String, Sendable {
    case ping, progress, result, complete, error
    case degraded = "enrichment_degraded"
  }

  /// Rises from event to event within a job.
  var milliseconds: Int64
  var name: Name
  var data: String

  var id: String { "\(milliseconds)-\(name.rawValue)" }

  /// As it travels.
  ///
  /// - Source: WHATWG HTML, section 9.2, "Server-sent events".
  var text: String { "id: \(id)\nevent: \(name.rawValue)\ndata: \(data)\n\n" }

  /// The time in an event's id.
  static func milliseconds(ofID id: String) -> Int64? {
    id.split(separator: "-").first.flatMap { Int64($0) }
  }
}
