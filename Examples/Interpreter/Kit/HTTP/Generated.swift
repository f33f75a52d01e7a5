import ExampleService

/// An answer in the pieces in which a stream tells it: a few words each.
struct Generated {
  private(set) var chunks: [String]
  private var reason = "STOP"
  private var isBlocked = false
  private let usage: GenerateResponse.Usage
  private let engine: String

  private static let wordsPerChunk = 4

  init(
    _ result: Apertium.Result, asksWords: Int, wantsJSON: Bool,
    _ misdeeds: Misdeeds<InterpreterMisdeed>
  ) {
    engine = result.engine
    var text = result.text
    if wantsJSON {
      text = encoded(
        TranslationDocument(
          translation: result.text, from: result.source, confidence: result.confidence))
    }
    if misdeeds.take(.empty) != nil { text = "" }
    chunks = Self.pieces(text)
    if misdeeds.take(.truncate) != nil {
      (reason, chunks) = ("MAX_TOKENS", Array(chunks.prefix((chunks.count + 1) / 2)))
    }
    for (misdeed, said) in [
      (InterpreterMisdeed.blockAnswer, "SAFETY"), (.recite, "RECITATION"),
    ] where misdeeds.take(misdeed) != nil {
      (reason, chunks) = (said, [""])
    }
    if misdeeds.take(.blockPrompt) != nil { (isBlocked, chunks) = (true, [""]) }
    let words = result.text.split(separator: " ").count
    usage = .init(
      promptTokenCount: asksWords, candidatesTokenCount: words, totalTokenCount: asksWords + words)
  }

  /// With its spaces, so that the pieces together are the text.
  private static func pieces(_ text: String) -> [String] {
    var (pieces, piece, words) = ([String](), "", 0)
    for character in text {
      piece.append(character)
      guard character == " " else { continue }
      words += 1
      if words.isMultiple(of: wordsPerChunk) {
        pieces.append(piece)
        piece = ""
      }
    }
    return pieces + [piece]
  }

  func chunk(_ index: Int) -> GenerateResponse {
    response([chunks[index]], isLast: index == chunks.count - 1)
  }

  /// The whole answer; several parts are one text.
  var whole: GenerateResponse { response(chunks, isLast: true) }

  private func response(_ texts: [String], isLast: Bool) -> GenerateResponse {
    var response = GenerateResponse(usageMetadata: usage, modelVersion: engine)
    if isBlocked {
      response.promptFeedback = .init(blockReason: "SAFETY")
    } else {
      let isEmpty = texts.allSatisfy(\.isEmpty)
      response.candidates = [
        .init(
          content: isEmpty ? nil : Content(role: "model", texts: texts),
          finishReason: isLast ? reason : nil, index: 0)
      ]
    }
    return response
  }
}
