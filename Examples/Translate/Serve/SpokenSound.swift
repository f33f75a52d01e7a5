import ExampleService
import Foundation

/// What `espeak-ng` says, as a sound that a page plays: it can begin anywhere in it.
enum SpokenSound {
  /// What a page holds in its memory, in bytes: nearly four minutes.
  static let longest = 10_000_000

  enum Result: Sendable {
    case wave(Data)
    /// It has more bytes than ``longest``.
    case long
    case failed
  }

  /// - Parameter rate: how fast, of which 1 is as usual.
  static func of(_ text: String, in language: String, rate: Double) async -> Result {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: make(text, language, rate))
      }
    }
  }

  private static func make(_ text: String, _ language: String, _ rate: Double) -> Result {
    // In words a minute.
    let speed = "\(Int((175 * rate).rounded()))"
    let words = ["--stdout", "-v", language, "-s", speed, "--", text]
    // The page says that nothing is heard, whatever keeps it from being started.
    guard let program = Speaker.program, let spoken = try? Spawned(program, words) else {
      return .failed
    }
    let file = FileHandle(fileDescriptor: spoken.output, closeOnDealloc: false)
    // What can't be read is nothing to play.
    let sound = (try? file.read(upToCount: longest + 1)) ?? Data()
    let isLong = sound.count > longest
    // It ends there, whatever more it has to say.
    close(spoken.output)
    let status = Speaker.wait(for: spoken.id)
    if isLong { return .long }
    return status == 0 && !sound.isEmpty ? .wave(sized(sound)) : .failed
  }

  /// `espeak-ng` prints the head before it knows the length, and says the greatest there is.
  private static func sized(_ wave: Data) -> Data {
    let head = 44
    guard wave.count >= head, wave[36..<40].elementsEqual("data".utf8) else { return wave }
    var wave = wave
    for (place, before) in [(4, 8), (40, head)] {
      withUnsafeBytes(of: UInt32(wave.count - before).littleEndian) {
        wave.replaceSubrange(place..<place + 4, with: $0)
      }
    }
    return wave
  }
}
