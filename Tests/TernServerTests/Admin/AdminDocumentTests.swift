#if Server
import Foundation
import HTTPTypes
import TernCore
import Testing

@testable import TernServer

/// `Sources/CTernAPI/admin.json` against the server. `AdminAPITests` holds each answer against it.
@Suite("Admin: the OpenAPI document")
struct AdminDocumentTests {
  private let schemas: AdminSchemas

  init() throws { schemas = try AdminSchemas() }

  @Test func `every route is in the document, and nothing else`() throws {
    let operations = try schemas.operations()
    #expect(Set(operations.keys) == Set(AdminCall.allCases.map(\.rawValue)))
    #expect(Set(AdminRoute.table.map(\.call)) == Set(AdminCall.allCases))
    #expect(AdminRoute.table.count == AdminCall.allCases.count)
    for (id, (method, path, _)) in operations {
      let route = try AdminRoute(
        method: try #require(HTTPRequest.Method(method)),
        path: path.replacing(try Regex("[{][a-z]+[}]"), with: "x"))
      #expect(route.call.rawValue == id)
      let methods = operations.values.filter { $0.path == path }.map(\.method).sorted()
      #expect(
        AdminRoute.methods(at: path.replacing(try Regex("[{][a-z]+[}]"), with: "x"))
          == methods.joined(separator: ", "))
    }
  }

  @Test func `every problem has its status, and is one of the server's`() throws {
    var documented: Set<String> = []
    for call in AdminCall.allCases {
      let problems = try schemas.problems(of: call)
      #expect(problems[401] == ["unauthorized"] && problems[503] == ["unavailable"], "\(call)")
      for (status, codes) in problems {
        #expect(!codes.isEmpty, "\(call) \(status)")
        for code in codes {
          let usual = RemoteError.Code.answers[RemoteError.Code(rawValue: code)]?.status.code
          #expect(usual ?? 503 == status, "\(call) \(status) \(code)")
        }
        documented.formUnion(codes)
      }
    }
    #expect(documented == schemas.allProblems)
  }

  @Test func `the server gives the file to an operator`() async throws {
    let operators = try OperatorsFile()
    try await LiveServer.run(isWatched: true, operators: try operators.tokens) {
      server async throws in
      let answer = try await server.operate("GET", "openapi.json", token: operators.olga)
      #expect(answer.body == (try Data(contentsOf: AdminSchemas.file)))
      #expect(try await server.operate("GET", "openapi.json", token: nil).status == 401)
    }
  }
}
#endif
