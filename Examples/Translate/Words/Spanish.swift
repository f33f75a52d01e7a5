extension Words {
  static let spanish: [Word: String] = [
    .abstract: "Traduce en la terminal, también sin red.",
    .askAbstract: "Traducir un texto, o lo que entra, línea por línea.",
    .historyAbstract: "Las preguntas y lo que resultó de ellas.",
    .searchAbstract: "Buscar palabras en el historial.",
    .languagesAbstract: "Los idiomas; con un texto, los que tienen tal nombre o código.",
    .favoriteAbstract: "Guardar una traducción, o mostrar las guardadas.",
    .settingsAbstract: "Mostrar los ajustes, o cambiar uno.",
    .statusAbstract: "Qué espera, y a qué.",
    .runAbstract: "Terminar lo que espera, y lo que llegue, hasta que se detenga.",
    .undoAbstract: "Deshacer la última acción de este dispositivo, en todos.",
    .chatAbstract: "Hablar en dos idiomas por turnos.",
    .dataHelp: "La base de datos; se crea si falta.",
    .jsonHelp: "Un documento JSON por línea.",
    .fromHelp: "El idioma del texto, o auto.",
    .toHelp: "El idioma al que se traduce.",
    .textHelp: "El texto; sin él, se leen líneas de la entrada estándar.",
    .offlineHelp: "Si no se alcanza el servicio, usar lo instalado aquí.",
    .laterHelp: "Guardar las preguntas, sin esperar respuestas.",
    .progressHelp: "Mostrar una barra de progreso, aunque nadie mire.",
    .syncHelp: "Un servidor Tern con el que se sincronizan historial, favoritos y ajustes.",
    .spaceHelp: "El espacio en ese servidor.",
    .tokenHelp: "Un archivo con su token; sin él, está en TERN_TOKEN.",
    .retryHelp: "Preguntar de nuevo lo que quedó sin traducción.",
    .onceHelp: "Parar cuando ya no se pueda hacer nada.",
    .waiting: "en espera",
    .offlineMark: "sin red",
    .nothingWaits: "nada espera",
    .someWait: "{} en espera",
    .unreachable: "no se alcanza el servicio",
    .limited: "el servicio no quiere peticiones durante {} s",
    .retries: "se reintenta en {} s",
    .saved:
      "Sin red: {} guardado para después. `translate run` lo termina, y también el próximo inicio.",
    .kept: "{} guardado para después. `translate run` lo termina, y también el próximo inicio.",
    .offerOffline: "Con --offline, Apertium responde aquí mismo, a grandes rasgos.",
    .offerHistory: "En el historial: {}",
    .stopped: "Detenido: {} guardado; lo termina `translate run` o el próximo inicio.",
    .madeBy: "hecho por {}",
    .sure: "seguro al {} %",
    .alsoSaid: "también: {}",
    .gone: "Esta pregunta se quitó del historial.",
    .problemBlocked: "el servicio se niega a traducir esto; dígalo con otras palabras",
    .problemRecited: "el servicio retiene una respuesta que repite un texto ajeno; pida una parte",
    .problemTruncated: "la respuesta superó lo que permite el servicio; pregunte por partes",
    .problemEmpty: "el servicio respondió sin texto; repita, o elija otro modelo",
    .problemWrongKey: "el servicio no acepta la clave; ponga una válida en GEMINI_API_KEY y repita",
    .problemInsecure: """
    el servicio pide una clave, que solo se envía por https o a este equipo; ponga su dirección \
    https con `translate settings service`
    """,
    .problemRefused: "el servicio no puede hacer esto",
    .problemBroken:
      "no se pueden leer las respuestas del servicio; mire `translate settings service`",
    .problemOverloaded: """
    el servicio falló cada vez que se le preguntó; repita más tarde, o elija otro con `translate \
    settings service`
    """,
    .problemElsewhere: """
    durante días respondió otro en lugar del servicio; mire `translate settings service`, y repita \
    con `translate run --retry`
    """,
    .emptyText: "No hay nada que traducir.",
    .commandText: """
    «{}» es una orden: escriba `translate {} …`, o `translate ask {} …` para traducir la palabra.
    """,
    .longText: "El texto tiene {} caracteres, y {} son el máximo; pregunte por partes.",
    .badLine: "La línea {} no es UTF-8, y se omitió.",
    .zeroLine: "La línea {} contiene un byte cero, y se omitió.",
    .longLine: "La línea {} tiene más de {} caracteres, y se omitió.",
    .unknownCode: "«{}» no es código de ningún idioma; `translate languages` los enumera.",
    .sameLanguage: "«{}» es ambos idiomas; indique otro --from o --to.",
    .fullDisk: """
    No hay espacio en el disco, o este falla: quizá no se guardó lo último, y lo anterior sí. \
    Cuando haya espacio, `translate run` termina lo que espera.
    """,
    .badSetting: "«{}» no puede ser {}.",
    .noSetting: "No hay ajuste «{}»; hay {}.",
    .noWord: "Indique una palabra que buscar.",
    .noPhrase: "No hay pregunta respondida {}; `translate history --json` tiene sus id.",
    .nothingToUndo: "No hay nada que deshacer.",
    .undone: "Deshecho: {}",
    .syncNeeds: "--sync es una URL, y necesita un token en TERN_TOKEN o en un --token-file.",
    .noChat: "No hay conversación {}; `translate history --json` tiene sus id.",
    .chatHelp: "Seguir una conversación, por su id, o la última con `last`.",
    .noSwapHelp: "Dejar los lados como están.",
    .speakHelp: "Decir las respuestas con espeak-ng, si está instalado.",
    .serviceHelp: "El servicio al que se pregunta, por su dirección, en vez del de los ajustes.",
    .modelHelp: "El modelo al que se pregunta, en vez del de los ajustes.",
    .favoriteIDHelp: "El id de una pregunta; para quitar, también el texto de una guardada.",
    .removeHelp: "Quitarla.",
    .allHelp: "Mostrar todas, y no solo las cinco primeras.",
    .languageHelp: "Una parte de un nombre, o un código.",
    .settingHelp: "Un ajuste; sin él, se muestran todos.",
    .valueHelp: "Lo que debe ser.",
    .conversationHelp: "Solo esa conversación, por su id.",
    .limitHelp: "Cuántas como máximo, las más nuevas.",
    .badLimit: "--limit quiere un número a partir de 1, no {}.",
    .searchHelp: "Palabras, o comienzos de ellas.",
    .noFavorite:
      "No hay guardada ninguna traducción de {}; `translate favorite --all` las muestra.",
    .manyFavorites: "Está guardada para {}; indique el par con --from y --to.",
    .tablePhrase: "preguntas",
    .tableAnswer: "respuestas",
    .tableFavorite: "favoritos",
    .tableSetting: "ajustes",
    .tableConversation: "conversaciones",
    .undoneRestored: "{} como antes",
    .undoneRemoved: "se quitan {}",
    .undoneBroughtBack: "vuelven {}",
    .undoneLeft: "quedan {} como están",
    .loneModel: "--model va con `translate settings service URL`.",
    .itsModelHelp: "Con un servicio: a cuál de sus modelos se pregunta desde ahora.",
    .portal: """
    responde alguien en el camino, o la dirección es de otro; identifíquese en la red, o mire \
    `translate settings service`
    """,
    .noKey: """
    pide una clave: ponga GEMINI_API_KEY y arranque `translate` de nuevo, y también un \
    `translate run` que arrancó sin ella
    """,
    .nobody: """
    nadie responde en {}; arranque allí el servicio, por ejemplo `interpreter`, o elija otro con \
    `translate settings service`
    """,
    .nearCommand: """
    «{}» es casi la orden «{}»: escriba `translate {}`, o `translate ask {}` para traducir la \
    palabra.
    """,
    .exits: """
    ESTADO AL TERMINAR:
      0     todo tiene respuesta; o se detuvo `run`
      1     una pregunta no tiene traducción, y dice por qué; o no hay nada que deshacer
      64    lo pedido no puede hacerse así, o se omitieron líneas
      66    la base de datos no se puede abrir, o el archivo no lo es
      74    el disco está lleno o falla, o no se puede escribir la salida
      75    lo que queda está guardado, y espera
      130   detenido con Ctrl-C antes de terminar; lo preguntado está guardado
    """,
    .cutOff: "la respuesta quedó cortada",
    .unwritable: "No se puede escribir la salida: {}",
    .badFile: "«{}» no sirve de base de datos: {}",
    .noSync: "sin sincronizar: {}",
    .ownService: """
    No hay servicio elegido: el intérprete funciona en este programa, en {}, hasta que termine. \
    `translate settings service URL --model M` elige otro.
    """,
    .noOwnService: """
    No hay servicio elegido, y falta lo que funcionaría en este programa: `apt-get install {}`; o \
    elija uno con `translate settings service URL --model M`.
    """,
    .offlineNoPair:
      "Apertium no traduce aquí {}→{}; `translate languages` muestra lo que traduce.",
    .offlineUnknown: "Apertium no conoce aquí ningún idioma con estas palabras que traducir a {}.",
    .offlineLong: "Apertium no admite textos de más de {} bytes; pregunte por partes.",
    .offlineBroken: "Apertium falla en este equipo: {}",
    .serveAbstract: "Mostrar una página en este equipo, y terminar entretanto lo que espera.",
    .portHelp: "El puerto de la página; 0 para uno libre.",
    .noOpenHelp: "Solo mostrar la dirección de la página, sin abrir el navegador.",
    .badPort: "--port es un número de 0 a 65535, y no {}.",
    .noPort: """
    La página no puede estar en el puerto {} de 127.0.0.1: {}. Quizá haya allí otro `translate \
    serve`; indique otro --port, o 0 para uno libre.
    """,
    .noPageToken: """
    La clave de la página no se puede guardar en {}: {}. Libere espacio allí, o permita escribir en \
    la carpeta.
    """,
    .misread: "La página y el programa no se entienden; cargue la página de nuevo.",
    .zeroText: "El texto contiene un byte cero; quítelo.",
    .othersQuestion: "Esto se preguntó en otro dispositivo, que puede repetirlo.",
    .manyStars: "Caben {} idiomas favoritos; quite antes uno.",
    .noSpeaker: "Este navegador no tiene voz para ello, y espeak-ng no está instalado.",
    .speakerFails: "espeak-ng no pudo hablar aquí.",
    .noListener: """
    Aquí nada reconoce la voz: `apt-get install pocketsphinx pocketsphinx-en-us`, e inicie de nuevo \
    el programa.
    """,
    .listenerFails: "PocketSphinx falló; repita, o escriba.",
    .longSpeech: "Una grabación dura un minuto como mucho; dígalo por partes.",
    .otherRecording: "Otra página está grabando, o esta grabación terminó; empiece de nuevo.",
    .parserUsage: "Uso: {}",
    .parserUsageTitle: "USO: {}",
    .parserOverview: "RESUMEN: {}",
    .parserArguments: "ARGUMENTOS:",
    .parserOptions: "OPCIONES:",
    .parserSubcommands: "SUBCOMANDOS:",
    .parserError: "Error: {}",
    .parserHelp: "Ayuda: {}",
    .parserSee: "Vea «{}» para saber más.",
    .parserDetails: "Vea «{}» para la ayuda detallada.",
    .parserDefault: "(si no se indica:",
    .parserStandard: "(si no se indica otro)",
    .parserShowHelp: "Mostrar la ayuda.",
    .parserShowSubcommand: "Mostrar la ayuda de un subcomando.",
    .parserSimilar: "No hay opción «{}». ¿Quiso decir «{}»?",
    .parserUnknown: "No hay opción «{}»",
    .parserMissingValue: "Falta un valor para «{}»",
    .parserMissing: "Falta el argumento «{}»",
    .parserUnexpected: "Sobra el argumento «{}»",
    .parserManyUnexpected: "Sobran {} argumentos: {}",
    .parserBadValue: "El valor «{}» no vale para «{}»",
    .parserNoValue: "La opción «{}» no lleva valor, y se indicó «{}».",
  ]
}
