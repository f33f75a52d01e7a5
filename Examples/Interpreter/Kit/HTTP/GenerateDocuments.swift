/// What is asked, as the contract has it; members that play no part here are left out.
struct GenerateRequest: Decodable {
  struct Settings: Decodable {
    var responseMimeType: String?
  }

  var systemInstruction: Content?
  var contents: [Content]
  var generationConfig: Settings?

  var wantsJSON: Bool { generationConfig?.responseMimeType == "application/json" }
}

struct Content: Codable {
  struct Part: Codable {
    var text: String?
  }

  var role: String?
  var parts: [Part]?

  init(role: String, texts: [String]) {
    (self.role, parts) = (role, texts.map { Part(text: $0) })
  }

  var text: String { (parts ?? []).compactMap(\.text).joined() }
}

struct GenerateResponse: Encodable {
  struct Candidate: Encodable {
    var content: Content?
    var finishReason: String?
    var index = 0
  }

  struct Feedback: Encodable {
    var blockReason: String
  }

  /// Words instead of tokens, of which there are none here.
  struct Usage: Encodable {
    var promptTokenCount, candidatesTokenCount, totalTokenCount: Int
  }

  var candidates: [Candidate]?
  var promptFeedback: Feedback?
  var usageMetadata: Usage
  var modelVersion: String
}

/// The translation, where JSON is asked for.
struct TranslationDocument: Encodable {
  var translation: String
  var from: String
  /// Which part of the words was known, from 0 to 1.
  var confidence: Double
  /// Apertium has one translation for a text.
  var alternatives: [String] = []
}

/// A refusal in the contract's form.
///
/// - Source: Google's AIP-193, "Errors".
struct Refused: Error {
  var code: Int
  var status: String
  var message: String
  /// For how long nobody should ask, and where that is said.
  var wait: Wait?

  struct Wait {
    enum Place { case header, date, details, both, nowhere }
    var milliseconds: Int64
    var place: Place

    var seconds: Int64 { (milliseconds + 999) / 1000 }
  }

  init(_ code: Int, _ status: String, _ message: String) {
    (self.code, self.status, self.message) = (code, status, message)
  }

  struct Document: Encodable {
    struct Detail: Encodable {
      var type = "type.googleapis.com/google.rpc.RetryInfo"
      var retryDelay: String

      enum CodingKeys: String, CodingKey {
        case type = "@type"
        case retryDelay
      }
    }
    struct Body: Encodable {
      var code: Int
      var message, status: String
      var details: [Detail]?
    }
    var error: Body
  }

  var document: Document {
    let isInBody = wait?.place == .details || wait?.place == .both
    let details = isInBody ? wait.map { [Document.Detail(retryDelay: "\($0.seconds)s")] } : nil
    return Document(error: .init(code: code, message: message, status: status, details: details))
  }
}
