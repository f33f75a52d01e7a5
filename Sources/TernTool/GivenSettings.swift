#if Server
import ArgumentParser
import Configuration
import Foundation

/// Options that stand not on the command line but in the environment, or in the file that
/// `--config` names. The command line counts before the environment, and that before the file.
///
/// Any option that a command's help lists can be given so, by its own name: `--admin-port`,
/// `TERN_ADMIN_PORT`, and `"admin-port"` in the file.
struct GivenSettings {
  /// What the command line lacks, as it would stand there.
  private(set) var arguments: [String] = []
  /// By an option's name, where it stands.
  private var places: [String: String] = [:]

  /// One place where settings are.
  private struct Source {
    let provider: any ConfigProvider
    let key: (String) -> AbsoluteConfigKey
    /// How an operator knows the setting of a name there.
    let place: (String) -> String
  }

  /// - Parameters:
  ///   - options: those that can be given.
  ///   - line: the command line.
  ///   - environment: all variables.
  /// - Throws: `ValidationError` with what is wrong, and where.
  init(
    _ options: CommandOptions, line: [String], environment: [String: String]
  ) async throws {
    // One that is empty is none, as a container's description leaves it.
    let variables = EnvironmentVariablesProvider(
      environmentVariables: environment.filter { !$0.value.isEmpty })
    var sources = [
      Source(
        provider: variables, key: { AbsoluteConfigKey(["tern", $0]) }, place: Self.variable)
    ]
    let path = line.value(of: "config") ?? environment[Self.variable("config")]
    if options.names.contains("config"), let path, !path.isEmpty {
      sources.append(try await Self.file(path, options))
    }
    for name in options.names.sorted() where name != "config" && !line.names(name) {
      for source in sources {
        let place = source.place(name)
        let isFlag = options.flags.contains(name)
        guard let value = try Self.value(name, source, isFlag: isFlag) else { continue }
        places[name] = place
        if !isFlag { arguments.append("--\(name)=\(value)") }
        if isFlag, value == "true" { arguments.append("--\(name)") }
        break
      }
    }
  }

  /// Where the options stand that a message names; empty for those of the command line.
  func places(in message: String) -> String {
    let words = message.split { !($0.isLetter || $0.isNumber || $0 == "-") }
    return places.filter { words.contains("--\($0.key)") }.sorted { $0.key < $1.key }
      .map { "\n--\($0.key) is set by \($0.value)." }.joined()
  }

  /// The variable that gives an option.
  static func variable(_ option: String) -> String {
    "TERN_" + option.uppercased().replacing("-", with: "_")
  }

  private static func file(_ path: String, _ options: CommandOptions) async throws -> Source {
    let provider: FileProvider<JSONSnapshot>
    let names: Set<String>
    do {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      let object = try JSONSerialization.jsonObject(with: bytes) as? [String: Any]
      names = Set((object ?? [:]).keys)
      provider = try await FileProvider(filePath: .init(path))
    } catch {
      throw ValidationError(
        "the settings in \(path) can't be read (\(error.localizedDescription)); the file is a JSON "
          + "object with an option's name for each key, without its dashes")
    }
    if let unknown = names.subtracting(options.names).union(names.intersection(["config"])).min() {
      throw ValidationError(
        "\(path) has the setting '\(unknown)', and the command has no option of that name; correct "
          + "it, or take it out")
    }
    return Source(
      provider: provider, key: { AbsoluteConfigKey([$0]) }, place: { "'\($0)' in \(path)" })
  }

  /// - Returns: `nil` where it is not given there.
  private static func value(_ name: String, _ source: Source, isFlag: Bool) throws -> String? {
    for type in isFlag ? [ConfigType.bool] : [.string, .int] {
      do {
        switch try source.provider.value(forKey: source.key(name), type: type).value?.content {
        case .string(let text): return text
        case .int(let number): return "\(number)"
        case .bool(let isOn): return isOn ? "true" : "false"
        default: return nil
        }
      } catch {
        // Of another type, perhaps of the next.
        continue
      }
    }
    throw ValidationError(
      "--\(name) is set by \(source.place(name)) to what is "
        + (isFlag ? "neither true nor false" : "neither a text nor a whole number"))
  }
}

/// The options that a command's help lists.
struct CommandOptions {
  var names: Set<String> = []
  /// Those of them that take no value.
  var flags: Set<String> = []

  init(help: String) {
    for line in help.split(separator: "\n") {
      guard let match = line.prefixMatch(of: #/  (?:-\w, )?--([a-z0-9-]+)( <[^>]+>)?/#) else {
        continue
      }
      names.insert(String(match.1))
      if match.2 == nil { flags.insert(String(match.1)) }
    }
    names.subtract(["help", "version"])
  }

  /// Those of the command that a line begins with. All of `serve` can be given elsewhere, and of
  /// other commands where the data is.
  init(of line: [String], below root: any ParsableCommand.Type) {
    var command = root
    for word in line {
      let commands = command.configuration.subcommands
      guard let next = commands.first(where: { $0.configuration.commandName == word }) else {
        break
      }
      command = next
    }
    self.init(help: root.helpMessage(for: command, columns: 10_000))
    if command != ServeCommand.self {
      names.formIntersection(["data", "schema", "database-password-file"])
    }
  }
}

extension [String] {
  /// Whether a command line has an option.
  fileprivate func names(_ option: String) -> Bool {
    prefix { $0 != "--" }.contains { $0 == "--\(option)" || $0.hasPrefix("--\(option)=") }
  }

  fileprivate func value(of option: String) -> String? {
    for (index, word) in enumerated() {
      if word.hasPrefix("--\(option)=") { return String(word.dropFirst(option.count + 3)) }
      if word == "--\(option)" { return dropFirst(index + 1).first }
    }
    return nil
  }
}
#endif
