#if Server
/// Metrics as text, for a scrape.
///
/// - Source: Prometheus, "Exposition formats", text format version 0.0.4.
struct MetricsText {
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private(set) var text = ""

  /// One number of a metric without labels; nothing where nobody knows it.
  mutating func add(_ metric: Metric, _ value: Int?) {
    guard let value else { return }
    add(metric, [([], "\(value)")])
  }

  /// The same in seconds.
  mutating func add(_ metric: Metric, _ value: Duration?) {
    guard let value else { return }
    add(metric, [([], Self.seconds(value))])
  }

  /// The numbers of a metric with one label.
  mutating func add(_ metric: Metric, by label: String, _ values: [String: Int]) {
    add(metric, values.sorted { $0.key < $1.key }.map { ([(label, $0.key)], "\($0.value)") })
  }

  mutating func add(_ metric: Metric, _ requests: [AnsweredRequests: Int]) {
    let sorted = requests.sorted { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }
    add(
      metric,
      sorted.map { ([("route", $0.key.route), ("status", "\($0.key.status)")], "\($0.value)") })
  }

  mutating func add(_ metric: Metric, by label: String, _ histograms: [String: Histogram]) {
    begin(metric)
    for (value, histogram) in histograms.sorted(by: { $0.key < $1.key }) {
      let name = metric.rawValue
      for (bound, count) in histogram.cumulative {
        let bound = bound.map { Self.seconds($0) } ?? "+Inf"
        line("\(name)_bucket", [(label, value), ("le", bound)], "\(count)")
      }
      line("\(name)_sum", [(label, value)], Self.seconds(histogram.sum))
      line("\(name)_count", [(label, value)], "\(histogram.count)")
    }
  }

  private mutating func add(_ metric: Metric, _ values: [(labels: [(String, String)], String)]) {
    begin(metric)
    for (labels, value) in values { line(metric.rawValue, labels, value) }
  }

  private mutating func begin(_ metric: Metric) {
    text += "# HELP \(metric.rawValue) \(metric.help)\n"
    text += "# TYPE \(metric.rawValue) \(metric.kind.rawValue)\n"
  }

  /// Labels are names of the server's own, with nothing in them to escape.
  private mutating func line(_ name: String, _ labels: [(String, String)], _ value: String) {
    let list = labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",")
    text += name + (list.isEmpty ? "" : "{\(list)}") + " \(value)\n"
  }

  private static func seconds(_ duration: Duration) -> String { "\(duration / .seconds(1))" }
}
#endif
