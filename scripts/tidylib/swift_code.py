"""Swift source with its comments and string literals blanked out, line by line as it was."""

import re


def code_only(text):
    """The text with every comment and every literal's words replaced by spaces.

    Newlines stay, so that line numbers hold; so does the code inside `\\( )` of a literal.
    Regular expression literals are not told apart: the repository has none.
    """
    return _Blanker(text).run()


class _Blanker:
    def __init__(self, text):
        self.text = text
        self.at = 0
        self.out = []

    def run(self):
        self._code(until_parenthesis=False)
        return "".join(self.out)

    def _blank(self, count):
        for character in self.text[self.at:self.at + count]:
            self.out.append("\n" if character == "\n" else " ")
        self.at += count

    def _code(self, until_parenthesis):
        depth = 0
        while self.at < len(self.text):
            if self.text.startswith("//", self.at):
                end = self.text.find("\n", self.at)
                self._blank((len(self.text) if end < 0 else end) - self.at)
            elif self.text.startswith("/*", self.at):
                self._block_comment()
            elif opening := re.compile(r'(#*)("""|")').match(self.text, self.at):
                self._literal(opening)
            else:
                character = self.text[self.at]
                depth += {"(": 1, ")": -1}.get(character, 0)
                if until_parenthesis and depth < 0:
                    return
                self.out.append(character)
                self.at += 1

    def _block_comment(self):
        depth = 0
        while self.at < len(self.text):
            if self.text.startswith("/*", self.at):
                depth += 1
                self._blank(2)
            elif self.text.startswith("*/", self.at):
                depth -= 1
                self._blank(2)
                if depth == 0:
                    return
            else:
                self._blank(1)

    def _literal(self, opening):
        hashes, quote = opening.groups()
        closing, escape = quote + hashes, "\\" + hashes
        self._blank(len(opening.group()))
        while self.at < len(self.text):
            if self.text.startswith(closing, self.at):
                self._blank(len(closing))
                return
            if self.text.startswith(escape + "(", self.at):
                self._blank(len(escape) + 1)
                self._code(until_parenthesis=True)
                self._blank(1)
            elif self.text.startswith(escape, self.at):
                self._blank(len(escape) + 1)
            elif self.text[self.at] == "\n" and quote == '"':
                return  # not Swift; go on with the next line rather than blank the whole file
            else:
                self._blank(1)


FUNCTION = re.compile(
    r"(?<![\w.`])(?:func\s+(?P<name>`[^`\n]+`|[^\s(<]+)|(?P<init>init[?!]?(?=\s*[(<])|deinit(?=\s*\{)"
    r"|subscript(?=\s*[(<])))")
ENDS_A_DECLARATION = re.compile(
    r"(?:func|var|let|init|deinit|subscript|case|typealias|associatedtype|static|mutating"
    r"|package|public|private|fileprivate|internal|struct|enum|class|protocol|extension|actor)\b")


def functions(code):
    """(name, first line, lines) of each function with a body in blanked code."""
    for match in FUNCTION.finditer(code):
        opening = _body(code, match.end())
        if opening is None:
            continue
        closing = _matching_brace(code, opening)
        first = code.count("\n", 0, match.start()) + 1
        last = code.count("\n", 0, closing) + 1
        yield match.group("name") or match.group("init"), first, last - first + 1


def _body(code, at):
    """Where the body opens of the function whose name ends at `at`; None for a requirement."""
    depth = 0
    while at < len(code):
        character = code[at]
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif depth == 0:
            if character == "{":
                return at
            if character in "};":
                return None
            if character == "\n" and ENDS_A_DECLARATION.match(code[at:at + 80].lstrip()):
                return None
        at += 1
    return None


def _matching_brace(code, opening):
    depth = 0
    for at in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code) - 1
