/// What the program says, each by its name.
enum Word: String, CaseIterable {
  case abstract, askAbstract, historyAbstract, searchAbstract, languagesAbstract
  case favoriteAbstract, settingsAbstract, statusAbstract, runAbstract, undoAbstract
  case chatAbstract, dataHelp, jsonHelp, fromHelp, toHelp, textHelp, offlineHelp, laterHelp
  case progressHelp, syncHelp, spaceHelp, tokenHelp, onceHelp, retryHelp, waiting, offlineMark
  case nothingWaits, someWait, unreachable, limited, retries, saved, offerOffline, offerHistory
  case stopped, madeBy, sure, alsoSaid, gone, problemBlocked, problemRecited, problemTruncated
  case problemEmpty, problemWrongKey, problemInsecure, problemRefused, problemBroken
  case problemOverloaded, emptyText, longText, badLine, zeroLine, longLine, unknownCode
  case sameLanguage, fullDisk, badSetting, noSetting, noWord, noPhrase, nothingToUndo, undone
  case syncNeeds, noChat, chatHelp, noSwapHelp, speakHelp
}
