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
  case serviceHelp, modelHelp, favoriteIDHelp, removeHelp, allHelp, languageHelp, settingHelp
  case valueHelp, conversationHelp, limitHelp, badLimit, searchHelp, noFavorite, manyFavorites
  case tablePhrase, tableAnswer, tableFavorite, tableSetting, tableConversation, undoneRestored
  case undoneRemoved, undoneBroughtBack, undoneLeft
  case loneModel, itsModelHelp, portal, noKey, cutOff, unwritable, kept, problemElsewhere
  case nobody, nearCommand, exits, ownService, noOwnService
  case badFile, commandText, noSync, offlineNoPair, offlineUnknown, offlineLong, offlineBroken
  case serveAbstract, portHelp, noOpenHelp, badPort, noPort, noPageToken, misread, zeroText
  case othersQuestion, manyStars, noSpeaker, speakerFails, noListener, listenerFails
  case longSpeech, otherRecording
  // What the command line's parser says, in its own words.
  case parserUsage, parserUsageTitle, parserOverview, parserArguments, parserOptions
  case parserSubcommands, parserError, parserHelp, parserSee, parserDetails, parserDefault
  case parserStandard, parserShowHelp, parserShowSubcommand, parserSimilar, parserUnknown
  case parserMissingValue, parserMissing, parserUnexpected, parserManyUnexpected, parserBadValue
  case parserNoValue
}
