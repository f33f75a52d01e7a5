import Foundation

/// How payloads, results and values are stored: as JSON.
enum JobCoding {
  static func encode(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try encoder.encode(value)
  }

  static func decode<T: Decodable>(_ type: T.Type, _ data: Data) throws -> T {
    try JSONDecoder().decode(type, from: data)
  }

  /// What a checkpoint holds.
  ///
  /// - Throws: ``JobQueueError`` `.unreadable`, which parks the job.
  static func decode<T: Decodable>(
    _ type: T.Type, _ data: Data, of checkpoint: String
  ) throws -> T {
    do {
      return try decode(type, data)
    } catch {
      throw JobQueueError(
        .unreadable, "what “\(checkpoint)” stored cannot be read: \(FailureText.of(error))")
    }
  }
}
