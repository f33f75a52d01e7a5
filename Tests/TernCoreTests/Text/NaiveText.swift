import TernCore

/// A text as the tree that it is defined by, element by element.
struct NaiveText {
  final class Node {
    let id: TextElementID?
    let scalar: Unicode.Scalar?
    var isRemoved = false
    var before: [Node] = []
    var behind: [Node] = []

    init(_ id: TextElementID?, _ scalar: Unicode.Scalar?) {
      self.id = id
      self.scalar = scalar
    }
  }

  private(set) var nodes: [TextElementID: Node] = [:]
  private let root = Node(nil, nil)

  func has(_ edit: TextEdit) -> Bool {
    let named = edit.inserted.compactMap(\.parent) + edit.removed.map(\.first)
    return named.allSatisfy { nodes[$0] != nil }
  }

  mutating func apply(_ edit: TextEdit, by author: ReplicaID, _ sequence: UInt64) {
    for removal in edit.removed {
      for index in 0..<removal.count {
        var id = removal.first
        id.offset += index
        nodes[id]!.isRemoved = true
      }
    }
    var offset: UInt32 = 0
    var scalars = String(decoding: edit.text, as: UTF8.self).unicodeScalars[...]
    for insertion in edit.inserted {
      var parent = insertion.parent.map { nodes[$0]! } ?? root
      var isBefore = insertion.isBefore
      for _ in 0..<insertion.count {
        let node = Node(TextElementID(author, sequence, offset), scalars.removeFirst())
        nodes[node.id!] = node
        if isBefore { parent.before.append(node) } else { parent.behind.append(node) }
        (parent, isBefore) = (node, false)
        offset += 1
      }
    }
  }

  var text: String {
    var scalars = String.UnicodeScalarView()
    var stack: [(node: Node, isRead: Bool)] = [(root, false)]
    while let (node, isRead) = stack.popLast() {
      if isRead {
        if let scalar = node.scalar, !node.isRemoved { scalars.append(scalar) }
        for child in node.behind.sorted(by: Self.isOrdered).reversed() {
          stack.append((child, false))
        }
      } else {
        stack.append((node, true))
        for child in node.before.sorted(by: Self.isOrdered).reversed() {
          stack.append((child, false))
        }
      }
    }
    return String(scalars)
  }

  private static func isOrdered(_ left: Node, _ right: Node) -> Bool {
    let (left, right) = (left.id!, right.id!)
    return (left.author, left.sequence, left.offset)
      < (right.author, right.sequence, right.offset)
  }
}
