#if Server
import Tern

/// A value as JSON has it; what JSON has not stands as SQL writes it.
struct ValueDocument: Encodable {
  let value: SQLiteValue

  init(_ value: SQLiteValue) {
    self.value = value
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case .null: try container.encodeNil()
    case .integer(let number): try container.encode(number)
    case .real(let number) where number.isFinite: try container.encode(number)
    case .text(let bytes): try container.encode(String(decoding: bytes, as: UTF8.self))
    case .real, .blob: try container.encode("\(value)")
    }
  }
}

/// Who wrote something and when.
struct StampDocument: Encodable {
  let replica: String
  let isOwn: Bool
  let milliseconds: Int64

  init(_ stamp: WriteStamp) {
    (replica, isOwn) = (stamp.author.description, stamp.isOwn)
    milliseconds = stamp.time.milliseconds
  }
}
#endif
