// Deltas as they wait for a seal, and several that followed one another as one.

extension TextDelta {
  private enum StoredKind: UInt64 {
    case keep = 0
    case remove = 1
    case insert = 2
  }

  package var stored: [UInt8] {
    var writer = ByteWriter()
    for step in steps {
      switch step {
      case .keep(let count): writer.append(varint: UInt64(count) << 2 | StoredKind.keep.rawValue)
      case .remove(let count):
        writer.append(varint: UInt64(count) << 2 | StoredKind.remove.rawValue)
      case .insert(let text):
        writer.append(varint: UInt64(text.count) << 2 | StoredKind.insert.rawValue)
        writer.append(raw: text)
      }
    }
    return writer.bytes
  }

  package init(stored bytes: UnsafeRawBufferPointer) throws(WireError) {
    self.init()
    var reader = ByteReader(bytes)
    while !reader.isAtEnd {
      let head = try reader.varint("text step")
      guard let kind = StoredKind(rawValue: head & 3), head >> 2 <= UInt64(Int32.max) else {
        throw WireError(.malformed, "text step")
      }
      let count = Int(head >> 2)
      switch kind {
      case .keep: keep(count)
      case .remove: remove(count)
      case .insert:
        let text = try reader.bytes(count, "text step")
        guard UTF8Text.isValid(text) else { throw WireError(.malformed, "text step") }
        insert(text)
      }
    }
    finish()
  }
}

extension TextEdits {
  /// The length of valid UTF-8 in Unicode scalars.
  package static func count(of text: [UInt8]) -> Int { scalarCount(text) }

  /// What deltas that followed one another come to; `nil` where they do not fit the text.
  package static func combined(_ deltas: [TextDelta], on text: [UInt8]) -> TextDelta? {
    if deltas.count == 1 { return deltas[0] }
    var edits = TextEdits(count: count(of: text))
    for delta in deltas where !edits.apply(delta) { return nil }
    return edits.delta
  }

  /// Does what a delta says; `false`, with some of it done, when the text is too short for that.
  package mutating func apply(_ delta: TextDelta) -> Bool {
    var place = 0
    for step in delta.steps {
      switch step {
      case .keep(let kept):
        guard kept <= count - place else { return false }
        place += kept
      case .remove(let removed):
        guard removed <= count - place else { return false }
        replace(place..<place + removed, with: "")
      case .insert(let text):
        let before = count
        replace(place..<place, with: String(decoding: text, as: UTF8.self))
        place += count - before
      }
    }
    return true
  }
}
