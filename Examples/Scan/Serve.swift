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
  @OptionGroup var options: PageOptions

  func run() async throws {
    try await work.run { database, service in
      let isLocal = service.host == "127.0.0.1"
      let covers = PictureCache(work.file.data + "-covers", allowsLoopback: isLocal)
      let page = ScanPage(database: database, covers: covers, isLocal: isLocal)
      try await options.serve(.scan, page, beside: work.file.data, usual: 8091)
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
