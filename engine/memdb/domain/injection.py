"""Text that gives orders to whoever reads it by machine: it is marked where it is found, never obeyed.

The rules are narrow: a note may well say "use tables" or "run the tests first". What counts is an order to a model
about its instructions, its prompt, its identity, or what it keeps from people; characters that hide text; and what
imitates the marks by which a prompt tells its parts apart.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

ORDERS = "instruction-like"
HIDDEN = "hidden-characters"
IMITATES = "prompt-like"
"""The marks, in their order."""

MARKS = (ORDERS, HIDDEN, IMITATES)


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What was found: its mark, and the words that it was found by, as they were read (folded, nothing hidden)."""

    mark: str
    words: str


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern on folded text, which runs only where one of its `anchors` stands."""

    anchors: tuple[str, ...]
    pattern: re.Pattern[str]


def _rule(anchors: str, pattern: str) -> _Rule:
    return _Rule(tuple(anchors.split("|")), re.compile(pattern))


_IGNORE = (
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|discard|abandon|violate|"
    r"do not (?:follow|obey)|don't (?:follow|obey)|stop (?:following|obeying)|pay no attention to)\b"
)
_EARLIER = r"(?:previous(?:ly given)?|prior|above|preceding|earlier|foregoing|former|past|existing|original|initial)"
_SYSTEM = r"(?:system|developer|safety|hidden|built-in|default)"
_INSTRUCTIONS = r"(?:instructions?|prompts?|directives?|programming|system messages?)"
_RULES = (
    r"(?:rules|guidelines|orders|commands|constraints|restrictions|policies|context|messages|"
    r"safeguards|guardrails|training)"
)
_FILL = r"(?:(?:of|the|your|my|these|those|other|and|or|any|all|every|everything|said|current) ){0,4}"
_KEYS = (
    r"(?:api keys?|passwords?|credentials?|secrets?|access tokens?|private (?:keys?|data)|ssh "
    r"keys?|conversations?|chat history|memories|files)"
)
_PLACE = (
    r"(?:https?://|[\w.+-]{1,40}@[\w-]{1,40}\.|(?:this|the following|an external|our) (?:url|"
    r"address|webhook|server|endpoint))"
)
_MODEL = r"(?:ai(?: (?:assistant|agent|model|system)s?)?|llms?|large language models?|language models?|chat ?bots?)"

_ORDERS = (
    # all previous instructions; your system prompt
    _rule(
        "ignor|disregard|forget|overrid|bypass|discard|abandon|violate|follow|obey|attention",
        rf"{_IGNORE} (?:all|any|every(?:thing)?|each)(?: of)? {_FILL}(?:{_EARLIER}|{_SYSTEM})[ "
            rf",]{{1,2}}(?:\w+ ){{0,2}}?(?:{_INSTRUCTIONS}|{_RULES})\b",
    ),
    _rule(
        "ignor|disregard|forget|overrid|bypass|discard|abandon|violate|follow|obey|attention",
        rf"{_IGNORE} {_FILL}(?:{_EARLIER}|{_SYSTEM}) (?:and \w+ )?{_INSTRUCTIONS}\b(?! (?:for|on|about|in|of|at) )",
    ),
    _rule(
        "ignor|disregard|forget|overrid|bypass|discard|abandon|violate|follow|obey|attention",
        rf"{_IGNORE} (?:all |any |every )?(?:of )?your (?:\w+ ){{0,2}}?(?:{_INSTRUCTIONS}|{_RULES}|filters?)\b",
    ),
    _rule(
        "ignor|disregard|forget",
        rf"{_IGNORE} (?:everything|anything|all)(?: that)? (?:you (?:were|have been|'ve been) told|"
            rf"above|before this|i said before|said before|you know)\b",
    ),
    _rule("ignor|disregard|forget",
        rf"{_IGNORE} (?:all|any|the) (?:instructions?|prompts?|directives?) (?:above|before|given|you "
        rf"(?:were|have))\b"),
    _rule("ignor", r"ignore(?:all|any|the|your|my)?(?:previous|prior|above|earlier)(?:instructions?|prompts?|rules)"),
    # who the reader is to be from now on
    _rule(
        "you are now|you're now",
        rf"\byou(?: a|')re now (?:(?:a|an|the|my|in|an? (?:un\w+|free|evil|rogue)) )?(?:dan\b|{_MODEL}|"
            rf"jailbroken|unrestricted|unfiltered|uncensored|"
        r"(?:developer|debug|admin|god|dan|jailbreak|root) mode)\b",
    ),
    _rule("act as|pretend|roleplay|role-play",
        r"\b(?:act as|pretend (?:to be|you are|that you are)|role-?play as) (?:an? )?(?:unrestricted|"
        r"unfiltered|uncensored|jailbroken|evil|rogue|dan)\b"),
    _rule("no longer",
        rf"\byou are no longer (?:an? )?(?:{_MODEL}|assistant|bound|restricted|required to (?:follow|"
        rf"obey)|claude|chatgpt|gpt|gemini)\b"),
    _rule("new system|new instructions|new directives",
        r"\bnew (?:system (?:prompt|instructions?|message)|instructions|directives) ?(?:for (?:the |"
        r"this )?(?:ai|assistant|agent|model)|follow|override|begin|start)\b"),
    _rule("your new",
        r"\b(?:here are|these are|this is|follow) your new (?:instructions?|system prompt|directives?|"
        r"identity|persona)\b|\byour new (?:identity|persona|system prompt) is\b"),
    _rule("from now on",
        r"\bfrom now on,? you (?:will |must |should |shall |are to )?(?:only |always |never )?(?:obey|"
        r"ignore|disregard|pretend|act as|answer as|respond as|reveal|comply with)\b"),
    _rule("override",
        r"\b(?:system|admin(?:istrator)?|developer|safety|security)[ _-](?:prompt |policy "
        r")?override\b(?: (?:mode|code|activated|enabled|engaged|:|-))"),
    # the reader's own prompt
    _rule(
        "your system prompt|your full|your entire|your complete|your exact|your own|your initial|"
            "your hidden|your instructions|your original|your prompt|your developer",
        r"\b(?:reveal|show|print|repeat|output|display|leak|tell (?:me|us)|share|expose|disclose|dump|"
            r"paste|write out|summari[sz]e|reply with|respond with|send)\b"
        r" (?:\w+ ){0,4}your (?:(?:full|entire|complete|exact|own) )?(?:system prompt|(?:initial|"
            r"hidden|original|developer|system) (?:instructions?|prompt|message)|instructions verbatim|"
            r"prompt verbatim)\b",
    ),
    _rule("above",
        r"\b(?:repeat|print|output|reveal) (?:all (?:of )?|everything |verbatim )?(?:the )?(?:words|"
        r"text|instructions|content|prompt) above,? (?:verbatim|starting|this|beginning|exactly)\b"),
    # a reader that is a machine
    _rule("if you are|if you're",
        rf"\bif you(?: a|')re (?:an? |the )?(?:{_MODEL}|automated (?:agent|system)|bot)\b(?! "
        rf"(?:developer|engineer|user|vendor|company|lab))"),
    _rule(
        "reading this|processing this|parsing this|summarizing this|reads this|read this",
        rf"\b(?:{_MODEL}|assistants?|agents?|models?) (?:that |who |which )?(?:is |are )?(?:read(?:ing|"
        rf"s)?|process(?:ing|es)?|parsing|summari[sz]ing) this (?:text|page|document|file|note|message|"
        rf"email|must|should|:|,|will)"),
    # what is kept from people
    _rule(
        "the user|the human|the owner|the operator|anyone|your user",
        r"\b(?:do not|don't|never|without) (?:ever )?(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|"
            r"alert(?:ing)?|notify(?:ing)?|warn(?:ing)?)(?: (?:this|it|that|any of this))?(?: to)? (?:the "
            r"|your )(?:user|human|owner|operator)s?\b"
        r"[^\n]{0,200}\b(?:send|post|upload|forward|execute|delete|curl|transfer|install|e-?mail|"
            r"fetch|exfiltrate|transmit)\b",
    ),
    _rule(
        "the user|the human|the owner|the operator|anyone|your user",
        r"\b(?:send|post|upload|forward|execute|delete|curl|transfer|install|e-?mail|fetch|exfiltrate|"
            r"transmit|run)\b[^\n]{0,200}"
        r"\b(?:do not|don't|never|without) (?:ever )?(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|"
            r"alert(?:ing)?|notify(?:ing)?|warn(?:ing)?)(?: (?:this|it|that|any of this))?(?: to)? (?:the "
            r"|your )(?:user|human|owner|operator)s?\b",
    ),
    _rule(
        "user's|users'|user s|victim|exfiltrat",
        rf"\b(?:send|post|forward|upload|e-?mail|exfiltrate|transmit|leak|submit|copy)\b (?:\w+ "
            rf"){{0,4}}(?:the |this )?(?:user'?s?'?|victim's|owner's) (?:\w+ "
            rf"){{0,3}}?{_KEYS}\b[^\n]{{0,80}}\bto {_PLACE}",
    ),
    # the same in other languages
    _rule("anweisungen|instruktionen|befehle|vorgaben",
        r"\b(?:ignorier\w*|vergiss|vergesst|missachte\w*|übergeh\w*) (?:\w+ ){0,3}(?:vorherigen?|"
        r"bisherigen?|obigen?|früheren?|vorigen?|vorangegangenen?|vorhergehenden?) (?:anweisungen|"
        r"instruktionen|befehle|vorgaben)\b"),
    _rule("instructions|consignes|directives",
        r"\b(?:ignore[zr]?|oublie[zr]?) (?:\w+ ){0,3}(?:instructions|consignes|directives) "
        r"(?:précédentes|antérieures|ci-dessus|préalables)\b"),
    _rule(
        "instrucciones|órdenes|indicaciones|instruções|ordens|istruzioni",
        r"\b(?:ignor(?:a|e|ar|ate)|olvid(?:a|e|ar)|esqueça|dimentica(?:te)?) (?:\w+ "
        r"){0,3}(?:instrucciones|órdenes|indicaciones|instruções|ordens|istruzioni) (?:anteriores|"
        r"previas|prévias|acima|precedenti)\b"),
    _rule("instructies|opdrachten",
        r"\b(?:negeer|vergeet) (?:\w+ ){0,3}(?:vorige|eerdere|voorgaande|bovenstaande) (?:instructies|"
        r"opdrachten)\b"),
    _rule("инструкции|указания|команды",
        r"\b(?:игнорируй(?:те)?|забудь(?:те)?|проигнорируй(?:те)?) (?:\w+ ){0,3}(?:предыдущие|прежние|"
        r"прошлые) (?:инструкции|указания|команды)\b"),
    _rule("指令|指示|提示|命令|规则|規則",
        r"(?:忽略|无视|無視|忘记|忘記|忽視)[^\n。]{0,6}(?:之前|以上|上述|先前|前面|此前)"
        r"[^\n。]{0,6}(?:指令|指示|提示词|提示|命令|规则|規則)"),
    _rule("指示|命令|プロンプト",
        r"(?:以前|これまで|上記|前)の[^\n。]{0,6}(?:指示|命令|プロンプト)[^\n。]{0,6}(?:無視|忘れ)"),
    _rule("지시|명령|지침", r"(?:이전|위의|앞의|모든)[^\n.]{0,6}(?:지시|명령|지침)[^\n.]{0,8}(?:무시|잊)"),
)  # fmt: skip

_IMITATIONS = (
    _rule("<|",
        r"<\|(?:im_start|im_end|im_sep|system|user|assistant|start_header_id|end_header_id|eot_id|"
        r"begin_of_text|endofprompt)\|>"),
    _rule("<<sys>>|[inst]|[/inst]", r"<</?sys>>|(?:^|[\s>])\[/?inst\]"),
    _rule(
        "function_results|function_calls|tool_result|tool_response|tool_output|tool_call|"
            "system-reminder|system_prompt|system_message|memdb-notes",
        r"</?(?:[a-z]{1,12}:)?(?:function_results|function_calls|tool_results?|tool_responses?|"
            r"tool_outputs?|tool_calls?|"
        r"system-reminder|system_prompt|system_message|memdb-notes)(?:\s[^>\n]{0,100})?/?>",
    ),
    _rule("=== text ", r"=== text [0-9a-f]{12} ==="),
    _rule("[system", r"(?:^|\n)[ >*_#-]{0,6}\[system (?:message|prompt|override|instruction)s?\]"),
)  # fmt: skip


def _anchors(rules: tuple[_Rule, ...]) -> tuple[str, ...]:
    """The anchors of some rules, each once: nearly every text has none of them."""
    return tuple(dict.fromkeys(anchor for rule in rules for anchor in rule.anchors))


_ORDERS_ANCHORS, _IMITATIONS_ANCHORS = _anchors(_ORDERS), _anchors(_IMITATIONS)

_CODE = re.compile(r"^(```|~~~)[^\n]*\n.*?^\1[^\n]*$|`[^`\n]{1,200}`", re.MULTILINE | re.DOTALL)
"""Code, in which the marks of prompts are spoken of."""

_BETWEEN_LETTERS = re.compile(r"(?<=[A-Za-z])[\u200b-\u200d\u2060\u2062-\u2064\ufeff\u180e]+(?=[A-Za-z])")
_STEERING = re.compile(r"[\u202d\u202e]|[\u202a\u202b\u2066-\u2068](?=[ -~]{6})")
"""Overrides of the direction; embeddings and isolates only before plain Latin text, which needs none."""

_TAGS = re.compile(r"(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]")
"""Tag characters, which draw nothing and spell ASCII; behind a black flag they are the flags of regions."""

_RUN = re.compile(
    r"[\u200b-\u200f\u2060-\u2064\u034f\u180e\ufeff\u115f\u1160\u3164]{4,}|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}"
)
"""More invisible characters in a row than any script needs: letters are coded in them."""

_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
_SPACED = re.compile(r"(?<!\w)(?:\w[ ._*-]{1,2}){7,80}\w(?!\w)")
_SPACES = re.compile(r"[ ._*-]\w[ ._*-]{1,2}\w[ ._*-]{1,2}\w[ ._*-]")
"""What spelled-out words have and most texts have not."""

_MIXED = re.compile(r"[a-z]*[а-яёіјѕα-ω][a-z][a-zа-яёіјѕα-ω]*|[a-z]+[а-яёіјѕα-ω][a-zа-яёіјѕα-ω]*")
_GREEK_OR_CYRILLIC = re.compile(r"[\u0370-\u04ff]")
_LOOKALIKES = str.maketrans("аеорсухкіјѕнвтмαεορυινκτ", "aeopcyxkijshbtmaeopuivkt")
"""Cyrillic and Greek letters that look like Latin ones, for words that have letters of both."""


def suspicions(text: str) -> list[Suspicion]:
    """What in a text would order a model about, hides, or imitates a prompt; the first of each mark.

    Hidden characters, full-width and look-alike letters, other spacing and spelled-out letters do not hide an order.
    Time grows with the length of the text.
    """
    found: list[Suspicion] = []
    hidden = None if text.isascii() else _hidden(text)
    read = _folded(text)
    plain = _CODE.sub(" ", read) if "`" in read or "~~~" in read else read
    for mark, rules, body in ((ORDERS, _ORDERS, _spelled(read)), (IMITATES, _IMITATIONS, plain)):
        words = _first(rules, body)
        if words is not None:
            found.append(Suspicion(mark, " ".join(words.split())))
    if hidden is not None:
        found.append(Suspicion(HIDDEN, hidden))
    return sorted(found, key=lambda one: MARKS.index(one.mark))


def marks(text: str) -> tuple[str, ...]:
    """The marks of a text; none of an ordinary one."""
    return tuple(one.mark for one in suspicions(text))


def _first(rules: tuple[_Rule, ...], text: str) -> str | None:
    # Line ends are blanks to an order, but an order does not go on over an empty line.
    flat = None
    anchors = _IMITATIONS_ANCHORS if rules is _IMITATIONS else _ORDERS_ANCHORS
    here = {anchor for anchor in anchors if anchor in text}
    for rule in rules if here else ():
        if not here.isdisjoint(rule.anchors):
            if flat is None:
                flat = text if rules is _IMITATIONS else re.sub(r"[ \t]*\n[ \t>*#-]*(?=\S)|[ \t]{2,}|\t", " ", text)
            match = rule.pattern.search(flat)
            if match:
                return match.group()
    return None


def _hidden(text: str) -> str | None:
    if not _INVISIBLE.search(text):
        return None
    for pattern in (_TAGS, _STEERING, _RUN, _BETWEEN_LETTERS):
        match = pattern.search(text)
        if match:
            return " ".join(f"U+{ord(char):04X}" for char in match.group()[:8])
    return None


def _folded(text: str) -> str:
    """A text as a reader takes it: nothing invisible, letters of one kind, lower case, plain quotes."""
    if text.isascii():
        return text.lower()
    if _INVISIBLE.search(text):
        # Tag characters are read by machines as the ASCII that they spell.
        text = re.sub(r"[\U000e0020-\U000e007e]", lambda one: chr(ord(one.group()) - 0xE0000), text)
        text = _INVISIBLE.sub("", text)
    read = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    return (
        _MIXED.sub(lambda word: word.group().translate(_LOOKALIKES), read) if _GREEK_OR_CYRILLIC.search(read) else read
    )


def _spelled(text: str) -> str:
    """A text with words that are spelled letter by letter put together, behind it."""
    if not _SPACES.search(text):
        return text
    spelled = [re.sub(r"[ ._*-]", "", match.group()) for match in _SPACED.finditer(text)]
    return "\n\n".join([text, *spelled]) if spelled else text
