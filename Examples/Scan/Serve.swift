import ArgumentParser
import CScanPages
import ExamplePages
import ExampleService
import ExampleWork
import Foundation

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show photos and library as a page on this machine, and scan as `run` does.")

  @OptionGroup var work: Work
  @Option(help: "The page's port; 0 for a free one.") var port: UInt16 = 8091
  @Flag(help: "Print the page's address alone, and open no browser.") var noOpen = false

  func run() async throws {
    try await work.run { database, service in
      var generator = SystemRandomNumberGenerator()
      let token = try PageTokenFile(beside: work.file.data).token(using: &generator)
      let isLocal = service.host == "127.0.0.1"
      let covers = PictureCache(work.file.data + "-covers", allowsLoopback: isLocal)
      let page = ScanPage(database: database, covers: covers, isLocal: isLocal)
      let server = PageServer(.scan, program: page, token: token, port: Int(port))
      try await server.run { [noOpen] address in
        say("the page is at \(address)")
        if !noOpen { PageBrowser.open(address) }
      }
    }
  }
}

extension PageFiles {
  /// Of the page of `scan serve`, with the kit's.
  fileprivate static let scan = PageFiles { index in
    scan_page_file(index).map {
      ($0.pointee.name, $0.pointee.type, $0.pointee.bytes, $0.pointee.count)
    }
  }
}
