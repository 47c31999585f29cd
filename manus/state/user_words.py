"""The user's own words: the typed request and answers, and what they name.

Attached files, piped text and what one agent writes to another are not the user's words. Where a
text is ambiguous, it names nothing: the user is asked instead.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, ToolMessage

from manus.state.messages import STEER, get_text, is_from_user, last_request, messages_since

OWN_WORDS = "asked"
"""In the `additional_kwargs` of a request: the user's own words, where its text contains more."""
ASK_HUMAN = "ask_human"

_ATTACHED = re.compile(r"(?:\A|\n\n)<(?:file|stdin|earlier|undone)\b|\[The attached file ")
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^\s/@?#]*@)?(?P<host>\[[0-9a-f:.]+\]|[\w.-]+)", re.IGNORECASE
)
_BARE = re.compile(
    r"(?<![\w@./:\\`-])(?P<bare>(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}"
    r"|(?:\d{1,3}\.){3}\d{1,3})(?![\w`(\[@=-]|\.\w)",
    re.IGNORECASE | re.ASCII,
)

# Top-level domains by what else a word with such an ending may be. The rest of the root zone
# (`.info`, `.name`, `.run`, …) are also common names of attributes and methods: a host below one of
# them counts only with a scheme or `www.`.
_HOSTS_ONLY = "com org net edu gov mil int biz example test local lan internal"
_HOST_OR_ATTRIBUTE = (
    "dev app xyz wiki online cloud tech site shop store blog news "
    "ad ae af ag al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw "
    "by bz ca cd cf cg ch ci ck cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et "
    "eu fi fj fk fm fo fr ga gd ge gf gg gh gi gl gm gn gp gq gr gt gu gw gy hk hn hr ht hu id ie "
    "il im io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz lb lc li lk lr ls lt lu lv "
    "ly ma mc me mg mh mk mm mn mo mp mq mr mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu "
    "nz om pa pe pf pg ph pk pn pr pt pw qa re ro ru rw sa sb sc sd se sg si sj sk sm sn sr ss sv "
    "sx sy sz tc td tg th tj tk tl tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vn vu wf ws "
    "ye yt za zm zw"
)
"""Includes all country codes except those that are file extensions: `.py`, `.md`, `.tf`, `.ac`,
…"""

_SENTENCE_END = re.compile(r"(?<=[.!?;])(?=\s|$)|(?<=[。！？；])|\n(?!\s*(?:[-*•]|\d+[.)])\s)")
_INTRODUCES = re.compile(r"[:：][ \t]*\n+")
_FORBIDS = re.compile(
    r"\b(?:not|never|nor?|none|neither|without|avoid\w*|except\w*|exclud\w*|forb[ia]d\w*"
    r"|prohibit\w*|ban(?:ned)?|block(?:ed)?|den(?:y|ied)|refuse\w*|cannot|dont|cant|mustnt|stop"
    r"|instead|rather|away|off|alone|(?:every\w*|any\w*|all) but|beware|malicious|untrusted"
    r"|distrust\w*|ignor\w*|skip\w*"
    r"|nicht|kein\w*|niemals|nie|ohne|vermeid\w*|statt|pas|jamais|sans|évit\w*|nunca|jamás|sin"
    r"|não|nem|sem|non|senza|не|никогда|нельзя|без)\b|n['’]t\b|[不别勿禁莫]|ない|しない|避け|말고|마세요|금지",
    re.IGNORECASE,
)
_REPLY = 40
"""Characters of a sentence that may be the answer to the one before it: `Use it? No way.`"""
_WRITES = re.compile(
    r"\b(?:writ\w*|wrote|creat\w*|add\w*|sav\w*|updat\w*|edit\w*|chang\w*|modif\w*|mak\w*|put\w*"
    r"|set\w*|generat\w*|insert\w*|append\w*|replac\w*|fill\w*|fix\w*|renam\w*|remov\w*|delet\w*"
    r"|schreib\w*|erstell\w*|leg\w*|änder\w*|ergänz\w*|crée\w*|écri\w*|ajout\w*|escrib\w*|cre[ae]\w*"
    r"|añad\w*|scriv\w*|aggiung\w*|напи\w*|созда\w*|добав\w*)\b"
    r"|[写寫创创建建加改设設存]|作成|書|追加|변경|추가|작성",
    re.IGNORECASE,
)
_SENDS = re.compile(
    r"\b(?:upload\w*|attach\w*|send\w*|submit\w*|hochlad\w*|hoch|anhäng\w*|envoy\w*|sub[ei]\w*|"
    r"carica\w*|загру\w*)\b|上传|上傳|提交|发送|アップロード|업로드",
    re.IGNORECASE,
)
_GIT_COMMAND = re.compile(
    r"\bgit[ -](?:add|apply|branch|checkout|cherry-pick|clone|commit|config|fetch|init|merge|mv"
    r"|pull|push|rebase|remote|reset|restore|revert|rm|stash|submodule|switch|tag|worktree)\b"
    r"|\b(?:commit|rebase|cherry-pick|amend|squash|stash)\s+(?:it|them|all|every\w*|my|your|these"
    r"|those|this|the (?:change|file|fix|result|work|code|branch|last|latest)\w*|with|to|onto"
    r"|\w+\.\w+)"
    r"|(?:\b(?:and|then|also|please|to|finally)\s+|^\s*|[,;:]\s*)(?:commit|rebase|cherry-pick)\b"
    r"|[并後后再]提交|提交(?:代码|更改|修改|改动|它|到)",
    re.IGNORECASE,
)
_ASKS_ABOUT = re.compile(
    r"^\s*(?:what|which|who|when|why|how|where|is|are|does|did|has|show|list|explain|describe"
    r"|summari[sz]e|was|wer|wie|wann|warum|welche\w*)\b",
    re.IGNORECASE,
)
_GIT_NOUN = re.compile(
    r"(?<!each )(?<!every )(?<!last )(?<!latest )(?<!recent )(?<!of )\bcommits?\b"
    r"|\b(?:branch(?:es)?|git tags?|git repo(?:sitory)?|stash|worktree|submodule|release tag"
    r"|tag v?\d[\w.]*|merge conflicts?|pull request|rama|branche|zweig)\b"
    r"|提交|分支|コミット|ブランチ|커밋|브랜치|коммит\w*|ветк\w*",
    re.IGNORECASE,
)
_CHANGES_GIT = re.compile(
    r"\b(?:switch|merge|tag|resolve|push|pull|revert|undo|squash|rebase|open|start|check ?out"
    r"|make|mach\w*|fais|haz|hacer|fai|сдела\w*)\b|合并|切换|推送|してください|하|して",
    re.IGNORECASE,
)
_REMEMBERS = re.compile(
    r"\b(?:remember|memori[sz]e|keep in mind|don['’]?t forget|merk\w*|retiens|recuerda|ricorda"
    r"|запомни)\b|记住|記住|覚えて|기억",
    re.IGNORECASE,
)
_CONFIDENTIAL = re.compile(
    r"pass|secret|token|\bkey\b|\bpin\b|credential|kennwort|geheim|contraseña|mot de passe|parola"
    r"|密码|密碼|口令|密钥|パスワード|비밀|парол",
    re.IGNORECASE,
)
_PHRASE = re.compile(r"[^\W\d_]+(?:[ '’-][^\W\d_]+)*")
_LONGEST_PHRASE = 60
_SHORTEST_PHRASE = 3
_WITHOUT_SPACES = 0x0E00
"""From this code point on, scripts have no spaces between words, and so no word boundaries."""
_MATCHES_NOTHING = re.compile(r"(?!)")


class NamedHosts(NamedTuple):
    """Hosts that the user has named."""

    certain: tuple[str, ...]
    """Written with a scheme, or below a domain that only hosts have."""
    ambiguous: tuple[str, ...]
    """Written like a host, but perhaps a file or an attribute: `deploy.app`, `skimage.io`."""


def own_words(message: BaseMessage) -> str:
    """Return what the user has written in a message; empty for what others have written."""
    if isinstance(message, ToolMessage):
        if message.name != ASK_HUMAN:
            return ""
        words = message.additional_kwargs.get(OWN_WORDS)  # set in an imported thread
        return get_text(message) if words is None else str(words)
    if not isinstance(message, HumanMessage) or not is_from_user(message):
        return ""
    words = message.additional_kwargs.get(OWN_WORDS)
    if words is None:
        words = "\n".join(_typed_texts(message))
    return str(words)


def all_own_words(messages: Iterable[AnyMessage]) -> str:
    """Return the user's own words in a history, an empty line between requests and answers."""
    return "\n\n".join(filter(None, map(own_words, messages)))


def full_request(history: Sequence[AnyMessage]) -> str:
    """Return the text of the newest request, with the messages that steered its run."""
    parts = [get_text(last_request(history))]
    later = list_steering(history)
    if later:
        parts += ["The user sent this later:", *map(get_text, later)]
    return "\n\n".join(parts)


def list_steering(history: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages that the user has sent during the newest run."""
    newer = messages_since(history, last_request(history).id)
    return [message for message in newer if STEER in message.additional_kwargs]


def has_attachments(message: BaseMessage) -> bool:
    """Return whether a request contains text or images that the user has not written."""
    if not isinstance(message, HumanMessage) or OWN_WORDS in message.additional_kwargs:
        return False
    if isinstance(message.content, list):
        for block in message.content:
            if isinstance(block, dict) and block.get("type") != "text":
                return True
    return any(map(_ATTACHED.search, _texts(message)))


def _typed_texts(message: HumanMessage) -> Iterator[str]:
    for text in _texts(message):
        attachment = _ATTACHED.search(text)
        yield text[: attachment.start()] if attachment else text


def _texts(message: HumanMessage) -> Iterator[str]:
    if isinstance(message.content, str):
        yield message.content
        return
    for block in message.content:
        yield block if isinstance(block, str) else str(block.get("text") or "")


def hosts_named(messages: Iterable[AnyMessage]) -> NamedHosts:
    """Return the hosts that the user's own words name; the newest sentence on a host counts."""
    hosts: dict[str, bool] = {}
    for words in map(own_words, messages):
        update_hosts(hosts, words)
    return sort_hosts(hosts)


def update_hosts(hosts: dict[str, bool], words: str) -> None:
    """Update the hosts that the user has named, each with whether it is certain, by newer words."""
    allowed, forbidden = hosts_in(words)
    for host in forbidden:
        hosts.pop(host, None)
    hosts.update(allowed)


def sort_hosts(hosts: Mapping[str, bool]) -> NamedHosts:
    """Return the certain and the ambiguous ones of the hosts."""
    certain: list[str] = []
    ambiguous: list[str] = []
    for host, is_certain in hosts.items():
        (certain if is_certain else ambiguous).append(host)
    return NamedHosts(tuple(certain), tuple(ambiguous))


@lru_cache(maxsize=64)
def hosts_in(words: str) -> tuple[dict[str, bool], frozenset[str]]:
    """Return the hosts that a text names, each with whether it is certain, and those it forbids."""
    allowed: dict[str, bool] = {}
    forbidden: set[str] = set()
    for sentence, forbids in _judged_sentences(words):
        if forbids:
            forbidden.update(_find_hosts(sentence))
            continue
        for host, is_certain in _find_hosts(sentence).items():
            allowed[host] = is_certain or allowed.get(host, False)
    for host in forbidden:
        allowed.pop(host, None)
    return allowed, frozenset(forbidden)


def _judged_sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each sentence, and whether it, or a short one that answers it, forbids something."""
    sentences = [s for s in _SENTENCE_END.split(_INTRODUCES.sub(": ", text)) if s.strip()]
    for sentence, following in zip(sentences, [*sentences[1:], ""], strict=False):
        is_reply = len(following) <= _REPLY and not _find_hosts(following)
        forbids = _FORBIDS.search(sentence) or (is_reply and _FORBIDS.search(following))
        yield sentence, bool(forbids)


def _find_hosts(sentence: str) -> dict[str, bool]:
    """Return the possible hosts in a sentence, each with whether it is certainly a host."""
    hosts: dict[str, bool] = {}
    for match in _ADDRESS.finditer(sentence):
        for host in _possible_hosts(match["host"]):
            hosts[_normalize_host(host)] = True
    for match in _BARE.finditer(_ADDRESS.sub(" ", sentence)):
        host = match["bare"].lower()
        is_certain = _certainty(host)
        if is_certain is not None:
            hosts.setdefault(_normalize_host(host), is_certain)
    hosts.pop("", None)
    return hosts


def _possible_hosts(host: str) -> Iterator[str]:
    """Yield a host as written, and without text after it in a script without spaces."""
    yield host
    if not host.isascii():
        ascii_part = re.match(r"[\w.-]*", host, re.ASCII)
        if ascii_part and _certainty(ascii_part[0].lower()) is not None:
            yield ascii_part[0]


def _normalize_host(host: str) -> str:
    return host.lower().strip(".").strip("[]").removeprefix("www.")


def _certainty(host: str) -> bool | None:
    """Return whether a name without a scheme is certainly a host; None if it is certainly not."""
    name, _, ending = host.rpartition(".")
    if ending.isdigit():
        return _is_address(host)
    if ending in _HOSTS_ONLY.split() or host.startswith("www."):
        return bool(name) or None
    if name and ending in _HOST_OR_ATTRIBUTE.split():
        return False
    return None


def _is_address(text: str) -> bool | None:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return None
    return True


def asks_to_write(words: str, path: str) -> bool:
    """Return whether the user's words plainly ask to write the file at a path."""
    return _asks(words, path, _WRITES)


def asks_to_send(words: str, path: str) -> bool:
    """Return whether the user's words plainly ask to upload the file at a path."""
    return _asks(words, path, _SENDS)


def asks_to_remember(words: str) -> bool:
    """Return whether the user's words plainly ask to keep something for later conversations."""
    return _REMEMBERS.search(words) is not None


def asks_for_git(words: str) -> bool:
    """Return whether the user's words plainly ask to change a git repository."""
    return any(map(_is_about_git, _requesting_sentences(words)))


def _is_about_git(sentence: str) -> bool:
    if _GIT_COMMAND.search(sentence):
        return True
    if _ASKS_ABOUT.search(sentence):
        return False
    changes = _WRITES.search(sentence) or _CHANGES_GIT.search(sentence)
    return bool(changes and _GIT_NOUN.search(sentence))


def _asks(words: str, path: str, verb: re.Pattern[str]) -> bool:
    """Return whether a sentence with the verb names the path, or the file's name alone."""
    names = "|".join(map(re.escape, filter(None, {path, path.rpartition("/")[2]})))
    if not names:
        return False
    # neither `.env.example` nor `app/.env` names `.env`
    pattern = re.compile(rf"(?<![\w./-])(?:{names})(?![\w/-]|\.\w)")
    for sentence in _requesting_sentences(words):
        if pattern.search(sentence) and verb.search(sentence):
            return True
    return False


def _requesting_sentences(words: str) -> Iterator[str]:
    """Yield the sentences that forbid nothing."""
    for sentence, forbids in _judged_sentences(words):
        if not forbids:
            yield sentence


def is_phrase_of(words: str, text: str) -> bool:
    """Return whether a text is a plain phrase that the user has written: "kite", "red kites".

    Only letters count, in the user's spelling or in lower case, from a sentence about nothing
    confidential: such a phrase reveals no more than the request did, so it cannot exfiltrate data.
    """
    phrase = text.strip()
    if len(phrase) > _LONGEST_PHRASE or not _PHRASE.fullmatch(phrase):
        return False
    pattern = _phrase_pattern(phrase)
    for sentence in _SENTENCE_END.split(words):
        if _CONFIDENTIAL.search(sentence):
            continue
        if pattern.search(sentence) or pattern.search(sentence.lower()):
            return True
    return False


def _phrase_pattern(phrase: str) -> re.Pattern[str]:
    if len(phrase) > 1 and min(map(ord, phrase)) >= _WITHOUT_SPACES:
        return re.compile(re.escape(phrase))
    if len(phrase) < _SHORTEST_PHRASE:  # single letters could spell anything
        return _MATCHES_NOTHING
    singular = phrase
    if len(phrase) > _SHORTEST_PHRASE:
        singular = phrase.removesuffix("s")
    return re.compile(rf"(?<!\w){re.escape(singular)}s?(?!\w)")
