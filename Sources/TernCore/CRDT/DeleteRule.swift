/// Whether a row stays deleted that somebody else changed at the same time.
public struct DeleteRule: Hashable, Sendable {
  package enum Kind: UInt8, Sendable, CaseIterable {
    case deleteWins = 0
    case updateWins = 1
    case lastWriter = 2
  }

  package let kind: Kind

  package init(_ kind: Kind) {
    self.kind = kind
  }

  /// The row is gone for everybody, whatever others did to it. The default, and the leanest.
  public static let deleteWins = DeleteRule(.deleteWins)
  /// A change that the delete had not seen brings the row back, with all its columns.
  public static let updateWins = DeleteRule(.updateWins)
  /// The later of a delete and the row's last change stays; a later change brings the row back with
  /// all its columns.
  public static let lastWriter = DeleteRule(.lastWriter)

  /// Whether a deleted row keeps its content, because a change may bring it back.
  package var keepsContent: Bool { kind != .deleteWins }
}

extension DeleteRule: CustomStringConvertible {
  public var description: String {
    switch kind {
    case .deleteWins: "deleteWins"
    case .updateWins: "updateWins"
    case .lastWriter: "lastWriter"
    }
  }
}
