// One target under libFuzzer: `fuzz TARGET [libFuzzer's arguments]`; `fuzz samples FOLDER` writes
// honest input for all. See `script/fuzz`.

import Foundation
import FuzzTargets
import Synchronization

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<Int32>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

private let running = Mutex<FuzzTarget?>(nil)

private func writeSamples(into folder: String) throws {
  for target in FuzzTarget.all {
    let directory = URL(filePath: folder).appending(path: target.name)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    for (number, sample) in try target.samples().enumerated() {
      try Data(sample).write(to: directory.appending(path: "sample-\(number)"))
    }
  }
}

private func fail(_ text: String) -> Never {
  FileHandle.standardError.write(Data((text + "\n").utf8))
  exit(2)
}

private let words = CommandLine.arguments
if words.count == 3, words[1] == "samples" {
  try writeSamples(into: words[2])
  exit(0)
}
guard words.count > 1, let target = FuzzTarget.all.first(where: { $0.name == words[1] }) else {
  fail("usage: fuzz TARGET [ARGUMENT ...], of \(FuzzTarget.all.map(\.name).joined(separator: " "))")
}
running.withLock { $0 = target }

// The driver reads its own arguments, with the program's name first.
var arguments: [UnsafeMutablePointer<CChar>?] =
  ([words[0]] + words.dropFirst(2)).map { strdup($0) } + [nil]
var count = Int32(arguments.count - 1)
let status = arguments.withUnsafeMutableBufferPointer { buffer in
  var start = buffer.baseAddress!
  return runDriver(&count, &start) { bytes, length in
    let input = Array(UnsafeBufferPointer(start: bytes, count: length))
    let target = running.withLock { $0! }
    do {
      _ = try target.run(input)
    } catch {
      // libFuzzer keeps the input of whatever traps.
      fatalError("\(target.name): \(error)")
    }
    return 0
  }
}
exit(status)
