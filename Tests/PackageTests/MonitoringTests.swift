#if Server
import Testing

@testable import TernServer

/// What the pages for operators name, against the server.
struct MonitoringTests {
  private static let page = "Docs/Monitoring.md"
  private static let rules = "Examples/Deploy/tern.rules.yml"

  /// The names in the first column of a page's tables.
  private static func names(_ pattern: Regex<(Substring, Substring)>) throws -> [String] {
    try Line.lines(of: page).compactMap { $0.text.firstMatch(of: pattern).map { String($0.1) } }
  }

  @Test func `the page names each metric, in the order in which the server tells them`() throws {
    #expect(try Self.names(/^\| `(tern_\w+)`/) == Metric.allCases.map(\.rawValue))
  }

  @Test func `every alarm on the page is a rule, and every rule is on the page`() throws {
    let rules = try Repository.text(Self.rules)
    let alarms = rules.matches(of: /- alert: (\w+)/).map { String($0.1) }
    #expect(alarms.count > 5)
    #expect(try Self.names(/^\| `(Tern\w+)`/) == alarms)
    let known = Set(Metric.allCases.map(\.rawValue))
    for name in rules.matches(of: /\btern_\w+/).map({ String($0.0) }) {
      #expect(known.contains(name), "\(name)")
    }
  }

  @Test func `a metric's name ends with its unit, as Prometheus asks`() {
    for metric in Metric.allCases {
      #expect((metric.kind == .counter) == metric.rawValue.hasSuffix("_total"), "\(metric)")
      #expect(metric.help.hasSuffix(".") && !metric.help.contains("\n"), "\(metric)")
    }
  }
}
#endif
