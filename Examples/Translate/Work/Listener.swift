import ExampleService
import Foundation

/// PocketSphinx, which recognizes English speech on this machine where it is installed, roughly. One
/// recording at a time: another one takes its place.
actor Listener {
  /// Of what is heard: samples of 16 bits, the low byte first, one channel, 16,000 a second. A minute.
  private static let mostBytes = 60 * 16_000 * 2

  private static let program = (ProcessInfo.processInfo.environment["PATH"] ?? "")
    .split(separator: ":").map { "\($0)/pocketsphinx_continuous" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Which it knows here.
  static var languages: [String] { program == nil ? [] : ["en"] }

  /// Who writes to a program that has ended is told by an error.
  private static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

  private struct Recording {
    let number: Int
    let program: Spawned
    var bytes = 0
  }

  private var current: Recording?
  private var last = 0

  /// Begins to listen: the program loads its model while somebody begins to speak.
  ///
  /// - Returns: the recording's number.
  func begin() throws -> Int {
    stop()
    guard let program = Self.program else { throw Refusal(Word.noListener.text) }
    _ = Self.ignoresBrokenPipes
    let spawned: Spawned
    do {
      spawned = try Spawned(
        program, ["-infile", "/dev/stdin", "-logfn", "/dev/null"], hasInput: true)
    } catch {
      throw Refusal(Word.listenerFails.text)
    }
    last += 1
    current = Recording(number: last, program: spawned)
    return last
  }

  /// What was heard since the last call.
  func add(_ samples: Data, to number: Int) async throws {
    let input = try input(of: number)
    guard current!.bytes + samples.count <= Self.mostBytes else {
      throw Refusal(Word.longSpeech.text)
    }
    current!.bytes += samples.count
    let isWritten = await Self.blocking {
      // A pipe that nobody reads any more fails.
      (try? FileHandle(fileDescriptor: input, closeOnDealloc: false).write(contentsOf: samples))
        != nil
    }
    guard isWritten else { throw Refusal(Word.listenerFails.text) }
  }

  /// - Returns: what was said, empty where nothing was understood.
  func end(_ number: Int) async throws -> String {
    let input = try input(of: number)
    let program = current!.program
    current = nil
    close(input)
    let (text, isWell) = await Self.blocking {
      let output = FileHandle(fileDescriptor: program.output, closeOnDealloc: true)
      // What can't be read was not understood.
      let text = (try? output.readToEnd()).map { String(decoding: $0, as: UTF8.self) } ?? ""
      var status: CInt = 0
      while waitpid(program.id, &status, 0) < 0, errno == EINTR {}
      return (text, status == 0)
    }
    guard isWell else { throw Refusal(Word.listenerFails.text) }
    return text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  /// Lets go of what is being heard.
  func stop() {
    guard let program = current?.program else { return }
    current = nil
    kill(-program.id, SIGKILL)
    if let input = program.input { close(input) }
    close(program.output)
    DispatchQueue.global().async {
      var status: CInt = 0
      while waitpid(program.id, &status, 0) < 0, errno == EINTR {}
    }
  }

  private func input(of number: Int) throws -> CInt {
    guard let current, current.number == number, let input = current.program.input else {
      throw Refusal(Word.otherRecording.text)
    }
    return input
  }

  private static func blocking<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
  }
}
