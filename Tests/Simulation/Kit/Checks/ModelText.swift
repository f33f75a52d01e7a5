#if Server && Rehearsal
import Tern

/// What a text must be: its elements as the tree that they name, without Tern's merge.
struct ModelText {
  private struct Element {
    var id: TextElementID?
    var scalar: Unicode.Scalar
    var isRemoved = false
    var before: [Int] = []
    var behind: [Int] = []
  }

  private var elements = [Element(id: nil, scalar: " ", isRemoved: true)]
  private var places: [TextElementID: Int] = [:]

  /// - Parameter changes: all of one life of a row, in any order.
  init(_ changes: [(author: ReplicaID, sequence: UInt64, change: TextChange)]) {
    var waiting: [(author: ReplicaID, sequence: UInt64, edit: TextEdit)] = []
    for (author, sequence, change) in changes {
      switch change {
      case .edit(let edit): waiting.append((author, sequence, edit))
      case .initial(let text):
        let id = TextElementID(ContentName.of(text), 0, 0)
        if places[id] == nil, !text.isEmpty { insert(text[...], from: id, parent: 0, false) }
      }
    }
    while let ready = waiting.firstIndex(where: { isReady($0.edit) }) {
      let (author, sequence, edit) = waiting.remove(at: ready)
      for removal in edit.removed {
        for index in 0..<removal.count { elements[place(removal.first, index)].isRemoved = true }
      }
      var (start, offset) = (0, UInt32(0))
      for run in edit.inserted {
        let end = start + Int(run.byteCount)
        insert(
          edit.text[start..<end], from: TextElementID(author, sequence, offset),
          parent: run.parent.map { place($0, 0) } ?? 0, run.isBefore)
        offset += run.count
        start = end
      }
    }
  }

  private func isReady(_ edit: TextEdit) -> Bool {
    let named = edit.inserted.compactMap(\.parent) + edit.removed.map(\.first)
    return named.allSatisfy { places[$0] != nil }
  }

  private func place(_ id: TextElementID, _ offset: UInt32) -> Int {
    places[TextElementID(id.author, id.sequence, id.offset + offset)]!
  }

  private mutating func insert(
    _ text: ArraySlice<UInt8>, from first: TextElementID, parent: Int, _ isBefore: Bool
  ) {
    var (id, parent, isBefore) = (first, parent, isBefore)
    for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
      let place = elements.count
      elements.append(Element(id: id, scalar: scalar))
      places[id] = place
      if isBefore {
        elements[parent].before.append(place)
      } else {
        elements[parent].behind.append(place)
      }
      (parent, isBefore) = (place, false)
      id.offset += 1
    }
  }

  var text: String {
    var text = String.UnicodeScalarView()
    var stack = [(place: 0, isEntered: false)]
    while let (place, isEntered) = stack.popLast() {
      let element = elements[place]
      if isEntered, !element.isRemoved { text.append(element.scalar) }
      if !isEntered { stack.append((place, true)) }
      for child in ordered(isEntered ? element.behind : element.before).reversed() {
        stack.append((child, false))
      }
    }
    return String(text)
  }

  private func ordered(_ places: [Int]) -> [Int] {
    places.sorted { left, right in
      let (left, right) = (elements[left].id!, elements[right].id!)
      return (left.author, left.sequence, left.offset)
        < (right.author, right.sequence, right.offset)
    }
  }
}
#endif
