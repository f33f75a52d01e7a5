import Foundation

/// What a language is called, and where most speak it.
package struct LanguageName: Encodable {
  /// Of ISO 639-1, or of three letters where it has none of two.
  package let code: String
  /// In itself, and in the reader's language; the code where it has no name there.
  package let native, name: String
  /// The part of the world, by the reader's name, and the flag of the country; empty where these are
  /// not known.
  package let region, flag: String

  package static func isKnown(_ code: String) -> Bool {
    let language = Locale.LanguageCode(code)
    return language.isISOLanguage && (language.identifier(.alpha2) ?? code) == code
  }

  /// Those with a name of their own, by code.
  package static func all(in reader: String) -> [LanguageName] {
    let codes = Locale.LanguageCode.isoLanguageCodes.map(\.identifier).filter(isKnown)
    return codes.sorted().map { LanguageName($0, in: reader) }.filter { $0.native != $0.code }
  }

  package init(_ code: String, in reader: String) {
    let reader = Locale(identifier: reader)
    self.code = code
    native = Locale(identifier: code).localizedString(forLanguageCode: code) ?? code
    name = reader.localizedString(forLanguageCode: code) ?? code
    let likely = Locale.Language(identifier: Locale.Language(identifier: code).maximalIdentifier)
    let continent = likely.region?.continent?.identifier
    region = continent.flatMap(reader.localizedString(forRegionCode:)) ?? ""
    // Source: Unicode Technical Standard #51, annex B, "Valid emoji flag sequences".
    let country = continent == nil ? "" : likely.region?.identifier ?? ""
    let letters = country.unicodeScalars.compactMap { Unicode.Scalar($0.value + 0x1F1A5) }
    flag = letters.count == 2 ? String(String.UnicodeScalarView(letters)) : ""
  }
}
