#include "CPage.h"

#if !__has_embed("files/page.html")
#error "The compiler has no #embed, or Sources/CPage/files is not whole."
#endif

// Clang takes `#embed` in any C, and says that it is from C23.
#pragma clang diagnostic ignored "-Wc23-extensions"

#define HTML "text/html; charset=utf-8"
#define STYLE "text/css; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"
#define PICTURE "image/svg+xml"

static const unsigned char page_html[] = {
#embed "files/page.html"
};
static const unsigned char page_css[] = {
#embed "files/page.css"
};
static const unsigned char icon_svg[] = {
#embed "files/icon.svg"
};
static const unsigned char assess_js[] = {
#embed "files/assess.js"
};
static const unsigned char chart_js[] = {
#embed "files/chart.js"
};
static const unsigned char charts_js[] = {
#embed "files/charts.js"
};
static const unsigned char client_js[] = {
#embed "files/client.js"
};
static const unsigned char dialogs_js[] = {
#embed "files/dialogs.js"
};
static const unsigned char differences_js[] = {
#embed "files/differences.js"
};
static const unsigned char dom_js[] = {
#embed "files/dom.js"
};
static const unsigned char edit_js[] = {
#embed "files/edit.js"
};
static const unsigned char find_js[] = {
#embed "files/find.js"
};
static const unsigned char format_js[] = {
#embed "files/format.js"
};
static const unsigned char live_js[] = {
#embed "files/live.js"
};
static const unsigned char many_js[] = {
#embed "files/many.js"
};
static const unsigned char news_js[] = {
#embed "files/news.js"
};
static const unsigned char overview_js[] = {
#embed "files/overview.js"
};
static const unsigned char page_js[] = {
#embed "files/page.js"
};
static const unsigned char relay_js[] = {
#embed "files/relay.js"
};
static const unsigned char selection_js[] = {
#embed "files/selection.js"
};
static const unsigned char steer_js[] = {
#embed "files/steer.js"
};
static const unsigned char story_js[] = {
#embed "files/story.js"
};

#define FILE_OF(name, type, bytes) { name, type, bytes, sizeof bytes }

static const struct page_file files[] = {
  FILE_OF("page.html", HTML, page_html),
  FILE_OF("page.css", STYLE, page_css),
  FILE_OF("icon.svg", PICTURE, icon_svg),
  FILE_OF("assess.js", SCRIPT, assess_js),
  FILE_OF("chart.js", SCRIPT, chart_js),
  FILE_OF("charts.js", SCRIPT, charts_js),
  FILE_OF("client.js", SCRIPT, client_js),
  FILE_OF("dialogs.js", SCRIPT, dialogs_js),
  FILE_OF("differences.js", SCRIPT, differences_js),
  FILE_OF("dom.js", SCRIPT, dom_js),
  FILE_OF("edit.js", SCRIPT, edit_js),
  FILE_OF("find.js", SCRIPT, find_js),
  FILE_OF("format.js", SCRIPT, format_js),
  FILE_OF("live.js", SCRIPT, live_js),
  FILE_OF("many.js", SCRIPT, many_js),
  FILE_OF("news.js", SCRIPT, news_js),
  FILE_OF("overview.js", SCRIPT, overview_js),
  FILE_OF("page.js", SCRIPT, page_js),
  FILE_OF("relay.js", SCRIPT, relay_js),
  FILE_OF("selection.js", SCRIPT, selection_js),
  FILE_OF("steer.js", SCRIPT, steer_js),
  FILE_OF("story.js", SCRIPT, story_js),
};

const struct page_file *page_file(size_t number) {
  return number < sizeof files / sizeof files[0] ? &files[number] : NULL;
}
