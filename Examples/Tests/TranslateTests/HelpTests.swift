import ExampleProcesses
import ExampleService
import Foundation
import Testing

@Suite("What the program says of itself", .serialized, .timeLimit(.minutes(2)))
struct HelpTests {
  /// What the parser refuses or shows, and a word that is to be in it.
  private static let parsed: [([String], CInt, String)] = [
    (["--help"], 0, "RESUMEN: Traduce en la terminal"), (["--help"], 0, "SUBCOMANDOS:"),
    (["--help"], 0, "Vea «translate help <subcommand>» para la ayuda detallada."),
    (["history", "--help"], 0, "(si no se indica: 500)"),
    (["history", "--help"], 0, "(si no se indica:\n"),
    (["history", "--help"], 0, "OPCIONES:"), (["search", "--help"], 0, "ARGUMENTOS:"),
    (["search"], 64, "Error: Falta el argumento «<text>»"),
    (["history", "--limit"], 64, "Falta un valor para «--limit <limit>»"),
    (["history", "--limit", "x"], 64, "El valor «x» no vale para «--limit <limit>»"),
    (["status", "x"], 64, "Sobra el argumento «x»"),
    (["status", "x", "y"], 64, "Sobran 2 argumentos: 'x', 'y'"),
    (["status", "--jsn"], 64, "No hay opción «--jsn». ¿Quiso decir «--json»?"),
    (["status", "--qwertz"], 64, "No hay opción «--qwertz»"),
    (["status", "--json=1"], 64, "La opción «--json» no lleva valor, y se indicó «1»"),
    (["search"], 64, "Uso: translate search"), (["search"], 64, "Vea «translate search --help»"),
  ]

  @Test func `help and errors of the command line are in the person's language`() async throws {
    try await withTranslateFolder { folder in
      var folder = folder
      folder.environment["LC_ALL"] = "es_ES.UTF-8"
      // Whatever of its own the parser says in English, but for names.
      let english = try Regex(
        "(?i)usage|overview|arguments|options|subcommand[^s>]|unknown|missing|unexpected|invalid|"
          + "default|show |more information|did you")
      for (words, status, text) in Self.parsed {
        let outcome = try await folder.run(words, [], names: false)
        let said = outcome.output + outcome.complaints
        #expect(outcome.status == status && said.contains(text), "\(words): \(said)")
        #expect(said.firstMatch(of: english) == nil, "\(words): \(said)")
      }
      folder.environment["LC_ALL"] = "C.UTF-8"
      let outcome = try await folder.run(["search"], [], names: false)
      #expect(outcome.complaints.hasPrefix("Error: Missing expected argument '<text>'\n"))
    }
  }

  @Test(arguments: ["translate", "interpreter"])
  func `the help has the table of all programs`(_ program: String) async throws {
    let help = try await blocking {
      let process = try ChildProcess(
        BuiltExecutable.path(program), arguments: ["--help"], environment: ["LC_ALL": "C.UTF-8"])
      process.endInput()
      var output: [UInt8] = []
      while let bytes = process.read() { output += bytes }
      return String(decoding: output, as: UTF8.self)
    }
    for ending in Ending.allCases {
      #expect(help.contains("\n  \(ending.rawValue) "), "\(program): \(ending)")
    }
    let shows = help.contains("USAGE: translate TEXT [--from en] [--to es]\n")
    #expect(shows == (program == "translate"), "\(help)")
  }

  @Test func `a command that is written wrong is no question`() async throws {
    try await withTranslateFolder { folder in
      for (word, command) in [("statsu", "status"), ("histry", "history"), ("setings", "settings")]
      {
        let outcome = try await folder(word)
        #expect(outcome.status == 64, "\(outcome)")
        #expect(outcome.complaints.contains("“\(word)” is nearly the command “\(command)”"))
      }
      #expect(try await folder.history().isEmpty)
      // Who names a language, or is in no doubt, means the word.
      let port = try await TestService.closedPort()
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      for words in [["statsu", "--from", "en"], ["ask", "statsu"], ["sun"]] {
        #expect(try await folder.run(words).status == 75, "\(words)")
      }
    }
  }

  @Test func `without a service it says what to start, and where to name another`() async throws {
    let port = try await TestService.closedPort()
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      let outcome = try await folder("one", "--from", "en")
      #expect(outcome.status == 75, "\(outcome)")
      #expect(outcome.complaints.contains("nothing answers at http://127.0.0.1:\(port); start"))
      #expect(!outcome.complaints.contains("libcurl"))
    }
  }

  @Test func `languages are found by code and name, native and the reader's`() async throws {
    try await withTranslateFolder { folder in
      var folder = folder
      for (language, name) in [("C.UTF-8", "German"), ("es_ES.UTF-8", "alemán")] {
        folder.environment["LC_ALL"] = language
        for text in ["de", "deutsch", name] {
          let lines = try await folder("languages", text).lines
          #expect(lines.contains("de\tDeutsch\t\(name)"), "\(lines)")
        }
      }
      #expect(try await folder("languages", "no such").output.isEmpty)
      if TestService.isInstalled {
        folder.environment["LC_ALL"] = "C.UTF-8"
        let lines = try await folder("languages", "es").lines
        #expect(
          lines.contains { $0.hasPrefix("es\tespañol\tSpanish\toffline: →") && $0.contains("fr") })
        folder.environment["LC_ALL"] = "es_ES.UTF-8"
      }
      let documents = try await folder("languages", "fr", "--json").lines
      #expect(
        documents.contains { $0.hasPrefix(#"{"code":"fr","name":"francés","native":"français","#) })
    }
  }
}
