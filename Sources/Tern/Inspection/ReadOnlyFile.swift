import Foundation
import GRDB
import TernDatabase

/// Reads a database file and makes or changes nothing, there or beside it. Only tables are read: a
/// statement that reads a view fails.
package struct ReadOnlyFile {
  /// Of the file itself, where a link was named: that is beside which SQLite has its log.
  package let path: String
  private let name: String

  /// Throws ``InspectionError/Code/writtenMeanwhile`` where the file was.
  package typealias Check = () throws -> Void

  package init(path: String) {
    name = path
    self.path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }

  /// One read, as of one moment.
  ///
  /// - Throws: ``InspectionError``, also for what `body` throws.
  package func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try readChecked { file, _ in try body(file) }
  }

  /// As the other, for a `body` that keeps what it read: it first asks whether the file was
  /// written meanwhile.
  package func readChecked<Value>(_ body: (Database, @escaping Check) throws -> Value) throws
    -> Value
  {
    let isWAL = try checkHeader()
    do {
      // With a log and no index SQLite would make the index, and behind a transaction that was cut
      // off it would put the file right: that is done to a copy.
      if isWAL ? exists("-wal") && !exists("-shm") : try isCutOff() {
        return try readCopy { try body($0, {}) }
      }
      if isWAL, !exists("-wal") {
        return try unwritten([""]) { check in
          try read(immutable, isReadOnly: true) { try body($0, check) }
        }
      }
      return try read(path, isReadOnly: true) { try body($0, {}) }
    } catch let error as InspectionError {
      throw error
    } catch {
      throw InspectionError(.unreadable, path: name, underlyingError: error)
    }
  }

  private func read<Value>(
    _ name: String, isReadOnly: Bool, _ body: (Database) throws -> Value
  ) throws -> Value {
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { try $0.disableViews() }
    let queue = try DatabaseQueue(path: name, configuration: configuration)
    let value = try queue.read(body)
    try queue.close()
    return value
  }

  /// A look at files that no writer is kept from.
  ///
  /// - Parameter body: may check by itself, after all that it reads.
  private func unwritten<Value>(_ suffixes: [String], _ body: (@escaping Check) throws -> Value)
    throws
    -> Value
  {
    // What differs after a write; of a file that is not there, nothing.
    func versions() -> [NSDictionary] {
      suffixes.map { suffix in
        let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
        let told: Set<FileAttributeKey> = [.size, .modificationDate, .systemFileNumber]
        return NSDictionary(dictionary: (attributes ?? [:]).filter { told.contains($0.key) })
      }
    }
    let before = versions()
    var isChecked = false
    let result = Result {
      try body {
        if versions() != before { throw InspectionError(.writtenMeanwhile, path: name) }
        isChecked = true
      }
    }
    if !isChecked, versions() != before { throw InspectionError(.writtenMeanwhile, path: name) }
    return try result.get()
  }

  private func exists(_ suffix: String) -> Bool {
    FileManager.default.fileExists(atPath: path + suffix)
  }

  /// Beside a file in WAL mode even a reader makes a log and an index, and can't remove them. Where
  /// there is no log the file is whole, and is read as one that nobody changes.
  private var immutable: String { DatabaseFileBytes.unchangingURI(path) }

  /// Whether a process died in a transaction, and left its journal.
  private func isCutOff() throws -> Bool {
    guard exists("-journal") else { return false }
    do {
      _ = try read(path, isReadOnly: true) {
        try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_master")
      }
      return false
    } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
      return true
    }
  }

  /// In the system's folder for temporary files, as long as the read lasts.
  private func readCopy<Value>(_ body: (Database) throws -> Value) throws -> Value {
    let files = FileManager.default
    let folder = try TemporaryCopy()
    let copy = "\(folder.path)/\(URL(fileURLWithPath: path).lastPathComponent)"
    let logs = ["-wal", "-journal"]
    try unwritten([""] + logs) { _ in
      guard files.createFile(atPath: copy, contents: nil, attributes: [.posixPermissions: 0o600])
      else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
      let output = try FileHandle(forWritingTo: URL(fileURLWithPath: copy))
      defer { try? output.close() }
      let bytes = try DatabaseFileBytes(path: path)
      var offset: Int64 = 0
      while case let part = try bytes.read(1 << 20, at: offset), !part.isEmpty {
        try output.write(contentsOf: part)
        offset += Int64(part.count)
      }
      for suffix in logs where exists(suffix) {
        // SQLite has no locks on its logs.
        try files.copyItem(atPath: path + suffix, toPath: copy + suffix)
        try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy + suffix)
      }
    }
    return try read(copy, isReadOnly: false, body)
  }

  /// - Returns: whether the file is in WAL mode.
  private func checkHeader() throws -> Bool {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw InspectionError(.absent, path: name)
    }
    guard !isFolder.boolValue else { throw InspectionError(.unreadable, path: name) }
    let header: [UInt8]
    do {
      // Byte 18 is the version that a writer needs, of which 2 is WAL.
      header = try DatabaseFileBytes(path: path).read(20)
    } catch {
      throw InspectionError(.unreadable, path: name, underlyingError: error)
    }
    let magic = Array("SQLite format 3\0".utf8)
    guard header.starts(with: magic) else {
      throw InspectionError(.notADatabase, path: name)
    }
    return header.count == 20 && header[18] == 2
  }
}

/// A folder that goes with its object.
private final class TemporaryCopy {
  let path: String

  init() throws {
    var template = Array((NSTemporaryDirectory() + "/tern-read-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
      throw POSIXError(.init(rawValue: errno) ?? .EIO)
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    // The system empties its temporary folder.
    try? FileManager.default.removeItem(atPath: path)
  }
}
