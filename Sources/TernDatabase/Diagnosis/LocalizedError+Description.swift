import Foundation
import TernCore

extension LocalizedError where Self: AdvisingError & CustomStringConvertible {
  /// What an alert shows: the error's own words.
  public var errorDescription: String? { description }
}
