#include "CTranslatePages.h"

// C23, and no compiler that we build with lacks it.
#pragma clang diagnostic ignored "-Wc23-extensions"
static const unsigned char kit_css[] = {
#embed "kit/kit.css"
};
static const unsigned char kit_js[] = {
#embed "kit/kit.js"
};
static const unsigned char icon_svg[] = {
#embed "kit/icon.svg"
};
static const unsigned char icon_192[] = {
#embed "site/icon-192.png"
};
static const unsigned char icon_512[] = {
#embed "site/icon-512.png"
};
static const unsigned char manifest[] = {
#embed "site/app.webmanifest"
};
static const unsigned char worker_js[] = {
#embed "site/worker.js"
};
static const unsigned char index_html[] = {
#embed "site/index.html"
};
static const unsigned char translate_css[] = {
#embed "site/translate.css"
};
static const unsigned char translate_js[] = {
#embed "site/translate.js"
};
static const unsigned char gestures_js[] = {
#embed "site/gestures.js"
};
static const unsigned char history_js[] = {
#embed "site/history.js"
};
static const unsigned char icons_js[] = {
#embed "site/icons.js"
};
static const unsigned char languages_js[] = {
#embed "site/languages.js"
};
static const unsigned char listen_js[] = {
#embed "site/listen.js"
};
static const unsigned char microphone_js[] = {
#embed "site/microphone.js"
};
static const unsigned char settings_js[] = {
#embed "site/settings.js"
};
static const unsigned char talk_js[] = {
#embed "site/talk.js"
};
static const unsigned char toasts_js[] = {
#embed "site/toasts.js"
};
static const unsigned char voice_js[] = {
#embed "site/voice.js"
};
static const unsigned char welcome_js[] = {
#embed "site/welcome.js"
};
static const unsigned char words_js[] = {
#embed "site/words.js"
};
static const unsigned char program_es[] = {
#embed "site/program.es.json"
};
static const unsigned char program_en[] = {
#embed "site/program.en.json"
};
static const unsigned char words_de[] = {
#embed "site/words.de.json"
};
static const unsigned char words_en[] = {
#embed "site/words.en.json"
};
static const unsigned char words_es[] = {
#embed "site/words.es.json"
};
static const unsigned char words_fr[] = {
#embed "site/words.fr.json"
};
static const unsigned char words_ja[] = {
#embed "site/words.ja.json"
};
static const unsigned char words_zh[] = {
#embed "site/words.zh.json"
};

#define HTML "text/html; charset=utf-8"
#define CSS "text/css; charset=utf-8"
#define MODULE "text/javascript; charset=utf-8"
#define JSON "application/json"

static const struct translate_page_file files[] = {
    {"", HTML, index_html, sizeof index_html},
    {"kit.css", CSS, kit_css, sizeof kit_css},
    {"kit.js", MODULE, kit_js, sizeof kit_js},
    {"icon.svg", "image/svg+xml", icon_svg, sizeof icon_svg},
    {"icon-192.png", "image/png", icon_192, sizeof icon_192},
    {"icon-512.png", "image/png", icon_512, sizeof icon_512},
    {"app.webmanifest", "application/manifest+json", manifest, sizeof manifest},
    {"worker.js", MODULE, worker_js, sizeof worker_js},
    {"translate.css", CSS, translate_css, sizeof translate_css},
    {"translate.js", MODULE, translate_js, sizeof translate_js},
    {"gestures.js", MODULE, gestures_js, sizeof gestures_js},
    {"history.js", MODULE, history_js, sizeof history_js},
    {"icons.js", MODULE, icons_js, sizeof icons_js},
    {"languages.js", MODULE, languages_js, sizeof languages_js},
    {"listen.js", MODULE, listen_js, sizeof listen_js},
    {"microphone.js", MODULE, microphone_js, sizeof microphone_js},
    {"settings.js", MODULE, settings_js, sizeof settings_js},
    {"talk.js", MODULE, talk_js, sizeof talk_js},
    {"toasts.js", MODULE, toasts_js, sizeof toasts_js},
    {"voice.js", MODULE, voice_js, sizeof voice_js},
    {"welcome.js", MODULE, welcome_js, sizeof welcome_js},
    {"words.js", MODULE, words_js, sizeof words_js},
    {"program.es.json", JSON, program_es, sizeof program_es},
    {"program.en.json", JSON, program_en, sizeof program_en},
    {"words.de.json", JSON, words_de, sizeof words_de},
    {"words.en.json", JSON, words_en, sizeof words_en},
    {"words.es.json", JSON, words_es, sizeof words_es},
    {"words.fr.json", JSON, words_fr, sizeof words_fr},
    {"words.ja.json", JSON, words_ja, sizeof words_ja},
    {"words.zh.json", JSON, words_zh, sizeof words_zh},
};

const struct translate_page_file *translate_page_file(size_t index) {
  return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
