import Foundation

/// Writes over the value of an option in this process's arguments, which every user of the machine
/// sees in a list of processes. The program has them already.
package func hideFromOthers(_ option: String) {
  let arguments = CommandLine.arguments
  let memory = CommandLine.unsafeArgv
  for (index, argument) in arguments.enumerated() {
    let isValue = index > 0 && arguments[index - 1] == option
    guard isValue || argument.hasPrefix(option + "="), let place = memory[index] else { continue }
    let kept = isValue ? 0 : option.utf8.count + 1
    memset(place + kept, Int32(UInt8(ascii: "x")), strlen(place) - kept)
  }
}
