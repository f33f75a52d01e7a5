extension Words {
  static let english: [Word: String] = [
    .abstract: "Translates in the terminal, also without a network.",
    .askAbstract: "Translate a text, or what comes in, line by line.",
    .historyAbstract: "The questions and what came of them.",
    .searchAbstract: "Look for words in the history.",
    .languagesAbstract: "The languages; with a text, those with such a name or code.",
    .favoriteAbstract: "Keep a translation, or show those that are kept.",
    .settingsAbstract: "Show the settings, or change one.",
    .statusAbstract: "What waits, and for what.",
    .runAbstract: "Finish what waits, and what comes meanwhile, until stopped.",
    .undoAbstract: "Take back this device's last action, on all devices.",
    .chatAbstract: "Talk in two languages by turns.",
    .dataHelp: "The database; made when it is missing.",
    .jsonHelp: "One JSON document a line.",
    .fromHelp: "The language of the text, or auto.",
    .toHelp: "The language to translate into.",
    .textHelp: "The text; without one, lines are read from standard input.",
    .offlineHelp: "Where the service can't be reached, use what is installed here.",
    .laterHelp: "Keep the questions, and do not wait for answers.",
    .progressHelp: "Show a progress bar, also where nobody looks.",
    .syncHelp: "A Tern server with which history, favorites and settings sync.",
    .spaceHelp: "The space on that server.",
    .tokenHelp: "Its token; without it, TERN_TOKEN in the environment.",
    .retryHelp: "Ask again what ended without a translation.",
    .onceHelp: "Stop when nothing can be done any more.",
    .waiting: "waiting",
    .offlineMark: "offline",
    .nothingWaits: "nothing waits",
    .someWait: "{} waiting",
    .unreachable: "the service can't be reached",
    .limited: "the service wants no requests for {} s",
    .retries: "tried again in {} s",
    .saved:
      "No network: {} saved for later. `translate run` finishes it, and so does the next start.",
    .offerOffline: "With --offline, Apertium on this machine answers at once, roughly.",
    .offerHistory: "In the history: {}",
    .stopped: "Stopped: {} saved, and finished by `translate run` or the next start.",
    .madeBy: "made by {}",
    .sure: "{} % sure",
    .alsoSaid: "also: {}",
    .gone: "This question was taken out of the history.",
    .problemBlocked: "the service refuses to translate this; say it in other words",
    .problemRecited:
      "the service keeps back an answer that repeats somebody's text; ask for a part of it",
    .problemTruncated: "the answer was longer than the service allows; ask in smaller parts",
    .problemEmpty: "the service answered without a text; ask again, or choose another model",
    .problemWrongKey:
      "the service does not accept the key; set GEMINI_API_KEY to a valid one, and ask again",
    .problemInsecure: """
    the service wants a key, which is sent over https only, or to this machine; set its https \
    address by `translate settings service`
    """,
    .problemRefused: "the service can't do this",
    .problemBroken: "the service's answers can't be read; look at `translate settings service`",
    .problemOverloaded: """
    the service failed four times; ask again later, or choose another by `translate \
    settings service`
    """,
    .emptyText: "There is nothing to translate.",
    .longText: "The text has {} characters, and {} are the most; ask in smaller parts.",
    .badLine: "Line {} is not UTF-8, and was left out.",
    .zeroLine: "Line {} holds a zero byte, and was left out.",
    .longLine: "Line {} has more than {} characters, and was left out.",
    .unknownCode: "“{}” is no language's code; `translate languages` lists them.",
    .sameLanguage: "“{}” is both languages; name another --from or --to.",
    .fullDisk: """
    There is no room on the disk, or it fails: what was asked last is not saved, \
    and all before is.
    """,
    .badSetting: "“{}” can't be {}.",
    .noSetting: "There is no setting “{}”; there are {}.",
    .noWord: "Name a word to look for.",
    .noPhrase: "There is no answered question {}; `translate history --json` has their ids.",
    .nothingToUndo: "There is nothing to take back.",
    .undone: "Taken back: {}",
    .syncNeeds: "--sync is a URL, and needs a --token.",
    .noChat: "There is no conversation {}; `translate history --json` has their ids.",
    .chatHelp: "Go on with a conversation, by its id, or the latest with `last`.",
    .noSwapHelp: "Keep the sides as they are.",
    .speakHelp: "Speak the answers with espeak-ng, where it is installed.",
  ]
}
