import Foundation
import TernCore

/// The members of a JSON object from a server. One of another type than its reader wants counts as
/// missing: RFC 9457, section 3.1.
struct ProblemMembers {
  private enum Member: Decodable {
    case text(String)
    case number(Double)
    case flag(Bool)
    case members([String: Member])
    case list([Member])
    case other

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      // To try is the only way to ask for the type.
      let flag = try? value.decode(Bool.self)
      let number = try? value.decode(Double.self)
      let text = try? value.decode(String.self)
      // The same again for what holds members itself: no error, only another type.
      let members = try? value.decode([String: Member].self)
      let list = try? value.decode([Member].self)
      self =
        flag.map(Member.flag) ?? number.map(Member.number) ?? text.map(Member.text)
        ?? members.map(Member.members) ?? list.map(Member.list) ?? .other
    }
  }

  private let members: [String: Member]

  /// `nil` for what is no JSON object.
  init?(_ document: [UInt8]) {
    let decoded = try? JSONDecoder().decode([String: Member].self, from: Data(document))
    guard let decoded else { return nil }
    members = decoded
  }

  private init(_ members: [String: Member]) { self.members = members }

  /// The members of an object that is a member.
  func object(_ name: String) -> ProblemMembers? {
    if case .members(let members) = members[name] { ProblemMembers(members) } else { nil }
  }

  /// The objects of a list; what else it holds is left out.
  func objects(_ name: String) -> [ProblemMembers] {
    guard case .list(let list) = members[name] else { return [] }
    return list.compactMap {
      if case .members(let members) = $0 { ProblemMembers(members) } else { nil }
    }
  }

  /// A text that can be shown: without control characters, without `secrets`, 500 characters long
  /// at most. `nil` where nothing is left.
  func text(_ name: String, hiding secrets: [String]) -> String? {
    guard case .text(let text) = members[name] else { return nil }
    // First the characters, or one of them inside a secret would keep it from being found.
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: text.unicodeScalars.filter { !$0.isObeyed })
    let shown = secrets.reduce(String(scalars)) { text, secret in
      text.replacingOccurrences(of: secret, with: "(hidden)", options: .literal)
    }
    return shown.isEmpty ? nil : shown.cut(to: 500)
  }

  func flag(_ name: String) -> Bool? {
    if case .flag(let flag) = members[name] { flag } else { nil }
  }

  func number(_ name: String) -> Double? {
    if case .number(let number) = members[name] { number } else { nil }
  }
}
