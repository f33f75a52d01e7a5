import TernCore
import TernDatabase

/// One space's files in a shared folder, and what was read of them. Blocks on an executor of its
/// own.
///
/// Everything here is read again from the files when a process starts: the folder is the truth, and
/// whatever carries it may take files away, put older copies in their place, or double them under
/// other names, at any moment.
actor SharedFolder {
  enum Limit {
    /// A replica's file is left as it is from here on, and the next begun: what carries folders
    /// often copies a file whole when its end has changed.
    static let fileBytes = 8 << 20
    /// One page's operations are about so long together.
    static let pageBytes = 1 << 20
    /// Files with operations. What holds none is passed over, however many there are.
    static let files = 10_000
    /// The greatest in the name of a replica's file: a hundred for every file that is read.
    static let number = 1_000_000
    /// Of the space's own folder.
    static let nameBytes = 200
    /// After how many looks a damaged file that seems to be as it was is read again: a minute,
    /// as a rule.
    static let looks = 30
  }

  /// What can be known of a folder at once.
  struct Moment: Hashable, Sendable {
    /// Grows whenever operations were found.
    var position: UInt64 = 0
    /// How often the folder lost some, and how often when it was greeted last.
    var losses = 0
    var lossesGreeted = 0

    var hasLost: Bool { losses != lossesGreeted }
  }

  /// Who was greeted relies on what is gone, and has to ask again for what is here.
  static let lost = RemoteError(
    .unavailable, "files of the folder were taken away or replaced by other copies")

  let root: String
  let space: String
  let path: String
  let writer: @Sendable () throws -> ReplicaID
  let durable: DurableFile
  let fileBytes: Int
  private let executor: any SerialExecutor

  private(set) var index: FolderIndex
  private(set) var files: [FolderFile] = []
  private(set) var numbers: [String: Int] = [:]
  private(set) var moment = Moment()
  /// Since damaged files were read.
  private var looks = 0
  /// The names of files with operations of more replicas than a folder can have.
  private(set) var crowded: Set<String> = []
  /// The names of files over the limit, which are not read.
  private(set) var over: Set<String> = []
  private let fileLimit: Int
  /// By a file's name up to where it is on the disk as durably as a push promises.
  var settled: [String: Int] = [:]
  /// Whether the folder itself is.
  var isNamed = false
  private let replicaLimit: Int
  /// The frames that were read last, by what can be asked of them.
  var recent: [(place: FolderIndex.Place, operations: [OperationNumber: SyncOperation])] = []

  struct OperationNumber: Hashable, Sendable {
    let replica: ReplicaID
    let sequence: UInt64
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  init(
    root: String, space: String, writer: @escaping @Sendable () throws -> ReplicaID,
    files: DurableFile, fileBytes: Int, replicaLimit: Int, fileLimit: Int,
    executor: any SerialExecutor
  ) {
    self.root = root
    self.space = space
    path = "\(root)/\(HTTPRemote.escaped(space))"
    self.writer = writer
    durable = files
    self.fileBytes = fileBytes
    self.replicaLimit = replicaLimit
    self.fileLimit = fileLimit
    index = FolderIndex(replicas: replicaLimit)
    self.executor = executor
  }

  // MARK: - What is here

  func greet() throws -> RemoteGreeting {
    try scan(isThorough: true)
    var greeting = RemoteGreeting(
      epoch: "folder", now: nil, position: moment.position, heads: index.heads)
    greeting.losses = moment.losses
    moment.lossesGreeted = moment.losses
    return greeting
  }

  func look() throws -> Moment {
    try scan(isThorough: looks >= Limit.looks)
    return moment
  }

  func ignoredFiles() throws -> [DirectoryRemote.IgnoredFile] {
    try scan(isThorough: true)
    let ignored = files.filter { numbers[$0.name] != nil }.compactMap(\.ignored)
    let left = crowded.map {
      DirectoryRemote.IgnoredFile(name: $0, offset: 0, reason: crowding)
    }
    let unread = over.map {
      DirectoryRemote.IgnoredFile(name: $0, offset: 0, reason: fileCrowding)
    }
    return (ignored + left + unread).sorted { $0.name < $1.name }
  }

  /// Reads what is new in the folder.
  ///
  /// - Parameter isThorough: whether what was damaged is read again though nothing says
  ///   that it changed.
  /// - Throws: ``RemoteError``.
  func scan(isThorough: Bool = false) throws {
    try checkNames()
    looks = isThorough ? 0 : looks + 1
    try naming("looking at the folder") {
      let names = try list()
      if try isLost(names) { forget() }
      for name in numbers.keys where names[name] == nil {
        (numbers[name], settled[name]) = (nil, nil)
        crowded.remove(name)
      }
      over = []
      var full = files.filter { !$0.frames.isEmpty }.count
      for name in names.keys.sorted() {
        if let number = numbers[name], files[number].identity == names[name],
          files[number].isRead(isThorough)
        {
          continue
        }
        let isFull = numbers[name].map { !files[$0].frames.isEmpty } ?? false
        if !isFull, full >= fileLimit, try !name.hasPrefix("\(writer())-") {
          if numbers[name] == nil { over.insert(name) }
          continue
        }
        try readOn(name, names[name]!)
        if !isFull, let number = numbers[name], !files[number].frames.isEmpty { full += 1 }
      }
    }
  }

  var fileCrowding: String {
    "the folder has \(fileLimit) files with operations beside it, and no more are read: take away "
      + "what is none of your devices'"
  }

  var crowding: String {
    "it has operations of other replicas than the \(replicaLimit) that a folder can have"
  }

  /// Lets the next look read everything again, and whoever watches ask again for the heads.
  func forget() {
    (index, files, numbers, recent) = (FolderIndex(replicas: replicaLimit), [], [:], [])
    (crowded, over, settled, isNamed) = ([], [], [:], false)
    moment.losses += 1
    moment.position += 1
  }

  private func checkNames() throws {
    guard root.hasPrefix("/") else {
      throw RemoteError(.malformed, "a folder is given as a file: URL")
    }
    guard !space.isEmpty, space.utf8.count <= FolderFormat.Limit.spaceBytes,
      HTTPRemote.escaped(space).utf8.count <= Limit.nameBytes
    else {
      throw RemoteError(.malformed, "a space in a folder has a name of 1 to 128 plain characters")
    }
  }

  /// The space's files by name.
  private func list() throws -> [String: FileIdentity] {
    guard FolderListing.exists(root) else {
      throw RemoteError(
        .unreachable, "the shared folder is not there; is its disk or its share connected?")
    }
    // Whoever can write to the folder could lead the reader anywhere.
    guard !FolderListing.isLink(path) else {
      throw RemoteError(
        .malformed, "the space's folder is a link; put a folder in its place, or share its target")
    }
    let all = try FolderListing.read(path) ?? [:]
    // What begins with a dot is on its way: it has another name when it is whole.
    // In an empty one there is nothing to be read, and nothing yet of one that is being made.
    return all.filter {
      $0.key.hasSuffix(Self.suffix) && !$0.key.hasPrefix(".")
        && !($0.value.isRegular && $0.value.byteCount == 0)
    }
  }

  static let suffix = ".tern"

  /// Whether operations that were found are no longer there.
  private func isLost(_ names: [String: FileIdentity]) throws -> Bool {
    for file in files where !file.frames.isEmpty {
      guard let now = names[file.name] else { return true }
      if now == file.identity { continue }
      if now.byteCount < file.end { return true }
      do {
        guard let open = try open(file.name), try file.continues(in: open) else { return true }
      } catch is FileFailure {
        // That it can't be read now does not mean that it holds something else.
        continue
      }
    }
    return false
  }

  private func readOn(_ name: String, _ identity: FileIdentity) throws {
    let number = numbers[name] ?? files.count
    if number == files.count {
      numbers[name] = number
      files.append(FolderFile(name: name, identity: identity))
    }
    guard identity.isRegular else {
      files[number].identity = identity
      return files[number].refuse(.damaged("it is no file"))
    }
    var isNew = false
    do {
      // Gone since the folder was read; the next look tells.
      guard let file = try open(name) else { return files[number].refuse(.torn) }
      var reading = files[number]
      if try !reading.continues(in: file) {
        // Replaced since the folder was read; the next look tells, where there is
        // something to lose.
        guard reading.frames.isEmpty else { return }
        reading = FolderFile(name: name, identity: identity)
      }
      // Not held twice, so that it is not copied when it grows.
      files[number] = FolderFile(name: name, identity: identity)
      defer { files[number] = reading }
      try reading.readOn(in: file, space: space) { operation, frame in
        let isTaken = index.add(
          operation, at: FolderIndex.Place(file: number, frame: frame))
        if isTaken { isNew = true } else { crowded.insert(name) }
      }
    } catch let failure as FileFailure {
      files[number].refuse(.unreadable("\(failure)"))
    }
    if isNew { moment.position += 1 }
  }

  func open(_ name: String) throws -> ReadFile? {
    try ReadFile("\(path)/\(name)", durable.read)
  }

  /// Turns what the system refused into the protocol's own error, which names it.
  func naming<T>(_ what: String, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let failure as FileFailure {
      let reason = failure.isDiskFull ? "there is no room in the folder" : "\(failure)"
      throw RemoteError(.unavailable, "\(what) of space “\(space)” failed: \(reason)")
    }
  }
}
