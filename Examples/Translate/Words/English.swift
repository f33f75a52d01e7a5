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
    .tokenHelp: "A file that holds its token; without one TERN_TOKEN has it.",
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
    .kept: "{} saved for later. `translate run` finishes it, and so does the next start.",
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
    the service failed each time that it was asked; ask again later, or choose another by \
    `translate settings service`
    """,
    .problemElsewhere: """
    for days something other than the service answered; look at `translate settings service`, and \
    ask again with `translate run --retry`
    """,
    .emptyText: "There is nothing to translate.",
    .commandText: """
    “{}” is a command: write `translate {} …`, or `translate ask {} …` to have the word translated.
    """,
    .longText: "The text has {} characters, and {} are the most; ask in smaller parts.",
    .badLine: "Line {} is not UTF-8, and was left out.",
    .zeroLine: "Line {} holds a zero byte, and was left out.",
    .longLine: "Line {} has more than {} characters, and was left out.",
    .unknownCode: "“{}” is no language's code; `translate languages` lists them.",
    .sameLanguage: "“{}” is both languages; name another --from or --to.",
    .fullDisk: """
    There is no room on the disk, or it fails: what was done last may not be saved, and all before \
    is. Once there is room, `translate run` finishes what waits.
    """,
    .badSetting: "“{}” can't be {}.",
    .noSetting: "There is no setting “{}”; there are {}.",
    .noWord: "Name a word to look for.",
    .noPhrase: "There is no answered question {}; `translate history --json` has their ids.",
    .nothingToUndo: "There is nothing to take back.",
    .undone: "Taken back: {}",
    .syncNeeds: "--sync is a URL, and needs a token in TERN_TOKEN or in a --token-file.",
    .noChat: "There is no conversation {}; `translate history --json` has their ids.",
    .chatHelp: "Go on with a conversation, by its id, or the latest with `last`.",
    .noSwapHelp: "Keep the sides as they are.",
    .speakHelp: "Speak the answers with espeak-ng, where it is installed.",
    .serviceHelp: "The service to ask, by its address, instead of the one of the settings.",
    .modelHelp: "The model to ask, instead of the one of the settings.",
    .favoriteIDHelp: "A question's id; to remove, also the text of one that is kept.",
    .removeHelp: "Let it go.",
    .allHelp: "Show all, and not the first five only.",
    .languageHelp: "A part of a name, or a code.",
    .settingHelp: "A setting; without one, all are shown.",
    .valueHelp: "What it is to be.",
    .conversationHelp: "Only that conversation, by its id.",
    .limitHelp: "How many at most, the newest.",
    .badLimit: "--limit wants a number from 1 on, not {}.",
    .searchHelp: "Words, or beginnings of some.",
    .noFavorite: "No translation of {} is kept; `translate favorite --all` shows them.",
    .manyFavorites: "That is kept for {}; name the pair by --from and --to.",
    .tablePhrase: "questions",
    .tableAnswer: "answers",
    .tableFavorite: "favorites",
    .tableSetting: "settings",
    .tableConversation: "conversations",
    .undoneRestored: "{} as before",
    .undoneRemoved: "{} removed",
    .undoneBroughtBack: "{} brought back",
    .undoneLeft: "{} left as they are",
    .loneModel: "--model goes with `translate settings service URL`.",
    .itsModelHelp: "With a service: which of its models is asked from now on.",
    .portal: """
    somebody on the way answers, or the address is another's; sign in to the network, or look at \
    `translate settings service`
    """,
    .noKey: """
    it wants a key: set GEMINI_API_KEY and start `translate` again, and so a `translate run` that \
    was started without it
    """,
    .nobody: """
    nothing answers at {}; start the service there, for example `interpreter`, or choose another \
    by `translate settings service`
    """,
    .nearCommand: """
    “{}” is nearly the command “{}”: write `translate {}`, or `translate ask {}` to have the word \
    translated.
    """,
    .exits: """
    EXIT STATUS:
      0     all is answered; or `run` was stopped
      1     a question has no translation, and says why; or there is nothing to undo
      64    what was asked can't be done as it stands, or lines were left out
      66    the database can't be opened, or the file is none
      74    the disk is full or fails, or the output can't be written
      75    what is left is saved, and waits
      130   stopped by Ctrl-C before it was done; what was asked is saved
    """,
    .cutOff: "the answer was cut off",
    .unwritable: "The output can't be written: {}",
    .badFile: "“{}” can't be used as the database: {}",
    .noSync: "not synced: {}",
    .ownService: """
    No service is chosen: the interpreter runs in this program, at {}, until it ends. `translate \
    settings service URL --model M` names another.
    """,
    .noOwnService: """
    No service is chosen, and what would run in this program is not installed: `apt-get install {}`; \
    or name one by `translate settings service URL --model M`.
    """,
    .offlineNoPair:
      "Apertium here does not translate {}→{}; `translate languages` shows what it does.",
    .offlineUnknown: "Apertium here knows no language with these words to translate into {}.",
    .offlineLong: "Apertium takes no text of more than {} bytes; ask in smaller parts.",
    .offlineBroken: "Apertium on this machine fails: {}",
    .serveAbstract: "Show a page on this machine, and finish what waits meanwhile.",
    .portHelp: "The page's port; 0 for a free one.",
    .noOpenHelp: "Print the page's address alone, and open no browser.",
    .badPort: "--port is a number from 0 to 65535, and not {}.",
    .noPort: """
    The page can't be at port {} of 127.0.0.1: {}. Another `translate serve` may be there; name \
    another --port, or 0 for a free one.
    """,
    .noPageToken: """
    The token of the page can't be kept in {}: {}. Free space there, or make the folder one that \
    you may write to.
    """,
    .misread: "The page and the program do not understand each other; load the page again.",
    .zeroText: "The text holds a zero byte; take it out.",
    .othersQuestion: "This was asked on another device, which can ask it again.",
    .manyStars: "{} languages are the most favorites; take one out first.",
    .noSpeaker: "This browser has no voice for it, and espeak-ng is not installed.",
    .speakerFails: "espeak-ng could not speak here.",
    .noListener: """
    Nothing here recognizes speech: `apt-get install pocketsphinx pocketsphinx-en-us`, and start the \
    program again.
    """,
    .listenerFails: "PocketSphinx failed; try again, or type instead.",
    .longSpeech: "A recording lasts a minute at most; say it in parts.",
    .otherRecording: "Another page records now, or this recording was ended; begin again.",
    .parserUsage: "Usage: {}",
    .parserUsageTitle: "USAGE: {}",
    .parserOverview: "OVERVIEW: {}",
    .parserArguments: "ARGUMENTS:",
    .parserOptions: "OPTIONS:",
    .parserSubcommands: "SUBCOMMANDS:",
    .parserError: "Error: {}",
    .parserHelp: "Help:  {}",
    .parserSee: "See '{}' for more information.",
    .parserDetails: "See '{}' for detailed help.",
    .parserDefault: "(default:",
    .parserStandard: "(default)",
    .parserShowHelp: "Show help information.",
    .parserShowSubcommand: "Show subcommand help information.",
    .parserSimilar: "Unknown option '{}'. Did you mean '{}'?",
    .parserUnknown: "Unknown option '{}'",
    .parserMissingValue: "Missing value for '{}'",
    .parserMissing: "Missing expected argument '{}'",
    .parserUnexpected: "Unexpected argument '{}'",
    .parserManyUnexpected: "{} unexpected arguments: {}",
    .parserBadValue: "The value '{}' is invalid for '{}'",
    .parserNoValue: "The option '{}' does not take any value, but '{}' was specified.",
  ]
}
