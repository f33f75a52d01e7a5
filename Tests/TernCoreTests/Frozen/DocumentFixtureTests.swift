import Foundation
import TernCore
import Testing

/// The JSON of the sync protocol, as it was when the format was frozen. Members may come, which an
/// older peer passes over and a newer one does without; none changes its name or its meaning.
@Suite("Frozen: documents of the sync protocol")
struct DocumentFixtureTests {
  private let a = ReplicaID(high: 0xA, low: 0xA1)
  private let b = ReplicaID(high: 0xB, low: 0xB2)
  private let time = HybridTime(rawValue: UInt64(1_700_000_000_000) << 16 | 0xFFFF)

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../Fixtures/v1").standardized

  /// - Parameter isWhole: whether the file has all that the document may have, and nothing else: then it
  ///   is written again as it was.
  private func read<Document: Codable>(_ name: String, isWhole: Bool = true) throws -> Document {
    let data = try Data(contentsOf: Self.folder.appending(path: "\(name).json"))
    let document = try JSONDecoder().decode(Document.self, from: data)
    if isWhole {
      #expect(try object(JSONEncoder().encode(document)) == object(data), "\(name)")
    }
    return document
  }

  private func object(_ data: Data) throws -> NSDictionary {
    try #require(JSONSerialization.jsonObject(with: data) as? NSDictionary)
  }

  @Test func `a greeting with everything`() throws {
    let document: GreetingDocument = try read("greeting")
    let greeting = try document.greeting()
    #expect(greeting.epoch == "4f1c9a2e" && greeting.position == 42)
    #expect(greeting.now?.milliseconds == 1_700_000_000_123)
    #expect(greeting.newest?.milliseconds == 1_700_003_600_000)
    #expect(greeting.heads == VersionVector([a: 7, b: 9_007_199_254_740_991]))
    #expect(greeting.trimmed == 31 && greeting.wantsSnapshot && greeting.wantsState)
    let snapshot = try #require(greeting.snapshot)
    #expect(snapshot.id == "s-1" && snapshot.position == 40 && snapshot.parts == 3)
    #expect(snapshot.cursor.rawValue == "4f1c9a2e:40" && snapshot.heads == VersionVector([a: 6]))
    #expect(
      greeting.state
        == StateReport(
          replica: b, cursor: RemoteCursor(rawValue: "4f1c9a2e:42"),
          operations: 0xFEDC_BA98_7654_3210, isRepaired: true,
          tables: [
            "book": .init(shape: 0x1F, rows: .max), "shelf": .init(shape: 0, rows: 10),
          ]))
    let again = GreetingDocument(greeting)
    #expect(try object(JSONEncoder().encode(again)) == object(JSONEncoder().encode(document)))
  }

  @Test func `a greeting of the first servers, with a member of later ones`() throws {
    let document: GreetingDocument = try read("greeting-first", isWhole: false)
    let greeting = try document.greeting()
    #expect(greeting.heads == VersionVector() && greeting.snapshot == nil && greeting.state == nil)
    #expect(greeting.newest == nil && greeting.trimmed == 0)
    #expect(!greeting.wantsSnapshot && !greeting.wantsState)
  }

  @Test func `what acknowledges a push`() throws {
    let document: ReceiptDocument = try read("receipt")
    let receipt = try document.receipt()
    #expect(receipt.now?.milliseconds == 1_700_000_000_123)
    #expect(receipt.position == 42 && receipt.accepted == 5)
  }

  @Test func `a snapshot that is offered, and what answers`() throws {
    let document: OfferDocument = try read("offer")
    let offer = try #require(document.offer)
    #expect(offer.key == "k-1" && offer.parts == 3 && offer.isBase)
    #expect(offer.cursor?.rawValue == "4f1c9a2e:40")
    #expect(offer.heads == [a: SnapshotHead(sequence: 6, time: time)])
    let first: OfferDocument = try read("offer-first", isWhole: false)
    let small = try #require(first.offer)
    #expect(small.cursor == nil && small.heads.isEmpty && !small.isBase)
    let named: OfferDocument = try read("offer-schema")
    let schema = try #require(named.offer?.schema)
    #expect(schema.version == 3 && small.schema == nil)
    let table = SnapshotSchema.Table(
      name: "book", formerNames: ["tome"], formerColumns: ["title": ["name"]])
    #expect(schema.renamed == [table])
    let upload: UploadDocument = try read("upload")
    #expect(upload.upload.id == "u-1" && upload.upload.missing == [0, 2])
    let done: DoneDocument = try read("done")
    #expect(done.now == 1_700_000_000_123)
  }

  @Test func `a position of the event stream`() throws {
    let document: PositionDocument = try read("position")
    #expect(document.position == 43)
  }

  @Test func `a refusal, and a proxy's`() throws {
    let problem: ProblemDocument = try read("problem")
    #expect(problem.code == .sequenceGap && problem.message == "Conflict: an operation is missing")
    #expect(problem.status == 409 && problem.replica == a.description && problem.sequence == 9)
    #expect(problem.now == 1_700_000_000_123 && problem.expected == 8)
    let proxy: ProblemDocument = try read("problem-proxy", isWhole: false)
    #expect(proxy.code == nil && proxy.message == "Bad Gateway")
  }

  /// Devices and servers that were released know them by these texts.
  @Test func `every code that travels has the text that it had`() {
    let codes: [RemoteError.Code] = [
      .unavailable, .unauthorized, .forbidden, .sequenceGap, .sequenceConflict, .timeAhead,
      .timeNotIncreasing, .cursorUnknown, .snapshotNeeded, .snapshotUnknown, .snapshotSuperseded,
      .snapshotIncomplete, .snapshotConflict, .snapshotRefused, .refillNeeded, .stateSuperseded,
      .notFound,
      .methodNotAllowed,
      .malformed, .unsupportedVersion, .unsupportedMediaType, .tooLarge, .tooManySpaces,
      .tooManyReplicas, .spaceFull, .spaceSuspended, .readOnly,
    ]
    let texts = """
      unavailable unauthorized forbidden sequence-gap sequence-conflict time-ahead \
      time-not-increasing cursor-unknown snapshot-needed snapshot-unknown snapshot-superseded \
      snapshot-incomplete snapshot-conflict snapshot-refused refill-needed state-superseded \
      not-found method-not-allowed \
      malformed unsupported-version unsupported-media-type too-large too-many-spaces \
      too-many-replicas space-full space-suspended read-only
      """
    #expect(codes.map(\.rawValue) == texts.split(separator: " ").map(String.init))
  }
}
