/// What is asked, as the contract has it; members that play no part here are left out.
package struct GenerateRequest: Codable {
  package struct Settings: Codable {
    package var temperature: Double?
    package var responseMimeType: String?
    package var responseSchema: Schema?

    package init(temperature: Double?, responseMimeType: String?, responseSchema: Schema?) {
      self.temperature = temperature
      (self.responseMimeType, self.responseSchema) = (responseMimeType, responseSchema)
    }
  }

  /// Of the document that is asked for.
  package struct Schema: Codable {
    package var type: String
    package var items: [String: String]?
    package var properties: [String: Schema]?
    package var required, propertyOrdering: [String]?

    package init(_ type: String, items: String? = nil, properties: [String: Schema]? = nil) {
      (self.type, self.items, self.properties) = (type, items.map { ["type": $0] }, properties)
    }
  }

  package var systemInstruction: Content?
  package var contents: [Content]
  package var generationConfig: Settings?

  package init(system: String, user: String, _ settings: Settings) {
    systemInstruction = Content(role: nil, texts: [system])
    contents = [Content(role: "user", texts: [user])]
    generationConfig = settings
  }

  var wantsJSON: Bool { generationConfig?.responseMimeType == "application/json" }
}

package struct Content: Codable {
  package struct Part: Codable {
    package var text: String?
  }

  package var role: String?
  package var parts: [Part]?

  init(role: String?, texts: [String]) {
    (self.role, parts) = (role, texts.map { Part(text: $0) })
  }

  package var text: String { (parts ?? []).compactMap(\.text).joined() }
}

package struct GenerateResponse: Codable {
  package struct Candidate: Codable {
    package var content: Content?
    package var finishReason: String?
    var index: Int?
  }

  package struct Feedback: Codable {
    package var blockReason: String?
  }

  /// Words instead of tokens, of which there are none here.
  struct Usage: Codable {
    var promptTokenCount, candidatesTokenCount, totalTokenCount: Int?
  }

  package var candidates: [Candidate]?
  package var promptFeedback: Feedback?
  var usageMetadata: Usage?
  package var modelVersion: String?
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
